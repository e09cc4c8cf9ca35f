//===- ArenaState.cpp - Accesses that a barrier would order ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets of accesses, sorted by space and first address. A query for conflicts
// with [begin, end) starts at the first access that is not too short to reach
// `begin`, which follows from the length of the longest access. It stops at
// `end`. So it takes logarithmic time and a step for each access nearby. Only
// accesses that some access through the asynchronous proxy may touch are
// remembered as unfenced, so that kernels without wgmma and TMA track none.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaState.h"

#include <limits>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// ArenaAccess
//===----------------------------------------------------------------------===//

bool ArenaAccess::overlaps(const ArenaAccess &other) const {
  if (loop && loop == other.loop && moving == other.moving &&
      root == other.root && earlier != other.earlier)
    return false;
  if (space == other.space)
    return begin < other.end && other.begin < end;
  ArenaSpace known = space == ArenaSpace::Unknown ? other.space : space;
  bool isUnknown =
      space == ArenaSpace::Unknown || other.space == ArenaSpace::Unknown;
  return isUnknown && known != ArenaSpace::Arguments;
}

bool ArenaAccess::conflictsWith(const ArenaAccess &other) const {
  if (!overlaps(other) || !(writes || other.writes) ||
      (channel && channel == other.channel))
    return false;
  // Atomic operations of one kind commute, except exchanges.
  return !atomic || atomic != other.atomic || *atomic == AtomicKind::Exchange;
}

bool ArenaAccess::needsFenceBefore(const ArenaAccess &access) const {
  // Matmuls and TMA stores read through the proxy themselves.
  if (!writes && (proxy || !access.writes))
    return false;
  // The channel that TMA fills orders other writes to the same buffer.
  bool sameBuffer = root == access.root;
  bool matters = !root || !access.root || sameBuffer == access.reads;
  bool sameChannel = channel && channel == access.channel;
  return matters && !sameChannel && overlaps(access);
}

void ArenaAccess::print(raw_ostream &os) const {
  static constexpr StringRef kSpaces[] = {"unknown", "arena", "channel",
                                          "argument"};
  os << (reads && writes ? "reads and writes "
         : writes        ? "writes "
                         : "reads ")
     << kSpaces[unsigned(space)];
  if (space != ArenaSpace::Unknown)
    os << " [" << begin << ", " << end << ")";
  if (async)
    os << (matmul ? ", asynchronous matmul" : ", asynchronous");
  if (closedGroups)
    os << ", " << *closedGroups << " groups closed";
  if (proxy)
    os << ", through the proxy";
  if (scratch)
    os << ", scratch";
  if (loop)
    os << ", moving with a loop" << (earlier ? ", earlier" : "");
  if (atomic)
    os << ", atomic " << stringifyAtomicKind(*atomic);
}

//===----------------------------------------------------------------------===//
// ArenaAccessSet
//===----------------------------------------------------------------------===//

bool ArenaAccessSet::insert(const ArenaAccess &access) {
  int64_t &length = longest[unsigned(access.space)];
  length = std::max(length, access.end - access.begin);
  return accesses.insert(access).second;
}

bool ArenaAccessSet::containsAll(const ArenaAccessSet &other) const {
  return llvm::all_of(other, [&](const auto &each) { return contains(each); });
}

bool ArenaAccessSet::insertAll(const ArenaAccessSet &other) {
  bool changed = false;
  for (const ArenaAccess &access : other)
    changed |= insert(access);
  return changed;
}

void ArenaAccessSet::removeAll(const ArenaAccessSet &other) {
  for (const ArenaAccess &access : other)
    accesses.erase(access);
}

/// Returns the first access in `space` at `begin` or later.
ArenaAccessSet::Iterator ArenaAccessSet::findFirst(ArenaSpace space,
                                                   int64_t begin) const {
  ArenaAccess least;
  least.space = space;
  least.begin = begin;
  least.end = std::numeric_limits<int64_t>::min();
  return accesses.lower_bound(least);
}

bool ArenaAccessSet::anyOverlapping(
    const ArenaAccess &access,
    function_ref<bool(const ArenaAccess &)> matches) const {
  auto search = [&](ArenaSpace space, int64_t begin, int64_t end) {
    for (Iterator it = findFirst(space, begin);
         it != accesses.end() && it->space == space && it->begin < end; ++it)
      if (it->overlaps(access) && matches(*it))
        return true;
    return false;
  };
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  if (access.space == ArenaSpace::Unknown)
    return search(ArenaSpace::Unknown, 0, kLast) ||
           search(ArenaSpace::Arena, 0, kLast) ||
           search(ArenaSpace::Channels, 0, kLast);
  int64_t length = longest[unsigned(access.space)];
  int64_t begin = access.begin > length ? access.begin - length : 0;
  return search(access.space, begin, access.end) ||
         (access.space != ArenaSpace::Arguments &&
          search(ArenaSpace::Unknown, 0, kLast));
}

void ArenaAccessSet::removeRoot(const ArenaAccess &range) {
  for (Iterator it = findFirst(range.space, range.begin);
       it != accesses.end() && it->space == range.space &&
       it->begin < range.end;)
    it = it->root == range.root ? accesses.erase(it) : std::next(it);
}

void ArenaAccessSet::transform(
    function_ref<std::optional<ArenaAccess>(ArenaAccess)> change) {
  std::set<ArenaAccess> changed;
  for (const ArenaAccess &access : accesses)
    if (std::optional<ArenaAccess> result = change(access))
      changed.insert(*result);
  accesses = std::move(changed);
}

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
  return llvm::any_of(unfenced, [&](const ArenaAccess &earlier) {
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
  for (const ArenaAccess &access : inFlight)
    if (access.needsFence)
      unfenced.insert(access);
}

void ArenaState::closeGroup(int64_t mostPending) {
  auto age = [&](ArenaAccess access) -> std::optional<ArenaAccess> {
    if (access.closedGroups)
      access.closedGroups = std::min(*access.closedGroups + 1, mostPending + 1);
    return access;
  };
  inFlight.transform(age);
  unfenced.transform(age);
}

void ArenaState::landGroups(int64_t pendingGroups) {
  inFlight.transform([&](ArenaAccess access) {
    return access.closedGroups.value_or(0) > pendingGroups
               ? std::nullopt
               : std::optional(access);
  });
}

void ArenaState::finishMatmuls() {
  inFlight.transform([&](ArenaAccess access) -> std::optional<ArenaAccess> {
    if (!access.matmul)
      return access;
    access.async = access.matmul = false;
    pending.insert(access);
    return std::nullopt;
  });
}

void ArenaState::changeMoving(Operation *loop,
                              function_ref<void(ArenaAccess &)> change) {
  for (ArenaAccessSet *set : {&pending, &inFlight, &unfenced}) {
    if (llvm::none_of(*set,
                      [&](const auto &each) { return each.loop == loop; }))
      continue;
    set->transform([&](ArenaAccess access) -> std::optional<ArenaAccess> {
      if (access.loop == loop)
        change(access);
      return access;
    });
  }
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
    for (const ArenaAccess &access : set) {
      os << name;
      access.print(os);
      os << "\n";
    }
  };
  printSet("pending: ", pending);
  printSet("in flight: ", inFlight);
  printSet("unfenced: ", unfenced);
}
