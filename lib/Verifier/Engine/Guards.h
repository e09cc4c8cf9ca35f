//===- Guards.h - Branches whose conditions are taken together --*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_GUARDS_H
#define TILEWS_LIB_VERIFIER_ENGINE_GUARDS_H

#include "Verifier/Engine/ScalarEvaluator.h"

namespace tilews::verifier {

/// Takes the conditions of branches together, so that a path forks once where
/// it would fork for each of them. A path that forks once has two states in an
/// iteration, and 2^n in n iterations under way.
///
///     %c = scf.if %a -> i1 { yield %true } else { yield %b }
///                                   // %c is a || b, without a fork
///     scf.if %a {                   // two paths: a && b, and !(a && b)
///       tile.barrier
///       scf.if %b { tile.copy }
///     }
class Guards {
public:
  /// With `isLean`, operations that only add happens-before knowledge may be
  /// left out.
  Guards(ProofContext &context, const PathValues &values,
         ScalarEvaluator &evaluator, bool isLean)
      : context(context), values(values), evaluator(evaluator), isLean(isLean) {
  }

  /// Computes the results of a branch that only computes flags; false if it
  /// does anything else, or if the search starts over.
  bool compute(Path &path, mlir::scf::IfOp branch);
  /// The conjunction of the condition of `branch` and of those nested branches
  /// without which it does nothing. The result does not count if the search
  /// starts over.
  Expr getWhole(Path &path, mlir::scf::IfOp branch);

private:
  bool isScalar(mlir::Operation *op);
  bool findOnlyComputes(mlir::scf::IfOp branch);
  bool onlyComputes(mlir::scf::IfOp branch);
  mlir::scf::IfOp findInner(mlir::scf::IfOp branch);
  mlir::scf::IfOp getInner(mlir::scf::IfOp branch);
  bool evaluate(Path &path, mlir::Operation *op);
  bool mayJoin(Expr condition) const;

  ProofContext &context;
  const PathValues &values;
  ScalarEvaluator &evaluator;
  bool isLean;
  llvm::DenseMap<mlir::Operation *, mlir::scf::IfOp> innerBranches;
  llvm::DenseMap<mlir::Operation *, bool> computingBranches;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_GUARDS_H
