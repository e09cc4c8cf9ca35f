//===- BarrierSelection.h - The events that a proof looks at ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSELECTION_H
#define TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSELECTION_H

#include "Verifier/Barriers/BarrierModel.h"

namespace tilews::verifier {

/// The events that are selected: all of a kernel, or those of one unit.
///
/// Example: let the units be {%a, %fullA, %emptyA} and {%b, %fullB, %emptyB}.
/// `select(0, /*isLean=*/true)` keeps a `tile.gemm` that reads %a and %b as an
/// event that reads %a. It drops the arrivals at %fullB, and numbers the phase
/// bits of %fullA and %emptyA only.
class BarrierSelection {
public:
  explicit BarrierSelection(const BarrierModel &model) : model(model) {
    selectAll();
  }

  void selectAll();
  /// Selects a unit, and the events that belong to every unit. With `isLean`,
  /// selects only those of the latter that stand under the same branches as
  /// events of the unit, and arrivals pass on no more than their subjects. Both
  /// omit happens-before knowledge only.
  void select(unsigned unit, bool isLean);

  bool contains(mlir::Operation *op) const { return events.contains(op); }
  const BarrierEvent &at(mlir::Operation *op) const { return events.at(op); }
  /// The integers that an event depends on: slot numbers and parities.
  llvm::SmallVector<mlir::Value> getInputs(mlir::Operation *op) const;
  /// Why there is too much to check, if there is.
  const std::optional<Finding> &getLimit() const { return limit; }
  /// The most versions of a buffer, or slots of a barrier.
  int64_t getDepth() const { return depth; }
  /// The number of versions of the selected buffers that have several, if the
  /// rules treat all versions alike; 0 otherwise. Also these buffers.
  int64_t getPeriod() const { return period; }
  llvm::ArrayRef<unsigned> getRotated() const { return rotated; }

  /// The places of which an arrival at a slot passes on knowledge.
  PlaceSet getSubjects(BarrierSlot slot) const {
    return isLean ? model.getBarrier(slot).subjects[slot.number] : ~PlaceSet(0);
  }
  /// The bit of a slot in the rows of a clock that are about phases.
  uint64_t getPhaseBit(BarrierSlot slot) const {
    return uint64_t(1) << (firstBits[slot.barrier] + slot.number);
  }

private:
  void numberSlots(
      llvm::function_ref<bool(const BarrierModel::Barrier &)> isSelected);
  int64_t findDepth(std::optional<unsigned> unit) const;
  void findRotated();

  const BarrierModel &model;
  llvm::DenseMap<mlir::Operation *, BarrierEvent> events;
  /// By barrier: the bit of its first slot.
  llvm::SmallVector<unsigned> firstBits;
  bool isLean = false;
  int64_t depth = 1, period = 0;
  llvm::SmallVector<unsigned> rotated;
  std::optional<Finding> limit;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_BARRIERSELECTION_H
