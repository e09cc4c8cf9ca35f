//===- SetTarget.cpp - Choose the chip to compile for ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Support/TargetInfo.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SETTARGETPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;

namespace {
struct SetTargetPass : tile::impl::SetTargetPassBase<SetTargetPass> {
  using Base::Base;

  void runOnOperation() override {
    LogicalResult result = chip.empty()
                               ? LogicalResult(TargetInfo::get(getOperation()))
                               : TargetInfo::set(getOperation(), chip);
    if (failed(result))
      signalPassFailure();
  }
};
} // namespace
