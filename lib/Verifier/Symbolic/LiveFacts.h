//===- LiveFacts.h - Facts that later conditions depend on ------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_LIVEFACTS_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_LIVEFACTS_H

#include "Verifier/Symbolic/PathFacts.h"

#include <unordered_map>
#include <vector>

namespace tilews::verifier {

/// Drops facts on which no later condition depends. Paths that differ only in
/// dropped facts become one state: without this, n loops with trip counts of
/// their own have 2^n paths.
///
///     for i < n ...     // 0 iterations, where n <= 0, or more, where n > 0
///     for j < m ...     // no task asks for n any more: one path goes on
class LiveFacts {
public:
  explicit LiveFacts(ExpressionTable &table) : table(table) {}

  /// Drops each fact about integer arguments alone, unless one of them is in a
  /// `live` expression or in a fact that is kept.
  void keep(PathFacts &facts, llvm::ArrayRef<Expr> live);

private:
  llvm::ArrayRef<Expr> getLeaves(Expr e);

  ExpressionTable &table;
  /// By expression: the atoms without operands that it has, sorted.
  std::unordered_map<Expr, std::vector<Expr>> leavesOf;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_LIVEFACTS_H
