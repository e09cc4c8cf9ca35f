//===- ElementType.h - Element types and their rounding ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The simulator holds every floating point element as a double and every
// integer element as a sign-extended int64_t. After each operation the result
// is brought back to its element type: rounded to nearest even, or wrapped.
//
// Sums and products, quotients and square roots in double precision that are
// rounded once more to a format of at most 24 significant bits are correctly
// rounded.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SIMULATOR_ELEMENTTYPE_H
#define TILEWS_SIMULATOR_ELEMENTTYPE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace tilews::sim {

enum class FloatFormat : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  E4M3FN,
  E5M2,
  E4M3FNUZ,
  E5M2FNUZ,
  E8M0FNU,
  E2M3FN,
  E3M2FN,
  E2M1FN
};

/// The type of a scalar or of a fragment's or buffer's elements. Integers have
/// up to 64 bits; `index` is a 64-bit integer.
struct ElementType {
  bool isFloat = false;
  FloatFormat format = FloatFormat::F64;
  unsigned width = 64;

  /// The element type of an MLIR type, if the simulator can hold it.
  static std::optional<ElementType> get(mlir::Type type);

  /// Bits an element takes in a packed buffer; 0 if it has no form in memory.
  unsigned getMemoryBits() const {
    if (isFloat && width == 6)
      return 8;
    return (width & (width - 1)) == 0 ? width : 0;
  }
};

/// How a format encodes infinities and NaNs.
enum class NonFinite {
  /// The largest exponent holds infinities and NaNs.
  IEEE,
  /// No infinity; all ones is NaN ("FN").
  NanOnly,
  /// No infinity and no negative zero, whose code is NaN ("FNUZ").
  NanIsNegativeZero,
  /// Neither infinities nor NaN, which becomes zero.
  None
};

/// A binary floating point format of less than 64 bits.
template <unsigned E, unsigned M, int B, NonFinite NF>
struct SmallFloat {
  static constexpr unsigned kWidth = 1 + E + M;
  static constexpr int kMinExponent = 1 - B;
  static constexpr uint64_t kExponentMask = ((uint64_t(1) << E) - 1) << M;
  static constexpr uint64_t kMantissaMask = (uint64_t(1) << M) - 1;
  static constexpr uint64_t kSignMask = uint64_t(1) << (E + M);

  // Codes of doubles.
  static constexpr unsigned kDrop = 52 - M;
  static constexpr uint64_t kDoubleSign = uint64_t(1) << 63;
  static constexpr uint64_t kDoubleInfinity = uint64_t(0x7ff) << 52;
  static constexpr uint64_t kMinNormal = uint64_t(kMinExponent + 1023) << 52;
  static constexpr uint64_t kMaxFinite =
      (uint64_t((1 << E) - (NF == NonFinite::IEEE ? 2 : 1) - B + 1023) << 52) |
      ((kMantissaMask - (NF == NonFinite::NanOnly ? 1 : 0)) << kDrop);

  static double power(int exponent) {
    return llvm::bit_cast<double>(uint64_t(exponent + 1023) << 52);
  }

  /// The nearest value of the format, ties to even. What is too large becomes
  /// infinity; the formats of up to 8 bits saturate, as the GPUs' conversions
  /// do.
  static double round(double value) {
    uint64_t code = llvm::bit_cast<uint64_t>(value);
    uint64_t sign = code & kDoubleSign, magnitude = code ^ sign;
    if (magnitude < kMinNormal) {
      // Adding a power of two leaves exactly the format's subnormal bits.
      double shift = power(52 + kMinExponent - int(M));
      double rounded = (llvm::bit_cast<double>(magnitude) + shift) - shift;
      if (NF == NonFinite::NanIsNegativeZero && rounded == 0)
        return 0;
      return std::copysign(rounded, value);
    }
    if (magnitude > kDoubleInfinity)
      return NF == NonFinite::None ? 0 : value;
    if (magnitude < kDoubleInfinity) {
      constexpr uint64_t half = uint64_t(1) << (kDrop - 1);
      magnitude += half - 1 + ((magnitude >> kDrop) & 1);
      magnitude &= ~((uint64_t(1) << kDrop) - 1);
    }
    if (magnitude <= kMaxFinite)
      return llvm::bit_cast<double>(magnitude | sign);
    double overflow = kWidth <= 8 ? llvm::bit_cast<double>(kMaxFinite)
                                  : std::numeric_limits<double>::infinity();
    return std::copysign(overflow, value);
  }

  /// The code of a value that the format has. NaNs keep their payload where
  /// the format has room for it.
  static uint64_t encode(double value) {
    uint64_t code = llvm::bit_cast<uint64_t>(value);
    uint64_t magnitude = code & ~kDoubleSign;
    uint64_t sign = (code >> 63) << (E + M);
    if (magnitude >= kDoubleInfinity) {
      if (NF == NonFinite::NanIsNegativeZero)
        return kSignMask;
      if (NF == NonFinite::NanOnly)
        return sign | kExponentMask | kMantissaMask;
      uint64_t payload = (magnitude >> kDrop) & kMantissaMask;
      if (magnitude > kDoubleInfinity && payload == 0)
        payload = uint64_t(1) << (M - 1);
      return sign | kExponentMask | payload;
    }
    if (magnitude < kMinNormal)
      return sign | uint64_t(llvm::bit_cast<double>(magnitude) *
                             power(int(M) - kMinExponent));
    return sign | ((magnitude - kMinNormal + (uint64_t(1) << 52)) >> kDrop);
  }

  static double decode(uint64_t code) {
    uint64_t sign = ((code & kSignMask) >> (E + M)) << 63;
    uint64_t magnitude = code & (kExponentMask | kMantissaMask);
    uint64_t mantissa = code & kMantissaMask;
    bool isNan = false;
    if (NF == NonFinite::NanIsNegativeZero)
      isNan = (code & (kSignMask | kExponentMask | kMantissaMask)) == kSignMask;
    else if (NF == NonFinite::NanOnly)
      isNan = magnitude == (kExponentMask | kMantissaMask);
    else if (NF == NonFinite::IEEE && magnitude >= kExponentMask)
      return llvm::bit_cast<double>(sign | kDoubleInfinity |
                                    (mantissa << kDrop));
    if (isNan)
      return llvm::bit_cast<double>(sign | kDoubleInfinity |
                                    (uint64_t(1) << 51));
    if (magnitude < (uint64_t(1) << M))
      return std::copysign(double(mantissa) * power(kMinExponent - int(M)),
                           llvm::bit_cast<double>(sign));
    uint64_t normal = (magnitude << kDrop) + kMinNormal - (uint64_t(1) << 52);
    return llvm::bit_cast<double>(sign | normal);
  }
};

/// The format of double itself, so that code need not treat it apart.
struct DoubleFloat {
  static constexpr unsigned kWidth = 64;
  static double round(double value) { return value; }
  static uint64_t encode(double value) {
    return llvm::bit_cast<uint64_t>(value);
  }
  static double decode(uint64_t code) { return llvm::bit_cast<double>(code); }
};

/// Powers of two from 2^-127 to 2^127, and NaN: exponents without sign and
/// mantissa.
struct ScaleFloat {
  static constexpr unsigned kWidth = 8;
  static constexpr int kBias = 127;

  /// The nearest power of two, of two the larger one, and at least 2^-127. NaN
  /// for zero, negative numbers and those that are too large.
  static double round(double value) {
    if (!(value > 0) || std::isinf(value))
      return std::numeric_limits<double>::quiet_NaN();
    int exponent;
    double fraction = std::frexp(value, &exponent); // In [0.5, 1).
    exponent = std::max(exponent - (fraction < 0.75), -kBias);
    if (exponent > kBias)
      return std::numeric_limits<double>::quiet_NaN();
    return std::ldexp(1.0, exponent);
  }
  static uint64_t encode(double value) {
    if (std::isnan(value))
      return 0xff;
    // Copies fill what is outside of a buffer with zeros.
    return value == 0 ? 0 : uint64_t(std::ilogb(value) + kBias);
  }
  static double decode(uint64_t code) {
    int exponent = code & 0xff;
    return exponent == 0xff ? std::numeric_limits<double>::quiet_NaN()
                            : std::ldexp(1.0, exponent - kBias);
  }
};

struct SingleFloat : SmallFloat<8, 23, 127, NonFinite::IEEE> {
  /// The processor's own conversion.
  static double round(double value) { return float(value); }
};

/// Calls `fn` with an object of the format's class.
template <typename Fn>
auto withFormat(FloatFormat format, Fn fn) {
  switch (format) {
  case FloatFormat::F64:
    return fn(DoubleFloat());
  case FloatFormat::F32:
    return fn(SingleFloat());
  case FloatFormat::F16:
    return fn(SmallFloat<5, 10, 15, NonFinite::IEEE>());
  case FloatFormat::BF16:
    return fn(SmallFloat<8, 7, 127, NonFinite::IEEE>());
  case FloatFormat::E4M3FN:
    return fn(SmallFloat<4, 3, 7, NonFinite::NanOnly>());
  case FloatFormat::E5M2:
    return fn(SmallFloat<5, 2, 15, NonFinite::IEEE>());
  case FloatFormat::E4M3FNUZ:
    return fn(SmallFloat<4, 3, 8, NonFinite::NanIsNegativeZero>());
  case FloatFormat::E5M2FNUZ:
    return fn(SmallFloat<5, 2, 16, NonFinite::NanIsNegativeZero>());
  case FloatFormat::E8M0FNU:
    return fn(ScaleFloat());
  case FloatFormat::E2M3FN:
    return fn(SmallFloat<2, 3, 1, NonFinite::None>());
  case FloatFormat::E3M2FN:
    return fn(SmallFloat<3, 2, 3, NonFinite::None>());
  case FloatFormat::E2M1FN:
    return fn(SmallFloat<2, 1, 1, NonFinite::None>());
  }
  llvm_unreachable("covered switch");
}

/// The integer whose two's complement ends in the low `width` bits of `value`.
inline int64_t wrapInteger(int64_t value, unsigned width) {
  unsigned shift = 64 - width;
  return int64_t(uint64_t(value) << shift) >> shift;
}

/// The low `width` bits of `value`, as the unsigned integer they are.
inline uint64_t getUnsigned(int64_t value, unsigned width) {
  return uint64_t(value) & (~uint64_t(0) >> (64 - width));
}

/// Brings computed values back to their element type.
inline void normalize(ElementType type, int64_t *values, size_t count) {
  if (type.width == 64)
    return;
  for (size_t i = 0; i < count; ++i)
    values[i] = wrapInteger(values[i], type.width);
}
inline void normalize(ElementType type, double *values, size_t count) {
  withFormat(type.format, [&](auto format) {
    for (size_t i = 0; i < count; ++i)
      values[i] = format.round(values[i]);
  });
}

/// The bits an element has in memory.
inline uint64_t toBits(ElementType type, int64_t value) {
  return getUnsigned(value, type.width);
}
inline uint64_t toBits(ElementType type, double value) {
  return withFormat(type.format,
                    [&](auto format) { return format.encode(value); });
}
inline void fromBits(ElementType type, uint64_t bits, int64_t &value) {
  value = wrapInteger(int64_t(bits), type.width);
}
inline void fromBits(ElementType type, uint64_t bits, double &value) {
  value =
      withFormat(type.format, [&](auto format) { return format.decode(bits); });
}

/// The element whose bits are all zero: the number zero in all types but
/// scales.
template <typename T>
T fromZero(ElementType type) {
  T value;
  fromBits(type, 0, value);
  return value;
}

/// Returns `magnitude` with 53 bits, the last one set if any bit was lost
/// ("round to odd"). A second rounding, to 51 bits or less, then gives the same
/// result as a single one.
double roundToOdd(uint64_t magnitude);
/// `a + b`, rounded to odd.
double addToOdd(double a, double b);

} // namespace tilews::sim

#endif // TILEWS_SIMULATOR_ELEMENTTYPE_H
