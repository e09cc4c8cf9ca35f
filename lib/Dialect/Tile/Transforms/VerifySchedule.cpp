//===- VerifySchedule.cpp - Prove that schedules are right ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/ScheduleVerdict.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

namespace tilews::tile {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Notes what else there is to know.
static void attachNotes(InFlightDiagnostic &diag,
                        const ScheduleVerdict &verdict) {
  if (verdict.other)
    diag.attachNote(verdict.other->getLoc()) << verdict.otherText;
  if (!verdict.inputs.empty())
    diag.attachNote() << "with " << llvm::join(verdict.inputs, ", ");
  for (const ScheduleVerdict::Step &step : verdict.trace)
    diag.attachNote(step.op->getLoc()) << step.text;
}

namespace {
struct VerifySchedulePass
    : tile::impl::VerifySchedulePassBase<VerifySchedulePass> {
  using VerifySchedulePassBase::VerifySchedulePassBase;

  void runOnOperation() override {
    bool isRight = true;
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      isRight &= check(kernel, verifySchedule(kernel));
    });
    if (!isRight)
      signalPassFailure();
  }

private:
  bool check(gpu::GPUFuncOp kernel, const ScheduleVerdict &verdict) const {
    switch (verdict.kind) {
    case ScheduleVerdict::Kind::Counterexample: {
      InFlightDiagnostic diag = verdict.op->emitError("schedule of @")
                                << kernel.getName()
                                << " is wrong: " << verdict.text;
      attachNotes(diag, verdict);
      return false;
    }
    case ScheduleVerdict::Kind::Unsupported: {
      InFlightDiagnostic diag =
          verdict.op->emitRemark("tile-verify-0001: schedule of @")
          << kernel.getName() << " is not verified: " << verdict.text;
      attachNotes(diag, verdict);
      return true;
    }
    case ScheduleVerdict::Kind::Proved:
      break;
    }
    if (report)
      kernel.emitRemark("tile-verify-0002: schedule of @")
          << kernel.getName() << " is proved: " << verdict.links
          << " channels, " << verdict.events << " events, " << verdict.states
          << " states";
    return true;
  }
};
} // namespace
