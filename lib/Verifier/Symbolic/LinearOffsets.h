//===- LinearOffsets.h - Offsets as sums of counts and values ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_LINEAROFFSETS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_LINEAROFFSETS_H

#include "Verifier/Symbolic/Interval.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::verifier {

/// The sum of a constant and of `factor * root` for each term.
///
/// A root that is the induction variable of a loop with a constant step stands
/// for the number of iterations before the present one, 0, 1, 2, ... Any other
/// root stands for itself.
///
/// Example: in a loop over %i from 2 in steps of 8, `%i + 3 * %n + 1` is
/// `3 + 8 * count of %i + 3 * %n`.
struct LinearOffset {
  int64_t constant = 0;
  /// Sorted by root, without zeros.
  llvm::SmallVector<std::pair<mlir::Value, int64_t>, 2> terms;

  bool operator==(const LinearOffset &other) const {
    return constant == other.constant && terms == other.terms;
  }
};

/// Reads an offset; a value of which no more is known is a root. Returns
/// nullopt if numbers are too large.
std::optional<LinearOffset> getLinearOffset(mlir::OpFoldResult offset);

/// The loop whose iterations a root counts; null for other roots.
mlir::scf::ForOp getCountedLoop(mlir::Value root);

/// What a loop with a constant step adds in each iteration to a number that it
/// carries; nullopt if that is no constant.
std::optional<int64_t> getIncrement(mlir::scf::ForOp loop,
                                    mlir::BlockArgument carried);

/// The values that a root may have, as far as its operation says: a remainder
/// of 8 is 0 to 7, or -7 to 7, and a minimum is at most its constant.
Interval getRootBounds(mlir::Value root);

/// How many iterations a loop has, at least one; nullopt if that is not
/// constant.
std::optional<int64_t> getConstantTrips(mlir::scf::ForOp loop);

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_LINEAROFFSETS_H
