//===- SplitPairs.h - Pairs of 16-bit integers, one by one ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_SPLITPAIRS_H
#define TILEWS_TARGET_SPLITPAIRS_H

#include "llvm/IR/PassManager.h"

namespace tilews {

/// Splits sums, minima and maxima of vectors of 16-bit integers into operations
/// on their elements, in LLVM IR:
///
///     %s = add <2 x i16> %a, <i16 1, i16 1>   ->   add i16 %a0, 1
///                                                  add i16 %a1, 1
///
/// Runs after LLVM's optimizations, which make vectors of scalars, too.
struct SplitPairsPass : llvm::PassInfoMixin<SplitPairsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &);
};

} // namespace tilews

#endif // TILEWS_TARGET_SPLITPAIRS_H
