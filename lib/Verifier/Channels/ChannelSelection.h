//===- ChannelSelection.h - The events that a proof looks at ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSELECTION_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSELECTION_H

#include "Verifier/Channels/ChannelModel.h"

namespace tilews::verifier {

/// The events that are selected: all of a kernel, or those of one unit. Each
/// channel, with its buffers, is a unit.
///
/// Example: with the channels 0 for %a and 1 for %b, `select(0, ...)` keeps the
/// steps of channel 0, and a `tile.gemm` that reads %a and %b as an event that
/// reads %a.
class ChannelSelection {
public:
  explicit ChannelSelection(const ChannelModel &model) : model(model) {
    selectAll();
  }

  void selectAll();
  /// Selects a unit, and the events that belong to every unit. With `isLean`
  /// only those of the latter that stand under the same branches as events of
  /// the unit.
  void select(unsigned unit, bool isLean);

  bool contains(mlir::Operation *op) const { return events.contains(op); }
  const ChannelEvent &at(mlir::Operation *op) const { return events.at(op); }
  /// The cursors that an event depends on.
  llvm::SmallVector<mlir::Value> getInputs(mlir::Operation *op) const;
  /// The channel of each of them.
  llvm::SmallVector<unsigned> getInputLinks(mlir::Operation *op) const;
  /// The largest depth of a channel.
  int64_t getDepth() const { return depth; }

private:
  void addOfUnit(unsigned unit, Branches &branches);
  void addCommon(const Branches *branches);

  const ChannelModel &model;
  llvm::DenseMap<mlir::Operation *, ChannelEvent> events;
  int64_t depth = 1;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSELECTION_H
