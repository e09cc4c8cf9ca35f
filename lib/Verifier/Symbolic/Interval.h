//===- Interval.h - Bounds of a sum -----------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_SYMBOLIC_INTERVAL_H
#define TILEWS_LIB_VERIFIER_SYMBOLIC_INTERVAL_H

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>

namespace tilews::verifier {

/// The bounds of a sum, both included; INT64_MIN and INT64_MAX are infinite.
///
/// Example: if n is in [1, infinity], then 2 * n - 8 is in [-6, infinity], and
/// -n in [-infinity, -1].
struct Interval {
  int64_t low = INT64_MIN, high = INT64_MAX;

  bool isFull() const { return low == INT64_MIN && high == INT64_MAX; }
  Interval intersect(Interval other) const {
    return {std::max(low, other.low), std::min(high, other.high)};
  }
  /// The interval of the negated sum.
  Interval negate() const {
    return {high == INT64_MAX ? INT64_MIN : -high,
            low == INT64_MIN ? INT64_MAX : -low};
  }
  /// The interval of the sum plus another one.
  Interval plus(Interval other) const {
    return {addBounds(low, other.low, INT64_MIN),
            addBounds(high, other.high, INT64_MAX)};
  }
  /// The interval of the sum times a number.
  Interval times(int64_t factor) const {
    Interval scaled = factor < 0 ? negate() : *this;
    return {multiplyBound(scaled.low, std::abs(factor), INT64_MIN),
            multiplyBound(scaled.high, std::abs(factor), INT64_MAX)};
  }
  /// The interval of a sum of which this is the interval times `scale`.
  Interval shrink(int64_t scale) const {
    return {low == INT64_MIN ? low : llvm::divideCeilSigned(low, scale),
            high == INT64_MAX ? high : llvm::divideFloorSigned(high, scale)};
  }
  /// The interval of the sum plus a constant.
  Interval add(int64_t value) const {
    return {low == INT64_MIN ? low : low + value,
            high == INT64_MAX ? high : high + value};
  }

private:
  static int64_t addBounds(int64_t a, int64_t b, int64_t infinity) {
    int64_t sum;
    return a == infinity || b == infinity || llvm::AddOverflow(a, b, sum)
               ? infinity
               : sum;
  }
  static int64_t multiplyBound(int64_t a, int64_t factor, int64_t infinity) {
    int64_t product;
    return a == infinity || llvm::MulOverflow(a, factor, product) ? infinity
                                                                  : product;
  }
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_SYMBOLIC_INTERVAL_H
