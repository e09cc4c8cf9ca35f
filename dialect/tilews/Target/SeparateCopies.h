//===- SeparateCopies.h - Copies to LDS and other accesses ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_SEPARATECOPIES_H
#define TILEWS_TARGET_SEPARATECOPIES_H

#include "llvm/IR/PassManager.h"

namespace tilews {

/// Says that copies from global to shared memory write other places than the
/// remaining instructions access, in LLVM IR for AMD:
///
///     call void @llvm.amdgcn.load.to.lds(...), !alias.scope !2
///     %v = load <4 x i32>, ptr addrspace(3) %slot, !noalias !2
///
/// Runs after LLVM's optimizations: it is true between two barriers, and
/// serves the code generator, which looks no further.
struct SeparateCopiesPass : llvm::PassInfoMixin<SeparateCopiesPass> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace tilews

#endif // TILEWS_TARGET_SEPARATECOPIES_H
