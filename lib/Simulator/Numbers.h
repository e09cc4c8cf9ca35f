//===- Numbers.h - Functions of numbers -------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_NUMBERS_H
#define TILEWS_LIB_SIMULATOR_NUMBERS_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tilews::sim {

/// Returns the larger number; NaN only if both are. Positive zero is larger
/// than negative zero.
inline double maxNumber(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
/// Returns the smaller number; NaN only if both are. Negative zero is smaller
/// than positive zero.
inline double minNumber(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) ? b : a;
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
inline int64_t maxNumber(int64_t a, int64_t b) { return std::max(a, b); }
inline int64_t minNumber(int64_t a, int64_t b) { return std::min(a, b); }

/// Returns the larger of two unsigned integers. They are stored with sign
/// extension, which keeps their order.
inline int64_t maxUnsigned(int64_t a, int64_t b) {
  return std::max(uint64_t(a), uint64_t(b));
}
inline int64_t minUnsigned(int64_t a, int64_t b) {
  return std::min(uint64_t(a), uint64_t(b));
}

/// Returns the absolute value; integers wrap.
inline double getAbsolute(double a) { return std::fabs(a); }
inline int64_t getAbsolute(int64_t a) { return a < 0 ? 0 - uint64_t(a) : a; }

/// Returns the sum; integers wrap.
inline double add(double a, double b) { return a + b; }
inline int64_t add(int64_t a, int64_t b) { return uint64_t(a) + uint64_t(b); }

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_NUMBERS_H
