//===- SpecializeWarps.cpp - Give producers warps of their own ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits a kernel with channels into two roles: "load" starts the TMA copies
// that fill the channels, "math" does the rest. Both run concurrently and
// synchronize through the channels only, so copies run as far ahead as the
// slots allow. `RoleAssignment` decides which operation belongs to which role,
// and refuses kernels in which the load role would need a result of the math
// role. Each role is then a backward slice of the kernel's body:
//
//   acquire; tma copy; commit; wait; gemm; release
//     -> role "load" { acquire; tma copy; commit }
//        role "math" { wait; gemm; release }
//
// Everything is checked before anything changes, so a refused kernel stays as
// it is. Its threads then fill the channels themselves: TMA copies become
// others, since in one role there is nothing for TMA to run ahead of.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Analysis/Roles/RoleAssignment.h"
#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-specialize-warps"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numKernels, "Kernels split into two roles");

/// The names of the roles, which are also the keys of `tile.role_registers`.
static constexpr StringLiteral kMathRole = "math";
static constexpr StringLiteral kLoadRole = "load";

//===----------------------------------------------------------------------===//
// Splitting a kernel
//===----------------------------------------------------------------------===//

/// Adds to `specialize` a role that executes `slice`, a part of the operations
/// before `specialize`. Takes the role's registers from `registers`, the
/// kernel's `tile.role_registers`, which may be null.
static void createRole(SpecializeOp specialize, StringRef name, int64_t warps,
                       const RoleSlice &slice, DictionaryAttr registers) {
  auto builder = OpBuilder::atBlockEnd(&specialize.getBody().front());
  auto role = RoleOp::create(builder, specialize.getLoc(), name, warps,
                             registers ? registers.getAs<IntegerAttr>(name)
                                       : IntegerAttr());
  builder.setInsertionPointToStart(&role.getBody().emplaceBlock());
  Block &body = *specialize->getBlock();
  IRMapping mapping;
  // Allocations and channels stay in the kernel's body: both roles use them.
  for (Operation &op : body)
    if (isa<AllocSharedOp, ChannelOp>(op))
      mapping.map(op.getResult(0), op.getResult(0));
  slice.clone(builder, body.begin(), specialize->getIterator(), mapping);
  // The roles are the schedule now, so the plan is no longer needed.
  role.walk([](Operation *op) {
    for (StringRef name :
         {TileDialect::kNumStages, TileDialect::kStage, TileDialect::kOrder})
      op->removeDiscardableAttr(name);
  });
}

/// Moves the body of `kernel` into two roles.
static void split(gpu::GPUFuncOp kernel, const RoleAssignment &roles,
                  const TargetInfo &target) {
  Block &body = kernel.getBody().front();
  OpBuilder builder(body.getTerminator());
  int64_t mathWarps = getNumThreads(kernel) / target.warpSize;
  auto specialize = SpecializeOp::create(builder, kernel.getLoc());
  specialize.getBody().emplaceBlock();
  // A warpgroup starts at a multiple of four warps. The math role may use
  // warpgroup instructions, so it comes first.
  auto registers =
      kernel->getAttrOfType<DictionaryAttr>(TileDialect::kRoleRegisters);
  kernel->removeAttr(TileDialect::kRoleRegisters);
  createRole(specialize, kMathRole, mathWarps, roles.getMath(), registers);
  createRole(specialize, kLoadRole, roles.getLoadWarps(), roles.getLoad(),
             registers);
  LDBG() << "kernel @" << kernel.getName() << ": role " << kMathRole << " of "
         << mathWarps << " warps, role " << kLoadRole << " of "
         << roles.getLoadWarps();
  kernel->setAttr(
      TileDialect::kThreads,
      builder.getI32IntegerAttr(specialize.getNumWarps() * target.warpSize));

  SmallVector<Operation *> assigned;
  for (Operation &op :
       llvm::make_range(body.begin(), specialize->getIterator()))
    if (!isa<AllocSharedOp, ChannelOp>(op) && !roles.getPrelude().contains(&op))
      assigned.push_back(&op);
  for (Operation *op : llvm::reverse(assigned))
    op->erase();
  ++numKernels;
}

/// Emits the remark `tile-ws-00NN` that a kernel keeps one role.
static void emitRemark(const Refusal &refusal) {
  InFlightDiagnostic remark = remarkAt(
      refusal.op, llvm::formatv("tile-ws-{0:d4}: kernel keeps one role: {1}",
                                refusal.id, refusal.reason)
                      .str());
  if (refusal.other)
    remark.attachNote(refusal.other->getLoc()) << "written here";
  if (refusal.loop)
    remark.attachNote(refusal.loop->getLoc())
        << "needed by this loop; without its 'tile.num_stages', and with "
           "buffers of its own, it leaves roles to the others";
}

//===----------------------------------------------------------------------===//
// How channels are filled
//===----------------------------------------------------------------------===//

/// Returns the kind of the copies or stores that fill each channel: `mixed` if
/// there are several, no entry if nothing fills it. Looks at each access once,
/// whatever the number of channels.
static llvm::DenseMap<ChannelOp, ProducerKind>
findProducers(gpu::GPUFuncOp kernel) {
  llvm::DenseMap<Value, SmallVector<ChannelOp, 1>> channels;
  kernel.walk([&](ChannelOp channel) {
    for (Value buffer : channel.getBuffers())
      channels[buffer].push_back(channel);
  });
  llvm::DenseMap<ChannelOp, ProducerKind> kinds;
  MemoryAccesses memory(kernel);
  for (const MemoryAccess &access : memory.get(kernel)) {
    if (!access.writes() || !access.shared)
      continue;
    ProducerKind own = getProducerKind(access.op);
    for (AllocSharedOp root : access.roots)
      for (ChannelOp channel : channels.lookup(root.getBuffer())) {
        auto [it, isNew] = kinds.try_emplace(channel, own);
        if (!isNew && it->second != own)
          it->second = ProducerKind::Mixed;
      }
  }
  return kinds;
}

/// Replaces TMA loads by other copies, unless they complete a channel that
/// roles wait for. Returns whether there are any. Fails if the target is
/// unknown.
static FailureOr<bool> replaceTmaLoads(gpu::GPUFuncOp kernel) {
  SmallVector<CopyOp> copies;
  kernel.walk([&](CopyOp copy) {
    if (isTma(copy) && isShared(copy.getDest()) && !copy.getSignal() &&
        !getCompletedChannel(copy))
      copies.push_back(copy);
  });
  if (copies.empty())
    return false;
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  for (CopyOp copy : copies)
    replaceTma(copy, *target);
  return true;
}

/// Fails with an error if a channel is filled by another kind of copies than
/// its `producer` attribute says. `mixed` allows all kinds.
static LogicalResult checkProducers(gpu::GPUFuncOp kernel) {
  llvm::DenseMap<ChannelOp, ProducerKind> kinds = findProducers(kernel);
  WalkResult result = kernel.walk([&](ChannelOp channel) {
    ProducerKind stated = channel.getProducer();
    auto it = kinds.find(channel);
    ProducerKind found = it == kinds.end() ? stated : it->second;
    if (found == stated || stated == ProducerKind::Mixed)
      return WalkResult::advance();
    channel.emitOpError("has the producer '")
        << stringifyProducerKind(stated) << "', but is filled by '"
        << stringifyProducerKind(found)
        << "'; 'mixed' stands for whatever fills it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Sets the `producer` attribute of each channel to what fills it.
static void setProducers(gpu::GPUFuncOp kernel) {
  for (auto [channel, kind] : findProducers(kernel))
    channel.setProducer(kind);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Whether `is` holds for an operation of `kernel`.
static bool hasOp(gpu::GPUFuncOp kernel, function_ref<bool(Operation *)> is) {
  return kernel
      .walk([&](Operation *op) {
        return is(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Lets `reads` of shared memory read the source of the copy instead. The load
/// role would otherwise have to wait for data that it copied itself. Removes
/// the copies and buffers that nothing reads any more.
static void readFromSources(ArrayRef<RoleAssignment::CopiedRead> reads,
                            gpu::GPUFuncOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  llvm::SmallSetVector<CopyOp, 4> copies;
  for (const RoleAssignment::CopiedRead &read : reads) {
    readFromSource(rewriter, read.op, read.copy);
    copies.insert(read.copy);
  }
  for (CopyOp copy : copies) {
    auto alloc = copy.getDest().getDefiningOp<AllocSharedOp>();
    if (!alloc->hasOneUse())
      continue;
    rewriter.eraseOp(copy);
    rewriter.eraseOp(alloc);
  }
}

/// Emits the remark that `refusal` is the reason for, and fails.
static LogicalResult decline(const Refusal &refusal) {
  LDBG() << "refused at " << refusal.op->getLoc() << ": " << refusal.reason;
  emitRemark(refusal);
  return failure();
}

LogicalResult tile::splitIntoRoles(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  RoleAssignment roles(kernel);
  if (MaybeRefusal refusal = roles.run(*target))
    return decline(*refusal);
  if (roles.getCopiedReads().empty()) {
    split(kernel, roles, *target);
  } else {
    // The assignment refers to operations that this replaces, so it is computed
    // anew.
    LDBG() << roles.getCopiedReads().size() << " reads move to global memory";
    readFromSources(roles.getCopiedReads(), kernel);
    RoleAssignment again(kernel);
    if (MaybeRefusal refusal = again.run(*target))
      return decline(*refusal);
    split(kernel, again, *target);
  }
  if (failed(replaceTmaLoads(kernel)))
    return failure();
  setProducers(kernel);
  return success();
}

LogicalResult tile::keepOneRole(gpu::GPUFuncOp kernel) {
  FailureOr<bool> changed = replaceTmaLoads(kernel);
  if (failed(changed))
    return failure();
  if (*changed)
    setProducers(kernel);
  return success();
}

FailureOr<bool> tile::specializeWarps(gpu::GPUFuncOp kernel) {
  if (hasOp(kernel, llvm::IsaPred<SpecializeOp>)) {
    if (failed(replaceTmaLoads(kernel)) || failed(checkProducers(kernel)))
      return failure();
    setProducers(kernel);
    return false;
  }
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  bool hasChannels = hasOp(kernel, llvm::IsaPred<ChannelOp>);
  // Without channels or TMA there is nothing to gain from roles, and no remark.
  if (hasChannels && target->hasTma() && succeeded(splitIntoRoles(kernel)))
    return true;
  // `splitIntoRoles` emits its own remark, so these are for the other cases.
  if (kernel->removeAttr(TileDialect::kRoleRegisters)) {
    if (!target->hasTma())
      emitRemark({kernel, 9,
                  "'tile.role_registers' has no roles to go to, as " +
                      target->chip + " has no TMA"});
    else if (!hasChannels)
      emitRemark({kernel, 8,
                  "'tile.role_registers' has no roles to go to, as none of its "
                  "loops is pipelined"});
  }
  if (failed(keepOneRole(kernel)))
    return failure();
  return false;
}

namespace {
struct SpecializeWarpsPass
    : tile::impl::SpecializeWarpsPassBase<SpecializeWarpsPass> {
  using SpecializeWarpsPassBase::SpecializeWarpsPassBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      bool isByHand = hasOp(kernel, llvm::IsaPred<SpecializeOp>);
      bool isLimited = isLimitedTo(kernel, ScheduleLimit::OneRole);
      if (isLimited && !isByHand)
        kernel->removeAttr(TileDialect::kRoleRegisters);
      LogicalResult done = (oneRole || isLimited) && !isByHand
                               ? keepOneRole(kernel)
                               : LogicalResult(specializeWarps(kernel));
      return failed(done) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
