//===- GlobalOrder.cpp - Accesses of roles to global memory ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clocks of a proof are about shared memory. Two accesses to global memory
// conflict if the kernel itself writes what the other one reads. They are
// compared by the kernel's arguments. These orders are not followed at all:
//
//   * one role reads what another role writes;
//   * a TMA copy reads, through the asynchronous proxy, what threads write.
//
// An acquire counts as a write of what other blocks have released, unless no
// read can come after it.
//
// Threads of one task are ordered by its barriers, and asynchronous copies by
// barriers that drain them; those by cp.async also by a barrier after a wait
// for their group. Barriers are placed once memory is planned, and checked from
// then on (AccessOrder.cpp).
//
//===----------------------------------------------------------------------===//

#include "Verifier/GlobalOrder.h"

#include "Verifier/Barriers/AccessOrder.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include <map>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

namespace {
/// The accesses of a kernel to global memory. Those that are alike, for all
/// that is asked here, have one number: the first of them stands for the
/// others.
class GlobalMemory {
public:
  explicit GlobalMemory(gpu::GPUFuncOp kernel);

  std::optional<Finding> findUnfollowed() const;
  std::optional<Finding> findUnordered(gpu::GPUFuncOp kernel) const;

private:
  /// The memory, the task, the kind of access, and of atomic operation.
  using Likeness = std::tuple<void *, unsigned, unsigned, int>;

  SmallVector<MemoryAccess, 0> kinds;
  NumberedAccesses accesses;
};
} // namespace

static bool isByTma(const MemoryAccess &access) {
  return hasInst(access.op, InstKind::Tma);
}

/// Whether an asynchronous copy makes the access.
static bool isByCopy(const MemoryAccess &access) {
  return isByTma(access) || hasInst(access.op, InstKind::CpAsync);
}

/// Whether `read` reads what `write` writes, by another operation.
static bool isReadOf(const MemoryAccess &read, const MemoryAccess &write) {
  return read.reads() && write.writes() && read.conflictsWith(write);
}

GlobalMemory::GlobalMemory(gpu::GPUFuncOp kernel) {
  std::map<Likeness, unsigned> numbers;
  for (const MemoryAccess &access : MemoryAccesses(kernel).get(kernel)) {
    if (access.shared)
      continue;
    unsigned kind = isByTma(access) + 2 * isByCopy(access) +
                    4 * access.reads() + 8 * access.writes();
    int atomic = access.access.atomic ? int(*access.access.atomic) : -1;
    auto [it, isNew] =
        numbers.try_emplace({access.argument.getAsOpaquePointer(),
                             getTask(access.op), kind, atomic},
                            kinds.size());
    unsigned number = it->second;
    if (isNew)
      kinds.push_back(access);
    NumberedAccesses::Own &own = accesses.ofOps[access.op];
    insert(own.makes, number);
    own.synchronizes = synchronizesInScratch(access.op);
    if (!own.synchronizes)
      insert(own.leaves, number);
    if (isByCopy(access))
      insert(accesses.copies, number);
    if (isByCopy(access) && !isByTma(access))
      insert(accesses.cpAsync, number);
  }
  accesses.conflicts.resize(kinds.size());
  for (auto [number, access] : llvm::enumerate(kinds))
    for (auto [other, earlier] : llvm::enumerate(kinds))
      if (isReadOf(access, earlier) || isReadOf(earlier, access))
        insert(accesses.conflicts[number], other);
}

/// Whether the order of a read and a write of one buffer is not followed.
///
/// An acquire stands for a write of all memory, and has to come before the
/// reads after it.
static bool isUnfollowed(const MemoryAccess &read, const MemoryAccess &write) {
  unsigned reader = getTask(read.op), writer = getTask(write.op);
  bool areRoles = reader != writer && reader != 0 && writer != 0;
  if (!areRoles && (!isByTma(read) || isByTma(write)))
    return false;
  bool isAcquire = !write.access.operand;
  return !isAcquire || mayFollowAcquire(read.op, write.op);
}

std::optional<Finding> GlobalMemory::findUnfollowed() const {
  for (const MemoryAccess &read : kinds)
    for (const MemoryAccess &write : kinds)
      if (read.op != write.op && isReadOf(read, write) &&
          isUnfollowed(read, write)) {
        Finding finding{read.op,
                        "this reads global memory that the kernel writes in "
                        "another role, or by ordinary stores before a TMA "
                        "copy: their order is not checked"};
        finding.other = write.op;
        finding.otherText = "written here";
        return finding;
      }
  return std::nullopt;
}

std::optional<Finding>
GlobalMemory::findUnordered(gpu::GPUFuncOp kernel) const {
  std::optional<AccessConflict> conflict =
      findUnorderedConflict(kernel, accesses);
  if (!conflict)
    return std::nullopt;
  const MemoryAccess &access = kinds[conflict->access];
  const MemoryAccess &open = kinds[conflict->open];
  bool isRead = isReadOf(access, open);
  std::string text = isRead ? "this reads" : "this writes to";
  text += " global memory that ";
  text += isByCopy(open) ? "a copy" : "other threads";
  text += isRead ? " may still write" : " may still read";
  text += ": no tile.barrier ";
  if (isByCopy(open))
    text +=
        isByTma(open) ? "with drain_copies " : "after a wait for its group ";
  text += "lies between";
  Finding finding{conflict->op, text};
  finding.other = open.op;
  finding.otherText = isRead ? "written here" : "read here";
  return finding;
}

std::optional<Finding> verifier::findUnorderedAccess(gpu::GPUFuncOp kernel) {
  GlobalMemory memory(kernel);
  std::optional<Finding> finding = memory.findUnfollowed();
  if (!finding && kernel->hasAttr(TileDialect::kSharedBytes))
    finding = memory.findUnordered(kernel);
  return finding;
}
