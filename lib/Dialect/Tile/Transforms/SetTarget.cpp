//===- SetTarget.cpp - Choose the chip to compile for ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attaches the chip to compile for to an operation, usually a `gpu.module`, as
// the attribute in which MLIR keeps GPU targets: `#nvvm.target` or
// `#rocdl.target`. All other passes find it there with `TargetInfo::get`.
// Without an option the pass checks the target that is there already.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Support/TargetInfo.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SETTARGETPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-set-target"

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numSet, "Operations given a target");

namespace {
struct SetTargetPass : tile::impl::SetTargetPassBase<SetTargetPass> {
  using Base::Base;
  void runOnOperation() override {
    LogicalResult result = chip.empty()
                               ? LogicalResult(TargetInfo::get(getOperation()))
                               : TargetInfo::set(getOperation(), chip);
    if (failed(result))
      return signalPassFailure();
    LDBG() << (chip.empty() ? "keeps the target" : "sets the target ") << chip;
    numSet += !chip.empty();
  }
};
} // namespace
