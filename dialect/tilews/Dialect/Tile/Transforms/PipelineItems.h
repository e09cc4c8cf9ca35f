//===- PipelineItems.h - Items of a software pipeline -----------*- C++ -*-===//
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

/// An operation of the loop's body with its stage, and its order in the body of
/// the pipelined loop.
struct PipelineItem {
  mlir::Operation *op;
  int64_t stage;
  int64_t order;
};

/// The operations of a loop's body, on the path to the form and the order that
/// upstream's software pipeliner takes. Call `collect`, and if it succeeds,
/// `wrapSegments`, `countGroups` and `placeRest` in this order. Example, with
/// stages in parentheses:
///
///   collect:       acquire(0) copy(0) commit(0) wait(2) gemm(2) release(2)
///   wrapSegments:  if{acquire copy commit}(0) wait(2) gemm(2) release(2)
///   countGroups:   if{..}(0) commit_group(0) wait pending 2(2) gemm(2) ..
///   placeRest:     the same, with the scalars between them
class PipelineItems {
public:
  PipelineItems(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop)
      : rewriter(rewriter), loop(loop), body(*loop.getBody()) {}

  /// Collects the scheduled operations. Returns a reason if the loop cannot be
  /// pipelined. Changes nothing in either case.
  std::optional<std::string> collect();
  /// Puts each segment of operations that are not in the last stage into one
  /// `scf.if`, whose condition the pipeliner chooses. A segment ends where all
  /// slots that it acquired are committed.
  void wrapSegments();
  /// Closes a group of copies after each commit, in every iteration, whether
  /// copies were made or not, and gives waits the number of groups that may be
  /// in flight. Where one operation of the body both commits and waits, there
  /// is no group, and the wait is for all copies.
  void countGroups();
  /// Gives each operation without a stage the stages that need it, with a clone
  /// for each but the first. Brings the body into the order of the pipeline.
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
  class Segment;
  void addToSegment(mlir::Operation *op, Segment &segment);
  void sinkInto(mlir::scf::IfOp wrapper);
  mlir::Value getDefault(mlir::OpResult result);
  void addGroups();
  int64_t countPending(size_t wait, size_t commit) const;

  /// The stages in which each operation is needed.
  using Stages =
      llvm::DenseMap<mlir::Operation *, llvm::SmallSetVector<int64_t, 2>>;
  /// The one stage of each operation without a stage in the plan.
  using OwnStage = llvm::DenseMap<mlir::Operation *, int64_t>;
  llvm::DenseMap<mlir::Operation *, int64_t> getStageOfItems() const;
  Stages findStages();
  OwnStage cloneRest(Stages &stages);
  llvm::SmallVector<mlir::Operation *>
  getNeeds(mlir::Operation *op, int64_t stage, const OwnStage &own) const;
  void sortByNeeds(const OwnStage &own);
  void defineYields();

  /// The operation of the body that `op` is, or is in; null outside of it.
  mlir::Operation *getInBody(mlir::Operation *op) const {
    return body.findAncestorOpInBlock(*op);
  }

  mlir::RewriterBase &rewriter;
  mlir::scf::ForOp loop;
  mlir::Block &body;
  /// The scheduled operations, by order. After `placeRest`, all operations.
  llvm::SmallVector<PipelineItem> items;
};

/// Calls `fn` with each `OpT` in `op`, and its channel. Skips inner loops,
/// which have pipelines of their own.
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

/// Returns the stage and order of an operation of a loop's body, if it has
/// them. A guard has those of the operation in it with the smallest order.
std::optional<PipelineItem> getPipelineItem(mlir::Operation *op);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_PIPELINEITEMS_H
