//===- Tilews.h - The C interface of tilews ---------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_TILEWS_H
#define TILEWS_C_TILEWS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Adds all dialects that tilews can parse to `registry`: the tile dialect and
/// all of upstream MLIR.
MLIR_CAPI_EXPORTED void tilewsRegisterAllDialects(MlirDialectRegistry registry);

/// Registers all passes and pipelines, tilews' and upstream's.
MLIR_CAPI_EXPORTED void tilewsRegisterAllPasses(void);

/// Keeps the signal handlers of the process, as those of Python. LLVM replaces
/// them with its first temporary file; after this call it does not.
MLIR_CAPI_EXPORTED void tilewsKeepSignalHandlers(void);

/// Returns the version of tilews, such as "0.1.0".
MLIR_CAPI_EXPORTED MlirStringRef tilewsGetVersion(void);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_TILEWS_H
