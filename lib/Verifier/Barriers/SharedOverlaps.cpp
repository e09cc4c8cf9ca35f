//===- SharedOverlaps.cpp - Buffers and scratch that share bytes ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares the bytes of each access with those of all places, of which there
// are at most 62. A place has the bytes of the accesses to it, also those of
// several ranges. Accesses to memory without places become accesses to
// neighbours: one for each task and set of places that they share bytes with.
// How neighbours are ordered among each other is not checked here: they have no
// places if `areThreadsOrdered`.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/SharedOverlaps.h"

#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

namespace {
/// A range of bytes of the arena.
struct ByteRange {
  int64_t begin, end;

  bool overlaps(const ByteRange &other) const {
    return begin < other.end && other.begin < end;
  }
  bool contains(const ByteRange &other) const {
    return begin <= other.begin && other.end <= end;
  }
};

/// The bytes of a place. A place may stand for several ranges, between which
/// other buffers lie.
class ByteRanges {
public:
  void add(const ByteRange &range) {
    if (llvm::any_of(ranges, [&](const ByteRange &known) {
          return known.contains(range);
        }))
      return;
    llvm::erase_if(
        ranges, [&](const ByteRange &known) { return range.contains(known); });
    ranges.push_back(range);
  }
  bool overlap(const ByteRange &other) const {
    return llvm::any_of(
        ranges, [&](const ByteRange &range) { return range.overlaps(other); });
  }

private:
  SmallVector<ByteRange, 1> ranges;
};

/// An access to planned memory.
struct PlannedAccess {
  Operation *op;
  /// Null for scratch memory.
  OpOperand *operand;
  bool writes;
  ByteRange bytes;
  /// The places that are accessed; none for memory without places.
  PlaceSet own = 0;
  /// Those among them that may have all of these bytes: not the parts of a
  /// buffer if the access is to all of it.
  PlaceSet whole = 0;
};
} // namespace

/// All accesses to memory that has a place in the plan.
static std::vector<PlannedAccess> findAccesses(gpu::GPUFuncOp kernel,
                                               const SharedPlaces &places) {
  std::vector<PlannedAccess> accesses;
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (!kernel->hasAttr(TileDialect::kSharedBytes) || failed(target))
    return accesses;
  kernel.walk([&](Operation *op) {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    int64_t scratch = offset ? getScratchBytes(op, *target) : 0;
    if (scratch > 0) {
      PlannedAccess planned{op,
                            nullptr,
                            /*writes=*/true,
                            {offset.getInt(), offset.getInt() + scratch}};
      if (auto number = places.findScratch(op))
        planned.own = planned.whole = places.getAll(*number);
      accesses.push_back(planned);
    }
    for (const SharedAccess &access : getSharedAccesses(op)) {
      AllocSharedOp root = getViewedAlloc(access.operand->get());
      offset = root ? root->getAttrOfType<IntegerAttr>(TileDialect::kOffset)
                    : IntegerAttr();
      if (!offset)
        continue;
      ArenaAccess bytes = getArenaBytes(root, offset.getInt(), access);
      PlannedAccess planned{
          op, access.operand, access.writes(), {bytes.begin, bytes.end}};
      if (auto number = places.findBuffer(root.getBuffer())) {
        auto part = places.findPart(*number, access);
        const SharedPlaces::PlacedBuffer &buffer = places.getBuffers()[*number];
        planned.own = part ? PlaceSet(1) << (buffer.first + *part)
                           : places.getAll(*number);
        planned.whole = planned.own;
        if (!part && !buffer.parts.empty())
          planned.whole = PlaceSet(1) << (buffer.first + buffer.parts.size());
      }
      accesses.push_back(planned);
    }
  });
  return accesses;
}

SharedOverlaps::SharedOverlaps(gpu::GPUFuncOp kernel, SharedPlaces &places) {
  std::vector<PlannedAccess> accesses = findAccesses(kernel, places);
  SmallVector<ByteRanges> bytes(places.size());
  for (const PlannedAccess &access : accesses)
    for (auto [place, ranges] : llvm::enumerate(bytes))
      if (access.whole >> place & 1)
        ranges.add(access.bytes);
  auto findSharing = [&](const PlannedAccess &access, PlaceSet except) {
    PlaceSet shared = 0;
    for (auto [place, ranges] : llvm::enumerate(bytes))
      if (ranges.overlap(access.bytes))
        shared |= PlaceSet(1) << place;
    return shared & ~except;
  };
  // The neighbours, by task and by the places that they share bytes with.
  std::map<std::pair<unsigned, PlaceSet>, unsigned> numbers;
  unsigned numPlaced = places.size();
  for (const PlannedAccess &access : accesses) {
    PlaceSet shared = access.own ? 0 : findSharing(access, 0);
    // A neighbour shares bytes with places, not with other neighbours.
    shared &= (PlaceSet(1) << numPlaced) - 1;
    if (!shared)
      continue;
    auto [it, isNew] = numbers.try_emplace({getTask(access.op), shared}, 0);
    if (isNew) {
      it->second = places.addOthers(1);
      bytes.emplace_back();
    }
    if (it->second >= SharedPlaces::kMax) // An obstacle: see BarrierModel.
      return;
    PlaceSet place = PlaceSet(1) << it->second;
    bytes[it->second].add(access.bytes);
    Neighbour &neighbour = neighbours[access.op];
    neighbour.place |= place;
    neighbour.sharing |= shared;
    neighbour.isWritten |= access.writes;
    allNeighbours |= place;
  }
  for (const PlannedAccess &access : accesses) {
    if (!access.own)
      continue;
    // The other places of the buffer itself are no other memory.
    PlaceSet buffer = access.own;
    for (unsigned i = 0; i < places.getBuffers().size(); ++i)
      if (places.getAll(i) & access.own)
        buffer |= places.getAll(i);
    PlaceSet shared = findSharing(access, buffer);
    if (shared && access.operand)
      sharing[access.operand] = shared;
    else if (shared)
      scratchSharing[access.op] = shared;
  }
}
