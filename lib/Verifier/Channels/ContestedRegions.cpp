//===- ContestedRegions.cpp - Conflicts of roles in a slot ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Transactions order the producer of a channel before and after each consumer,
// and the consumers of an alternating channel. They do not order
//
//   * several consumers, which hold a slot at the same time;
//   * a role that is neither producer nor consumer.
//
// The accesses to one buffer are divided into regions: the components of the
// relation "may have bytes in common". A region is contested if two roles in it
// conflict. Two warpgroups that each load and store their half of a slot make
// two regions, and none is contested.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ContestedRegions.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

void ContestedRegions::add(ChannelModel &model, Operation *op,
                           const SharedAccess &shared) {
  unsigned task = getTask(op);
  if (task == 0) // The body runs before and after all roles.
    return;
  const ChannelEvent &event = model.events.at(op);
  const SlotAccess &access = event.accesses.back();
  BufferAccesses &buffer = buffers[{access.channel, access.buffer}];
  buffer.accesses.push_back({op, unsigned(event.accesses.size() - 1), task,
                             access.reads, access.writes, access.isAtomic,
                             access.isMetadata});
  buffer.shared.push_back(shared);
}

/// Drops the accesses that the transactions order against all others.
void ContestedRegions::dropOrdered(const ChannelModel::Channel &channel,
                                   BufferAccesses &buffer) {
  bool hasStranger = llvm::any_of(buffer.accesses, [&](const RoleAccess &each) {
    return !channel.isUsedBy(each.task);
  });
  if (hasStranger)
    return;
  llvm::erase_if(buffer.accesses, [&](const RoleAccess &each) {
    return channel.alternating || !channel.isConsumedBy(each.task);
  });
}

void ContestedRegions::addRegion(ChannelModel &model, unsigned channel,
                                 const FillParts &parts,
                                 ArrayRef<RoleAccess> accesses) {
  bool isContested = false;
  ContestedRegion region{channel, /*isCertain=*/true, /*asyncReaders=*/0};
  for (const RoleAccess &each : accesses) {
    auto gemm = dyn_cast<MatmulOpInterface>(each.op);
    bool isAsync = (gemm && gemm.getAsync() && !each.isMetadata) ||
                   hasInst(each.op, InstKind::Tma);
    region.asyncReaders |= uint64_t(each.reads && isAsync) << each.task;
    for (const RoleAccess &other : accesses)
      if (each.conflictsWith(other)) {
        isContested = true;
        region.isCertain &= parts.overlapAlways(each.part, other.part);
      }
  }
  if (!isContested)
    return;
  for (const RoleAccess &each : accesses)
    model.events.at(each.op).accesses[each.index].region = model.regions.size();
  model.regions.push_back(region);
}

void ContestedRegions::assignBuffer(ChannelModel &model, unsigned channel,
                                    BufferAccesses &buffer) {
  FillParts parts;
  for (auto [access, shared] : llvm::zip_equal(buffer.accesses, buffer.shared))
    access.part = parts.add(access.op, access.task, shared);
  dropOrdered(model.channels[channel], buffer);
  llvm::EquivalenceClasses<unsigned> classes;
  for (const RoleAccess &each : buffer.accesses) {
    classes.insert(each.part);
    for (const RoleAccess &other : buffer.accesses)
      if (parts.overlap(each.part, other.part))
        classes.unionSets(each.part, other.part);
  }
  llvm::MapVector<unsigned, SmallVector<RoleAccess>> regions;
  for (const RoleAccess &each : buffer.accesses)
    regions[classes.getLeaderValue(each.part)].push_back(each);
  for (auto &[leader, accesses] : regions)
    addRegion(model, channel, parts, accesses);
}

void ContestedRegions::assign(ChannelModel &model) {
  for (auto &[key, buffer] : buffers)
    assignBuffer(model, key.first, buffer);
}
