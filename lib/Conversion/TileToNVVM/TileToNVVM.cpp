//===- TileToNVVM.cpp - Tile operations to NVVM ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass --convert-tile-to-nvvm. It checks the target, and converts each
// kernel with the patterns that all targets share and NVIDIA's own. Those are
// tried first: wgmma, TMA, barriers in shared memory, and roles.
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"
#include "NVVMLowering.h"
#include "tilews/Conversion/Common/DeviceVariables.h"
#include "tilews/Conversion/Common/ThreadCode.h"
#include "tilews/Conversion/Passes.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

namespace tilews {
#define GEN_PASS_DEF_CONVERTTILETONVVMPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

#define DEBUG_TYPE "convert-tile-to-nvvm"

using namespace mlir;
using namespace tilews;

/// Drops `registers` from roles on targets without `setmaxnreg` (anything but
/// the chips of sm_90a and later with an `a` or `f`), with remark tile-ws-0011.
static void dropRegisters(gpu::GPUFuncOp kernel, const TargetInfo &info) {
  if (info.hasRegisterDonation())
    return;
  kernel.walk([&](tile::RoleOp role) {
    if (!role.getRegisters())
      return;
    tile::remarkAt(role, "tile-ws-0011: role @")
        << role.getName() << " has no registers of its own: " << info.chip
        << " does not let warps give registers to each other";
    role.removeRegistersAttr();
  });
}

static LogicalResult addPatterns(gpu::GPUFuncOp kernel,
                                 const TileTypeConverter &converter,
                                 LoweringContext &lowering,
                                 RewritePatternSet &patterns) {
  dropRegisters(kernel, lowering.target.info);
  FailureOr<std::shared_ptr<const AsyncPlan>> plan =
      planAsync(kernel, lowering);
  if (failed(plan))
    return failure();
  populateWgmmaPatterns(converter, lowering, patterns);
  populateTmaPatterns(converter, lowering, *plan, patterns);
  populateBarrierPatterns(converter, lowering, patterns);
  populateRolePatterns(converter, lowering, patterns);
  return success();
}

namespace {
struct ConvertTileToNVVMPass
    : tilews::impl::ConvertTileToNVVMPassBase<ConvertTileToNVVMPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> target = TargetInfo::get(getOperation());
    if (failed(target))
      return signalPassFailure();
    if (!target->isNVIDIA()) {
      getOperation().emitError("expected an NVIDIA target, found ")
          << target->chip << "; use --convert-tile-to-rocdl";
      return signalPassFailure();
    }
    if (failed(checkIndexBitwidth(getOperation(), indexBitwidth)))
      return signalPassFailure();
    LDBG() << target->chip << ", indices of " << indexBitwidth << " bits";
    ModuleVariables variables(getOperation());
    NVVMLowering lowering(*target, indexBitwidth, variables);
    if (failed(convertTileModule(getOperation(), lowering, addPatterns)))
      signalPassFailure();
  }
};
} // namespace
