//===- Cluster.h - The blocks of a cluster ----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of a cluster is identified by its position along x, y and z, or by
// its rank, in which x runs fastest (PTX ISA, "%cluster_ctarank"). The peers of
// a block along some dimensions are the blocks whose positions differ from its
// own only along these dimensions, including the block itself.
//
// Example: in a cluster of 2x2x1 blocks, block 1 is at (1, 0, 0). Its peers
// along y are the blocks 1 and 3.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_CLUSTER_H
#define TILEWS_DIALECT_TILE_IR_CLUSTER_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include <array>

namespace tilews::tile {

/// The extents of a cluster, and its sets of peers.
struct Cluster {
  std::array<int64_t, 3> extents = {1, 1, 1};

  /// Returns the `tile.cluster` of the kernel that contains or is `op`; a
  /// cluster of one block without it.
  static Cluster get(mlir::Operation *op);

  int64_t size() const { return extents[0] * extents[1] * extents[2]; }
  /// Returns the position of the block of this rank along x, y and z.
  std::array<int64_t, 3> getPlace(int64_t rank) const {
    return {rank % extents[0], rank / extents[0] % extents[1],
            rank / (extents[0] * extents[1])};
  }
  /// Returns the difference of the ranks of neighbours along a dimension.
  int64_t getStride(unsigned dim) const {
    return dim == 0 ? 1 : dim == 1 ? extents[0] : extents[0] * extents[1];
  }
  /// Returns whether `dims` contains dimension `dim` (0 is x).
  bool has(ClusterDims dims, unsigned dim) const {
    return static_cast<uint32_t>(dims) >> dim & 1;
  }

  /// Returns the number of peers of each block along `dims`.
  int64_t countPeers(ClusterDims dims) const;
  /// Returns the ranks of the peers along `dims` of a block as a set of bits.
  uint32_t getPeers(ClusterDims dims, int64_t rank) const;
  /// Returns the union of the peers along each element of `dims`.
  uint32_t getPeers(llvm::ArrayRef<ClusterDims> dims, int64_t rank) const;
  /// Returns the index of a block among its peers in the order of ranks, from
  /// 0.
  int64_t getShare(ClusterDims dims, int64_t rank) const;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_CLUSTER_H
