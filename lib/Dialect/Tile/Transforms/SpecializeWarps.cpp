//===- SpecializeWarps.cpp - Give producers warps of their own ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything is checked before anything changes.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/Analysis/Roles/RoleAssignment.h"
#include "tilews/Dialect/Tile/Transforms/ChannelBuffers.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_SPECIALIZEWARPSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Splitting a kernel
//===----------------------------------------------------------------------===//

/// Adds a role that executes `slice` of what comes before `specialize`.
static void createRole(SpecializeOp specialize, StringRef name, int64_t warps,
                       const RoleSlice &slice, DictionaryAttr registers) {
  auto builder = OpBuilder::atBlockEnd(&specialize.getBody().front());
  auto role = RoleOp::create(builder, specialize.getLoc(), name, warps,
                             registers ? registers.getAs<IntegerAttr>(name)
                                       : IntegerAttr());
  builder.setInsertionPointToStart(&role.getBody().emplaceBlock());
  Block &body = *specialize->getBlock();
  IRMapping mapping;
  // Allocations and channels stay where all roles see them.
  for (Operation &op : body)
    if (isa<AllocSharedOp, ChannelOp>(op))
      mapping.map(op.getResult(0), op.getResult(0));
  slice.clone(builder, body.begin(), specialize->getIterator(), mapping);
  // The schedule is carried out.
  role.walk([](Operation *op) {
    for (StringRef name :
         {TileDialect::kNumStages, TileDialect::kStage, TileDialect::kOrder})
      op->removeDiscardableAttr(name);
  });
}

static void split(gpu::GPUFuncOp kernel, const RoleAssignment &roles,
                  const TargetInfo &target) {
  Block &body = kernel.getBody().front();
  OpBuilder builder(body.getTerminator());
  int64_t mathWarps = getNumThreads(kernel) / target.warpSize;
  auto specialize = SpecializeOp::create(builder, kernel.getLoc());
  specialize.getBody().emplaceBlock();
  // Warpgroups start at multiples of four warps: the math role comes first.
  auto registers =
      kernel->getAttrOfType<DictionaryAttr>(TileDialect::kRoleRegisters);
  kernel->removeAttr(TileDialect::kRoleRegisters);
  createRole(specialize, "math", mathWarps, roles.getMath(), registers);
  createRole(specialize, "load", roles.getLoadWarps(), roles.getLoad(),
             registers);
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
}

static void emitRemark(const Refusal &refusal) {
  InFlightDiagnostic remark = refusal.op->emitRemark(
      llvm::formatv("tile-ws-{0:d4}: kernel keeps one role: {1}", refusal.id,
                    refusal.reason)
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

/// The kinds of copies and stores that fill a channel; none if nothing does.
static std::optional<ProducerKind> findProducer(ChannelOp channel,
                                                gpu::GPUFuncOp kernel) {
  std::optional<ProducerKind> kind;
  MemoryAccesses memory(kernel);
  for (const MemoryAccess &access : memory.get(kernel)) {
    bool fills =
        access.writes() && access.shared &&
        llvm::any_of(access.roots, [&](AllocSharedOp root) {
          return llvm::is_contained(channel.getBuffers(), root.getBuffer());
        });
    if (!fills)
      continue;
    ProducerKind own = getProducerKind(access.op);
    kind = kind && *kind != own ? ProducerKind::Mixed : own;
  }
  return kind;
}

/// TMA copies that no channel waits for in a role become other copies. Returns
/// whether there are any.
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

/// Fails with an error if a channel is not filled as it says; `mixed` stands
/// for anything.
static LogicalResult checkProducers(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([&](ChannelOp channel) {
    ProducerKind said = channel.getProducer();
    ProducerKind found = findProducer(channel, kernel).value_or(said);
    if (found == said || said == ProducerKind::Mixed)
      return WalkResult::advance();
    channel.emitOpError("has the producer '")
        << stringifyProducerKind(said) << "', but is filled by '"
        << stringifyProducerKind(found)
        << "'; 'mixed' stands for whatever fills it";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Lets each channel say what fills it.
static void setProducers(gpu::GPUFuncOp kernel) {
  kernel.walk([&](ChannelOp channel) {
    if (std::optional<ProducerKind> kind = findProducer(channel, kernel))
      channel.setProducer(*kind);
  });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

static bool hasOp(gpu::GPUFuncOp kernel, function_ref<bool(Operation *)> is) {
  return kernel
      .walk([&](Operation *op) {
        return is(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Lets what decides about copies be read from where it was copied from, and
/// removes buffers that nothing reads then.
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

LogicalResult tile::splitIntoRoles(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  RoleAssignment roles(kernel);
  if (MaybeRefusal refusal = roles.run(*target)) {
    emitRemark(*refusal);
    return failure();
  }
  if (roles.getCopiedReads().empty()) {
    split(kernel, roles, *target);
  } else {
    readFromSources(roles.getCopiedReads(), kernel);
    RoleAssignment again(kernel);
    if (MaybeRefusal refusal = again.run(*target)) {
      emitRemark(*refusal);
      return failure();
    }
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
  // Elsewhere there is nothing to gain, and nothing to say.
  if (hasChannels && target->hasTma() && succeeded(splitIntoRoles(kernel)))
    return true;
  // What declined the roles has said so.
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
      LogicalResult done = oneRole && !isByHand
                               ? keepOneRole(kernel)
                               : LogicalResult(specializeWarps(kernel));
      return failed(done) ? WalkResult::interrupt() : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
