//===- TileInstructions.cpp - Instructions a copy can become --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instructions of `tile.copy`. The candidates depend only on the target and on
// the memories of the two sides: TMA copies between global and shared memory in
// both directions, cp.async from global to shared memory, and ordinary loads
// and stores everywhere. Alignment is checked later, by
// `--tile-annotate-instructions`, because it needs an analysis.
//
// Only TMA restricts layouts: it writes boxes of a fixed pattern, so a
// copy by TMA requires a layout that consists of such boxes.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/SharedOperands.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using llvm::Error;

void CopyOp::getInstructionCandidates(const TargetInfo &target, int64_t,
                                      SmallVectorImpl<InstKind> &candidates,
                                      RejectFn rejected) {
  auto source = cast<MemRefType>(getSource().getType());
  auto dest = cast<MemRefType>(getDest().getType());
  auto consider = [&](InstKind kind, bool isThere, bool isBetween,
                      StringRef name, StringRef memories) {
    if (isThere && isBetween)
      candidates.push_back(kind);
    else if (rejected)
      rejected(kind, isThere ? name + " copies " + memories + " only"
                             : target.chip + " has no " + name);
  };
  bool isLoad = isGlobal(source) && isShared(dest);
  bool isStore = isShared(source) && isGlobal(dest);
  if (!getRows())
    consider(InstKind::Tma, target.hasTma(), isLoad || isStore, "TMA",
             "between global and shared memory");
  else if (rejected)
    rejected(InstKind::Tma,
             "the rows of the copy are at indices, and TMA copies boxes");
  consider(InstKind::CpAsync, target.hasCpAsync(), isLoad,
           target.isAMD() ? "direct copies to LDS" : "cp.async",
           "from global to shared memory");
  candidates.push_back(InstKind::Simt);
}

void CopyOp::getLayoutRequirements(
    const TargetInfo &, int64_t,
    SmallVectorImpl<LayoutRequirement> &requirements) {
  // Plain and cp.async copies write any layout; TMA writes boxes.
  if (getInst(*this) != InstKind::Tma)
    return;
  OpOperand &shared =
      isShared(getDest()) ? getDestMutable() : getSourceMutable();
  auto type = cast<MemRefType>(shared.get().getType());
  if (!isShared(type) || type.getRank() < 2)
    return;
  SharedLayout rowMajor = SharedLayout::getRowMajor(type.getShape());
  llvm::Expected<SharedLayout> layout = chooseTmaLayout(*this);
  if (!layout)
    llvm::consumeError(layout.takeError());
  else if (!(*layout == rowMajor))
    requirements.push_back(
        {&shared, SharedLayoutAttr::get(getContext(), *layout)});
}

Error CopyOp::checkSharedLayout(const TargetInfo &, int64_t, OpOperand &,
                                const SharedLayout &layout) {
  if (getInst(*this) != InstKind::Tma)
    return Error::success();
  return tile::getTmaBoxes(*this, layout).takeError();
}
