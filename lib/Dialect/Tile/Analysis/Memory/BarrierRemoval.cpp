//===- BarrierRemoval.cpp - Drop redundant barriers -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides for one barrier after the other whether it can be dropped, from the
// states of the last simulation. The transfer functions distribute over joins.
// Without the barrier, the accesses that it ordered therefore flow on by
// themselves: to the next barrier on each path, which must order them instead,
// or to the first point where the state has them anyway. If one of them is in
// conflict with an access on its way, the barrier stays. Otherwise the states
// grow by them.
//
// For example, barrier 1 was placed because %a was written before the loop, and
// barrier 0 later, because the last iteration writes %b:
//
//   store %a
//   for { barrier 0; load %b; barrier 1; load %a; barrier 2; store %b }
//
// With barrier 0 in place, barrier 1 orders only the load of %b, which flows on
// to barrier 2: barrier 1 is redundant.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/BarrierPlacement.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-insert-barriers"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The accesses that flow on where one barrier is dropped.
class BarrierPlacement::Removal {
public:
  Removal(BarrierPlacement &placement,
          const llvm::DenseSet<Operation *> &dropped)
      : placement(placement), dropped(dropped) {}

  bool check(Operation *op);
  /// Adds the accesses to the states of the placement.
  void commit();

private:
  /// Accesses at the start of a block or after one of its operations.
  struct Front {
    Block *block;
    Block::iterator next;
    ArenaState state;
  };

  bool run(Front front);
  bool cross(Operation *op, ArrayRef<ArenaAccess> own, ArenaState &state);
  void enter(Operation *op, unsigned region, ArenaState state);
  void enterRoles(SpecializeOp op, const ArenaState &state);
  void leave(Operation *op, ArenaState state);
  void flow(Operation *op, Block *from, const ArenaState &state);

  BarrierPlacement &placement;
  const llvm::DenseSet<Operation *> &dropped;
  SmallVector<Front, 0> fronts;
  /// What the states and the barriers of the placement grow by.
  llvm::DenseMap<Operation *, ArenaState> before;
  llvm::DenseMap<Operation *, BarrierKind> kinds;
  llvm::DenseMap<std::pair<Operation *, unsigned>, ArenaState> into;
  llvm::DenseMap<Operation *, ArenaState> results;
};

/// Scratch memory is written before a barrier of the operation's own.
static void applyScratch(ArrayRef<ArenaAccess> own, ArenaState &state) {
  if (llvm::any_of(own, [](const ArenaAccess &each) { return each.scratch; }))
    state.apply({});
}

/// Returns whether the barrier before `op`, which counts as dropped, is
/// redundant.
bool BarrierPlacement::Removal::check(Operation *op) {
  auto specialize = dyn_cast<SpecializeOp>(op);
  bool isLoop = op->getNumRegions() > 0 && !specialize;
  ArrayRef<ArenaAccess> own;
  if (!isLoop)
    own = placement.accesses.get(op);
  SmallVector<ArenaAccess> ofRoles;
  if (specialize)
    own = ofRoles = placement.getRoleAccesses(specialize);
  const ArenaState &state = placement.before.find(op)->second;
  if (llvm::any_of(own, [&](const ArenaAccess &access) {
        return state.conflictsWith(access);
      }))
    return false;
  ArenaState ordered = state, released = state;
  ordered.apply(placement.barriers.find(op)->second);
  released.subtract(ordered);
  if (specialize) {
    enterRoles(specialize, released);
  } else if (isLoop) {
    flow(op, nullptr, released);
  } else {
    applyScratch(own, released);
    fronts.push_back(
        {op->getBlock(), std::next(op->getIterator()), std::move(released)});
  }
  while (!fronts.empty())
    if (!run(fronts.pop_back_val()))
      return false;
  return true;
}

/// Follows accesses to the end of a block. Returns false at a conflict.
bool BarrierPlacement::Removal::run(Front front) {
  ArenaState &state = front.state;
  for (Operation &op : llvm::make_range(front.next, front.block->end())) {
    if (state.empty())
      return true;
    ++placement.numVisits;
    if (auto specialize = dyn_cast<SpecializeOp>(op)) {
      if (!cross(&op, placement.getRoleAccesses(specialize), state))
        return false;
      enterRoles(specialize, state);
      return true;
    }
    if (op.getNumRegions() > 0) {
      // Without a barrier before the loop, those in it may be enough.
      if (placement.barriers.contains(&op) && !dropped.contains(&op))
        cross(&op, placement.accesses.getMoving(&op), state);
      flow(&op, nullptr, state);
      return true;
    }
    placement.advance(&op, state);
    ArrayRef<ArenaAccess> own = placement.accesses.get(&op);
    if (!cross(&op, own, state))
      return false;
    applyScratch(own, state);
  }
  Operation *parent = front.block->getParentOp();
  if (isa<RoleOp>(parent))
    leave(parent->getParentOp(), state);
  else if (parent != placement.kernel)
    flow(parent, front.block, state);
  return true;
}

/// Takes accesses past `op`, through its barrier if it has one. Returns false
/// if they conflict with those of `op`.
bool BarrierPlacement::Removal::cross(Operation *op, ArrayRef<ArenaAccess> own,
                                      ArenaState &state) {
  auto it = placement.barriers.find(op);
  if (it == placement.barriers.end() || dropped.contains(op))
    return llvm::none_of(own, [&](const ArenaAccess &access) {
      return state.conflictsWith(access);
    });
  const ArenaState &present = placement.before.find(op)->second;
  ArenaState &added = before[op];
  state.subtract(present);
  state.subtract(added);
  if (state.empty())
    return true;
  added.join(state);
  ArenaState all = present;
  all.join(added);
  BarrierKind &kind = kinds.try_emplace(op, it->second).first->second;
  kind.join(placement.findKind(own, all));
  state.apply(kind);
  return true;
}

void BarrierPlacement::Removal::enter(Operation *op, unsigned region,
                                      ArenaState state) {
  ArenaState &added = into[{op, region}];
  state.subtract(placement.getRegionStates(op).into[region]);
  state.subtract(added);
  if (state.empty() || op->getRegion(region).empty())
    return;
  added.join(state);
  Block &block = op->getRegion(region).front();
  fronts.push_back({&block, block.begin(), std::move(state)});
}

void BarrierPlacement::Removal::enterRoles(SpecializeOp op,
                                           const ArenaState &state) {
  for (RoleOp role : op.getRoles())
    enter(role, 0, state);
}

void BarrierPlacement::Removal::leave(Operation *op, ArenaState state) {
  ArenaState &added = results[op];
  state.subtract(placement.getRegionStates(op).result);
  state.subtract(added);
  if (state.empty())
    return;
  added.join(state);
  fronts.push_back(
      {op->getBlock(), std::next(op->getIterator()), std::move(state)});
}

/// Follows accesses from before `op`, or from the end of its block `from`.
void BarrierPlacement::Removal::flow(Operation *op, Block *from,
                                     const ArenaState &state) {
  SmallVector<ArenaState> regions(op->getNumRegions());
  ArenaState result;
  placement.flow(op, from, state, regions, result);
  for (auto [i, region] : llvm::enumerate(regions))
    enter(op, i, std::move(region));
  leave(op, std::move(result));
}

void BarrierPlacement::Removal::commit() {
  for (auto &[op, state] : before)
    placement.before[op].join(state);
  for (auto &[op, kind] : kinds)
    placement.barriers[op] = kind;
  for (auto &[place, state] : into)
    placement.getRegionStates(place.first).into[place.second].join(state);
  for (auto &[op, state] : results)
    placement.getRegionStates(op).result.join(state);
}

void BarrierPlacement::dropRedundant() {
  llvm::DenseSet<Operation *> dropped;
  for (Operation *op : llvm::make_first_range(barriers)) {
    dropped.insert(op);
    Removal removal(*this, dropped);
    bool redundant = removal.check(op);
    LDBG() << (redundant ? "redundant: " : "needed: ")
           << OpWithFlags(op, OpPrintingFlags().skipRegions());
    if (redundant)
      removal.commit();
    else
      dropped.erase(op);
  }
  if (dropped.empty())
    return;
  barriers.remove_if(
      [&](const auto &barrier) { return dropped.contains(barrier.first); });
  // The barriers that are left may have more to do.
  [[maybe_unused]] bool isSafe = simulate(/*mayAdd=*/false);
  assert(isSafe && "a barrier that is needed was dropped");
}
