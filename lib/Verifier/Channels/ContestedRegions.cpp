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
// A contested region is a set of accesses to one buffer, of which each two may
// have bytes in common, and two conflict. Two warpgroups that each load and
// store their half of a slot have none. If the store of the first one overlaps
// the other half, it makes a region with the accesses to that half; the loads
// of its own half have no part in it. The regions are maximal cliques of the
// relation "may have bytes in common", until each conflict is in one. A
// fault is certain if all conflicting accesses of its region overlap always.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ContestedRegions.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

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
  ContestedRegion region{channel, /*isCertain=*/true, /*asyncReaders=*/0};
  for (const RoleAccess &each : accesses) {
    auto gemm = dyn_cast<MatmulOpInterface>(each.op);
    bool isAsync = (gemm && gemm.getAsync() && !each.isMetadata) ||
                   hasInst(each.op, InstKind::Tma);
    region.asyncReaders |= uint64_t(each.reads && isAsync) << each.task;
    for (const RoleAccess &other : accesses)
      if (each.conflictsWith(other))
        region.isCertain &= parts.overlapAlways(each.part, other.part);
    model.events.at(each.op).accesses[each.index].regions.push_back(
        model.regions.size());
  }
  model.regions.push_back(region);
}

/// Returns a maximal set of accesses with `first` and `second`, of which each
/// two may have bytes in common.
SmallVector<ContestedRegions::RoleAccess>
ContestedRegions::grow(const BufferAccesses &buffer, const FillParts &parts,
                       const RoleAccess &first, const RoleAccess &second) {
  SmallVector<RoleAccess> found = {first, second};
  for (const RoleAccess &each : buffer.accesses)
    if (&each != &first && &each != &second &&
        llvm::all_of(found, [&](const RoleAccess &other) {
          return parts.overlap(each.part, other.part);
        }))
      found.push_back(each);
  return found;
}

void ContestedRegions::assignBuffer(ChannelModel &model, unsigned channel,
                                    BufferAccesses &buffer) {
  FillParts parts;
  for (auto [access, shared] : llvm::zip_equal(buffer.accesses, buffer.shared))
    access.part = parts.add(access.op, access.task, shared);
  dropOrdered(model.channels[channel], buffer);
  auto sharesRegion = [&](const RoleAccess &one, const RoleAccess &other) {
    ArrayRef<unsigned> regions =
        model.events.at(other.op).accesses[other.index].regions;
    return llvm::any_of(
        model.events.at(one.op).accesses[one.index].regions,
        [&](unsigned region) { return llvm::is_contained(regions, region); });
  };
  for (const RoleAccess &one : buffer.accesses)
    for (const RoleAccess &other : buffer.accesses)
      if (&one < &other && one.conflictsWith(other) &&
          parts.overlap(one.part, other.part) && !sharesRegion(one, other))
        addRegion(model, channel, parts, grow(buffer, parts, one, other));
}

void ContestedRegions::assign(ChannelModel &model) {
  for (auto &[key, buffer] : buffers)
    assignBuffer(model, key.first, buffer);
}
