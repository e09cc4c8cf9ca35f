//===- VerifySchedule.cpp - Prove that schedules are right ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reports the verdict of the verifier (lib/Verifier) on each kernel. A
// counterexample is an error, with its inputs and its last events as notes, and
// fails the pass after all kernels were checked. A schedule that could not be
// verified is a remark. The first counterexample can be written to a file of
// JSON, from which `tilews.sim` runs the kernel up to the fault. With `retry`,
// a kernel that was saved before it was scheduled is planned again instead
// (SavedKernels.cpp).
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/SavedKernels.h"
#include "tilews/Support/Files.h"
#include "tilews/Verifier/ScheduleVerdict.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/JSON.h"

namespace tilews::tile {
#define GEN_PASS_DEF_VERIFYSCHEDULEPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ALWAYS_ENABLED_STATISTIC(numStates,
                         "States that paths came to, over all searches");
ALWAYS_ENABLED_STATISTIC(numJoins,
                         "Paths that came to a state that was visited before");
ALWAYS_ENABLED_STATISTIC(numWidenings,
                         "Loop-carried numbers widened to variables");
ALWAYS_ENABLED_STATISTIC(numQuestions, "Conditions that a path was asked for");

/// How many inputs, and events before the fault, a message lists.
static constexpr size_t kMaxShown = 16;

/// Attaches the other operation, the inputs and the last events of a verdict.
static void attachNotes(InFlightDiagnostic &diag,
                        const ScheduleVerdict &verdict) {
  if (verdict.other)
    diag.attachNote(verdict.other->getLoc()) << verdict.otherText;
  if (!verdict.inputs.empty()) {
    Diagnostic &note = diag.attachNote() << "with ";
    size_t shown = std::min(verdict.inputs.size(), kMaxShown);
    llvm::interleaveComma(
        llvm::make_range(verdict.inputs.begin(),
                         std::next(verdict.inputs.begin(), shown)),
        note, [&](const auto &input) {
          note << input.first << " = " << input.second.value;
        });
  }
  ArrayRef<ScheduleVerdict::Step> trace(verdict.trace);
  for (const ScheduleVerdict::Step &step : trace.take_back(kMaxShown))
    diag.attachNote(step.op->getLoc()) << step.text;
}

static StringRef getName(ScheduleVerdict::Input::Kind kind) {
  using Kind = ScheduleVerdict::Input::Kind;
  switch (kind) {
  case Kind::Scalar:
    return "scalar";
  case Kind::Extent:
    return "extent";
  case Kind::Element:
    return "element";
  case Kind::Fill:
    return "fill";
  }
  llvm_unreachable("all kinds are handled");
}

/// Writes the inputs and events with which `tilews.sim` runs the kernel up to
/// the fault. An operation is identified by its number in a pre-order walk of
/// the kernel.
static void writeCounterexample(raw_ostream &os, gpu::GPUFuncOp kernel,
                                const ScheduleVerdict &verdict) {
  llvm::DenseMap<Operation *, int64_t> numbers;
  kernel->walk<WalkOrder::PreOrder>(
      [&](Operation *op) { numbers.try_emplace(op, numbers.size()); });
  llvm::json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("kernel", kernel.getName());
    json.attribute("fault", verdict.text);
    json.attributeArray("inputs", [&] {
      for (auto &entry : verdict.inputs)
        json.object([&] {
          const ScheduleVerdict::Input &input = entry.second;
          json.attribute("name", entry.first);
          json.attribute("kind", getName(input.kind));
          json.attribute("argument", input.argument);
          json.attributeArray("place", [&] {
            for (int64_t index : input.place)
              json.value(index);
          });
          json.attribute("value", input.value);
        });
    });
    json.attributeArray("events", [&] {
      for (const ScheduleVerdict::Step &step : verdict.trace)
        json.object([&] {
          json.attribute("task", step.task);
          json.attribute("op", numbers.lookup(step.op));
          json.attribute("text", step.text);
        });
    });
  });
  os << "\n";
}

static void count(const ScheduleVerdict &verdict) {
  numStates += verdict.effort.states;
  numJoins += verdict.effort.joins;
  numWidenings += verdict.effort.widenings;
  numQuestions += verdict.effort.questions;
}

namespace {
struct VerifySchedulePass
    : tile::impl::VerifySchedulePassBase<VerifySchedulePass> {
  using VerifySchedulePassBase::VerifySchedulePassBase;

  void runOnOperation() override {
    bool isRight = true;
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      ScheduleVerdict verdict = verifySchedule(kernel);
      if (verdict.kind == ScheduleVerdict::Kind::Counterexample)
        verdict = planAgainIfSaved(kernel, std::move(verdict));
      count(verdict);
      LDBG() << "@" << kernel.getName() << ": "
             << (verdict.text.empty() ? "proved" : verdict.text) << ", "
             << verdict.effort.states << " states";
      if (isRight && !counterexample.empty() &&
          verdict.kind == ScheduleVerdict::Kind::Counterexample)
        save(kernel, verdict);
      isRight &= check(kernel, verdict);
    });
    if (!isRight)
      signalPassFailure();
  }

private:
  /// Plans a kernel again for which there is a copy; returns the verdict on the
  /// schedule that it has then.
  ScheduleVerdict planAgainIfSaved(gpu::GPUFuncOp kernel,
                                   ScheduleVerdict verdict) {
    auto copies = getCachedAnalysis<SavedKernels>();
    gpu::GPUFuncOp saved =
        copies ? copies->get().get(kernel) : gpu::GPUFuncOp();
    if (retry.empty() || !saved)
      return verdict;
    OpPassManager passes(kernel->getName());
    if (failed(parsePassPipeline(retry, passes)))
      return verdict;
    return planAgain(kernel, saved, std::move(verdict),
                     [&] { return runPipeline(passes, kernel); });
  }

  void save(gpu::GPUFuncOp kernel, const ScheduleVerdict &verdict) const {
    std::string text;
    llvm::raw_string_ostream os(text);
    writeCounterexample(os, kernel, verdict);
    if (llvm::Error error = writeFile(counterexample, text))
      kernel.emitError("the counterexample cannot be written: ")
          << toString(std::move(error));
  }

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
          remarkAt(verdict.op, "tile-verify-0001: schedule of @")
          << kernel.getName() << " is not verified: " << verdict.text;
      attachNotes(diag, verdict);
      return true;
    }
    case ScheduleVerdict::Kind::Proved:
      break;
    }
    if (report && verdict.events == 0)
      remarkAt(kernel, "tile-verify-0003: nothing to prove of @")
          << kernel.getName()
          << ": no channels, no barriers in memory, no asynchronous copies";
    else if (report)
      remarkAt(kernel, "tile-verify-0002: schedule of @")
          << kernel.getName() << " is proved: " << verdict.links
          << " channels, " << verdict.events << " events, "
          << verdict.effort.states << " states";
    return true;
  }
};
} // namespace
