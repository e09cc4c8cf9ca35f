//===- ChannelSignals.h - Who signals what to whom --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has to happen at a channel's transactions so that they mean what they
// say: it follows from all that fills its slots and all that reads them.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_ROLES_CHANNELSIGNALS_H
#define TILEWS_DIALECT_TILE_ANALYSIS_ROLES_CHANNELSIGNALS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tilews::tile {

/// How the slots of a channel are handed from role to role. Each slot has a
/// barrier that says "full" and one that says "empty".
struct ChannelSignals {
  /// What fills its slots: each kind arrives on its own when a fill completes.
  bool byTma = false, byCpAsync = false, byStores = false;
  /// Whether wgmma or TMA read its slots, and whether ordinary loads do.
  bool hasAsyncReaders = false, hasGenericReaders = false;
  /// Whether consumers store to its slots.
  bool isWrittenByConsumers = false;
  /// Whether TMA writes where a producer's threads wrote before.
  bool isOverwrittenByTma = false;
  /// How many times a barrier is arrived at in a phase.
  int64_t fullArrivals = 0, emptyArrivals = 0;
  /// The blocks of the cluster that fill each other's slots: along which
  /// dimensions they differ, for each kind of multicast.
  llvm::SmallVector<ClusterDims> peers;

  /// Whether the asynchronous proxy (wgmma, TMA) has to find what the threads
  /// of a producer write: it reads it, or comes to write behind it.
  bool needsFence() const { return hasAsyncReaders || isOverwrittenByTma; }
};

/// A TMA load as part of a channel's transaction.
struct ChannelCopy {
  ChannelOp channel;
  mlir::Value cursor;
  int64_t bytes = 0;
  /// No single commit counts its bytes.
  bool expectsAlone = false;
};

struct ChannelSignalMap {
  /// Fails with an error if a channel's transactions cannot be what they say.
  static mlir::FailureOr<ChannelSignalMap> get(mlir::gpu::GPUFuncOp kernel);

  /// The channels; without a protocol in a kernel without roles, whose threads
  /// fill slots and read them.
  llvm::MapVector<ChannelOp, ChannelSignals> channels;
  llvm::MapVector<CopyOp, ChannelCopy> copies;
  /// The bytes that a commit expects.
  llvm::DenseMap<CommitOp, int64_t> committedBytes;
  /// Roles that do nothing but what one thread can do.
  llvm::SetVector<RoleOp> electedRoles;
  bool hasRoles = false;

  /// Whether blocks of the cluster fill each other's slots.
  bool hasPeers() const {
    return llvm::any_of(
        channels, [](auto &entry) { return !entry.second.peers.empty(); });
  }
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_ROLES_CHANNELSIGNALS_H
