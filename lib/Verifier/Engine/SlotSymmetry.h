//===- SlotSymmetry.h - Slot numbers that may be renamed --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_SLOTSYMMETRY_H
#define TILEWS_LIB_VERIFIER_ENGINE_SLOTSYMMETRY_H

#include "Verifier/Engine/TaskProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilews::verifier {

/// The values that are slot numbers, if the kernel treats all slots alike: it
/// only passes them on, and goes to the next one.
///
/// Example: %s, %r and %t are slots of 3. %next and %wraps belong to the step
/// from one slot to the next.
///
///     %t = scf.for ... iter_args(%s = %c0) {   // the start of a number
///       %x = tile.slot %a[%s]
///       %next = arith.addi %s, %c1
///       %wraps = arith.cmpi eq, %next, %c3
///       %r = arith.select %wraps, %c0, %next
///       scf.yield %r
///     }
class SlotSymmetry {
public:
  SlotSymmetry(const TaskProgram &program, const Rules &rules);

  /// The number of slots; 0 if they may not be renamed.
  int64_t getPeriod() const { return period; }
  /// The numbers of the values that are slots, ascending.
  llvm::ArrayRef<unsigned> getSlots() const { return slots; }
  /// Whether the value of this number is an intermediate result of a step from
  /// one slot to the next.
  bool isStep(unsigned number) const { return steps.contains(number); }
  /// The operations that use a constant as a slot.
  llvm::ArrayRef<mlir::Operation *> getStarts() const { return starts; }

  /// Prints "slots of 3: values 4 7, 2 values between two slots".
  void print(llvm::raw_ostream &os) const;

private:
  bool find();
  bool add(mlir::Value value, mlir::Operation *user);
  bool addSources(mlir::Value value);
  bool addStep(mlir::arith::SelectOp select);
  bool isUsedOtherwise() const;

  const TaskProgram &program;
  const Rules &rules;
  int64_t period;
  llvm::DenseSet<mlir::Value> found, between;
  llvm::SmallVector<mlir::Value> todo;
  llvm::SmallVector<unsigned> slots;
  llvm::DenseSet<unsigned> steps;
  llvm::SmallVector<mlir::Operation *> starts;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_SLOTSYMMETRY_H
