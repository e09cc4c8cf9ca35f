//===- Versions.cpp - Uses of versions of shared buffers ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pass that gives a buffer several versions replaces its uses operation by
// operation. A use may be a view of the buffer, whose chain of views is then
// cloned on top of the slot:
//
//   %v = tile.view %a          %s = tile.slot %versions[%cursor]
//   "use"(%v)            ->    %w = tile.view %s
//                              "use"(%w)
//
// Each operand is rebuilt once for each operation that uses it.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Utils/Versions.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Clones the chain of views from an allocation to `buffer` on top of
/// `version`.
static Value rebuildView(OpBuilder &builder, Value buffer, Value version) {
  SmallVector<ViewLikeOpInterface> views;
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    views.push_back(view);
    buffer = view.getViewSource();
  }
  for (ViewLikeOpInterface view : llvm::reverse(views)) {
    Operation *clone = builder.clone(*view);
    clone->replaceUsesOfWith(view.getViewSource(), version);
    version = clone->getResult(0);
  }
  return version;
}

void tile::useVersion(RewriterBase &rewriter, Operation *op,
                      AllocSharedOp alloc, Value versions, Value cursor) {
  SmallVector<OpOperand *> uses;
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands()) {
      Operation *def = operand.get().getDefiningOp();
      if (def && !op->isAncestor(def) && isShared(operand.get()) &&
          getViewedAlloc(operand.get()) == alloc)
        uses.push_back(&operand);
    }
  });
  if (uses.empty())
    return;
  rewriter.setInsertionPoint(op);
  Value slot = SlotOp::create(rewriter, op->getLoc(), versions, cursor);
  llvm::DenseMap<Value, Value> rebuilt;
  for (OpOperand *use : uses) {
    Value &value = rebuilt[use->get()];
    if (!value)
      value = rebuildView(rewriter, use->get(), slot);
    use->set(value);
  }
}

void tile::eraseWithViews(RewriterBase &rewriter, Operation *op) {
  SmallVector<Operation *> pending = {op};
  while (!pending.empty()) {
    if (pending.back()->use_empty())
      rewriter.eraseOp(pending.pop_back_val());
    else
      pending.push_back(*pending.back()->user_begin());
  }
}
