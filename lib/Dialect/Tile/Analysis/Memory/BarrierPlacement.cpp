//===- BarrierPlacement.cpp - Placement of barriers -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward dataflow over the accesses that are not ordered yet. The first
// simulation puts a barrier before each operation that conflicts with one of
// them; the placement depends on the state and the state on the placement, so
// that loops are visited until both agree. The second simulation finds, with
// all barriers in place, what each has to do.
//
// An operation with regions remembers the states of its last visit. The next
// visit starts from them, and is skipped if it brings nothing new: the time is
// linear in the depth of loops. The states are forgotten where a barrier was
// added that accesses had passed before.
//
// An access whose offset moves with a loop is marked as earlier where the next
// iteration starts. It then conflicts with no access at the same offset. If it
// conflicts with what comes before the loop, the barrier is before the loop.
//
// A barrier whose own operation no longer conflicts may be redundant. It is
// dropped if the accesses that it held back reach no conflict: only these are
// followed, each to the next barriers, not the whole kernel.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/BarrierPlacement.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-insert-barriers"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// A wait that leaves more groups in flight counts as leaving all of them: no
/// pipeline is as deep, and the fixpoint needs a step for each group.
static constexpr int64_t kMostGroups = 32;

//===----------------------------------------------------------------------===//
// Transfer functions
//===----------------------------------------------------------------------===//

bool BarrierPlacement::isFence(WaitOp wait) const {
  return wait.getProxyFence() ||
         accesses.isReadByProxy(wait.getChannel().getDefiningOp());
}

/// Applies to the accesses before `op` what `op` itself does to them.
void BarrierPlacement::advance(Operation *op, ArenaState &state) const {
  if (auto barrier = dyn_cast<BarrierOp>(op))
    state.apply({barrier.getDrainCopies(), barrier.getProxyFence()});
  else if (isa<gpu::BarrierOp>(op))
    state.apply({});
  else if (isa<CommitGroupOp>(op))
    state.closeGroup(mostPending);
  else if (auto wait = dyn_cast<GemmWaitOp>(op); wait && wait.getPending() == 0)
    state.finishMatmuls();
  // Without roles the threads that wait synchronize.
  if (auto wait = dyn_cast<WaitOp>(op);
      wait && !op->getParentOfType<RoleOp>()) {
    if (wait.getPending())
      state.landGroups(*wait.getPending());
    state.apply({/*drainCopies=*/false, isFence(wait)});
  }
  for (const ArenaAccess &buffer : accesses.getSettled(op))
    state.settle(buffer);
}

/// Returns what a barrier before the accesses `own` has to do besides
/// synchronizing threads: wait for copies, or fence.
BarrierKind BarrierPlacement::findKind(ArrayRef<ArenaAccess> own,
                                       const ArenaState &state) const {
  BarrierKind kind;
  kind.drainCopies = llvm::any_of(own, [&](const ArenaAccess &access) {
    return state.conflictsWithAsync(access);
  });
  kind.proxyFence =
      state.hasUnfencedRead(kind.drainCopies) ||
      llvm::any_of(own, [&](const ArenaAccess &access) {
        return access.proxy && state.isUnfenced(access, kind.drainCopies);
      });
  return kind;
}

/// Returns the accesses of all roles. Roles run concurrently, and a barrier in
/// a role is not for all threads: a barrier before the roles is for all of
/// them.
SmallVector<ArenaAccess>
BarrierPlacement::getRoleAccesses(SpecializeOp op) const {
  SmallVector<ArenaAccess> own;
  op->walk(
      [&](Operation *inner) { llvm::append_range(own, accesses.get(inner)); });
  return own;
}

static Block *getBlock(mlir::Region &region) {
  return region.empty() ? nullptr : &region.front();
}

/// Joins `state`, at the end of the block `from` or before `op` if that is
/// null, into the states that may follow. An operation without an interface may
/// run its regions in any order and number.
void BarrierPlacement::flow(Operation *op, Block *from, const ArenaState &state,
                            MutableArrayRef<ArenaState> into,
                            ArenaState &result) const {
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  auto exit = dyn_cast_if_present<RegionBranchTerminatorOpInterface>(
      from && !from->empty() ? &from->back() : nullptr);
  if (!branch || (from && !exit)) {
    for (ArenaState &region : into)
      region.join(state);
    result.join(state);
    return;
  }
  SmallVector<RegionSuccessor> successors;
  branch.getSuccessorRegions(
      exit ? RegionBranchPoint(exit) : RegionBranchPoint::parent(), successors);
  // Only these loops have accesses that move with them.
  bool loops = isa<scf::ForOp>(op) && from;
  for (const RegionSuccessor &successor : successors) {
    bool leaves = successor.isParent();
    ArenaState &next =
        leaves ? result : into[successor.getSuccessor()->getRegionNumber()];
    if (!loops) {
      next.join(state);
      continue;
    }
    ArenaState moved = state;
    leaves ? moved.leaveLoop(op) : moved.startIteration(op);
    next.join(moved);
  }
}

//===----------------------------------------------------------------------===//
// The fixpoint
//===----------------------------------------------------------------------===//

BarrierPlacement::BarrierPlacement(gpu::GPUFuncOp kernel,
                                   const ArenaAccesses &accesses)
    : kernel(kernel), accesses(accesses) {
  kernel->walk([&](WaitOp wait) {
    int64_t pending = wait.getPending().value_or(0);
    if (pending <= kMostGroups)
      mostPending = std::max(mostPending, pending);
  });
  (void)simulate(/*mayAdd=*/true);
  (void)simulate(/*mayAdd=*/false);
  dropRedundant();
}

/// Propagates the states through the kernel. Returns whether each operation
/// found the barriers that it needs; with `mayAdd` the missing ones are added.
bool BarrierPlacement::simulate(bool mayAdd) {
  adding = mayAdd;
  safe = true;
  kinds.clear();
  before.clear();
  regionStates.clear();
  passed.clear();
  (void)visitBlock(kernel.getBody().front(), ArenaState());
  if (safe)
    for (auto &[op, kind] : barriers)
      kind = kinds.lookup(op);
  LDBG() << barriers.size() << " barriers after " << numVisits << " visits";
  return safe;
}

ArenaState BarrierPlacement::visitBlock(Block &block, ArenaState state) {
  for (Operation &op : block)
    visit(&op, state);
  return state;
}

void BarrierPlacement::visit(Operation *op, ArenaState &state) {
  ++numVisits;
  if (auto specialize = dyn_cast<SpecializeOp>(op)) {
    state = visitRoles(specialize, state);
    return;
  }
  if (op->getNumRegions() > 0) {
    // Where this barrier was dropped, those in the loop are enough.
    ArrayRef<ArenaAccess> own = accesses.getMoving(op);
    if (!own.empty() && (adding || barriers.contains(op)))
      order(op, own, state);
    state = visitRegions(op, state);
    return;
  }
  advance(op, state);
  ArrayRef<ArenaAccess> own = accesses.get(op);
  if (own.empty())
    return;
  order(op, own, state);
  // An acquire lets others write, but writes nothing itself.
  if (!isa<AcquireOp>(op))
    for (const ArenaAccess &access : own)
      state.add(access);
}

/// Orders the accesses in `state` before those of `op`, with a barrier before
/// it if need be.
void BarrierPlacement::order(Operation *op, ArrayRef<ArenaAccess> own,
                             ArenaState &state) {
  bool hazard = llvm::any_of(own, [&](const ArenaAccess &access) {
    return state.conflictsWith(access);
  });
  if (hazard && !barriers.contains(op)) {
    LDBG_OS([&](raw_ostream &os) {
      os << (adding ? "barrier before " : "no barrier before ")
         << OpWithFlags(op, OpPrintingFlags().skipRegions()) << "\n";
      state.print(os);
    });
    safe &= adding;
    if (adding) {
      barriers.insert({op, {}});
      revisions += passed.contains(op);
    }
  }
  if (!barriers.contains(op)) {
    passed.insert(op);
    return;
  }
  auto [kind, isNew] = kinds.try_emplace(op);
  // A barrier takes the union of the kinds that any path to it needs.
  if (kind->second.join(findKind(own, state)) && !isNew)
    ++revisions;
  if (!adding)
    before[op].join(state);
  state.apply(kind->second);
}

/// Visits roles. They run concurrently, so each starts from the state before
/// them, and the states after them are joined. Channels order what roles need
/// of each other. A barrier in a role is for its own threads: all accesses
/// before it are open for the other threads after the roles.
ArenaState BarrierPlacement::visitRoles(SpecializeOp op, const ArenaState &in) {
  ArenaState start = in;
  SmallVector<ArenaAccess> ofRoles = getRoleAccesses(op);
  order(op, ofRoles, start);
  ArenaState result = start;
  for (ArenaAccess access : ofRoles) {
    // What is in flight, or not fenced, is in the state at the end of its role.
    access.async = access.scratch = access.needsFence = false;
    result.add(access);
  }
  for (RoleOp role : op.getRoles()) {
    result.join(visitBlock(role.getBody().front(), start));
    getRegionStates(role).into[0].join(start);
  }
  getRegionStates(op).result.join(result);
  return result;
}

BarrierPlacement::RegionStates &
BarrierPlacement::getRegionStates(Operation *op) {
  std::unique_ptr<RegionStates> &states = regionStates[op];
  if (!states) {
    states = std::make_unique<RegionStates>();
    states->into.resize(op->getNumRegions());
    states->out.resize(op->getNumRegions());
  }
  return *states;
}

/// Returns the state after `op`, whose regions run as its interface says.
ArenaState BarrierPlacement::visitRegions(Operation *op, const ArenaState &in) {
  RegionStates &states = getRegionStates(op);
  if (states.settled && states.in.contains(in))
    return states.result;
  unsigned count = op->getNumRegions();
  if (!states.settled)
    states.out.assign(count, ArenaState()), states.in = ArenaState();
  states.in.join(in);
  int64_t revision = revisions;
  // The revision of the last visit to each region.
  SmallVector<int64_t> visited(count, -1);
  for (bool changed = true; changed;) {
    SmallVector<ArenaState> into(count);
    ArenaState result;
    flow(op, nullptr, states.in, into, result);
    for (unsigned i = 0; i < count; ++i)
      if (Block *block = getBlock(op->getRegion(i)))
        flow(op, block, states.out[i], into, result);
    states.result = std::move(result);
    changed = false;
    for (unsigned i = 0; i < count; ++i) {
      Block *block = getBlock(op->getRegion(i));
      if (!block ||
          (visited[i] == revisions && states.into[i].contains(into[i])))
        continue;
      visited[i] = revisions;
      states.into[i] = std::move(into[i]);
      changed |= states.out[i].join(visitBlock(*block, states.into[i]));
    }
  }
  states.settled = revisions == revision;
  return states.result;
}

void BarrierPlacement::print(raw_ostream &os) const {
  AsmState names(kernel, OpPrintingFlags().skipRegions());
  for (auto [op, kind] : barriers) {
    os << "barrier" << (kind.drainCopies ? " drain_copies" : "")
       << (kind.proxyFence ? " proxy_fence" : "") << " before ";
    op->print(os, names);
    os << "\n";
  }
  os << numVisits << " visits\n";
}
