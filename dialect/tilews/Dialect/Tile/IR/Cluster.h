//===- Cluster.h - The blocks of a cluster ----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of a cluster are told apart by their place in it along x, y and z, or
// by their rank, in which x runs fastest (PTX ISA, "%cluster_ctarank"). The
// peers of a block along some dimensions are the blocks whose place differs
// from its own along these only, itself included.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_CLUSTER_H
#define TILEWS_DIALECT_TILE_IR_CLUSTER_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include <array>

namespace tilews::tile {

struct Cluster {
  std::array<int64_t, 3> extents = {1, 1, 1};

  /// The `tile.cluster` of the kernel around `op`; one block without it.
  static Cluster get(mlir::Operation *op);

  int64_t size() const { return extents[0] * extents[1] * extents[2]; }
  std::array<int64_t, 3> getPlace(int64_t rank) const {
    return {rank % extents[0], rank / extents[0] % extents[1],
            rank / (extents[0] * extents[1])};
  }
  /// The distance in rank of neighbours along a dimension.
  int64_t getStride(unsigned dim) const {
    return dim == 0 ? 1 : dim == 1 ? extents[0] : extents[0] * extents[1];
  }
  bool has(ClusterDims dims, unsigned dim) const {
    return static_cast<uint32_t>(dims) >> dim & 1;
  }

  int64_t countPeers(ClusterDims dims) const;
  /// The ranks of a block's peers along `dims`, one bit each.
  uint32_t getPeers(ClusterDims dims, int64_t rank) const;
  /// The same for the peers along any of some dimensions.
  uint32_t getPeers(llvm::ArrayRef<ClusterDims> dims, int64_t rank) const;
  /// A block's place among its peers, from 0.
  int64_t getShare(ClusterDims dims, int64_t rank) const;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_CLUSTER_H
