//===- LaneConvergence.h - Calls that lanes must make together --*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_LANECONVERGENCE_H
#define TILEWS_TARGET_LANECONVERGENCE_H

#include "llvm/IR/PassManager.h"

namespace llvm {
class CallBase;
} // namespace llvm

namespace tilews {

/// Returns the convergent calls of a function, such as barriers and shuffles,
/// that some lanes of a warp may make without the others, which PTX does not
/// define. For warps of 32 lanes:
///
///     if (tid.x / 32 == 0) barrier();      lanes agree
///     if (a[0] < n)        barrier();      lanes agree
///     if (a[tid.x] < n)    barrier();      divergent
///
/// Values that come from memory are alike for lanes that read the same address.
/// The analysis does not know which lanes have the same data, so that a call
/// that is found need not be wrong.
llvm::SmallVector<llvm::CallBase *>
findDivergentCalls(llvm::Function &function,
                   llvm::FunctionAnalysisManager &analyses, unsigned numLanes);

} // namespace tilews

#endif // TILEWS_TARGET_LANECONVERGENCE_H
