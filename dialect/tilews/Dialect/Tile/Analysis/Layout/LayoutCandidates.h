//===- LayoutCandidates.h - Layouts a fragment may get ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The layouts among which inference chooses, and the operations that they come
// from.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCANDIDATES_H
#define TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCANDIDATES_H

#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"
#include "tilews/Dialect/Tile/Analysis/Layout/FragmentGraph.h"

#include <deque>

namespace tilews::tile {

/// Why a fragment has a layout.
struct LayoutReason {
  enum class Kind {
    Type,      // the type of a value has it
    Result,    // an instruction's result comes in it
    Operand,   // an instruction reads it
    Access,    // accesses to memory are widest in it
    Store,     // stores are cheaper in it, though it takes a conversion
    Reduction, // a reduction stays within warps
    Default    // no operation requires another
  };
  Kind kind;
  mlir::Operation *op;
};

/// A layout that a fragment may get.
struct LayoutCandidate {
  FragmentAttr layout;
  LayoutReason reason;
  /// The operation through which the candidate came from another fragment; null
  /// if it is for this fragment itself.
  mlir::Operation *via = nullptr;
};

/// The candidates of each fragment: those for the fragment itself, and those
/// that reach it along edges from other fragments, the nearest first.
/// Candidates for types and instructions come before candidates for accesses to
/// memory. For
///
/// ```mlir
/// %4 = tile.load %arg0 : memref<64x64xf32> -> tensor<64x64xf32>
/// %5 = tile.reduce <sum> %4 {axis = 1} : tensor<64x64xf32> -> tensor<64xf32>
/// tile.store %5 to %arg1 : tensor<64xf32> to memref<64xf32>
/// ```
///
/// it prints
///
/// ```
/// node 0: %4
///   access by %4 = tile.load %arg0: #tile.fragment<...>
/// node 1: %5
///   access by tile.store %5, %arg1: #tile.fragment<...>
///   access by %4 = tile.load %arg0, via %5 = tile.reduce %4: ...
/// ```
class LayoutCandidates {
public:
  LayoutCandidates(const FragmentGraph &graph, const TargetInfo &target,
                   Divisibility &divisibility);

  llvm::ArrayRef<LayoutCandidate> get(unsigned node) const {
    return candidates[node];
  }
  /// Returns the accesses to memory of a node's values.
  llvm::ArrayRef<FragmentAccess> getAccesses(unsigned node) const {
    return accesses[node];
  }

  void print(llvm::raw_ostream &os) const;

private:
  void collectAccesses(Divisibility &divisibility);
  void seedDemands();
  void seedAccesses();
  void seedReductions();
  void seedSlices();
  void seedDefaults();
  void add(unsigned node, const LayoutCandidate &candidate, size_t limit);
  void add(mlir::Value value, const FragmentLayout &layout,
           LayoutReason::Kind kind, mlir::Operation *op, size_t limit);
  void propagate(size_t limit);

  const FragmentGraph &graph;
  const TargetInfo &target;
  llvm::SmallVector<llvm::SmallVector<LayoutCandidate>> candidates;
  llvm::SmallVector<llvm::SmallVector<FragmentAccess>> accesses;
  std::deque<std::pair<unsigned, unsigned>> pending; // node, candidate
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_LAYOUT_LAYOUTCANDIDATES_H
