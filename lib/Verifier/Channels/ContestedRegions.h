//===- ContestedRegions.h - Conflicts of roles in a slot --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CONTESTEDREGIONS_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CONTESTEDREGIONS_H

#include "Verifier/Channels/ChannelModel.h"

#include <map>

namespace tilews::verifier {

/// Collects the accesses of roles to the buffers of channels, and finds the
/// contested regions among them: see `ContestedRegion`.
class ContestedRegions {
public:
  /// Adds the last access of the event of `op`.
  void add(ChannelModel &model, mlir::Operation *op,
           const tile::SharedAccess &shared);
  /// Numbers the regions, and tells the accesses of the model.
  void assign(ChannelModel &model);

private:
  struct RoleAccess {
    mlir::Operation *op;
    /// Its index among the accesses of the event.
    unsigned index;
    unsigned task;
    bool reads, writes, isAtomic, isMetadata;
    /// Its number in the parts of the buffer.
    unsigned part = 0;

    bool conflictsWith(const RoleAccess &other) const {
      return task != other.task && (writes || other.writes) &&
             !(isAtomic && other.isAtomic);
    }
  };
  struct BufferAccesses {
    llvm::SmallVector<RoleAccess> accesses;
    llvm::SmallVector<tile::SharedAccess> shared;
  };

  static void dropOrdered(const ChannelModel::Channel &channel,
                          BufferAccesses &buffer);
  static void assignBuffer(ChannelModel &model, unsigned channel,
                           BufferAccesses &buffer);
  static llvm::SmallVector<RoleAccess> grow(const BufferAccesses &buffer,
                                            const FillParts &parts,
                                            const RoleAccess &first,
                                            const RoleAccess &second);
  static void addRegion(ChannelModel &model, unsigned channel,
                        const FillParts &parts,
                        llvm::ArrayRef<RoleAccess> accesses);

  /// By the channel and the index of the buffer.
  std::map<std::pair<unsigned, unsigned>, BufferAccesses> buffers;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CONTESTEDREGIONS_H
