//===- LayoutInference.h - Layouts of a kernel's fragments ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUTINFERENCE_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUTINFERENCE_H

#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

#include <deque>

namespace tilews::tile {

/// Chooses a layout for each fragment of a kernel, without touching the IR.
///
/// Values that have to have the same type (a loop's carried argument and
/// result, the results of one elementwise operation) are one node. Nodes get
/// layouts in three rounds, each spread to the neighbours it determines before
/// the next begins: what types and accumulators say; what instructions want of
/// fragment operands; defaults, largest fragment first, so that a fragment that
/// is repeated along a dimension follows the one it is repeated for.
class LayoutInference {
public:
  LayoutInference(mlir::gpu::GPUFuncOp kernel, const TargetInfo &target);

  /// Chooses all layouts; fails with an error at an operation whose layouts
  /// nothing is known of.
  llvm::LogicalResult run();

  /// The layout of a fragment; null for one that is repeated in each layout it
  /// is used in.
  FragmentAttr getLayout(mlir::Value value) const;
  /// The layout an operand has to have once all values have theirs; null if any
  /// will do.
  FragmentAttr getNeeded(mlir::OpOperand &operand) const;
  /// The layout `result` comes out with, given the layouts of its operation's
  /// operands. It differs from its own where the operation fixes it.
  FragmentAttr getProduced(mlir::OpResult result) const;
  /// The layout of a repeatable fragment for an operation that takes any.
  FragmentAttr getDefault(mlir::OpOperand &operand);

private:
  llvm::LogicalResult collect();
  llvm::LogicalResult addValue(mlir::Value value);
  void collectFlow(mlir::RegionBranchOpInterface op);
  void link(mlir::OperandRange operands, mlir::ValueRange inputs);
  void join(mlir::Value a, mlir::Value b);
  void buildNodes();

  void seed();
  void seedOperands();
  void seedDefaults();
  void assign(mlir::Value value, FragmentAttr layout);
  void assign(mlir::Value value, const FragmentLayout &layout);
  void propagate();
  void pushForward(mlir::OpOperand &use, const FragmentLayout &layout);
  void pushBackward(mlir::Value value, const FragmentLayout &layout);
  FragmentAttr getBlocked(mlir::Value value, int64_t vectorElements) const;
  int64_t getVectorElements(mlir::Operation *access);
  int64_t chooseVectorElements(mlir::Value value);

  /// The fragment whose layout an operand or a result of `op` shares because
  /// control flow or the operation passes it on unchanged.
  void getEquals(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &equals);
  unsigned getNode(mlir::Value value) const {
    return classes[ids.lookup(value)];
  }
  bool isFree(mlir::Value value) const;

  mlir::gpu::GPUFuncOp kernel;
  mlir::MLIRContext *context;
  const TargetInfo &target;
  Divisibility divisibility;

  llvm::MapVector<mlir::Value, unsigned> ids;
  llvm::IntEqClasses classes;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> members; // of each node
  llvm::SmallVector<FragmentAttr> layouts;                   // of each node
  std::deque<unsigned> pending;

  /// Where control flow passes an operand on, and from which operands a value
  /// receives.
  llvm::DenseMap<mlir::OpOperand *, mlir::Value> forwarded;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::OpOperand *>> feeders;
  /// What instructions demand.
  llvm::DenseMap<mlir::OpOperand *, FragmentAttr> neededOperands;
  llvm::DenseMap<mlir::Value, FragmentAttr> neededResults;
  llvm::SmallVector<mlir::OpOperand *> weakOperands;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUTINFERENCE_H
