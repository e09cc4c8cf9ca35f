//===- AffineExprsCAPI.cpp - What affine expressions use ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR makes maps of any expressions. Code that reads a map whose expressions
// use dimensions beyond its own reads beyond arrays. MLIR's Python package asks
// here before it makes one.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/AffineExprs.h"

#include "mlir/CAPI/AffineExpr.h"
#include "mlir/CAPI/AffineMap.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;

bool tilewsAffineExprHasInputs(MlirAffineExpr expr, intptr_t numDims,
                               intptr_t numSymbols) {
  WalkResult result = unwrap(expr).walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      if (static_cast<intptr_t>(dim.getPosition()) >= numDims)
        return WalkResult::interrupt();
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      if (static_cast<intptr_t>(symbol.getPosition()) >= numSymbols)
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return !result.wasInterrupted();
}

bool tilewsAffineExprIsDivisor(MlirAffineExpr expr) {
  auto number = dyn_cast<AffineConstantExpr>(unwrap(expr));
  return number && number.getValue() > 0;
}

bool tilewsAffineMapDividesBy(MlirAffineMap map, MlirAffineExpr divisor) {
  bool found = false;
  unwrap(map).walkExprs([&](AffineExpr part) {
    auto operation = dyn_cast<AffineBinaryOpExpr>(part);
    bool divides = operation && operation.getKind() != AffineExprKind::Add &&
                   operation.getKind() != AffineExprKind::Mul;
    found |= divides && operation.getRHS() == unwrap(divisor);
  });
  return found;
}
