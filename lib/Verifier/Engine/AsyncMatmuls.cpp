//===- AsyncMatmuls.cpp - Asynchronous matmuls under way ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hardware completes asynchronous matmuls (wgmma) in order, so that a wait with
// `pending = n` ends all but the last n of a queue. The queue in a state is
// bounded: where it is full, the oldest two matmuls become one that reads the
// places of both. They then look as if they ended together, with the second of
// them, which is later than the first really ends: a read is never forgotten
// too early.
//
// A forward slice from the result of each matmul, through region branches,
// finds the waits that use it.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/AsyncMatmuls.h"

#include "Verifier/Engine/VectorClock.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

void AsyncMatmuls::start(uint64_t reads, unsigned event) {
  if (words[0] == kMax) {
    words[3] |= words[1];
    std::copy(words + 3, words + kWords, words + 1);
    --words[0];
  }
  int64_t *last = words + 1 + 2 * words[0]++;
  last[0] = reads;
  last[1] = event;
}

void AsyncMatmuls::end(int64_t pending) {
  int64_t left = std::min(pending, words[0]);
  int64_t ended = words[0] - left;
  std::copy(words + 1 + 2 * ended, words + 1 + 2 * words[0], words + 1);
  std::fill(words + 1 + 2 * left, words + kWords, 0);
  words[0] = left;
}

Outcome AsyncMatmuls::wait(GemmWaitOp op, ArrayRef<unsigned> awaited,
                           ArrayRef<Operation *> eventOps, Finding &finding) {
  int64_t pending = op.getPending();
  // A full queue may have merged a matmul that such a wait does not end.
  if (words[0] == kMax && pending >= kMax && !awaited.empty()) {
    finding = {op, "the fragment may belong to a matmul that is still under "
                   "way: the wait permits more pending matmuls than are "
                   "followed"};
    return Outcome::Wrong;
  }
  for (int64_t i = std::max<int64_t>(words[0] - pending, 0); i < words[0]; ++i)
    if (llvm::is_contained(awaited, words[2 + 2 * i])) {
      finding = {op,
                 "the fragment may belong to a matmul that is still under "
                 "way: the wait permits too many pending matmuls",
                 eventOps[words[2 + 2 * i]], "the matmul"};
      return Outcome::Wrong;
    }
  end(pending);
  return Outcome::Done;
}

void AsyncMatmuls::renamePlaces(llvm::function_ref<uint64_t(uint64_t)> rename) {
  for (int64_t i = 0; i < words[0]; ++i)
    words[1 + 2 * i] = rename(words[1 + 2 * i]);
}

uint64_t AsyncMatmuls::getReads(const int64_t *words) {
  uint64_t reads = 0;
  for (int64_t i = 0; i < words[0]; ++i)
    reads |= words[1 + 2 * i];
  return reads;
}

void AsyncMatmuls::print(raw_ostream &os, const int64_t *words) {
  for (int64_t i = 0; i < words[0]; ++i) {
    os << (i ? ", " : "") << "event " << words[2 + 2 * i] << " reads ";
    VectorClockRef::printPlaces(os, words[1 + 2 * i]);
  }
}

/// Follows the result of `matmul` to the waits that it may reach.
static void
follow(MatmulOpInterface matmul,
       llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> &awaited) {
  SmallVector<Value> todo = {matmul.getAccResult()};
  llvm::DenseSet<Value> seen;
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<GemmWaitOp>(user))
        awaited[user].push_back(matmul);
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
verifier::findAwaitedMatmuls(gpu::GPUFuncOp kernel) {
  llvm::DenseMap<Operation *, SmallVector<Operation *, 2>> awaited;
  kernel.walk([&](MatmulOpInterface gemm) {
    if (gemm.getAsync())
      follow(gemm, awaited);
  });
  return awaited;
}
