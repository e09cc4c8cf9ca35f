//===- PipelineItems.h - A loop on its way to a software pipeline *- C++
//-*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_PIPELINEITEMS_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_PIPELINEITEMS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace tilews::tile {

/// An operation of the body, in the order of the pipeline.
struct PipelineItem {
  mlir::Operation *op;
  int64_t stage;
  int64_t order;
};

/// The operations of a loop's body, which are brought into the form and the
/// order that upstream's software pipeliner takes them in.
class PipelineItems {
public:
  PipelineItems(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop)
      : rewriter(rewriter), loop(loop), body(*loop.getBody()) {}

  /// Takes the scheduled operations, or says why it cannot. Nothing has changed
  /// then.
  std::optional<std::string> collect();
  /// Puts runs of operations that are not in the last stage into one `scf.if`
  /// each, whose condition the pipeliner chooses. A run ends where all slots
  /// that it acquired are committed.
  void wrapSegments();
  /// Closes a group of copies behind each commit, in every turn, whether copies
  /// were made or not, and lets waits count groups. Where an operation of the
  /// body commits and waits, there is no group, and the wait is for all copies.
  void countGroups();
  /// Gives the operations without a stage the stages they are needed in, cloned
  /// for each but the first, and brings the body into the pipeline's order.
  void placeRest();

  llvm::ArrayRef<PipelineItem> getAll() const { return items; }
  int64_t getLastStage() const {
    int64_t last = 0;
    for (const PipelineItem &item : items)
      last = std::max(last, item.stage);
    return last;
  }

private:
  std::optional<std::string> checkOrder();
  mlir::scf::IfOp wrap(llvm::ArrayRef<PipelineItem> segment);
  void addToSegment(mlir::Operation *op,
                    llvm::SetVector<mlir::Operation *> &segment);
  void sinkInto(mlir::scf::IfOp wrapper);
  mlir::Value getDefault(mlir::OpResult result);
  void addGroups();
  int64_t countPending(size_t wait, size_t commit) const;

  using Stages =
      llvm::DenseMap<mlir::Operation *, llvm::SmallSetVector<int64_t, 2>>;
  using OwnStage = llvm::DenseMap<mlir::Operation *, int64_t>;
  bool isItem(mlir::Operation *op) const;
  Stages findStages();
  OwnStage cloneRest(Stages &stages);
  void sortByNeeds(const OwnStage &own);
  void defineYields();

  /// The operation of the body that `op` is or is part of; null outside.
  mlir::Operation *getInBody(mlir::Operation *op) const {
    return body.findAncestorOpInBlock(*op);
  }

  mlir::RewriterBase &rewriter;
  mlir::scf::ForOp loop;
  mlir::Block &body;
  /// Scheduled operations by order; all operations in the end.
  llvm::SmallVector<PipelineItem> items;
};

/// Calls `fn` with each `OpT` in `op`, and its channel. Inner loops have
/// pipelines of their own.
template <typename OpT>
void forEachTransaction(mlir::Operation *op,
                        llvm::function_ref<void(OpT, ChannelOp)> fn) {
  op->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *inner) {
    if (mlir::isa<mlir::scf::ForOp>(inner))
      return mlir::WalkResult::skip();
    if (auto match = mlir::dyn_cast<OpT>(inner))
      if (auto channel = match.getChannel().template getDefiningOp<ChannelOp>())
        fn(match, channel);
    return mlir::WalkResult::advance();
  });
}

/// Stage and order of an operation of a loop's body, if it has them; a guard
/// has those of the first operation in it.
std::optional<PipelineItem> getPipelineItem(mlir::Operation *op);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_PIPELINEITEMS_H
