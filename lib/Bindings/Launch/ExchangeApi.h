//===- ExchangeApi.h - DLPack's tables of C functions -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The structures of DLPack 1.3 that a launch reads, written after the
// specification: https://github.com/dmlc/dlpack, include/dlpack/dlpack.h,
// DLTensor and DLPackExchangeAPI. A type of arrays has such a table as its
// attribute __dlpack_c_exchange_api__. Its functions read an array in tens of
// nanoseconds, and neither own nor synchronize anything.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_EXCHANGEAPI_H
#define TILEWS_BINDINGS_LAUNCH_EXCHANGEAPI_H

#include <Python.h>

#include <cstdint>

namespace tilews::launch {

/// An array: DLTensor.
struct ExchangedArray {
  void *data;
  int32_t deviceType;
  int32_t deviceIndex;
  int32_t rank;
  uint8_t typeCode;
  uint8_t typeBits;
  uint16_t typeLanes;
  int64_t *shape;
  int64_t *strides;
  uint64_t byteOffset;
};

/// What starts each version of the table: DLPackExchangeAPIHeader.
struct ExchangeHeader {
  uint32_t major;
  uint32_t minor;
  ExchangeHeader *previous;
};

/// The table: DLPackExchangeAPI. A function returns 0, or sets Python's error.
struct ExchangeApi {
  ExchangeHeader header;
  void *allocate;
  void *fromPython;
  void *toPython;
  int (*readArray)(void *object, ExchangedArray *out);
  int (*currentStream)(int32_t deviceType, int32_t deviceIndex, void **out);
};

/// The table of a type of tensors of torch; null for other types, and where
/// torch has none. The rules for torch's own types hold for no other array:
/// a class of somebody else may share nothing but the name with them.
const ExchangeApi *findExchangeApi(PyTypeObject *type);

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_EXCHANGEAPI_H
