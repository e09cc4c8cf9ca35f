//===- OrientedSum.h - A sum up to its sign and constant --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_ORIENTEDSUM_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_ORIENTEDSUM_H

#include "Verifier/Symbolic/Expressions.h"

namespace tilews::verifier {

/// A sum as `sign * homogeneous + offset`, where the first coefficient of
/// `homogeneous` is positive and its constant is 0. Facts about `n - i + 1` and
/// about `i - n` then have one key:
///
///     n - i + 1  =  -1 * (i - n) + 1        with i before n in the table
///     i - n      =   1 * (i - n) + 0
struct OrientedSum {
  OrientedSum(ExpressionTable &table, Expr sum) : offset(table.getOffset(sum)) {
    homogeneous = table.getHomogeneous(sum);
    auto terms = table.getTerms(sum);
    if (!terms.empty() && terms.front().second < 0) {
      sign = -1;
      homogeneous = table.add(table.getConstant(0), homogeneous, -1);
    }
  }

  Expr homogeneous;
  int64_t offset;
  int64_t sign = 1;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_ORIENTEDSUM_H
