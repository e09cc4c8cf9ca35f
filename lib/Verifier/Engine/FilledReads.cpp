//===- FilledReads.cpp - Reads of tiles from the inputs -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All writes of the memory that a read may read are looked at. A read of global
// memory has a known value if there are none, and a read of shared memory if
// all of them are copies from such memory. Which copy it is, and whether it has
// landed, does not matter: all of them bring the same value, and a read that
// may come before them breaks a rule of the schedule.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/FilledReads.h"

#include "Verifier/Engine/TaskProgram.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

std::pair<Value, TileRegion> verifier::getOriginRegion(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return {copy.getSource(), copy.getSourceRegion()};
  auto load = cast<LoadOp>(op);
  return {load.getSource(), load.getRegion()};
}

/// Whether `op` reads a box of an argument of the kernel that nothing writes.
static bool readsInput(Operation *op, gpu::GPUFuncOp kernel,
                       ArrayRef<MemoryAccess> writes,
                       const MemoryAccesses &memory) {
  auto copy = dyn_cast<CopyOp>(op);
  if ((!copy && !isa<LoadOp>(op)) || (copy && copy.getRows()) ||
      findOtherControl(op, kernel))
    return false;
  auto argument = dyn_cast<BlockArgument>(getOriginRegion(op).first);
  if (!argument || argument.getOwner() != &kernel.getBody().front())
    return false;
  return llvm::all_of(memory.get(op), [&](const MemoryAccess &read) {
    return !read.reads() || read.shared ||
           llvm::none_of(writes, [&](const MemoryAccess &write) {
             return write.mayAlias(read);
           });
  });
}

ArrayRef<Operation *> FilledReads::add(Operation *op,
                                       const MemoryAccesses &memory) {
  if (auto known = reads.find(op); known != reads.end())
    return known->second;
  if (!isa<LoadOp, memref::LoadOp>(op))
    return {};
  if (!writes) {
    writes = memory.get(kernel);
    llvm::erase_if(*writes,
                   [](const auto &access) { return !access.writes(); });
  }
  llvm::SmallSetVector<Operation *, 2> found;
  for (const MemoryAccess &read : memory.get(op)) {
    if (!read.shared)
      found.insert(op);
    for (const MemoryAccess &write : *writes)
      if (read.shared && write.mayAlias(read))
        found.insert(write.op);
  }
  // One element of global memory has a value of its own.
  if (found.empty() || !llvm::all_of(found, [&](Operation *origin) {
        return readsInput(origin, kernel, *writes, memory);
      }))
    return {};
  for (Operation *origin : found) {
    origins.insert(origin);
    filled.insert(getOriginRegion(origin).first);
  }
  return reads.try_emplace(op, found.takeVector()).first->second;
}
