//===- ChannelRules.h - Rules of channels -----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELRULES_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELRULES_H

#include "Verifier/Channels/ChannelAccesses.h"
#include "Verifier/Channels/ChannelSelection.h"
#include "Verifier/Channels/ChannelSteps.h"

namespace tilews::verifier {

/// The rules of kernels with channels. Each slot of a channel is acquired,
/// filled, committed, waited for, read and released, in this order, and the
/// transactions of a channel go through its slots in order.
///
/// Example: one transaction of a channel from @load to @math.
///
///     tile.acquire %c[%p]                // @load
///     tile.copy %src to %slot            // @load
///     tile.commit %c[%p]                 // @load
///     tile.wait %c[%q]                   // @math
///     %u = tile.load %slot               // @math
///     tile.release %c[%q]                // @math
///
/// Without the wait, "role @math reads slot 0 of a channel without a tile.wait
/// for its fill".
class ChannelRules : public Rules {
public:
  explicit ChannelRules(mlir::gpu::GPUFuncOp kernel);

  /// Why the kernel cannot be checked, if it cannot.
  const std::optional<Finding> &getObstacle() const { return model.obstacle; }
  /// Faults that do not depend on control flow.
  llvm::ArrayRef<Finding> getErrors() const { return model.errors; }

  bool isEmpty() const override { return model.channels.empty(); }
  unsigned getNumUnits() const override { return model.channels.size(); }
  void select(unsigned unit, bool isLean) override {
    selection.select(unit, isLean);
  }
  void selectAll() override { selection.selectAll(); }
  int64_t getDepth() const override { return selection.getDepth(); }
  bool isEvent(mlir::Operation *op) const override {
    return selection.contains(op);
  }
  bool isEventOfAny(mlir::Operation *op) const override {
    return model.events.contains(op);
  }
  unsigned getNumLinks() const override { return model.channels.size(); }
  llvm::SmallVector<mlir::Value> getInputs(mlir::Operation *op) const override {
    return selection.getInputs(op);
  }
  llvm::SmallVector<unsigned>
  getInputLinks(mlir::Operation *op) const override {
    return selection.getInputLinks(op);
  }
  llvm::SmallVector<unsigned> getLinks(mlir::Operation *op) const override;

  State getInitial() const override { return parts.getInitial(); }
  bool hasFreshWrites(mlir::Operation *loop) const override;
  void enterLoop(State &state, mlir::Operation *loop) const override {
    parts.contents.enterLoop(state, loop);
  }
  bool finish(const State &state, Finding &finding) const override;
  int64_t getBase(const State &state, unsigned link) const override {
    return parts.transactions.getNextAcquire(state, link);
  }
  void rotate(State &state, unsigned link, int64_t base) const override {
    parts.rotate(state, link, base);
  }
  int64_t rotateInput(int64_t input, unsigned link,
                      int64_t base) const override;
  std::string describe(mlir::Operation *op,
                       llvm::ArrayRef<int64_t> inputs) const override;
  void print(llvm::raw_ostream &os, const State &state) const override {
    parts.print(os, state);
  }

private:
  Outcome perform(State &state, unsigned task, mlir::Operation *op,
                  llvm::ArrayRef<int64_t> inputs,
                  Finding &finding) const override;
  void performCommon(State &state, mlir::Operation *op) const;

  ChannelModel model;
  ChannelSelection selection;
  ChannelState parts;
  ChannelSteps steps;
  ChannelAccesses accesses;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELRULES_H
