//===- AffineExprs.h - What affine expressions use --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_AFFINEEXPRS_H
#define TILEWS_C_AFFINEEXPRS_H

#include "mlir-c/AffineExpr.h"
#include "mlir-c/AffineMap.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Whether a map with so many dimensions and symbols has all those that an
/// expression uses.
MLIR_CAPI_EXPORTED bool tilewsAffineExprHasInputs(MlirAffineExpr expr,
                                                  intptr_t numDims,
                                                  intptr_t numSymbols);

/// Whether expressions may be divided by this one: it is a positive number.
MLIR_CAPI_EXPORTED bool tilewsAffineExprIsDivisor(MlirAffineExpr expr);

/// Whether an expression of a map is divided by `divisor`.
MLIR_CAPI_EXPORTED bool tilewsAffineMapDividesBy(MlirAffineMap map,
                                                 MlirAffineExpr divisor);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_AFFINEEXPRS_H
