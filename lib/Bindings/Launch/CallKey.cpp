//===- CallKey.cpp - What a call is like ----------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants are compared by value where this is cheap and has no surprise:
// numbers, texts, and tuples of them. Other objects are compared by identity
// and hash. So a key may distinguish what Python calls equal. Then a call is
// planned twice, but no call gets the plan of another one.
//
//===----------------------------------------------------------------------===//

#include "CallKey.h"

#include <cstring>

using namespace tilews::launch;

namespace {

/// What follows in the words.
enum Tag : uint64_t {
  Tensor = 1,
  Integer,
  Float,
  Text,
  Tuple,
  Object,
  Nothing
};

constexpr unsigned kMaxDepth = 8;

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

} // namespace

CallKey::~CallKey() {
  for (unsigned i = 0; i < numObjects; ++i)
    Py_DECREF(objects[i]);
}

bool CallKey::addWord(uint64_t word) {
  if (numWords == kMaxWords)
    return false;
  words[numWords++] = word;
  return true;
}

bool CallKey::addTensor(unsigned position, PyObject *value,
                        const ExchangeApi *table) {
  ExchangedArray array{};
  if (table->readArray(value, &array) != 0) {
    PyErr_Clear(); // The general way says what is wrong with it.
    return false;
  }
  if (array.rank < 0 || numWords + 3 + 2 * array.rank > kMaxWords ||
      position >= kMaxArguments)
    return false;
  uint64_t *next = words + numWords;
  *next++ = Tensor | uint64_t(array.strides != nullptr) << 8 |
            uint64_t(array.rank) << 32;
  *next++ =
      array.typeCode | array.typeBits << 8 | uint64_t(array.typeLanes) << 16;
  *next++ = uint32_t(array.deviceType) | uint64_t(array.deviceIndex) << 32;
  for (int32_t d = 0; d < array.rank; ++d)
    *next++ = array.shape[d];
  for (int32_t d = 0; array.strides && d < array.rank; ++d)
    *next++ = array.strides[d];
  numWords = next - words;
  arguments[position] = {value, reinterpret_cast<uintptr_t>(array.data) +
                                    array.byteOffset};
  if (!api) {
    api = table;
    deviceType = array.deviceType;
    deviceIndex = array.deviceIndex;
  }
  return true;
}

bool CallKey::setResult(unsigned position, PyObject *value) {
  const ExchangeApi *table = findExchangeApi(Py_TYPE(value));
  ExchangedArray array{};
  if (!table || table->readArray(value, &array) != 0) {
    PyErr_Clear();
    return false;
  }
  arguments[position] = {value, reinterpret_cast<uintptr_t>(array.data) +
                                    array.byteOffset};
  return true;
}

bool CallKey::addArgument(unsigned position, PyObject *value) {
  if (value == Py_None)
    return addWord(Nothing);
  if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
      PyBool_Check(value)) {
    if (position >= kMaxArguments)
      return false;
    arguments[position].value = value;
    return addWord(reinterpret_cast<uintptr_t>(Py_TYPE(value)));
  }
  const ExchangeApi *table = findExchangeApi(Py_TYPE(value));
  return table && addTensor(position, value, table);
}

bool CallKey::addTensorOrConstant(unsigned position, PyObject *value) {
  if (value != Py_None && !PyLong_CheckExact(value) && !PyUnicode_Check(value))
    if (const ExchangeApi *table = findExchangeApi(Py_TYPE(value)))
      return addTensor(position, value, table);
  return addConstant(value);
}

bool CallKey::addObject(PyObject *value) {
  if (numObjects == kMaxObjects)
    return false;
  objects[numObjects++] = Py_NewRef(value);
  return true;
}

bool CallKey::addTuple(PyObject *value) {
  if (++depth > kMaxDepth)
    return false;
  Py_ssize_t size = PyTuple_GET_SIZE(value);
  bool isAdded = addWord(Tuple) && addWord(size);
  for (Py_ssize_t i = 0; isAdded && i < size; ++i)
    isAdded = addConstant(PyTuple_GET_ITEM(value, i));
  --depth;
  return isAdded;
}

bool CallKey::addConstant(PyObject *value) {
  if (value == Py_None)
    return addWord(Nothing);
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && addWord(Integer) && addWord(number);
  }
  if (PyFloat_CheckExact(value)) {
    double number = PyFloat_AS_DOUBLE(value);
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    return addWord(Float) && addWord(bits);
  }
  if (PyTuple_CheckExact(value))
    return addTuple(value);
  Py_hash_t hash = PyObject_Hash(value);
  if (hash == -1) {
    PyErr_Clear(); // The general way says that a constant has to be hashable.
    return false;
  }
  if (PyUnicode_CheckExact(value))
    return addWord(Text) && addWord(hash) && addObject(value);
  return addWord(Object) && addWord(hash) &&
         addWord(reinterpret_cast<uintptr_t>(value)) && addObject(value);
}

uint64_t CallKey::hash() const {
  uint64_t hash = numWords;
  for (unsigned i = 0; i < numWords; ++i)
    hash = mix(hash, words[i]);
  return hash;
}

bool CallKey::equals(const StoredKey &other) const {
  if (numWords != other.words.size() || numObjects != other.objects.size() ||
      std::memcmp(words, other.words.data(), numWords * sizeof(uint64_t)) != 0)
    return false;
  // Equal words: texts stand opposite texts, whose comparison cannot fail.
  for (unsigned i = 0; i < numObjects; ++i) {
    PyObject *ours = objects[i], *theirs = other.objects[i];
    if (ours != theirs &&
        (!PyUnicode_CheckExact(ours) || PyUnicode_Compare(ours, theirs) != 0))
      return false;
  }
  return true;
}

StoredKey CallKey::store() const {
  StoredKey stored{{words, words + numWords}, {objects, objects + numObjects}};
  for (PyObject *object : stored.objects)
    Py_INCREF(object);
  return stored;
}
