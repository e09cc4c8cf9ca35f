//===- ArenaState.cpp - Accesses that a barrier would order ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state is three sets of accesses, and each operation moves accesses between
// these. Only accesses that some access through the asynchronous proxy may
// touch are remembered as unfenced, so that kernels without wgmma and TMA track
// none.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaState.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// ArenaState
//===----------------------------------------------------------------------===//

bool BarrierKind::join(BarrierKind other) {
  bool more =
      (other.drainCopies && !drainCopies) || (other.proxyFence && !proxyFence);
  drainCopies |= other.drainCopies;
  proxyFence |= other.proxyFence;
  return more;
}

static bool anyConflict(const ArenaAccessSet &set, const ArenaAccess &access) {
  return set.anyOverlapping(access, [&](const ArenaAccess &other) {
    return access.conflictsWith(other);
  });
}

bool ArenaState::conflictsWith(const ArenaAccess &access) const {
  return anyConflict(pending, access) || conflictsWithAsync(access) ||
         (access.proxy && isUnfenced(access, /*drained=*/true));
}

bool ArenaState::conflictsWithAsync(const ArenaAccess &access) const {
  return anyConflict(inFlight, access);
}

bool ArenaState::isUnfenced(const ArenaAccess &access, bool drained) const {
  return unfenced.anyOverlapping(access, [&](const ArenaAccess &earlier) {
    return earlier.needsFenceBefore(access) &&
           (drained || !inFlight.contains(earlier));
  });
}

bool ArenaState::hasUnfencedRead(bool drained) const {
  return unfenced.any([&](const ArenaAccess &earlier) {
    return earlier.needsFenceToRead && (drained || !inFlight.contains(earlier));
  });
}

void ArenaState::add(const ArenaAccess &access) {
  if (access.scratch) {
    apply({});
    ArenaAccess read;
    read.begin = access.begin;
    read.end = access.end;
    read.reads = true;
    pending.insert(read);
    return;
  }
  (access.async ? inFlight : pending).insert(access);
  if (access.needsFence)
    unfenced.insert(access);
}

void ArenaState::apply(BarrierKind kind) {
  pending.clear();
  if (kind.drainCopies)
    inFlight.clear();
  if (!kind.proxyFence)
    return;
  // The fence comes before the writes of copies in flight.
  unfenced.clear();
  (void)inFlight.any([&](const ArenaAccess &access) {
    if (access.needsFence)
      unfenced.insert(access);
    return false;
  });
}

void ArenaState::closeGroup(int64_t mostPending) {
  auto isYounger = [&](const ArenaAccess &access) {
    return access.closedGroups && *access.closedGroups <= mostPending;
  };
  auto age = [](ArenaAccess access) -> std::optional<ArenaAccess> {
    ++*access.closedGroups;
    return access;
  };
  inFlight.replace(isYounger, age);
  unfenced.replace(isYounger, age);
}

void ArenaState::landGroups(int64_t pendingGroups) {
  auto hasLanded = [&](const ArenaAccess &access) {
    return access.closedGroups.value_or(0) > pendingGroups;
  };
  inFlight.replace(hasLanded, [](const ArenaAccess &) { return std::nullopt; });
}

void ArenaState::finishMatmuls() {
  auto isMatmul = [](const ArenaAccess &access) { return access.matmul; };
  inFlight.replace(isMatmul, [&](ArenaAccess access) {
    access.async = access.matmul = false;
    pending.insert(access);
    return std::nullopt;
  });
}

void ArenaState::changeMoving(Operation *loop,
                              function_ref<void(ArenaAccess &)> change) {
  auto isMoving = [&](const ArenaAccess &access) {
    return access.loop == loop;
  };
  for (ArenaAccessSet *set : {&pending, &inFlight, &unfenced})
    set->replace(isMoving,
                 [&](ArenaAccess access) -> std::optional<ArenaAccess> {
                   change(access);
                   return access;
                 });
}

void ArenaState::startIteration(Operation *loop) {
  changeMoving(loop, [](ArenaAccess &access) { access.earlier = true; });
}

void ArenaState::leaveLoop(Operation *loop) {
  changeMoving(loop, [](ArenaAccess &access) {
    access.loop = nullptr;
    access.moving = {};
    access.earlier = false;
  });
}

void ArenaState::settle(const ArenaAccess &buffer) {
  for (ArenaAccessSet *set : {&pending, &inFlight, &unfenced})
    set->removeRoot(buffer);
}

bool ArenaState::join(const ArenaState &other) {
  bool changed = pending.insertAll(other.pending);
  changed |= inFlight.insertAll(other.inFlight);
  changed |= unfenced.insertAll(other.unfenced);
  return changed;
}

void ArenaState::subtract(const ArenaState &other) {
  pending.removeAll(other.pending);
  inFlight.removeAll(other.inFlight);
  unfenced.removeAll(other.unfenced);
}

bool ArenaState::contains(const ArenaState &other) const {
  return pending.containsAll(other.pending) &&
         inFlight.containsAll(other.inFlight) &&
         unfenced.containsAll(other.unfenced);
}

bool ArenaState::empty() const {
  return pending.empty() && inFlight.empty() && unfenced.empty();
}

void ArenaState::print(raw_ostream &os) const {
  auto printSet = [&](StringRef name, const ArenaAccessSet &set) {
    (void)set.any([&](const ArenaAccess &access) {
      os << name;
      access.print(os);
      os << "\n";
      return false;
    });
  };
  printSet("pending: ", pending);
  printSet("in flight: ", inFlight);
  printSet("unfenced: ", unfenced);
}
