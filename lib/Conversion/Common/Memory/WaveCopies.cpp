//===- WaveCopies.cpp - Copies that waves write to LDS --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides, before a kernel of an AMD GPU is converted, which of its
// asynchronous copies become instructions that write shared memory directly,
// and what waits for groups of them count. The layouts of shared buffers are
// known now. A copy that does not fit them waits for its loads and stores the
// result, so that it belongs to no group: a wait finds it complete.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Memory/WaveCopy.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Layout/IntTuple.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns how waves execute `copy`, or why they cannot.
static llvm::Expected<LdsDma> get(CopyOp copy,
                                  const LoweringContext &lowering) {
  auto bounds = lowering.bounds.find(copy);
  if (bounds == lowering.bounds.end() || !bounds->second[0].areChecked)
    return makeLayoutError("the hardware cannot check the bounds of its source "
                           "with ",
                           std::to_string(lowering.target.indexBitwidth),
                           " bits of index arithmetic");
  auto dest = cast<MemRefType>(copy.getDest().getType());
  return getWaveCopy(copy, getSharedLayout(dest),
                     lowering.maxVectors.at(copy)[0]);
}

/// Whether waves copy in the loop around `wait`.
static bool copiesInLoop(CopyGroupWaitOp wait,
                         function_ref<int64_t(Operation *)> count) {
  auto loop = wait->getParentOfType<scf::ForOp>();
  return loop && loop->walk([&](CopyOp copy) {
                       return count(copy) > 0 ? WalkResult::interrupt()
                                              : WalkResult::advance();
                     })
                     .wasInterrupted();
}

void tilews::collectWaveCopies(gpu::GPUFuncOp kernel,
                               LoweringContext &lowering) {
  if (!lowering.target.info.isAMD())
    return;
  kernel.walk([&](CopyOp copy) {
    if (!hasInst(copy, InstKind::CpAsync))
      return;
    llvm::Expected<LdsDma> dma = get(copy, lowering);
    if (dma) {
      lowering.waveCopies.try_emplace(copy, *dma);
      return;
    }
    remarkAt(copy, "tile-inst-0006: copy waits for global memory: ")
        << llvm::toString(dma.takeError());
  });
  auto count = [&](Operation *copy) {
    auto found = lowering.waveCopies.find(copy);
    return found == lowering.waveCopies.end() ? 0 : found->second.count;
  };
  // The last iterations of a pipeline are a loop of their own, with the same
  // locations. Waits there may be for all copies.
  llvm::DenseSet<Location> leavesSome;
  SmallVector<CopyGroupWaitOp> leaveNone;
  kernel.walk([&](CopyGroupWaitOp wait) {
    int64_t younger = countYoungerCopies(wait, count);
    lowering.youngerCopies[wait] = younger;
    if (younger > 0)
      leavesSome.insert(wait.getLoc());
    else if (wait.getPending() > 0 && copiesInLoop(wait, count))
      leaveNone.push_back(wait);
    LDBG() << "wait for copies at " << wait.getLoc() << " leaves " << younger
           << " instructions in flight";
  });
  for (CopyGroupWaitOp wait : leaveNone)
    if (!leavesSome.contains(wait.getLoc()))
      remarkAt(wait, "tile-inst-0007: wait for copies is for all of them: on a "
                     "path to it, none is started after those that it is for");
}
