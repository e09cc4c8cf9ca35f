//===- Values.cpp - Scalars, fragments and memory -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements in memory have the bits of their type; in fragments and scalars they
// are doubles or sign-extended 64-bit integers. `MemRef::read` and `write`
// convert between the two: a codec turns bits into numbers, a carrier is the
// integer of the size of the element. Elements of less than a byte are packed,
// the first one in the lowest bits:
//
//   i4 elements 5, -3 (packed): one byte 0xd5
//
// Rounding to odd makes two roundings equal to one. The first rounding sets the
// last bit if anything was lost, so the second one never sees a false tie.
//
//===----------------------------------------------------------------------===//

#include "tilews/Simulator/Values.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

std::optional<ElementType> ElementType::get(Type type) {
  if (type.isIndex())
    return ElementType{false, FloatFormat::F64, 64};
  if (auto integer = dyn_cast<IntegerType>(type)) {
    if (integer.getWidth() < 1 || integer.getWidth() > 64)
      return std::nullopt;
    return ElementType{false, FloatFormat::F64, integer.getWidth()};
  }
  auto format =
      TypeSwitch<Type, std::optional<FloatFormat>>(type)
          .Case([](Float64Type) { return FloatFormat::F64; })
          .Case([](Float32Type) { return FloatFormat::F32; })
          .Case([](Float16Type) { return FloatFormat::F16; })
          .Case([](BFloat16Type) { return FloatFormat::BF16; })
          .Case([](Float8E4M3FNType) { return FloatFormat::E4M3FN; })
          .Case([](Float8E5M2Type) { return FloatFormat::E5M2; })
          .Case([](Float8E4M3FNUZType) { return FloatFormat::E4M3FNUZ; })
          .Case([](Float8E5M2FNUZType) { return FloatFormat::E5M2FNUZ; })
          .Case([](Float8E8M0FNUType) { return FloatFormat::E8M0FNU; })
          .Case([](Float6E2M3FNType) { return FloatFormat::E2M3FN; })
          .Case([](Float6E3M2FNType) { return FloatFormat::E3M2FN; })
          .Case([](Float4E2M1FNType) { return FloatFormat::E2M1FN; })
          .Default([](Type) { return std::nullopt; });
  if (!format)
    return std::nullopt;
  return ElementType{true, *format, type.getIntOrFloatBitWidth()};
}

double sim::roundToOdd(uint64_t magnitude) {
  if (magnitude >> 53 == 0)
    return double(magnitude);
  unsigned drop = 11 - llvm::countl_zero(magnitude);
  uint64_t kept = magnitude >> drop;
  bool lost = (kept << drop) != magnitude;
  return std::ldexp(double(kept | uint64_t(lost)), drop);
}

double sim::addToOdd(double a, double b) {
  double sum = a + b;
  if (!std::isfinite(sum))
    return sum;
  // The exact error of the sum is a double (Knuth's two-sum).
  double part = sum - a;
  double error = (a - (sum - part)) + (b - part);
  if (error == 0 || (llvm::bit_cast<uint64_t>(sum) & 1))
    return sum;
  double infinity = std::numeric_limits<double>::infinity();
  return std::nextafter(sum, error > 0 ? infinity : -infinity);
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

SmallVector<int64_t> sim::getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

bool sim::forEachCoordinate(ArrayRef<int64_t> shape,
                            function_ref<bool(ArrayRef<int64_t>)> fn) {
  SmallVector<int64_t> coords(shape.size(), 0);
  for (int64_t i = 0, e = countElements(shape); i < e; ++i) {
    if (!fn(coords))
      return false;
    for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
      if (++coords[dim] < shape[dim])
        break;
      coords[dim] = 0;
    }
  }
  return true;
}

std::string sim::toString(ArrayRef<int64_t> values) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "(";
  llvm::interleaveComma(values, stream);
  stream << ")";
  return text;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

int64_t MemRef::getElementOffset(ArrayRef<int64_t> coords) const {
  int64_t element = offset;
  for (auto [coord, stride] : llvm::zip_equal(coords, strides))
    element += coord * stride;
  return element;
}

/// Calls `fn` with an object that converts between bits and elements.
template <typename Fn>
static void withCodec(ElementType type, int64_t *, Fn fn) {
  struct Codec {
    unsigned width;
    int64_t decode(uint64_t code) const {
      return wrapInteger(int64_t(code), width);
    }
    uint64_t encode(int64_t value) const { return getUnsigned(value, width); }
  };
  fn(Codec{type.width});
}
template <typename Fn>
static void withCodec(ElementType type, double *, Fn fn) {
  withFormat(type.format, fn);
}

/// Calls `fn` with an unsigned integer of the size of an element.
template <typename Fn>
static void withCarrier(unsigned bits, Fn fn) {
  switch (bits) {
  case 8:
    return fn(uint8_t());
  case 16:
    return fn(uint16_t());
  case 32:
    return fn(uint32_t());
  case 64:
    return fn(uint64_t());
  default:
    llvm_unreachable("elements have 8, 16, 32 or 64 bits");
  }
}

/// Returns the byte of an element and its first bit there.
static std::pair<int64_t, unsigned> getPlace(int64_t element, unsigned bits) {
  return {element * bits / 8, unsigned(element * bits % 8)};
}

/// Returns the number of elements before the first with a bit that was never
/// written.
static int64_t countWritten(const MemRef &memref, int64_t first, int64_t stride,
                            int64_t count) {
  const std::vector<uint8_t> &written = memref.buffer->written;
  if (written.empty())
    return count;
  unsigned bits = memref.storageBits;
  for (int64_t i = 0; i < count; ++i) {
    auto [byte, bit] = getPlace(first + i * stride, bits);
    uint8_t mask = bits < 8 ? ((1 << bits) - 1) << bit : 0xff;
    for (unsigned b = 0; b < std::max(bits / 8, 1u); ++b)
      if ((written[byte + b] & mask) != mask)
        return i;
  }
  return count;
}

template <typename T>
int64_t MemRef::read(int64_t first, int64_t stride, int64_t count,
                     T *values) const {
  count = countWritten(*this, first, stride, count);
  const uint8_t *data = buffer->data;
  withCodec(type, static_cast<T *>(nullptr), [&](auto codec) {
    if (storageBits < 8) {
      for (int64_t i = 0; i < count; ++i) {
        auto [byte, bit] = getPlace(first + i * stride, storageBits);
        values[i] =
            codec.decode((data[byte] >> bit) & ((1 << storageBits) - 1));
      }
      return;
    }
    withCarrier(storageBits, [&](auto code) {
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(&code, data + (first + i * stride) * int64_t(sizeof(code)),
                    sizeof(code));
        values[i] = codec.decode(code);
      }
    });
  });
  return count;
}

template <typename T>
void MemRef::write(int64_t first, int64_t stride, int64_t count,
                   const T *values) const {
  uint8_t *data = buffer->data;
  uint8_t *written = buffer->written.empty() ? nullptr : buffer->written.data();
  withCodec(type, static_cast<T *>(nullptr), [&](auto codec) {
    if (storageBits < 8) {
      for (int64_t i = 0; i < count; ++i) {
        auto [byte, bit] = getPlace(first + i * stride, storageBits);
        uint8_t mask = ((1 << storageBits) - 1) << bit;
        data[byte] = (data[byte] & ~mask) |
                     ((uint8_t(codec.encode(values[i])) << bit) & mask);
        if (written)
          written[byte] |= mask;
      }
      return;
    }
    withCarrier(storageBits, [&](auto code) {
      for (int64_t i = 0; i < count; ++i) {
        int64_t byte = (first + i * stride) * int64_t(sizeof(code));
        code = decltype(code)(codec.encode(values[i]));
        std::memcpy(data + byte, &code, sizeof(code));
        if (written)
          std::memset(written + byte, 0xff, sizeof(code));
      }
    });
  });
}

template int64_t MemRef::read(int64_t, int64_t, int64_t, int64_t *) const;
template int64_t MemRef::read(int64_t, int64_t, int64_t, double *) const;
template void MemRef::write(int64_t, int64_t, int64_t, const int64_t *) const;
template void MemRef::write(int64_t, int64_t, int64_t, const double *) const;
