//===- Target.h - The C interface of the compilation ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_TARGET_H
#define TILEWS_C_TARGET_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Facts about a chip.
typedef struct TilewsTargetInfo {
  bool isNVIDIA;
  unsigned warpSize;
  unsigned maxThreads;
  int64_t maxSharedBytes;
  bool hasCpAsync, hasTma, hasWgmma, hasMfma, hasWmma;
} TilewsTargetInfo;

/// Calls `callback` with the name of each known chip and the facts about it.
MLIR_CAPI_EXPORTED void tilewsForEachTarget(
    MlirContext context,
    void (*callback)(MlirStringRef chip, TilewsTargetInfo info, void *userData),
    void *userData);

/// Passes the path of `ptxas` to `callback`, if there is one on PATH, in the
/// CUDA toolkit or in one of the directories.
MLIR_CAPI_EXPORTED void tilewsFindPtxas(intptr_t numDirectories,
                                        const MlirStringRef *directories,
                                        MlirStringCallback callback,
                                        void *userData);

/// The compilation of a module with one gpu.module. Failures emit a diagnostic
/// in the module's context, which must outlive the compilation.
typedef struct TilewsCompilation {
  void *ptr;
} TilewsCompilation;

typedef enum TilewsOutput {
  TilewsOutputLLVM,
  TilewsOutputAssembly,
  TilewsOutputObject,
  TilewsOutputBinary
} TilewsOutput;

/// Lowers a copy of `module` for `chip`, or for its own target if `chip` is
/// empty. If `tilePasses` is not empty, these passes replace the pipeline's
/// passes on tiles. With `lineInfo` the code has the lines of the source. The
/// pointer is null on failure. `directories` are searched for `ptxas` last.
MLIR_CAPI_EXPORTED TilewsCompilation tilewsCompilationCreate(
    MlirModule module, MlirStringRef chip, unsigned indexBitwidth,
    MlirStringRef tilePasses, bool lineInfo, intptr_t numDirectories,
    const MlirStringRef *directories);
MLIR_CAPI_EXPORTED void tilewsCompilationDestroy(TilewsCompilation compilation);

/// Returns the name of the chip.
MLIR_CAPI_EXPORTED MlirStringRef
tilewsCompilationGetChip(TilewsCompilation compilation);

/// Pass their result to `callback` once.
MLIR_CAPI_EXPORTED MlirLogicalResult
tilewsCompilationGet(TilewsCompilation compilation, TilewsOutput output,
                     MlirStringCallback callback, void *userData);
MLIR_CAPI_EXPORTED MlirLogicalResult
tilewsCompilationPrint(TilewsCompilation compilation, MlirStringRef phase,
                       MlirStringCallback callback, void *userData);
MLIR_CAPI_EXPORTED MlirLogicalResult tilewsCompilationGetManifest(
    TilewsCompilation compilation, MlirStringRef kernel,
    MlirStringCallback callback, void *userData);

/// Calls `callback` with each step so far and its time in milliseconds.
MLIR_CAPI_EXPORTED void tilewsCompilationForEachTime(
    TilewsCompilation compilation,
    void (*callback)(MlirStringRef stage, double milliseconds, void *userData),
    void *userData);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_TARGET_H
