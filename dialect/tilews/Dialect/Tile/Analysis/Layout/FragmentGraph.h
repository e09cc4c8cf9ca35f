//===- FragmentGraph.h - Fragments and what ties them -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constraints of layout inference: which fragments share one layout, how
// the layouts of an operation's fragments depend on each other, and what types
// and instructions demand.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTGRAPH_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_FRAGMENTGRAPH_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

namespace tilews::tile {

/// The layout of an attribute that all equal layouts share.
FragmentAttr getFragmentAttr(mlir::MLIRContext *context,
                             const FragmentLayout &layout);

/// The fragments of a kernel. Values that have to have the same type (a loop's
/// carried argument and result, the results of one elementwise operation) are
/// one node; an operand that is read is an edge from its node to the one that
/// is made of it.
class FragmentGraph {
public:
  /// `operand` becomes `result`: passed on by control flow, or read by the
  /// operation that makes it.
  struct Edge {
    mlir::OpOperand *operand;
    mlir::Value result;
    unsigned from, to; // nodes
  };
  /// An instruction takes a fragment in one layout only.
  struct Demand {
    LayoutRequirement::Place place;
    FragmentAttr layout;

    bool isResult() const { return llvm::isa<mlir::OpResult>(place); }
    mlir::Operation *getOp() const;
    mlir::Value getValue() const;
  };
  struct Node {
    llvm::SmallVector<mlir::Value> values;
    llvm::SmallVector<unsigned> edges;   // that begin or end here
    llvm::SmallVector<unsigned> demands; // on one of the values
    /// The value whose type has a layout.
    mlir::Value given;
  };

  /// Fails with an error at what nothing is known of, at layouts that do not
  /// fit their threads or operations, and at types that contradict each other.
  static llvm::FailureOr<FragmentGraph> get(mlir::gpu::GPUFuncOp kernel,
                                            const TargetInfo &target);

  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  llvm::ArrayRef<Edge> getEdges() const { return edges; }
  llvm::ArrayRef<Demand> getDemands() const { return demands; }
  unsigned getNode(mlir::Value value) const {
    return classes[ids.lookup(value)];
  }

  /// Whether a value is made anew in each layout it is used in.
  static bool isFree(mlir::Value value);
  /// The layout a node's type gives; null if it gives none.
  FragmentAttr getGiven(unsigned node) const;
  /// Where control flow passes an operand on; null if it does not.
  mlir::Value getForwarded(mlir::OpOperand &operand) const {
    return forwarded.lookup(&operand);
  }
  /// What an instruction demands of an operand, or of a result; null if
  /// nothing.
  FragmentAttr getDemanded(mlir::OpOperand &operand) const {
    return demandedOperands.lookup(&operand);
  }
  FragmentAttr getDemanded(mlir::OpResult result) const {
    return demandedResults.lookup(result);
  }

  /// The layout in which `operand` has to be for what it becomes to have
  /// `result`, without a move of any element; null if there is none.
  FragmentAttr getNeeded(mlir::OpOperand &operand, FragmentAttr result) const;
  /// The layout of what becomes of `operand` if it has `source`; null if it
  /// does not follow.
  FragmentAttr getProduced(mlir::OpOperand &operand, FragmentAttr source) const;

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
