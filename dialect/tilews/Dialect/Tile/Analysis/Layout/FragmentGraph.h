//===- FragmentGraph.h - Fragments and what ties them -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constraints of layout inference: which fragments share one layout, how
// the layouts of an operation's fragments depend on each other, and which
// layouts types and instructions require.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTGRAPH_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTGRAPH_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

namespace tilews::tile {

/// Returns the one attribute that stands for all layouts equal to `layout`.
FragmentAttr getFragmentAttr(mlir::MLIRContext *context,
                             const FragmentLayout &layout);

/// The fragments of a kernel. Values that must have the same type are one node:
/// a loop's carried argument and its result, or the results of one elementwise
/// operation. An operand that is read is an edge from its node to the node of
/// the result. For
///
/// ```mlir
/// %r = scf.for ... iter_args(%acc = %cst) -> (tensor<64x64xf32>) {
///   %p = arith.mulf %acc, %x : tensor<64x64xf32>
///   scf.yield %p : tensor<64x64xf32>
/// }
/// ```
///
/// it prints (operands are named by their operation and position)
///
/// ```
/// node 0: %x
/// node 1: %r, %acc
/// node 2: %p
/// edge 0 -> 2: operand 1 of %p = arith.mulf %acc, %x
/// edge 1 -> 2: operand 0 of %p = arith.mulf %acc, %x
/// edge 2 -> 1: operand 0 of scf.yield %p
/// ```
class FragmentGraph {
public:
  /// `operand` becomes `result`: control flow passes it on, or the operation
  /// that makes `result` reads it.
  struct Edge {
    mlir::OpOperand *operand;
    mlir::Value result;
    unsigned from, to; // nodes
  };
  /// A layout that an instruction requires of a fragment.
  struct Demand {
    LayoutRequirement::Place place;
    FragmentAttr layout;

    bool isResult() const { return llvm::isa<mlir::OpResult>(place); }
    mlir::Operation *getOp() const;
    mlir::Value getValue() const;
  };
  /// Fragments that share one layout.
  struct Node {
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<unsigned> edges;   // that start or end here
    llvm::SmallVector<unsigned> demands; // on one of the values
    /// A value whose type has a layout; null if there is none.
    mlir::Value given;
    /// The layout in which an asynchronous matmul writes a value, which no
    /// conversion may read before the wait. Null if there is none.
    FragmentAttr unfinished;
  };

  /// Fails with an error at an operation without layout rule, at a layout that
  /// does not fit its threads or operation, and at contradicting types.
  static llvm::FailureOr<FragmentGraph> get(mlir::gpu::GPUFuncOp kernel,
                                            const TargetInfo &target);

  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  llvm::ArrayRef<Edge> getEdges() const { return edges; }
  llvm::ArrayRef<Demand> getDemands() const { return demands; }
  unsigned getNode(mlir::Value value) const {
    return classes[ids.lookup(value)];
  }

  /// Returns whether a value is computed again in each layout it is used in,
  /// like a constant. Such values have no edges.
  static bool isFree(mlir::Value value);
  /// Returns the fragment of an operation that the layouts of its operands
  /// follow from: its result, or what a scatter stores. Null if there is none.
  static mlir::Value getLeader(mlir::Operation *op);
  /// Returns the only layout that a node may have: that of a type, or that of
  /// an unfinished matmul. Null if it may have any.
  FragmentAttr getFixed(unsigned node) const;
  /// Returns the value that control flow passes an operand on to; null if the
  /// operand is not passed on.
  mlir::Value getForwarded(mlir::OpOperand &operand) const {
    return forwarded.lookup(&operand);
  }
  /// Returns the layout that an instruction requires of an operand, or of a
  /// result; null if it takes any.
  FragmentAttr getDemanded(mlir::OpOperand &operand) const {
    return demandedOperands.lookup(&operand);
  }
  FragmentAttr getDemanded(mlir::OpResult result) const {
    return demandedResults.lookup(result);
  }

  /// Returns the layout of `operand` from which its owner makes a result in
  /// layout `result` without moving elements; null if there is none.
  FragmentAttr getNeeded(mlir::OpOperand &operand, FragmentAttr result) const;
  /// Returns the layout of the owner's result if `operand` has layout `source`;
  /// null if it does not follow.
  FragmentAttr getProduced(mlir::OpOperand &operand, FragmentAttr source) const;

  void print(llvm::raw_ostream &os) const;

private:
  explicit FragmentGraph(mlir::gpu::GPUFuncOp kernel) : kernel(kernel) {}

  llvm::LogicalResult collect();
  llvm::LogicalResult collectOp(mlir::Operation *op);
  llvm::LogicalResult addValue(mlir::Value value);
  void collectFlow(mlir::RegionBranchOpInterface op);
  void link(mlir::OperandRange operands, mlir::ValueRange inputs);
  void join(mlir::Value a, mlir::Value b);
  void addDemands(const TargetInfo &target);
  void addEdge(mlir::OpOperand &operand, mlir::Value result);
  llvm::LogicalResult buildNodes();

  mlir::gpu::GPUFuncOp kernel;
  llvm::MapVector<mlir::Value, unsigned> ids;
  llvm::IntEqClasses classes;
  llvm::SmallVector<Node> nodes;
  llvm::SmallVector<Edge> edges;
  llvm::SmallVector<Demand> demands;
  llvm::DenseMap<mlir::OpOperand *, mlir::Value> forwarded;
  llvm::DenseMap<mlir::OpOperand *, FragmentAttr> demandedOperands;
  llvm::DenseMap<mlir::Value, FragmentAttr> demandedResults;
  llvm::SmallVector<std::pair<mlir::OpOperand *, mlir::Value>> flow;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTGRAPH_H
