//===- StableReads.cpp - Reads whose values stay the same -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A read is stable if all writes that may alias it stand before it in the body
// of the kernel. An acquire counts as a write to all global memory, because it
// makes visible what others have written, unless the read cannot come after it:
// then a read of what others write would be a race. So reads between the same
// acquires give equal values, and are of one epoch.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/FilledReads.h"
#include "Verifier/Engine/Rules.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tilews::tile;
using namespace tilews::verifier;

void StableReads::add(const MemoryAccess &read, ArrayRef<MemoryAccess> writes,
                      Block &body) {
  Operation *place = body.findAncestorOpInBlock(*read.op);
  bool isInput = !read.shared;
  unsigned epoch = 0;
  for (const MemoryAccess &write : writes) {
    if (!write.mayAlias(read))
      continue;
    isInput = false;
    bool isAcquire = !write.access.operand;
    if (isAcquire && !mayFollowAcquire(read.op, write.op))
      continue;
    Operation *other = body.findAncestorOpInBlock(*write.op);
    bool isBefore = other->isBeforeInBlock(place);
    if (!isBefore && (other == place || !isAcquire))
      return;
    epoch += isBefore && isAcquire;
  }
  epochs[read.op] = epoch;
  if (isInput)
    inputs.insert(read.op);
}

void StableReads::find(gpu::GPUFuncOp kernel, const MemoryAccesses &memory,
                       llvm::function_ref<bool(Operation *)> isRelevant) {
  auto accesses = memory.get(kernel);
  SmallVector<MemoryAccess, 0> writes;
  llvm::copy_if(accesses, std::back_inserter(writes),
                [](const MemoryAccess &access) { return access.writes(); });
  for (const MemoryAccess &read : accesses)
    if (read.reads() && isRelevant(read.op))
      add(read, writes, kernel.getBody().front());
}
