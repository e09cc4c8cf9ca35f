//===- OptimizeLLVM.h - LLVM's optimizations for GPUs -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_OPTIMIZELLVM_H
#define TILEWS_TARGET_OPTIMIZELLVM_H

#include "tilews/Support/TargetInfo.h"

#include "mlir/IR/Location.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilews {

/// Optimizes LLVM IR for a GPU. Lanes of a warp that execute a convergent call
/// together, such as a barrier, must go on to do so: if LLVM's optimizations at
/// -O3 separate them, the module is optimized at -O1 and without unrolling
/// instead, with a remark at `loc`.
void optimizeLLVM(std::unique_ptr<llvm::Module> &module,
                  llvm::TargetMachine &machine, const TargetInfo &target,
                  mlir::Location loc);

} // namespace tilews

#endif // TILEWS_TARGET_OPTIMIZELLVM_H
