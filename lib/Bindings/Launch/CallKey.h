//===- CallKey.h - What a call is like --------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two calls with equal keys do the same with other addresses and numbers. A key
// is a row of words: types, extents, strides and devices of tensors, types of
// numbers, and values of constants. Objects whose words do not say all of them
// are kept beside it.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_CALLKEY_H
#define TILEWS_BINDINGS_LAUNCH_CALLKEY_H

#include "ExchangeApi.h"

#include <vector>

namespace tilews::launch {

/// A key that outlives its call. It owns references to the objects.
struct StoredKey {
  std::vector<uint64_t> words;
  std::vector<PyObject *> objects;
};

/// The key of a call, and what changes from one like call to the next.
class CallKey {
public:
  static constexpr unsigned kMaxWords = 256;
  static constexpr unsigned kMaxObjects = 32;
  static constexpr unsigned kMaxArguments = 48;

  /// An argument that a plan fills in: an array's address, or a number.
  struct ChangingArgument {
    PyObject *value;
    uint64_t address;
  };

  CallKey() = default;
  CallKey(const CallKey &) = delete;
  CallKey &operator=(const CallKey &) = delete;
  ~CallKey();

  /// Adds a tensor, a number whose value may change, or None. Each function
  /// that adds returns false if there are no plans for such calls.
  bool addArgument(unsigned position, PyObject *value);

  /// Adds a tensor, or a value that a plan depends on.
  bool addTensorOrConstant(unsigned position, PyObject *value);

  /// Adds a value that a plan depends on.
  bool addConstant(PyObject *value);

  /// Adds a word that distinguishes kinds of calls.
  bool addWord(uint64_t word);

  /// The stream that the call names; null for the current one.
  PyObject *stream = nullptr;

  /// Makes an array that the call has allocated an argument of its launches.
  bool setResult(unsigned position, PyObject *array);

  const ChangingArgument &getArgument(unsigned position) const {
    return arguments[position];
  }
  const ExchangeApi *getApi() const { return api; }
  int32_t getDeviceType() const { return deviceType; }
  int32_t getDeviceIndex() const { return deviceIndex; }

  uint64_t hash() const;
  bool equals(const StoredKey &other) const;
  StoredKey store() const;

private:
  bool addTensor(unsigned position, PyObject *value, const ExchangeApi *table);
  bool addObject(PyObject *value);
  bool addTuple(PyObject *value);

  unsigned numWords = 0;
  unsigned numObjects = 0;
  unsigned depth = 0;
  const ExchangeApi *api = nullptr;
  int32_t deviceType = 0;
  int32_t deviceIndex = 0;
  uint64_t words[kMaxWords];
  PyObject *objects[kMaxObjects];
  ChangingArgument arguments[kMaxArguments];
};

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_CALLKEY_H
