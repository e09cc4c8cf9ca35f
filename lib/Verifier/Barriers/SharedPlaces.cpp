//===- SharedPlaces.cpp - Places of shared memory as bits -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over the kernel collects, for each allocation, the tasks that access
// it, whether an asynchronous unit does, whether it is used through tile.slot,
// and the constant regions that operations name. A second walk over the
// allocations then gives places to those that barriers have to order: one place
// for each version. If all named regions of a buffer without versions are
// disjoint, each region has a place, and the rest has one. The scratch memory
// of the operations of a task at one offset has one place.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/SharedPlaces.h"

#include "Verifier/Engine/Rules.h"
#include "Verifier/Symbolic/ViewedRegions.h"

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

namespace {
/// Offset and size of a region in each dimension.
using PartRegion = SmallVector<std::pair<int64_t, int64_t>, 4>;
} // namespace

/// The part of an allocation that an access names; nullopt if its offsets are
/// not constants, or if it is all of the allocation.
static std::optional<PartRegion> getRegion(const SharedAccess &access) {
  std::optional<ViewedRegion> viewed = getViewedRegion(access);
  auto alloc =
      viewed ? viewed->memory.getDefiningOp<AllocSharedOp>() : AllocSharedOp();
  if (!alloc || viewed->sizes == alloc.getBuffer().getType().getShape())
    return std::nullopt;
  PartRegion region;
  for (auto [offset, start, size] :
       llvm::zip_equal(viewed->offsets, viewed->starts, viewed->sizes)) {
    std::optional<int64_t> begin = getConstantIntValue(offset);
    if (!begin)
      return std::nullopt;
    region.push_back({*begin + start, size});
  }
  return region;
}

static bool areDisjoint(ArrayRef<PartRegion> regions) {
  auto overlap = [](const PartRegion &a, const PartRegion &b) {
    return llvm::all_of(llvm::zip_equal(a, b), [](auto dims) {
      auto [x, y] = dims;
      return x.first < y.first + y.second && y.first < x.first + x.second;
    });
  };
  for (size_t i = 0; i < regions.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (overlap(regions[i], regions[j]))
        return false;
  return true;
}

struct SharedPlaces::Uses {
  explicit Uses(gpu::GPUFuncOp kernel) {
    kernel.walk([&](Operation *op) {
      for (const SharedAccess &access : getSharedAccesses(op))
        add(op, access);
    });
  }

  void add(Operation *op, const SharedAccess &access) {
    Value buffer = access.operand->get();
    while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
      buffer = view.getViewSource();
      if (isa<SlotOp>(view))
        versioned.insert(buffer);
    }
    std::optional<PartRegion> region = getRegion(access);
    if (region && !llvm::is_contained(regions[buffer], *region))
      regions[buffer].push_back(*region);
    users[buffer].insert(getTask(op));
    if (isByAsyncProxy(*access.operand) || hasInst(op, InstKind::CpAsync))
      asynchronous.insert(buffer);
  }

  bool needsPlaces(Value buffer) const {
    auto it = users.find(buffer);
    return versioned.contains(buffer) || asynchronous.contains(buffer) ||
           (it != users.end() && it->second.size() > 1);
  }

  llvm::DenseMap<Value, llvm::SmallSet<unsigned, 4>> users;
  llvm::DenseSet<Value> versioned, asynchronous;
  llvm::DenseMap<Value, SmallVector<PartRegion>> regions;
};

SharedPlaces::SharedPlaces(gpu::GPUFuncOp kernel, bool withAll) {
  Uses uses(kernel);
  kernel.walk([&](AllocSharedOp alloc) {
    if (withAll || uses.needsPlaces(alloc.getBuffer()))
      addBuffer(alloc, uses);
  });
  if (withAll)
    addScratch(kernel);
}

void SharedPlaces::addBuffer(AllocSharedOp alloc, const Uses &uses) {
  Value buffer = alloc.getBuffer();
  bool isVersioned = uses.versioned.contains(buffer);
  int64_t versions =
      isVersioned ? alloc.getBuffer().getType().getDimSize(0) : 1;
  numbers[buffer] = buffers.size();
  buffers.push_back({alloc, numPlaces, versions});
  SmallVector<PartRegion> regions = uses.regions.lookup(buffer);
  if (!isVersioned && areDisjoint(regions))
    buffers.back().parts = std::move(regions);
  numPlaces += buffers.back().getNumPlaces();
}

void SharedPlaces::addScratch(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return;
  // By task, offset and size.
  std::map<std::tuple<unsigned, int64_t, int64_t>, unsigned> known;
  kernel.walk([&](Operation *op) {
    auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
    int64_t bytes = offset ? getScratchBytes(op, *target) : 0;
    if (bytes == 0)
      return;
    auto [it, isNew] = known.try_emplace({getTask(op), offset.getInt(), bytes},
                                         buffers.size());
    if (isNew)
      buffers.push_back({AllocSharedOp(), numPlaces++, /*versions=*/1});
    scratchNumbers[op] = it->second;
  });
}

std::optional<unsigned> SharedPlaces::findScratch(Operation *op) const {
  auto it = scratchNumbers.find(op);
  return it == scratchNumbers.end() ? std::nullopt : std::optional(it->second);
}

std::optional<unsigned> SharedPlaces::findBuffer(Value alloc) const {
  auto it = numbers.find(alloc);
  return it == numbers.end() ? std::nullopt : std::optional(it->second);
}

std::optional<unsigned>
SharedPlaces::findPart(unsigned number, const SharedAccess &access) const {
  const auto &parts = buffers[number].parts;
  std::optional<PartRegion> region = getRegion(access);
  if (!region || parts.empty())
    return std::nullopt;
  return llvm::find(parts, *region) - parts.begin();
}

PlaceSet SharedPlaces::rotate(PlaceSet places, ArrayRef<unsigned> rotated,
                              int64_t base) const {
  for (unsigned number : rotated) {
    const PlacedBuffer &buffer = buffers[number];
    PlaceSet all = getAll(number);
    PlaceSet own = (places & all) >> buffer.first;
    own = own >> base | own << (buffer.versions - base);
    places = (places & ~all) | (own << buffer.first & all);
  }
  return places;
}

std::string SharedPlaces::getName(PlaceSet places) const {
  for (const PlacedBuffer &buffer : buffers)
    for (unsigned v = 0; v < buffer.getNumPlaces(); ++v)
      if (places >> (buffer.first + v) & 1)
        return !buffer.alloc ? "scratch memory"
               : buffer.versions > 1
                   ? "slot " + std::to_string(v) + " of a buffer"
                   : std::string("a buffer");
  return "nothing";
}

void SharedPlaces::print(raw_ostream &os) const {
  for (const PlacedBuffer &buffer : buffers) {
    os << "places " << buffer.first << " to "
       << buffer.first + buffer.getNumPlaces() - 1 << ": ";
    if (!buffer.alloc)
      os << "scratch memory\n";
    else
      os << (buffer.parts.empty() ? "versions" : "parts") << " of a "
         << AllocSharedOp(buffer.alloc).getBuffer().getType() << "\n";
  }
}
