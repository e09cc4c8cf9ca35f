//===- AsyncProducts.cpp - Asynchronous products under way ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Rules.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

void AsyncProducts::start(int64_t reads, unsigned event) {
  if (words[0] == kMax) {
    // The oldest two as one: no less is known to be read.
    words[3] |= words[1];
    std::copy(words + 3, words + kWords, words + 1);
    --words[0];
  }
  int64_t *last = words + 1 + 2 * words[0]++;
  last[0] = reads;
  last[1] = event;
}

void AsyncProducts::end(int64_t pending) {
  int64_t left = std::min(pending, words[0]);
  int64_t ended = words[0] - left;
  std::copy(words + 1 + 2 * ended, words + 1 + 2 * words[0], words + 1);
  std::fill(words + 1 + 2 * left, words + kWords, 0);
  words[0] = left;
}

Outcome AsyncProducts::wait(GemmWaitOp op, ArrayRef<unsigned> awaited,
                            ArrayRef<Operation *> eventOps, Finding &finding) {
  int64_t pending = op.getPending();
  for (int64_t i = std::max<int64_t>(words[0] - pending, 0); i < words[0]; ++i)
    if (llvm::is_contained(awaited, words[2 + 2 * i])) {
      finding = {op,
                 "its fragment may belong to a product that is still under "
                 "way: it permits too many pending products",
                 eventOps[words[2 + 2 * i]], "the product"};
      return Outcome::Wrong;
    }
  end(pending);
  return Outcome::Done;
}

int64_t AsyncProducts::getReads(const int64_t *words) {
  int64_t reads = 0;
  for (int64_t i = 0; i < words[0]; ++i)
    reads |= words[1 + 2 * i];
  return reads;
}

/// Follows the result of `product` to where it is waited for.
static void
follow(GemmOp product,
       llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> &awaited) {
  SmallVector<Value> todo = {product.getResult()};
  llvm::DenseSet<Value> seen;
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<GemmWaitOp>(user))
        awaited[user].push_back(product);
      Operation *branch =
          user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user;
      if (auto control = dyn_cast<RegionBranchOpInterface>(branch)) {
        RegionBranchSuccessorMapping mapping;
        control.getSuccessorOperandInputMapping(mapping);
        llvm::append_range(todo, mapping.lookup(&use));
      }
    }
  }
}

llvm::DenseMap<Operation *, SmallVector<Operation *, 2>>
verifier::findAwaitedProducts(gpu::GPUFuncOp kernel) {
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> awaited;
  kernel.walk([&](GemmOp gemm) {
    if (gemm.getAsync())
      follow(gemm, awaited);
  });
  return awaited;
}
