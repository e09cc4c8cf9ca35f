//===- AnnotateInstructions.cpp - Choose instructions ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/IR/SharedOperands.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

namespace tilews::tile {
#define GEN_PASS_DEF_ANNOTATEINSTRUCTIONSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// The instructions an operation can become, best first, and why it cannot
/// become better ones.
struct Choice {
  SmallVector<InstKind> candidates;
  SmallVector<std::pair<InstKind, std::string>> rejected;

  void reject(InstKind kind, const Twine &reason) {
    llvm::erase(candidates, kind);
    rejected.emplace_back(kind, reason.str());
  }
};
} // namespace

/// cp.async moves 4, 8 or 16 bytes, aligned on both sides. The destination's
/// layout may still be open: row-major rows are the least it will keep
/// together.
static void checkCpAsync(CopyOp copy, Divisibility &divisibility,
                         Choice &choice) {
  if (!llvm::is_contained(choice.candidates, InstKind::CpAsync))
    return;
  int64_t bits = getStorageBits(getElementType(copy.getSource()));
  int64_t bytes = getCopyVectorElements(copy, divisibility) * bits / 8;
  if (bytes < 4)
    choice.reject(InstKind::CpAsync,
                  "only " + Twine(bytes) +
                      " adjacent bytes are known to be aligned, cp.async needs "
                      "4; see tile.divisible and tile.alignment");
}

/// TMA moves boxes of an argument whose rows begin at multiples of 16 bytes.
static void considerTma(CopyOp copy, Divisibility &divisibility,
                        Choice &choice) {
  if (!llvm::is_contained(choice.candidates, InstKind::Tma))
    return;
  if (llvm::Error error = checkTma(copy, divisibility))
    choice.reject(InstKind::Tma, llvm::toString(std::move(error)));
}

static Choice getChoice(InstructionOpInterface op, const TargetInfo &target,
                        Divisibility &divisibility) {
  Choice choice;
  op.getInstructionCandidates(target, getNumThreads(op), choice.candidates,
                              [&](InstKind kind, const Twine &reason) {
                                choice.rejected.emplace_back(kind,
                                                             reason.str());
                              });
  if (auto copy = dyn_cast<CopyOp>(op.getOperation())) {
    considerTma(copy, divisibility, choice);
    checkCpAsync(copy, divisibility, choice);
  }
  return choice;
}

static LogicalResult checkGiven(Operation *op, InstKind given,
                                const Choice &choice,
                                const TargetInfo &target) {
  if (llvm::is_contained(choice.candidates, given))
    return success();
  InFlightDiagnostic diag = op->emitOpError("cannot become '")
                            << stringifyInstKind(given) << "' on "
                            << target.chip << ": ";
  auto known = llvm::find_if(choice.rejected, [&](const auto &rejected) {
    return rejected.first == given;
  });
  if (known != choice.rejected.end())
    diag << known->second;
  else
    diag << "the target or the operation does not have it";
  diag << "; it can become ";
  llvm::interleaveComma(choice.candidates, diag, [&](InstKind kind) {
    diag << "'" << stringifyInstKind(kind) << "'";
  });
  return diag;
}

/// Whether all copies of a kernel can be started by a role for which a TMA copy
/// is less work: it has a loop to pipeline, or roles.
static bool hasPipeline(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<SpecializeOp>(op) || op->hasAttr(TileDialect::kNumStages)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a better instruction than the one chosen would have been of use. A
/// copy that cannot be asynchronous on its target or between its memories
/// misses nothing.
static bool isMissed(Operation *op, InstKind kind, const TargetInfo &target,
                     bool hasPipeline) {
  auto copy = dyn_cast<CopyOp>(op);
  if (!copy)
    return true;
  bool isLoad = isShared(copy.getDest()) &&
                isGlobal(cast<MemRefType>(copy.getSource().getType()));
  if (kind == InstKind::Tma)
    return isLoad && target.hasTma() && hasPipeline;
  return isLoad && target.hasCpAsync();
}

/// Whether an operation is better off as a `kind` than as an `other`: what it
/// can become is enumerated from the least to the best.
static bool isBetter(InstKind kind, InstKind other) { return kind > other; }

/// Says why an operation does not become better instructions than it does.
static void explain(Operation *op, const Choice &choice,
                    const TargetInfo &target, bool hasPipeline) {
  for (const auto &[kind, reason] : choice.rejected)
    if (isBetter(kind, choice.candidates.front()) &&
        isMissed(op, kind, target, hasPipeline))
      op->emitRemark() << (isa<CopyOp>(op) ? "tile-inst-0002: "
                                           : "tile-inst-0001: ")
                       << op->getName().stripDialect() << " uses "
                       << stringifyInstKind(choice.candidates.front())
                       << ", not " << stringifyInstKind(kind) << ": " << reason;
}

//===----------------------------------------------------------------------===//
// Copies in schedules
//===----------------------------------------------------------------------===//

/// The channel that a copy to shared memory fills; null if there is none.
static ChannelOp getFilledChannel(CopyOp copy) {
  AllocSharedOp alloc =
      isShared(copy.getDest()) ? getViewedAlloc(copy.getDest()) : nullptr;
  return alloc ? getChannelOf(alloc.getBuffer()) : ChannelOp();
}

static InstKind getKind(ProducerKind producer) {
  switch (producer) {
  case ProducerKind::Tma:
    return InstKind::Tma;
  case ProducerKind::CpAsync:
    return InstKind::CpAsync;
  case ProducerKind::Simt:
  case ProducerKind::Mixed:
    return InstKind::Simt;
  }
  llvm_unreachable("covered switch");
}

/// Leaves what fits the schedule around a copy: what its channel says that it
/// is filled by, as waits count on that, and TMA only where somebody waits.
static void fitSchedule(CopyOp copy, bool hasPipeline, Choice &choice) {
  ChannelOp channel = getFilledChannel(copy);
  bool hasRoles =
      copy->getParentOfType<gpu::GPUFuncOp>()
          .walk([](SpecializeOp) { return WalkResult::interrupt(); })
          .wasInterrupted();
  if (!hasPipeline || !isShared(copy.getDest()) || (hasRoles && !channel))
    llvm::erase(choice.candidates, InstKind::Tma);
  if (!channel || channel.getProducer() == ProducerKind::Mixed)
    return;
  InstKind said = getKind(channel.getProducer());
  // Otherwise --tile-specialize-warps says what is wrong.
  if (!llvm::is_contained(choice.candidates, said))
    return;
  for (InstKind other : SmallVector<InstKind>(choice.candidates))
    if (other != said)
      choice.reject(other, "the producer of its channel is '" +
                               stringifyProducerKind(channel.getProducer()) +
                               "'");
}

static void setInst(Operation *op, InstKind kind) {
  op->setAttr(TileDialect::kInst, InstKindAttr::get(op->getContext(), kind));
}

static LogicalResult annotate(InstructionOpInterface op,
                              const TargetInfo &target,
                              Divisibility &divisibility, bool hasPipeline) {
  Choice choice = getChoice(op, target, divisibility);
  if (auto given = op->getAttrOfType<InstKindAttr>(TileDialect::kInst))
    return checkGiven(op, given.getValue(), choice, target);
  if (auto copy = dyn_cast<CopyOp>(op.getOperation()))
    fitSchedule(copy, hasPipeline, choice);
  explain(op, choice, target, hasPipeline);
  setInst(op, choice.candidates.front());
  return success();
}

LogicalResult tile::annotateInstructions(gpu::GPUFuncOp kernel) {
  SmallVector<InstructionOpInterface> ops;
  SmallVector<SpecializeOp> roles;
  kernel.walk([&](InstructionOpInterface op) { ops.push_back(op); });
  kernel.walk([&](SpecializeOp op) { roles.push_back(op); });
  if (ops.empty() && roles.empty())
    return success();
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  for (SpecializeOp specialize : roles)
    if (failed(specialize.verifyTarget(*target)))
      return failure();
  Divisibility divisibility;
  bool pipelined = hasPipeline(kernel);
  for (InstructionOpInterface op : ops)
    if (failed(annotate(op, *target, divisibility, pipelined)))
      return failure();
  return success();
}

void tile::replaceTma(CopyOp copy, const TargetInfo &target) {
  Divisibility divisibility;
  Choice choice = getChoice(copy, target, divisibility);
  llvm::erase(choice.candidates, InstKind::Tma);
  // Why it is not TMA is known; next to that, nothing has been better.
  explain(copy, choice, target, /*hasPipeline=*/false);
  setInst(copy, choice.candidates.front());
}

namespace {
struct AnnotateInstructionsPass
    : tile::impl::AnnotateInstructionsPassBase<AnnotateInstructionsPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return failed(annotateInstructions(kernel)) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
