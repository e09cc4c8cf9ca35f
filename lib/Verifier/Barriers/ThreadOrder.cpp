//===- ThreadOrder.cpp - Order of the threads of one task -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The accesses are to ranges of bytes. Scratch memory is written before the
// threads of its operation synchronize, and read after that. Ranges that have
// bytes in common conflict unless both are read, or both are updated
// atomically. AccessOrder.cpp has the analysis.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/ThreadOrder.h"

#include "Verifier/Barriers/AccessOrder.h"

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

#include <map>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

namespace {
/// What threads do with bytes. Atomic updates commute with each other.
enum class ByteUse : uint8_t { Read, Write, Update };

/// The accesses of a kernel to memory without places.
class UnplacedMemory {
public:
  UnplacedMemory(gpu::GPUFuncOp kernel, const SharedPlaces &places,
                 const TargetInfo &target);

  const NumberedAccesses &getAccesses() const { return accesses; }

private:
  struct ByteAccess {
    int64_t begin, end;
    ByteUse use;

    auto getKey() const { return std::tuple(begin, end, use); }
    bool conflictsWith(const ByteAccess &other) const {
      return begin < other.end && other.begin < end &&
             (use != other.use || use == ByteUse::Write);
    }
  };

  void addShared(Operation *op, const SharedBuffers &buffers,
                 const SharedPlaces &places);
  void addScratch(Operation *op, const TargetInfo &target);
  unsigned getNumber(const ByteAccess &access);

  std::map<std::tuple<int64_t, int64_t, ByteUse>, unsigned> numbers;
  SmallVector<ByteAccess> kinds;
  NumberedAccesses accesses;
};
} // namespace

UnplacedMemory::UnplacedMemory(gpu::GPUFuncOp kernel,
                               const SharedPlaces &places,
                               const TargetInfo &target) {
  SharedBuffers buffers(kernel);
  kernel.walk([&](Operation *op) {
    addShared(op, buffers, places);
    addScratch(op, target);
  });
  accesses.conflicts.resize(kinds.size());
  for (auto [number, access] : llvm::enumerate(kinds))
    for (auto [other, earlier] : llvm::enumerate(kinds))
      if (access.conflictsWith(earlier))
        insert(accesses.conflicts[number], other);
}

unsigned UnplacedMemory::getNumber(const ByteAccess &access) {
  auto [it, isNew] = numbers.try_emplace(access.getKey(), kinds.size());
  if (isNew)
    kinds.push_back(access);
  return it->second;
}

void UnplacedMemory::addShared(Operation *op, const SharedBuffers &buffers,
                               const SharedPlaces &places) {
  for (const SharedAccess &access : getSharedAccesses(op))
    for (AllocSharedOp root : buffers.getRoots(access.operand->get())) {
      auto offset = root->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
      if (!offset || places.findBuffer(root.getBuffer()))
        continue;
      ArenaAccess bytes = getArenaBytes(root, offset.getInt(), access);
      NumberedAccesses::Own &own = accesses.ofOps[op];
      auto add = [&](ByteUse use) {
        insert(own.makes, getNumber({bytes.begin, bytes.end, use}));
      };
      if (access.atomic)
        add(ByteUse::Update);
      else if (access.writes())
        add(ByteUse::Write);
      if (access.reads() && !access.atomic)
        add(ByteUse::Read);
      own.leaves = own.makes;
    }
}

void UnplacedMemory::addScratch(Operation *op, const TargetInfo &target) {
  auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset);
  int64_t bytes = offset ? getScratchBytes(op, target) : 0;
  if (bytes <= 0)
    return;
  int64_t begin = offset.getInt(), end = begin + bytes;
  NumberedAccesses::Own &own = accesses.ofOps[op];
  own.synchronizes = true;
  own.leaves = {};
  insert(own.makes, getNumber({begin, end, ByteUse::Write}));
  insert(own.leaves, getNumber({begin, end, ByteUse::Read}));
}

bool verifier::areThreadsOrdered(gpu::GPUFuncOp kernel,
                                 const SharedPlaces &places) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return true;
  UnplacedMemory memory(kernel, places, *target);
  return !findUnorderedConflict(kernel, memory.getAccesses());
}
