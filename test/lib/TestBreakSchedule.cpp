//===- TestBreakSchedule.cpp - A pass that makes schedules wrong ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Removes the first wait of each kernel, so that its schedule is wrong. With
// `until=one_role`, kernels with that limit or a stricter one stay right. So a
// test chooses the step at which planning again succeeds.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
class BreakSchedulePass
    : public PassWrapper<BreakSchedulePass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BreakSchedulePass)

  BreakSchedulePass() = default;
  BreakSchedulePass(const BreakSchedulePass &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-break-schedule"; }
  StringRef getDescription() const final {
    return "Remove the first wait of each kernel";
  }

  void runOnOperation() final {
    std::optional<ScheduleLimit> limit = symbolizeScheduleLimit(until);
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      if (limit && isLimitedTo(kernel, *limit))
        return;
      kernel.walk([](WaitOp wait) {
        wait.erase();
        return WalkResult::interrupt();
      });
    });
  }

private:
  Option<std::string> until{
      *this, "until",
      llvm::cl::desc("The weakest limit under which a kernel stays right")};
};
} // namespace

[[maybe_unused]] static const bool kRegistered = [] {
  registerPass([] { return std::make_unique<BreakSchedulePass>(); });
  return true;
}();
