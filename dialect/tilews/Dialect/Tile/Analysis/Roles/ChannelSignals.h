//===- ChannelSignals.h - Arrivals and fences of channels -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The barriers and fences that a channel's transactions need. They follow from
// the operations that fill its slots and those that read them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_ROLES_CHANNELSIGNALS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_ROLES_CHANNELSIGNALS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tilews::tile {

/// How the slots of a channel are handed from role to role. Each slot has two
/// barriers in shared memory, "full" and "empty". For example, one TMA copy of
/// a load role fills a channel, and wgmma of a warpgroup reads it. The channel
/// has `byTma` and `hasAsyncReaders`. It has one arrival at "full" (the elected
/// thread, which announces the bytes of the copy), and four at "empty" (one for
/// each warp).
struct ChannelSignals {
  /// What fills the slots. Each kind arrives separately when a fill completes.
  bool byTma = false, byCpAsync = false, byStores = false;
  /// Whether wgmma or TMA read the slots, and whether ordinary loads do.
  bool hasAsyncReaders = false, hasGenericReaders = false;
  /// Whether consumers store to the slots.
  bool isWrittenByConsumers = false;
  /// Whether TMA writes buffers that threads of a producer write as well.
  bool isOverwrittenByTma = false;
  /// The number of arrivals that complete a phase of each barrier.
  int64_t fullArrivals = 0, emptyArrivals = 0;
  /// The dimensions of the cluster along which blocks fill each other's slots,
  /// one entry for each kind of multicast.
  llvm::SmallVector<ClusterDims> peers;

  /// Returns whether a proxy fence must order the writes of a producer's
  /// threads before later accesses by the asynchronous proxy (wgmma, TMA).
  bool needsFence() const { return hasAsyncReaders || isOverwrittenByTma; }
};

/// A TMA load, and the transaction of a channel that it belongs to.
struct ChannelCopy {
  ChannelOp channel;
  mlir::Value cursor;
  int64_t bytes = 0;
  /// Whether the copy announces its own bytes, because no single commit can.
  bool expectsAlone = false;
};

/// The signals of all channels of a kernel. It prints
///
/// ```
/// %4 = tile.channel %3
///   filled by: tma; read by: wgmma or tma; arrivals: full 1, empty 4
/// tile.copy %arg0, %m, %k, %6
///   16384 bytes for %4, announced by its commit
/// role @load is elected
/// ```
struct ChannelSignalMap {
  /// Fails with an error if a channel cannot be lowered as it stands: two roles
  /// commit to it, or TMA fills it without a role that could wait.
  static mlir::FailureOr<ChannelSignalMap> get(mlir::gpu::GPUFuncOp kernel);

  /// The channels. In a kernel without roles all threads fill and read slots,
  /// so that their signals are empty.
  llvm::MapVector<ChannelOp, ChannelSignals> channels;
  llvm::MapVector<CopyOp, ChannelCopy> copies;
  /// The bytes that each commit announces.
  llvm::DenseMap<CommitOp, int64_t> committedBytes;
  /// Roles that one thread can execute.
  llvm::SetVector<RoleOp> electedRoles;
  bool hasRoles = false;

  /// Returns whether blocks of the cluster fill each other's slots.
  bool hasPeers() const {
    return llvm::any_of(
        channels, [](auto &entry) { return !entry.second.peers.empty(); });
  }

  void print(llvm::raw_ostream &os) const;
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_ROLES_CHANNELSIGNALS_H
