//===- Disassembly.h - The C interface of the disassembler ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_DISASSEMBLY_H
#define TILEWS_C_DISASSEMBLY_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// An instruction of a code object. `unit` is what it occupies longest, for
/// `occupied` cycles; its result is there after `latency` cycles.
typedef struct TilewsInstruction {
  uint64_t address;
  unsigned size;
  MlirStringRef text;
  unsigned latency;
  unsigned occupied;
  MlirStringRef unit;
} TilewsInstruction;

/// Disassembles an AMD code object: calls `onInstruction` for each instruction
/// in the order of addresses, and returns the chip by `onText`. On failure,
/// `onText` gets the reason instead, and no instruction is passed.
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsDisassemble(
    MlirStringRef codeObject,
    void (*onInstruction)(TilewsInstruction instruction, void *userData),
    MlirStringCallback onText, void *userData);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_DISASSEMBLY_H
