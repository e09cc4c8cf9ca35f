//===- GlobalOrder.cpp - Accesses of roles to global memory ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The clocks of a proof are about shared memory. A read of global memory needs
// them if the kernel itself writes what it reads, and program order alone does
// not order the two:
//
//   * one role reads what another role writes;
//   * a TMA copy reads, through the asynchronous proxy, what threads write.
//
// Reads and writes are compared by the kernel's arguments, each once.
//
//===----------------------------------------------------------------------===//

#include "Verifier/GlobalOrder.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Whether the order of a read and a write of one buffer is not followed.
static bool isUnfollowed(const MemoryAccess &read, const MemoryAccess &write) {
  unsigned reader = getTask(read.op), writer = getTask(write.op);
  // --tile-insert-barriers orders roles and the code around them. Kernels that
  // never run through it are an exclusion (docs/verifier.md).
  if (reader != writer && reader != 0 && writer != 0)
    return true;
  return hasInst(read.op, InstKind::Tma) && !hasInst(write.op, InstKind::Tma);
}

std::optional<Finding> verifier::findUnfollowedRead(gpu::GPUFuncOp kernel) {
  // Keeps one access for each key: accesses of one key lead to the same
  // finding.
  using Key = std::tuple<void *, unsigned, unsigned, int>;
  llvm::DenseSet<Key> seen;
  SmallVector<MemoryAccess, 0> reads, writes;
  for (const MemoryAccess &access : MemoryAccesses(kernel).get(kernel)) {
    int atomic = access.access.atomic ? int(*access.access.atomic) : -1;
    if (access.shared ||
        !seen.insert({access.argument.getAsOpaquePointer(), getTask(access.op),
                      2 * access.writes() + hasInst(access.op, InstKind::Tma),
                      atomic})
             .second)
      continue;
    if (access.reads())
      reads.push_back(access);
    if (access.writes())
      writes.push_back(access);
  }
  for (const MemoryAccess &read : reads)
    for (const MemoryAccess &write : writes)
      if (read.op != write.op && read.conflictsWith(write) &&
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
