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

/// Tells facts that later conditions may depend on from others. Paths that
/// differ in others only are one state: without this, paths through n loops
/// with trip counts of their own are 2^n.
///
///     for i < n ...     // 0 iterations, where n <= 0, or more, where n > 0
///     for j < m ...     // no task asks for n any more: one path goes on
class LiveFacts {
public:
  explicit LiveFacts(ExpressionTable &table) : table(table) {}

  /// Forgets facts that are about integer arguments alone, none of which
  /// `live` expressions have, or facts that are kept.
  void keep(PathFacts &facts, llvm::ArrayRef<Expr> live);

private:
  llvm::ArrayRef<Expr> getLeaves(Expr e);

  ExpressionTable &table;
  /// By expression: the atoms without operands that it has, sorted.
  std::unordered_map<Expr, std::vector<Expr>> leavesOf;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_LIVEFACTS_H
