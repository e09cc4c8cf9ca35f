//===- AffineExprs.h - What affine expressions use --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_AFFINEEXPRS_H
#define TILEWS_C_AFFINEEXPRS_H

#include "mlir-c/AffineExpr.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Whether a map with so many dimensions and symbols has all those that an
/// expression uses.
MLIR_CAPI_EXPORTED bool tilewsAffineExprHasInputs(MlirAffineExpr expr,
                                                  intptr_t numDims,
                                                  intptr_t numSymbols);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_AFFINEEXPRS_H
