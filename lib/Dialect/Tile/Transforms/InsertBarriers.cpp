//===- InsertBarriers.cpp - Order accesses to shared memory ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward dataflow over the bytes of the arena: which were read or written
// since the last barrier. Where an operation conflicts with one of them, a
// barrier goes before it. Placement depends on the state and the state on the
// placement: around loops both are repeated until they agree. Barriers that
// later ones made redundant are dropped at the end, so that none is left
// without need. In a role a barrier is for the role's threads.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SharedHazards.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace tilews::tile {
#define GEN_PASS_DEF_INSERTBARRIERSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// A wait that leaves more groups in flight counts as none: no pipeline is as
/// deep, and each group that is told apart is a step to the fixed point.
static constexpr int64_t kMostGroups = 32;

namespace {
class BarrierPlacement {
public:
  BarrierPlacement(gpu::GPUFuncOp kernel, const ArenaAccesses &accesses)
      : kernel(kernel), accesses(accesses) {
    kernel->walk([&](WaitOp wait) {
      int64_t pending = wait.getPending().value_or(0);
      if (pending <= kMostGroups)
        mostPending = std::max(mostPending, pending);
    });
  }

  /// Decides on all barriers.
  void run() {
    (void)simulate(/*mayAdd=*/true);
    // Once more with all of them in place, for what each has to do.
    (void)simulate(/*mayAdd=*/false);
    dropRedundant();
  }

  void insert() const {
    kernel->walk([&](WaitOp wait) {
      if (!wait->getParentOfType<RoleOp>() && isFence(wait))
        wait.setProxyFence(true);
    });
    for (auto &[op, kind] : barriers) {
      OpBuilder builder(op);
      BarrierOp::create(builder, op->getLoc(), kind.drainCopies,
                        kind.proxyFence);
    }
  }

private:
  /// Whether a wait without roles fences, too.
  bool isFence(WaitOp wait) const {
    return wait.getProxyFence() ||
           accesses.isReadByProxy(wait.getChannel().getDefiningOp());
  }

  /// Runs the kernel on the abstract state. Returns whether each operation
  /// found the barriers it needs; with `mayAdd` the missing ones are added.
  bool simulate(bool mayAdd) {
    adding = mayAdd;
    safe = true;
    barrierKinds.clear();
    (void)visitBlock(kernel.getBody().front(), ArenaState());
    if (safe)
      for (auto &[op, kind] : barriers)
        kind = barrierKinds.lookup(op);
    return safe;
  }

  void dropRedundant() {
    for (Operation *op : llvm::to_vector(llvm::make_first_range(barriers))) {
      auto saved = barriers;
      barriers.erase(op);
      if (!simulate(/*mayAdd=*/false))
        barriers = saved;
    }
  }

  ArenaState visitBlock(Block &block, ArenaState state) {
    for (Operation &op : block)
      state = visit(&op, std::move(state));
    return state;
  }

  ArenaState visit(Operation *op, ArenaState state) {
    if (auto barrier = dyn_cast<BarrierOp>(op)) {
      state.apply({barrier.getDrainCopies(), barrier.getProxyFence()});
      return state;
    }
    if (isa<gpu::BarrierOp>(op)) {
      state.apply({});
      return state;
    }
    if (isa<CommitGroupOp>(op))
      state.closeGroup(mostPending);
    // Without roles the threads that wait meet.
    if (auto wait = dyn_cast<WaitOp>(op);
        wait && !op->getParentOfType<RoleOp>()) {
      if (wait.getPending())
        state.landGroups(*wait.getPending());
      state.apply({/*drainCopies=*/false, isFence(wait)});
      return state;
    }
    if (auto specialize = dyn_cast<SpecializeOp>(op))
      return visitRoles(specialize, state);
    if (op->getNumRegions() > 0)
      return visitRegions(op, state);
    if (auto wait = dyn_cast<GemmWaitOp>(op); wait && wait.getPending() == 0)
      state.finishProducts();
    for (Operation *root : accesses.getSettled(op))
      state.settle(root);
    ArrayRef<ArenaAccess> own = accesses.get(op);
    if (own.empty())
      return state;
    order(op, own, state);
    // An acquire lets others write, but writes nothing itself.
    if (!isa<AcquireOp>(op))
      for (const ArenaAccess &access : own)
        state.add(access);
    return state;
  }

  /// Orders what was done so far before what `op` does, by a barrier before it
  /// if need be.
  void order(Operation *op, ArrayRef<ArenaAccess> own, ArenaState &state) {
    bool hazard = llvm::any_of(own, [&](const ArenaAccess &access) {
      return state.conflictsWith(access);
    });
    if (hazard && !barriers.contains(op)) {
      if (adding)
        barriers.insert({op, {}});
      else
        safe = false;
    }
    if (barriers.contains(op))
      state.apply(chooseKind(op, own, state));
  }

  /// Roles run beside each other; what they need of each other their channels
  /// order. What all threads did before is ordered before the roles begin: a
  /// barrier in a role is not for all of them.
  ArenaState visitRoles(SpecializeOp op, ArenaState in) {
    SmallVector<ArenaAccess> own;
    op->walk([&](Operation *inner) {
      llvm::append_range(own, accesses.get(inner));
    });
    order(op, own, in);
    ArenaState result;
    for (RoleOp role : op.getRoles())
      result.join(visitBlock(role.getBody().front(), in));
    return result;
  }

  /// What the barrier before `op` has to do besides; the union over all ways
  /// that lead to it.
  BarrierKind chooseKind(Operation *op, ArrayRef<ArenaAccess> own,
                         const ArenaState &state) {
    BarrierKind &kind = barrierKinds[op];
    kind.drainCopies |= llvm::any_of(own, [&](const ArenaAccess &access) {
      return state.conflictsWithCopy(access);
    });
    kind.proxyFence |=
        accesses.needsProxyFence(state, kind.drainCopies) ||
        llvm::any_of(own, [&](const ArenaAccess &access) {
          return access.proxy && state.isUnfenced(access, kind.drainCopies);
        });
    return kind;
  }

  /// The state behind `op` when its regions run as its interface says; an
  /// operation without one may run them in any order and number.
  ArenaState visitRegions(Operation *op, const ArenaState &in) {
    unsigned count = op->getNumRegions();
    SmallVector<ArenaState> out(count);
    ArenaState result;
    for (bool changed = true; changed;) {
      SmallVector<ArenaState> into(count);
      result = ArenaState();
      flow(op, RegionBranchPoint::parent(), in, into, result);
      for (unsigned i = 0; i < count; ++i)
        if (Block *block = getBlock(op, i))
          flow(op, getExit(*block), out[i], into, result);
      changed = false;
      for (unsigned i = 0; i < count; ++i)
        if (Block *block = getBlock(op, i)) {
          changed |= out[i].join(visitBlock(*block, into[i]));
        }
    }
    return result;
  }

  static Block *getBlock(Operation *op, unsigned region) {
    return op->getRegion(region).empty() ? nullptr
                                         : &op->getRegion(region).front();
  }

  static std::optional<RegionBranchPoint> getExit(Block &block) {
    auto exit = dyn_cast_if_present<RegionBranchTerminatorOpInterface>(
        block.empty() ? nullptr : &block.back());
    return exit ? std::optional<RegionBranchPoint>(exit) : std::nullopt;
  }

  /// Joins `state` into everything that may follow `from`.
  static void flow(Operation *op, std::optional<RegionBranchPoint> from,
                   const ArenaState &state, MutableArrayRef<ArenaState> into,
                   ArenaState &result) {
    auto branch = dyn_cast<RegionBranchOpInterface>(op);
    if (!branch || !from) {
      for (ArenaState &region : into)
        region.join(state);
      result.join(state);
      return;
    }
    SmallVector<RegionSuccessor> successors;
    branch.getSuccessorRegions(*from, successors);
    for (const RegionSuccessor &successor : successors) {
      if (successor.isParent())
        result.join(state);
      else
        into[successor.getSuccessor()->getRegionNumber()].join(state);
    }
  }

  gpu::GPUFuncOp kernel;
  const ArenaAccesses &accesses;
  /// Barriers go before these operations. Grows only while they are added.
  llvm::MapVector<Operation *, BarrierKind> barriers;
  /// The kinds that the present simulation asks for.
  llvm::DenseMap<Operation *, BarrierKind> barrierKinds;
  /// The most groups of copies that a wait leaves under way.
  int64_t mostPending = 0;
  bool adding = false;
  bool safe = true;
};

struct InsertBarriersPass
    : tile::impl::InsertBarriersPassBase<InsertBarriersPass> {
  static LogicalResult insertBarriers(gpu::GPUFuncOp kernel) {
    FailureOr<TargetInfo> target = TargetInfo::get(kernel);
    if (failed(target))
      return failure();
    FailureOr<ArenaAccesses> accesses = ArenaAccesses::get(kernel, *target);
    if (failed(accesses))
      return failure();
    BarrierPlacement placement(kernel, *accesses);
    placement.run();
    placement.insert();
    return success();
  }

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return WalkResult(insertBarriers(kernel));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
