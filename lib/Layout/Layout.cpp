//===- Layout.cpp - Layouts of buffers and fragments ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts of shared buffers and of fragments as lists of modes. The offset of
// an element is found digit by digit: each mode takes the next digit of its
// coordinate.
//
//   modes 8:1 and 4:512 along the columns of a 64-row panel layout:
//   column 19 = 3 + 2 * 8 has offset 3 * 1 + 2 * 512
//
// `view` and `coalesce` work on the same digits. Blocked layouts are found by
// dynamic programming over dimensions: the distribution of threads that leaves
// each the fewest registers.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/Layout.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

//===----------------------------------------------------------------------===//
// SharedLayout
//===----------------------------------------------------------------------===//

SharedLayout SharedLayout::getRowMajor(ArrayRef<int64_t> shape) {
  SmallVector<Mode> modes(shape.size());
  int64_t stride = 1;
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    modes[dim] = {shape[dim], stride, dim};
    stride *= shape[dim];
  }
  return SharedLayout(modes);
}

SharedLayout SharedLayout::getPanels(ArrayRef<int64_t> shape,
                                     int64_t elementBits, int64_t spanBytes,
                                     int64_t chunkBytes) {
  int64_t inner = shape.back();
  int64_t panel = spanBytes * 8 / elementBits;
  if (spanBytes < 16 || inner % panel != 0)
    return getRowMajor(shape);

  int64_t last = shape.size() - 1;
  int64_t stride = panel;
  SmallVector<Mode> modes;
  // Rows of one panel first, then the panels, then the leading dimensions.
  if (last > 0) {
    modes.push_back({shape[last - 1], stride, last - 1});
    stride *= shape[last - 1];
  }
  modes.push_back({panel, 1, last});
  if (inner > panel) {
    modes.push_back({inner / panel, stride, last});
    stride *= inner / panel;
  }
  for (int64_t dim = last - 2; dim >= 0; --dim) {
    modes.insert(modes.begin(), {shape[dim], stride, dim});
    stride *= shape[dim];
  }
  Swizzle swizzle;
  if (spanBytes > chunkBytes) {
    // The number of a chunk is XORed with that of its line of 128 bytes.
    swizzle.base = llvm::Log2_64(chunkBytes);
    swizzle.bits = llvm::Log2_64(spanBytes) - swizzle.base;
    swizzle.shift = 7 - swizzle.base;
  }
  return SharedLayout(modes, swizzle);
}

SharedLayout SharedLayout::getPadded(ArrayRef<int64_t> shape,
                                     int64_t elementBits, int64_t chunkBytes) {
  SharedLayout layout = getRowMajor(shape);
  if (shape.size() < 2)
    return layout;
  int64_t chunk = std::max<int64_t>(chunkBytes * 8 / elementBits, 1);
  int64_t chunks = llvm::divideCeil(shape.back(), chunk) | 1;
  int64_t stride = chunks * chunk;
  for (int64_t dim = int64_t(shape.size()) - 2; dim >= 0; --dim) {
    layout.modes[dim].stride = stride;
    stride *= shape[dim];
  }
  return layout;
}

SmallVector<Mode> SharedLayout::getModes(int64_t dim) const {
  return llvm::filter_to_vector(
      modes, [&](const Mode &mode) { return mode.dim == dim; });
}

int64_t SharedLayout::getRank() const {
  return modes.empty() ? 0 : modes.back().dim + 1;
}

SmallVector<int64_t> SharedLayout::getShape() const {
  SmallVector<int64_t> shape(getRank(), 1);
  for (const Mode &mode : modes)
    shape[mode.dim] *= mode.extent;
  return shape;
}

int64_t SharedLayout::getOffset(ArrayRef<int64_t> coords,
                                int64_t elementBits) const {
  SmallVector<int64_t> rest(coords);
  int64_t offset = 0;
  for (const Mode &mode : modes) {
    offset += rest[mode.dim] % mode.extent * mode.stride;
    rest[mode.dim] /= mode.extent;
  }
  if (swizzle.isIdentity())
    return offset;
  int64_t bit = offset * elementBits;
  return (swizzle(bit / 8) * 8 + bit % 8) / elementBits;
}

int64_t SharedLayout::getCosize(int64_t elementBits) const {
  int64_t last = 0;
  for (const Mode &mode : modes)
    last += (mode.extent - 1) * mode.stride;
  if (swizzle.isIdentity())
    return last + 1;
  // The swizzle permutes within an atom, so only whole atoms are certain.
  int64_t atom = swizzle.getAtomBytes() * 8 / elementBits;
  return llvm::alignTo(last + 1, atom);
}

int64_t SharedLayout::getContiguity(int64_t elementBits) const {
  SmallVector<Mode> inner = getModes(getRank() - 1);
  int64_t run = 1;
  for (const Mode &mode : inner) {
    if (mode.stride != run)
      break;
    run *= mode.extent;
  }
  if (!swizzle.isIdentity())
    run = std::gcd(run, (int64_t(8) << swizzle.base) / elementBits);
  // Other strides have to keep the run's start a multiple of it.
  for (const Mode &mode : modes)
    if (mode.stride >= run || mode.dim != getRank() - 1)
      run = std::gcd(run, mode.stride);
  return std::max<int64_t>(run, 1);
}

bool SharedLayout::isRowMajor() const {
  return swizzle.isIdentity() && modes == getRowMajor(getShape()).modes;
}

namespace {
/// A digit of a bit's number, and the distance in bits between its values.
struct BitDigit {
  int64_t extent, bits;
};

/// The digits of the row-major number of a bit in a buffer, the lowest first.
///
/// Example: 4 x 8 elements of 16 bits with rows 256 bits apart have the digits
/// 128:1 (a row of bits without a gap) and 4:256.
class BitDigits {
public:
  BitDigits(const SharedLayout &layout, int64_t elementBits) {
    // An element is itself a row of bits.
    add({elementBits, 1});
    for (int64_t dim = layout.getRank() - 1; dim >= 0; --dim)
      for (const Mode &mode : layout.getModes(dim))
        add({mode.extent, mode.stride * elementBits});
  }

  /// Takes the next digits, whose extents have the product `extent`. Nothing if
  /// there is no such group, because `extent` does not divide a digit.
  std::optional<SmallVector<BitDigit>> take(int64_t extent) {
    SmallVector<BitDigit> taken;
    while (extent > 1) {
      if (next == digits.size())
        return std::nullopt;
      BitDigit &digit = digits[next];
      int64_t part = std::gcd(extent, digit.extent);
      if (part != extent && part != digit.extent)
        return std::nullopt;
      taken.push_back({part, digit.bits});
      extent /= part;
      digit = {digit.extent / part, digit.bits * part};
      if (digit.extent == 1)
        ++next;
    }
    return taken;
  }

private:
  /// Adds a digit, merged with the one before if it continues it.
  void add(BitDigit digit) {
    if (digit.extent == 1)
      return;
    if (!digits.empty() &&
        digits.back().bits * digits.back().extent == digit.bits)
      digits.back().extent *= digit.extent;
    else
      digits.push_back(digit);
  }

  SmallVector<BitDigit> digits;
  size_t next = 0;
};
} // namespace

std::optional<SharedLayout> SharedLayout::view(ArrayRef<int64_t> shape,
                                               int64_t fromBits,
                                               int64_t toBits) const {
  if (llvm::product_of(getShape(), fromBits) != llvm::product_of(shape, toBits))
    return std::nullopt;
  if (isRowMajor())
    return getRowMajor(shape);
  BitDigits digits(*this, fromBits);
  std::optional<SmallVector<BitDigit>> element = digits.take(toBits);
  if (!element || element->size() > 1 ||
      (!element->empty() && element->front().bits != 1))
    return std::nullopt;
  SmallVector<SmallVector<Mode>> groups(shape.size());
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    std::optional<SmallVector<BitDigit>> taken = digits.take(shape[dim]);
    if (!taken)
      return std::nullopt;
    if (taken->empty())
      groups[dim].push_back({1, 0, dim});
    for (const BitDigit &digit : *taken) {
      if (digit.bits % toBits != 0)
        return std::nullopt;
      groups[dim].push_back({digit.extent, digit.bits / toBits, dim});
    }
  }
  SmallVector<Mode> result;
  for (ArrayRef<Mode> group : groups)
    llvm::append_range(result, group);
  return SharedLayout(result, swizzle);
}

//===----------------------------------------------------------------------===//
// FragmentLayout
//===----------------------------------------------------------------------===//

static int64_t getSize(ArrayRef<Mode> modes) {
  int64_t size = 1;
  for (const Mode &mode : modes)
    size *= mode.extent;
  return size;
}

static void addCoords(ArrayRef<Mode> modes, int64_t index,
                      SmallVectorImpl<int64_t> &coords) {
  for (const Mode &mode : modes) {
    // A replica has no dimension to move in; a scalar fragment has none at all.
    if (mode.stride != 0)
      coords[mode.dim] += index % mode.extent * mode.stride;
    index /= mode.extent;
  }
}

int64_t FragmentLayout::getNumThreads() const { return getSize(thread); }
int64_t FragmentLayout::getNumValues() const { return getSize(value); }

SmallVector<int64_t> FragmentLayout::getCoords(int64_t threadIndex,
                                               int64_t valueIndex,
                                               int64_t rank) const {
  SmallVector<int64_t> coords(rank, 0);
  addCoords(thread, threadIndex, coords);
  addCoords(value, valueIndex, coords);
  return coords;
}

SmallVector<int64_t> FragmentLayout::getValueCoords(int64_t valueIndex,
                                                    int64_t rank) const {
  SmallVector<int64_t> coords(rank, 0);
  addCoords(value, valueIndex, coords);
  return coords;
}

SmallVector<int64_t> FragmentLayout::getCover(int64_t rank) const {
  SmallVector<int64_t> cover(rank, 1);
  for (ArrayRef<Mode> modes : {ArrayRef<Mode>(thread), ArrayRef<Mode>(value)})
    for (const Mode &mode : modes)
      if (mode.stride != 0)
        cover[mode.dim] += (mode.extent - 1) * mode.stride;
  return cover;
}

int64_t FragmentLayout::getContiguity(int64_t dim) const {
  int64_t run = 1;
  for (const Mode &mode : value) {
    if (mode.dim != dim || mode.stride != run)
      break;
    run *= mode.extent;
  }
  return run;
}

static SmallVector<Mode> coalesceModes(ArrayRef<Mode> modes) {
  SmallVector<Mode> result;
  for (Mode mode : modes) {
    if (mode.extent == 1)
      continue;
    if (mode.stride == 0)
      mode.dim = 0;
    if (!result.empty() && result.back().dim == mode.dim &&
        result.back().stride * result.back().extent == mode.stride &&
        (result.back().stride == 0) == (mode.stride == 0))
      result.back().extent *= mode.extent;
    else
      result.push_back(mode);
  }
  return result;
}

FragmentLayout FragmentLayout::coalesce() const {
  return FragmentLayout(coalesceModes(thread), coalesceModes(value));
}

//===----------------------------------------------------------------------===//
// Blocked layouts
//===----------------------------------------------------------------------===//

namespace {
/// The best distribution of threads over dimensions 0 to some dimension.
struct Distribution {
  int64_t registers = 0; // per thread, in vectors
  int64_t threads = 1;   // along the last of the dimensions
};

/// Distributes threads over dimensions, the last dimension first. Lanes of a
/// warp are distributed in powers of two, so that reductions can exchange
/// registers in pairs; odd factors go to warps.
///
/// Example: 128 threads over 16 x 4 vectors: 4 along the last dimension, 16
/// along the first, and 2 copies.
class ThreadDistributor {
public:
  ThreadDistributor(ArrayRef<int64_t> wanted, int64_t allThreads)
      : wanted(wanted), allThreads(allThreads),
        lanes(std::min<int64_t>(allThreads & -allThreads, 64)) {}

  /// Returns the best distribution of `threads` over dimensions 0 to `dim`.
  Distribution get(int64_t dim, int64_t threads) {
    if (dim < 0)
      return {1, 1}; // The remaining threads hold copies.
    auto [entry, isNew] = known.try_emplace({dim, threads});
    if (!isNew)
      return entry->second;
    Distribution best;
    for (int64_t along = 1; along <= threads; ++along) {
      int64_t taken = allThreads / threads * along;
      if (threads % along != 0 || (lanes % taken != 0 && taken % lanes != 0))
        continue;
      int64_t rest = get(dim - 1, threads / along).registers;
      Distribution next = {int64_t(llvm::divideCeil(wanted[dim], along)) * rest,
                           along};
      bool more = best.threads < wanted[dim];
      if (best.registers == 0 || next.registers < best.registers ||
          (next.registers == best.registers && more))
        best = next;
      if (along >= wanted[dim])
        break;
    }
    return known[{dim, threads}] = best;
  }

private:
  ArrayRef<int64_t> wanted;
  int64_t allThreads, lanes;
  llvm::DenseMap<std::pair<int64_t, int64_t>, Distribution> known;
};
} // namespace

FragmentLayout tilews::getBlockedLayout(ArrayRef<int64_t> shape,
                                        int64_t numThreads,
                                        int64_t vectorElements) {
  int64_t rank = shape.size();
  SmallVector<Mode> thread, value;
  SmallVector<int64_t> reach(rank, 1), wanted(shape);
  if (rank > 0) {
    int64_t vector = std::gcd(vectorElements, shape.back());
    if (vector > 1)
      value.push_back({vector, 1, rank - 1});
    reach.back() = vector;
    wanted.back() /= vector;
  }
  ThreadDistributor distributor(wanted, numThreads);
  int64_t left = numThreads;
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    int64_t extent = distributor.get(dim, left).threads;
    if (extent > 1)
      thread.push_back({extent, reach[dim], dim});
    reach[dim] *= extent;
    left /= extent;
  }
  if (left > 1)
    thread.push_back({left, 0, 0});
  for (int64_t dim = rank - 1; dim >= 0; --dim) {
    int64_t repeats = llvm::divideCeil(shape[dim], reach[dim]);
    if (repeats > 1)
      value.push_back({repeats, reach[dim], dim});
  }
  return FragmentLayout(thread, value);
}
