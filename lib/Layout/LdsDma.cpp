//===- LdsDma.cpp - Copies that waves write to LDS linearly ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inverts the layout of a shared buffer. Its modes in the order of their
// strides are the digits of a place in memory. They are dealt out from the
// lowest: to the elements of a lane, to the threads, to the instructions.
//
//   (64, 64):(64, 1) of f16, 128 threads, 16 bytes
//     element 8:1*d1, thread 8:8*d1 16:1*d0, instruction 4:16*d0
//
// A swizzle changes the number of a thread only, if each instruction of the
// block writes whole atoms of it ("CDNA4" ISA, "Memory Buffer Load to LDS").
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/LdsDma.h"

#include "tilews/Layout/IntTuple.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace tilews;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

/// Returns the modes of a layout by stride, with the distance of coordinates
/// as stride. Fails if places between the first and the last one are unused.
static llvm::Expected<SmallVector<Mode>> getDigits(const SharedLayout &layout) {
  SmallVector<std::pair<int64_t, Mode>> byPlace;
  int64_t squeezed = 0;
  for (int64_t dim = 0; dim < layout.getRank(); ++dim) {
    int64_t step = 1;
    for (const Mode &mode : layout.getModes(dim)) {
      if (mode.extent > 1)
        byPlace.push_back({mode.stride, {mode.extent, step, squeezed}});
      step *= mode.extent;
    }
    squeezed += step != 1;
  }
  llvm::sort(byPlace, llvm::less_first());
  SmallVector<Mode> digits;
  int64_t next = 1;
  for (const auto &[stride, digit] : byPlace) {
    if (stride != next)
      return makeLayoutError("its rows have gaps or overlap in shared memory");
    next *= digit.extent;
    digits.push_back(digit);
  }
  return digits;
}

/// Moves the lowest `count` places from `digits` to `taken`. Returns whether
/// the digits can be cut there.
static bool take(SmallVectorImpl<Mode> &digits, int64_t count,
                 SmallVectorImpl<Mode> &taken) {
  size_t whole = 0;
  for (; count > 1 && whole < digits.size(); ++whole) {
    Mode &digit = digits[whole];
    if (count % digit.extent == 0) {
      taken.push_back(digit);
      count /= digit.extent;
      continue;
    }
    if (digit.extent % count != 0)
      return false;
    taken.push_back({count, digit.stride, digit.dim});
    digit = {digit.extent / count, digit.stride * count, digit.dim};
    count = 1;
    break;
  }
  digits.erase(digits.begin(), digits.begin() + whole);
  return count == 1;
}

llvm::Expected<LdsDma> LdsDma::get(const SharedLayout &dest,
                                   int64_t elementBits, int64_t threads,
                                   int64_t bytes) {
  auto digits = getDigits(dest);
  if (!digits)
    return digits.takeError();
  int64_t all = elementBits / 8;
  for (const Mode &digit : *digits)
    all *= digit.extent;
  int64_t step = threads * bytes;
  if (all % step != 0)
    return makeLayoutError(
        llvm::formatv("its {0} bytes are no multiple of {1}, which the {2} "
                      "threads write at a time",
                      all, step, threads)
            .str());
  Swizzle swizzle = dest.getSwizzle();
  if (!swizzle.isIdentity() && int64_t(1) << swizzle.base < bytes)
    return makeLayoutError("the swizzle of its layout moves ",
                           int64_t(1) << swizzle.base,
                           " bytes, and a lane writes ", bytes);
  if (!swizzle.isIdentity() &&
      (swizzle.shift < swizzle.bits || step % swizzle.getAtomBytes() != 0))
    return makeLayoutError(
        llvm::formatv("the swizzle of its layout permutes {0} bytes, and {1} "
                      "are written at a time",
                      swizzle.getAtomBytes(), step)
            .str());
  SmallVector<Mode> thread, value;
  if (!take(*digits, bytes * 8 / elementBits, value) ||
      !take(*digits, threads, thread))
    return makeLayoutError("its extents do not divide evenly among the lanes");
  llvm::append_range(value, *digits);
  int64_t chunk = llvm::Log2_64(bytes);
  int64_t mask = swizzle.isIdentity() ? 0
                                      : ((int64_t(1) << swizzle.bits) - 1)
                                            << (swizzle.base - chunk);
  return LdsDma{FragmentLayout(thread, value), bytes, all / step, swizzle.shift,
                mask};
}
