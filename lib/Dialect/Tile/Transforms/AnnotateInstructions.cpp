//===- AnnotateInstructions.cpp - Choose instructions ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation that can become different instructions enumerates the ones
// that the target has, best first, with a reason for each that it cannot use.
// For copies more conditions follow here: alignment for cp.async, the shape of
// the box for TMA, and the schedule around the copy. The first candidate that
// is left becomes `tile.inst`. A remark names each better instruction that was
// missed, with its reason. For example, on sm_90:
//
//   tile.copy  candidates tma, cp_async, simt; no role can start it
//     -> tile.inst = cp_async
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/Memory/RowCopies.h"
#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/Analysis/Memory/WaveCopy.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/IR/SharedOperands.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Definitions.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_ANNOTATEINSTRUCTIONSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-annotate-instructions"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numSpecial, "Operations with a special instruction");
ALWAYS_ENABLED_STATISTIC(numSimt, "Operations that threads do with loops");

namespace {
/// The instructions that an operation can become, best first. For others that
/// the target has, why not.
struct InstructionChoice {
  SmallVector<InstKind> candidates;
  SmallVector<std::pair<InstKind, std::string>> rejected;

  void reject(InstKind kind, const Twine &reason) {
    llvm::erase(candidates, kind);
    rejected.emplace_back(kind, reason.str());
  }
};

/// The parts of a kernel that decide on its copies, found once for all of them.
struct KernelForm {
  explicit KernelForm(gpu::GPUFuncOp kernel);

  bool hasRoles = false;
  /// Whether a role may start the copies: the kernel has roles, or a loop to
  /// pipeline. Only there does TMA save work.
  bool hasPipeline = false;
  /// The channel of each buffer that has one. A search of the users of a buffer
  /// at each of its copies would be quadratic.
  llvm::DenseMap<Value, ChannelOp> channels;
  /// The loops with a remark about their copies.
  llvm::SmallPtrSet<Operation *, 4> remarked = {};
};
} // namespace

/// The most bytes that the swizzle of a buffer permutes which a matmul of
/// gfx950 reads.
static constexpr int64_t kLargestAtom = 2048;

/// Rejects cp.async unless the copy is made of vectors of 4, 8 or 16 bytes,
/// aligned on both sides. The layout of the destination may not be known yet.
/// Every layout keeps at least those elements together that row-major order
/// does, so these are counted. On AMD, whole waves must be able to write the
/// tile directly.
static void checkCpAsync(CopyOp copy, const TargetInfo &target,
                         Divisibility &divisibility,
                         InstructionChoice &choice) {
  if (!llvm::is_contained(choice.candidates, InstKind::CpAsync))
    return;
  if (target.isAMD()) {
    SmallVector<AccessRegion> regions;
    copy.getAccessRegions(regions);
    SharedLayout layout =
        getSharedLayout(cast<MemRefType>(copy.getDest().getType()));
    llvm::Expected<LdsDma> waves = getWaveCopy(
        copy, layout, divisibility.getVectorElements(regions.front()));
    if (!waves)
      choice.reject(InstKind::CpAsync, llvm::toString(waves.takeError()));
    else if (int64_t step = getNumThreads(copy) * waves->bytes;
             copy.getDest().getType().getRank() > 1 && step % kLargestAtom)
      choice.reject(InstKind::CpAsync, "its layout may permute " +
                                           Twine(kLargestAtom) +
                                           " bytes, and " + Twine(step) +
                                           " are written at a time");
    return;
  }
  int64_t bits = getStorageBits(getElementType(copy.getSource()));
  int64_t bytes = getCopyVectorElements(copy, divisibility) * bits / 8;
  if (bytes < 4)
    choice.reject(InstKind::CpAsync,
                  "only " + Twine(bytes) +
                      " adjacent bytes are known to be aligned, cp.async needs "
                      "4; see tile.divisible and tile.alignment");
}

/// Rejects TMA unless the source is an argument, with rows that start at
/// multiples of 16 bytes, and the region is a box that TMA supports.
static void checkTmaCopy(CopyOp copy, Divisibility &divisibility,
                         InstructionChoice &choice) {
  if (!llvm::is_contained(choice.candidates, InstKind::Tma))
    return;
  if (llvm::Error error = checkTma(copy, divisibility))
    choice.reject(InstKind::Tma, llvm::toString(std::move(error)));
}

/// Returns the instructions for `op`, no matter what the schedule around it is.
static InstructionChoice getChoice(InstructionOpInterface op,
                                   const TargetInfo &target,
                                   Divisibility &divisibility) {
  InstructionChoice choice;
  op.getInstructionCandidates(target, getNumThreads(op), choice.candidates,
                              [&](InstKind kind, const Twine &reason) {
                                choice.rejected.emplace_back(kind,
                                                             reason.str());
                              });
  if (auto copy = dyn_cast<CopyOp>(op.getOperation())) {
    checkTmaCopy(copy, divisibility, choice);
    checkCpAsync(copy, target, divisibility, choice);
  }
  return choice;
}

/// Fails with an error if `op` cannot become the instruction that its author
/// chose.
static LogicalResult checkGiven(Operation *op, InstKind given,
                                const InstructionChoice &choice,
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

KernelForm::KernelForm(gpu::GPUFuncOp kernel) {
  kernel.walk([&](Operation *op) {
    hasRoles |= isa<SpecializeOp>(op);
    hasPipeline |= hasRoles || op->hasAttr(TileDialect::kNumStages);
    if (auto channel = dyn_cast<ChannelOp>(op))
      for (Value buffer : channel.getBuffers())
        channels[buffer] = channel;
  });
}

/// Whether a remark should say that `op` does not become a `kind`. There is
/// none for copies that are never asynchronous on the target, or not between
/// their memories.
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

/// Whether `kind` is a better instruction than `other`: the enumeration goes
/// from the worst to the best.
static bool isBetter(InstKind kind, InstKind other) { return kind > other; }

/// Emits a remark for each instruction that is better than the chosen one, with
/// the reason why it was rejected.
static void explain(Operation *op, const InstructionChoice &choice,
                    const TargetInfo &target, bool hasPipeline) {
  for (const auto &[kind, reason] : choice.rejected)
    if (isBetter(kind, choice.candidates.front()) &&
        isMissed(op, kind, target, hasPipeline))
      remarkAt(op) << (isa<CopyOp>(op) ? "tile-inst-0002: "
                                       : "tile-inst-0001: ")
                   << op->getName().stripDialect() << " uses "
                   << stringifyInstKind(choice.candidates.front()) << ", not "
                   << stringifyInstKind(kind) << ": " << reason;
}

/// Emits a remark if the copies of a loop would use more threads as one copy.
/// Returns whether they would.
static bool explainRows(CopyOp copy, Divisibility &divisibility) {
  std::optional<RowCopy> rows = findRowCopy(copy, divisibility);
  if (!rows)
    return false;
  InFlightDiagnostic diag = remarkAt(rows->loop);
  diag << "tile-inst-0004: each iteration copies " << rows->elements
       << " elements with " << rows->busyThreads << " of "
       << getNumThreads(copy) << " threads; ";
  if (rows->indexedDims.empty())
    diag << "copy the region of all iterations at once: tl.copy(A[i:i + 64, :],"
            " S)";
  else
    diag << "copy all rows at once, with a fragment of their indices along "
            "dimension "
         << rows->indexedDims.front() << " of the source: tl.copy(A["
         << (rows->indexedDims.front() == 0 ? "ids" : "..., ids")
         << ", 0:64], S)";
  diag.attachNote(copy.getLoc()) << "the copy";
  return true;
}

//===----------------------------------------------------------------------===//
// Copies in schedules
//===----------------------------------------------------------------------===//

/// Returns the channel that a copy to shared memory fills. Null if there is
/// none.
static ChannelOp getFilledChannel(CopyOp copy, const KernelForm &form) {
  AllocSharedOp alloc =
      isShared(copy.getDest()) ? getViewedAlloc(copy.getDest()) : nullptr;
  return alloc ? form.channels.lookup(alloc.getBuffer()) : ChannelOp();
}

/// Returns the instruction by which `producer` fills a channel.
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

/// Rejects instructions that do not fit the schedule around a copy. TMA needs a
/// channel that is waited for. If the copy fills a channel, it must use the
/// instruction that the channel names, because waits are lowered for that one.
static void fitSchedule(CopyOp copy, const KernelForm &form,
                        InstructionChoice &choice) {
  ChannelOp channel = getFilledChannel(copy, form);
  if (!form.hasPipeline || !isShared(copy.getDest()) ||
      (form.hasRoles && !channel))
    llvm::erase(choice.candidates, InstKind::Tma);
  if (!channel || channel.getProducer() == ProducerKind::Mixed)
    return;
  InstKind said = getKind(channel.getProducer());
  // If the copy cannot use it, --tile-specialize-warps reports the error.
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

/// Sets `tile.inst` of `op`, or checks the one that is there.
static LogicalResult annotate(InstructionOpInterface op,
                              const TargetInfo &target,
                              Divisibility &divisibility, KernelForm &form) {
  InstructionChoice choice = getChoice(op, target, divisibility);
  if (auto given = op->getAttrOfType<InstKindAttr>(TileDialect::kInst))
    return checkGiven(op, given.getValue(), choice, target);
  if (auto copy = dyn_cast<CopyOp>(op.getOperation()))
    fitSchedule(copy, form, choice);
  explain(op, choice, target, form.hasPipeline);
  if (auto copy = dyn_cast<CopyOp>(op.getOperation());
      copy && !form.remarked.contains(copy->getParentOp()) &&
      explainRows(copy, divisibility))
    form.remarked.insert(copy->getParentOp());
  setInst(op, choice.candidates.front());
  ++(choice.candidates.front() == InstKind::Simt ? numSimt : numSpecial);
  LDBG() << op->getName() << " at " << op.getLoc() << ": "
         << stringifyInstKind(choice.candidates.front());
  for (const auto &[kind, reason] : choice.rejected)
    LDBG() << "  not " << stringifyInstKind(kind) << ": " << reason;
  return success();
}

LogicalResult tile::annotateInstructions(gpu::GPUFuncOp kernel) {
  if (failed(applyDefinitions(kernel)))
    return failure();
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
  KernelForm form(kernel);
  for (InstructionOpInterface op : ops)
    if (failed(annotate(op, *target, divisibility, form)))
      return failure();
  return success();
}

void tile::replaceTma(CopyOp copy, const TargetInfo &target) {
  Divisibility divisibility;
  InstructionChoice choice = getChoice(copy, target, divisibility);
  llvm::erase(choice.candidates, InstKind::Tma);
  // The caller has emitted a remark about TMA, so `explain` must not.
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
