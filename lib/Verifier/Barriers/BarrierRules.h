//===- BarrierRules.h - Rules of barriers in memory -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_BARRIERRULES_H
#define TILEWS_LIB_VERIFIER_BARRIERS_BARRIERRULES_H

#include "Verifier/Barriers/BarrierAccesses.h"
#include "Verifier/Barriers/BarrierSteps.h"

namespace tilews::verifier {

/// The rules of kernels whose channels have become barriers in memory, with
/// phases, arrivals and bytes. No transactions are left against which accesses
/// could be checked. Instead each task has a vector clock. An access must be
/// ordered after all earlier accesses that conflict with it. An arrival passes
/// on the task's clock to the tasks that wait.
///
/// Example: a slot is filled and read once.
///
///     tile.store %t to %slot                                        // @load
///     tile.mbarrier_arrive %full[%s] {by = #tile.agents<threads>}   // @load
///     tile.mbarrier_wait %full[%s], %parity                         // @math
///     %u = tile.load %slot                                          // @math
///
/// Without the wait, "role @math reads slot 0 of a buffer without waiting for
/// what was written there".
class BarrierRules : public Rules {
public:
  explicit BarrierRules(mlir::gpu::GPUFuncOp kernel);

  /// Why the kernel cannot be checked, if it cannot.
  const std::optional<Finding> &getObstacle() const { return model.obstacle; }

  bool isEmpty() const override { return !model.isBarrierForm; }
  unsigned getNumUnits() const override { return model.numUnits; }
  void select(unsigned unit, bool isLean) override {
    selection.select(unit, isLean);
  }
  void selectAll() override { selection.selectAll(); }
  std::optional<Finding> getLimit() const override {
    return selection.getLimit();
  }
  int64_t getDepth() const override { return selection.getDepth(); }
  bool isEvent(mlir::Operation *op) const override {
    return selection.contains(op);
  }
  bool isEventOfAny(mlir::Operation *op) const override {
    return model.events.contains(op);
  }
  unsigned getNumLinks() const override { return model.barriers.size(); }
  llvm::SmallVector<mlir::Value> getInputs(mlir::Operation *op) const override {
    return selection.getInputs(op);
  }
  llvm::SmallVector<unsigned> getInputLinks(mlir::Operation *op) const override;
  llvm::SmallVector<unsigned> getLinks(mlir::Operation *op) const override;

  State getInitial() const override { return parts.getInitial(); }
  bool finish(const State &state, Finding &finding) const override;
  bool hasFreshWrites(mlir::Operation *loop) const override {
    return llvm::any_of(model.fills, [&](const FillParts &fill) {
      return fill.getFresh(loop) != 0;
    });
  }
  void enterLoop(State &state, mlir::Operation *loop) const override {
    parts.fills.enterLoop(state, loop);
  }
  void reduce(State &state, bool inRoles) const override {
    parts.reduce(state, inRoles);
  }
  void dropKnown(State &state) const override { parts.dropKnown(state); }
  llvm::ArrayRef<unsigned> getKnowledge() const override { return knowledge; }
  int64_t getSlotPeriod() const override { return selection.getPeriod(); }
  void rotateSlots(State &state, int64_t base) const override {
    parts.rotateSlots(state, selection.getRotated(), base);
  }
  std::string describe(mlir::Operation *op,
                       llvm::ArrayRef<int64_t> inputs) const override;
  void print(llvm::raw_ostream &os, const State &state) const override;

private:
  Outcome perform(State &state, unsigned task, mlir::Operation *op,
                  llvm::ArrayRef<int64_t> inputs,
                  Finding &finding) const override;
  Outcome useScratch(State &state, unsigned task, const BarrierEvent &event,
                     llvm::ArrayRef<int64_t> inputs, Finding &finding) const;

  BarrierModel model;
  BarrierSelection selection;
  BarrierState parts;
  BarrierSteps steps;
  BarrierAccesses accesses;
  /// The words that hold knowledge.
  llvm::SmallVector<unsigned> knowledge;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_BARRIERRULES_H
