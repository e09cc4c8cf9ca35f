//===- ScalarEvaluator.h - Symbolic execution of scalars --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_SCALAREVALUATOR_H
#define TILEWS_LIB_VERIFIER_ENGINE_SCALAREVALUATOR_H

#include "Verifier/Engine/PathConditions.h"
#include "Verifier/Loops/Predicates.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tilews::verifier {

/// Executes operations on scalars symbolically (King, "Symbolic execution and
/// program testing", 1976). With %i = i0, %n = n and a cursor at place 1 of a
/// channel with two slots:
///
///     %a = arith.addi %i, %c3         // i0 + 3
///     %c = arith.cmpi slt, %a, %n     // n - i0 - 3 > 0
///     %m = memref.load %mask[%a]      // memref.load(i0 + 3)
///     %d = tile.advance %cursor       // 2
class ScalarEvaluator {
public:
  ScalarEvaluator(ProofContext &context, InductionVariables &inductions,
                  const PathValues &values, PathConditions &conditions,
                  Predicates &predicates)
      : context(context), inductions(inductions), values(values),
        conditions(conditions), predicates(predicates) {}

  /// Sets the results of `op` that matter; false if the search starts over.
  bool evaluate(Path &path, mlir::Operation *op);

private:
  Expr fold(Path &path, mlir::Operation *op,
            llvm::MutableArrayRef<Expr> operands);
  Expr select(Path &path, mlir::arith::SelectOp op,
              llvm::ArrayRef<Expr> operands);
  Expr splitRemainders(Path &path, Expr sum);
  Expr findRemainders(Path &path, mlir::Operation *op, Expr sum);
  Expr getComparedRemainder(const Path &path, mlir::Operation *op) const;
  Expr getExtent(mlir::Operation *op) const;
  void nameResult(Path &path, mlir::OpResult result,
                  llvm::ArrayRef<Expr> operands);
  llvm::SmallVector<Expr>
  getOperands(const Path &path, llvm::ArrayRef<mlir::OpFoldResult> operands,
              CopyOp copy) const;
  Expr getPureAtom(const Path &path, mlir::OpResult result, CopyOp copy) const;

  ProofContext &context;
  InductionVariables &inductions;
  const PathValues &values;
  PathConditions &conditions;
  Predicates &predicates;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_SCALAREVALUATOR_H
