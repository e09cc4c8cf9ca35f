//===- TileToROCDL.cpp - Tile operations to ROCDL -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --convert-tile-to-rocdl. The patterns are those of the shared
// conversion; `ROCDLLowering` provides the instructions of the target. The pass
// checks that the module has an AMD target and that the width of indices is 32
// or 64, and converts every kernel of the module.
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"
#include "tilews/Conversion/Common/DeviceVariables.h"
#include "tilews/Conversion/Common/ThreadCode.h"
#include "tilews/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

namespace tilews {
#define GEN_PASS_DEF_CONVERTTILETOROCDLPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

#define DEBUG_TYPE "convert-tile-to-rocdl"

using namespace mlir;
using namespace tilews;

namespace {
struct ConvertTileToROCDLPass
    : tilews::impl::ConvertTileToROCDLPassBase<ConvertTileToROCDLPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> target = TargetInfo::get(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (!target->isAMD()) {
      getOperation().emitError("expected an AMD target, found ")
          << target->chip << "; use --convert-tile-to-nvvm";
      return signalPassFailure();
    }
    if (failed(checkIndexBitwidth(getOperation(), indexBitwidth)))
      return signalPassFailure();
    LDBG() << target->chip << ", indices of " << indexBitwidth << " bits";
    ModuleVariables variables(getOperation());
    ROCDLLowering lowering(*target, indexBitwidth, variables);
    if (failed(convertTileModule(getOperation(), lowering)))
      signalPassFailure();
  }
};
} // namespace
