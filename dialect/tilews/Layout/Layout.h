//===- Layout.h - Layouts of buffers and fragments --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts without IR: where a buffer's elements lie, and which thread holds
// which element of a fragment. Both are lists of modes (extent, stride) in the
// shape:stride notation of CuTe; a mode also names the dimension it belongs to.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_LAYOUT_H
#define TILEWS_LAYOUT_LAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace tilews {

/// One digit of a mixed-radix index. In a shared layout the digit is taken from
/// coordinate `dim`, and each step adds `stride` elements to the offset. In a
/// fragment layout it is taken from the number of a thread or a register, and
/// each step adds `stride` to coordinate `dim`; stride 0 replicates.
struct Mode {
  int64_t extent;
  int64_t stride;
  int64_t dim;

  friend bool operator==(const Mode &a, const Mode &b) {
    return a.extent == b.extent && a.stride == b.stride && a.dim == b.dim;
  }
  friend llvm::hash_code hash_value(const Mode &mode) {
    return llvm::hash_combine(mode.extent, mode.stride, mode.dim);
  }
};

/// XOR of bits [base + shift, base + shift + bits) of a byte offset into bits
/// [base, base + bits).
struct Swizzle {
  int64_t bits = 0;
  int64_t base = 4;
  int64_t shift = 3;

  bool isIdentity() const { return bits == 0; }
  /// Bytes after which the pattern repeats; a buffer has to be aligned to it.
  int64_t getAtomBytes() const {
    return isIdentity() ? 1 : int64_t(1) << (base + shift + bits);
  }
  int64_t operator()(int64_t byteOffset) const {
    int64_t mask = ((int64_t(1) << bits) - 1) << base;
    return byteOffset ^ ((byteOffset >> shift) & mask);
  }
  friend bool operator==(const Swizzle &a, const Swizzle &b) {
    return a.bits == b.bits &&
           (a.bits == 0 || (a.base == b.base && a.shift == b.shift));
  }
  friend llvm::hash_code hash_value(const Swizzle &s) {
    return s.isIdentity() ? llvm::hash_code(0)
                          : llvm::hash_combine(s.bits, s.base, s.shift);
  }
};

/// A map from the coordinates of a buffer to element offsets.
///
/// Example: modes {64, 64, 0} {64, 1, 1} {2, 4096, 1} are two panels of 64
/// columns each, of 64 rows. Element (3, 70) has offset 3 * 64 + 6 + 4096.
class SharedLayout {
public:
  SharedLayout() = default;
  SharedLayout(llvm::ArrayRef<Mode> modes, Swizzle swizzle = {})
      : modes(modes), swizzle(swizzle) {}

  /// Row-major layout without gaps.
  static SharedLayout getRowMajor(llvm::ArrayRef<int64_t> shape);

  /// Rows of at most `spanBytes` in panels: the innermost dimension is cut into
  /// panels of one swizzle span each, a panel holding all rows before the next
  /// begins. Chunks of `chunkBytes` are swizzled within lines of 128 bytes; a
  /// span of a single chunk is not. With chunks of 16 bytes this is the layout
  /// of TMA boxes and of wgmma's canonical operands; threads that read a column
  /// of smaller pieces want chunks of their size.
  static SharedLayout getPanels(llvm::ArrayRef<int64_t> shape,
                                int64_t elementBits, int64_t spanBytes,
                                int64_t chunkBytes = 16);

  /// Rows that start at odd multiples of `chunkBytes`, so that threads that
  /// read a column of such chunks use different banks.
  static SharedLayout getPadded(llvm::ArrayRef<int64_t> shape,
                                int64_t elementBits, int64_t chunkBytes = 16);

  llvm::ArrayRef<Mode> getModes() const { return modes; }
  /// The modes of one dimension, fastest first.
  llvm::SmallVector<Mode> getModes(int64_t dim) const;
  Swizzle getSwizzle() const { return swizzle; }
  int64_t getRank() const;
  llvm::SmallVector<int64_t> getShape() const;

  /// Offset in elements; `elementBits` places the swizzle, which works on
  /// bytes.
  int64_t getOffset(llvm::ArrayRef<int64_t> coords, int64_t elementBits) const;
  /// One more than the largest offset, in elements.
  int64_t getCosize(int64_t elementBits) const;
  /// Returns the number of elements along the innermost dimension that are
  /// adjacent, starting at any multiple of that number.
  int64_t getContiguity(int64_t elementBits) const;
  bool isRowMajor() const;
  /// The layout that places the same bytes when the elements, numbered row by
  /// row, are seen as `elementBits` wide and under `shape`; none if no layout
  /// of modes does.
  std::optional<SharedLayout> view(llvm::ArrayRef<int64_t> shape,
                                   int64_t fromBits, int64_t toBits) const;

  friend bool operator==(const SharedLayout &a, const SharedLayout &b) {
    return a.modes == b.modes && a.swizzle == b.swizzle;
  }

private:
  llvm::SmallVector<Mode> modes;
  Swizzle swizzle;
};

/// Which element each register of each thread holds.
///
/// Example: thread modes {4, 2, 1} {8, 1, 0}, value mode {2, 1, 1}. Thread 5 =
/// 1 + 1 * 4 holds row 1, columns 2 and 3.
class FragmentLayout {
public:
  FragmentLayout() = default;
  FragmentLayout(llvm::ArrayRef<Mode> thread, llvm::ArrayRef<Mode> value)
      : thread(thread), value(value) {}

  llvm::ArrayRef<Mode> getThreadModes() const { return thread; }
  llvm::ArrayRef<Mode> getValueModes() const { return value; }

  /// Threads the layout spans, replicas included.
  int64_t getNumThreads() const;
  /// Registers a thread holds.
  int64_t getNumValues() const;
  /// Coordinates that register `value` of thread `thread` holds.
  llvm::SmallVector<int64_t> getCoords(int64_t thread, int64_t value,
                                       int64_t rank) const;
  /// The part of the coordinates that depends on the register alone.
  llvm::SmallVector<int64_t> getValueCoords(int64_t value, int64_t rank) const;
  /// Extents of the box the layout reaches; at least the fragment's extents.
  llvm::SmallVector<int64_t> getCover(int64_t rank) const;
  /// Registers that are adjacent along `dim`: the leading value modes' run.
  int64_t getContiguity(int64_t dim) const;

  /// The same map with as few modes as it takes: equal maps become equal lists.
  FragmentLayout coalesce() const;
  /// The layout of a fragment with extent one along `dim`: each mode along it
  /// becomes replication over threads and vanishes from the registers.
  FragmentLayout collapseDim(int64_t dim) const;
  /// The layout of the fragment that remains when `dim` is reduced away: it is
  /// collapsed, then removed.
  FragmentLayout dropDim(int64_t dim) const;
  /// The register of `dropDim(dim)` that register `value` falls on.
  int64_t getDroppedValue(int64_t value, int64_t dim) const;
  /// The layout of a fragment with a new dimension of extent one at `dim`.
  FragmentLayout insertDim(int64_t dim) const;
  /// The layout of one of the parts of `extent` that the fragment is cut into
  /// along `dim`; none if threads, and not registers, take the parts.
  std::optional<FragmentLayout> slice(int64_t dim, int64_t extent) const;
  /// The layout of a fragment of `count` parts along `dim`, each of `extent`
  /// and with this layout, in further registers; none if this layout reaches
  /// past `extent`.
  std::optional<FragmentLayout> repeat(int64_t dim, int64_t extent,
                                       int64_t count) const;
  /// The layout of the fragment with dimension `i` taken from
  /// `permutation[i]`.
  FragmentLayout transpose(llvm::ArrayRef<int64_t> permutation) const;
  /// The layout in which every register keeps its element when the elements of
  /// a fragment of shape `from`, numbered row by row, get shape `to`. None if
  /// modes of `from` do not divide the extents of `to`, or reach past `from`.
  std::optional<FragmentLayout> reshape(llvm::ArrayRef<int64_t> from,
                                        llvm::ArrayRef<int64_t> to) const;

  /// The layout of a fragment each of whose elements is cut into `parts`
  /// neighbors along `dim`: the thread that holds an element holds its parts.
  FragmentLayout splitElements(int64_t dim, int64_t parts) const;
  /// The inverse; none unless a thread that holds one of `parts` neighbors
  /// holds all of them.
  std::optional<FragmentLayout> joinElements(int64_t dim, int64_t parts) const;

  friend bool operator==(const FragmentLayout &a, const FragmentLayout &b) {
    return a.thread == b.thread && a.value == b.value;
  }
  /// Returns whether several threads hold the same element.
  bool isShared() const {
    return llvm::any_of(thread, [](const Mode &mode) {
      return mode.stride == 0 && mode.extent != 1;
    });
  }
  /// Whether every register holds the same element in both layouts, however
  /// their modes are written.
  bool isSameAs(const FragmentLayout &other) const {
    return coalesce() == other.coalesce();
  }

private:
  llvm::SmallVector<Mode> thread;
  llvm::SmallVector<Mode> value;
};

/// Returns, for each register of `result`, the register of `source` with the
/// same element, if `source` has the extent 1 in the dimensions where
/// `repeated` is true. Nothing if the elements are spread over the threads
/// differently.
std::optional<llvm::SmallVector<int64_t>>
getBroadcastRegisters(const FragmentLayout &source,
                      const FragmentLayout &result,
                      llvm::ArrayRef<bool> repeated);

/// Returns a layout for vectorized access. Registers run along the innermost
/// dimension in vectors of at most `vectorElements`. Threads are distributed so
/// that each has the fewest registers; among equal distributions, the one with
/// the most threads along the innermost dimension is taken. Lanes of a warp are
/// distributed in powers of two. Any shape can be covered with any number of
/// threads; registers past the shape hold no element.
FragmentLayout getBlockedLayout(llvm::ArrayRef<int64_t> shape,
                                int64_t numThreads, int64_t vectorElements);

} // namespace tilews

#endif // TILEWS_LAYOUT_LAYOUT_H
