//===- WidenDivisions.h - Divisions of 24-bit integers ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_WIDENDIVISIONS_H
#define TILEWS_TARGET_WIDENDIVISIONS_H

#include "llvm/IR/PassManager.h"

namespace tilews {

/// Divides numbers without sign that have 24 bits as numbers of 32 bits, in
/// LLVM IR:
///
///     %q = udiv i32 %a, %b   ->   %q = udiv i32 (shl %a, 8), (shl %b, 8)
///
/// Runs after LLVM's optimizations, which find out how large numbers are.
struct WidenDivisionsPass : llvm::PassInfoMixin<WidenDivisionsPass> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilews

#endif // TILEWS_TARGET_WIDENDIVISIONS_H
