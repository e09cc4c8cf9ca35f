//===- Cluster.cpp - The blocks of a cluster ------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The blocks of a cluster are enumerated. PTX limits a cluster to 16 blocks, so
// a set of ranks fits a 32-bit mask, and a loop over all ranks finds peers. Two
// blocks are peers along some dimensions if their positions agree in the other
// dimensions.
//
// Example: in a cluster of 2x2x1 blocks, the ranks are 0 = (0, 0), 1 = (1, 0),
// 2 = (0, 1), 3 = (1, 1). The peers of rank 1 along y are the mask 0b1010, and
// rank 3 has index 1 among them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Cluster.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

Cluster Cluster::get(Operation *op) {
  Cluster cluster;
  auto kernel = dyn_cast<FunctionOpInterface>(op);
  if (!kernel)
    kernel = op->getParentOfType<FunctionOpInterface>();
  auto extents =
      kernel ? kernel->getAttrOfType<DenseI32ArrayAttr>(TileDialect::kCluster)
             : DenseI32ArrayAttr();
  if (extents)
    llvm::copy(extents.asArrayRef(), cluster.extents.begin());
  return cluster;
}

int64_t Cluster::countPeers(ClusterDims dims) const {
  return llvm::popcount(getPeers(dims, /*rank=*/0));
}

uint32_t Cluster::getPeers(ClusterDims dims, int64_t rank) const {
  std::array<int64_t, 3> own = getPlace(rank);
  uint32_t peers = 0;
  for (int64_t other = 0; other < size(); ++other) {
    std::array<int64_t, 3> place = getPlace(other);
    bool isPeer = true;
    for (unsigned dim = 0; dim < 3; ++dim)
      isPeer &= has(dims, dim) || place[dim] == own[dim];
    peers |= uint32_t(isPeer) << other;
  }
  return peers;
}

uint32_t Cluster::getPeers(ArrayRef<ClusterDims> dims, int64_t rank) const {
  uint32_t peers = 0;
  for (ClusterDims some : dims)
    peers |= getPeers(some, rank);
  return peers;
}

int64_t Cluster::getShare(ClusterDims dims, int64_t rank) const {
  uint32_t before = (uint32_t(1) << rank) - 1;
  return llvm::popcount(getPeers(dims, rank) & before);
}
