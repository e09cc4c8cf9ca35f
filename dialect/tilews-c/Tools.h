//===- Tools.h - Entry points of the command-line tools ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tools live in libTilewsCore and their executables only call them, so that
// a self-contained package carries MLIR and LLVM once.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_TOOLS_H
#define TILEWS_C_TOOLS_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Entry points like `main`: parse the arguments, run, and return the exit
/// code.
MLIR_CAPI_EXPORTED int tilewsOptMain(int argc, char **argv);
MLIR_CAPI_EXPORTED int tilewsTranslateMain(int argc, char **argv);
MLIR_CAPI_EXPORTED int tilewsReduceMain(int argc, char **argv);
MLIR_CAPI_EXPORTED int tilewsLspServerMain(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_TOOLS_H
