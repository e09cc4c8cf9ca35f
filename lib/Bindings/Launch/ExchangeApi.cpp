//===- ExchangeApi.cpp - The tables of torch's types ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of a type never changes and lives as long as the process. So types
// with one are remembered, with a reference. There are two: torch.Tensor and
// torch.nn.Parameter. Other types are looked at each time, because a reference
// would keep them alive.
//
//===----------------------------------------------------------------------===//

#include "ExchangeApi.h"

#include <array>
#include <cstring>

using namespace tilews::launch;

namespace {

constexpr uint32_t kMajorVersion = 1;

/// A reference that is dropped at the end of a scope.
class Owned {
public:
  explicit Owned(PyObject *object) : object(object) {}
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;
  ~Owned() { Py_XDECREF(object); }
  PyObject *get() const { return object; }

private:
  PyObject *object;
};

/// Types with their tables. More than torch's own two are those of programs
/// that define torch anew, such as tests.
struct KnownTypes {
  std::array<std::pair<PyTypeObject *, const ExchangeApi *>, 16> entries{};
  size_t count = 0;
};

bool isOfTorch(PyTypeObject *type) {
  Owned module(
      PyObject_GetAttrString(reinterpret_cast<PyObject *>(type), "__module__"));
  if (!module.get() || !PyUnicode_Check(module.get()))
    return false;
  for (const char *name : {"torch", "torch.nn.parameter"})
    if (PyUnicode_CompareWithASCIIString(module.get(), name) == 0)
      return true;
  return false;
}

/// The table in a type's attribute, in a version that is known here.
const ExchangeApi *readAttribute(PyTypeObject *type) {
  if (!isOfTorch(type))
    return nullptr;
  Owned capsule(PyObject_GetAttrString(reinterpret_cast<PyObject *>(type),
                                       "__dlpack_c_exchange_api__"));
  if (!capsule.get())
    return nullptr;
  auto *header = static_cast<ExchangeHeader *>(
      PyCapsule_GetPointer(capsule.get(), "dlpack_exchange_api"));
  while (header && header->major != kMajorVersion)
    header = header->previous;
  auto *api = reinterpret_cast<const ExchangeApi *>(header);
  return api && api->readArray && api->currentStream ? api : nullptr;
}

} // namespace

const ExchangeApi *tilews::launch::findExchangeApi(PyTypeObject *type) {
  static KnownTypes known;
  for (size_t i = 0; i < known.count; ++i)
    if (known.entries[i].first == type)
      return known.entries[i].second;
  const ExchangeApi *api = readAttribute(type);
  PyErr_Clear(); // A type without an attribute, or one that raises, has none.
  if (api && known.count < known.entries.size()) {
    Py_INCREF(type);
    known.entries[known.count++] = {type, api};
  }
  return api;
}
