//===- Algebra.h - The algebra of shape:stride layouts ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts with nested shapes and strides as functions from coordinates to
// offsets, and the operations on them, after the published layout algebra of
// CuTe ("CuTe Layout Algebra", CUTLASS documentation). A coordinate may also be
// given as one index, the first mode fastest.
//
// Every result is the function its description says, or an error: where no
// layout is that function, the message says why.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_ALGEBRA_H
#define TILEWS_LAYOUT_ALGEBRA_H

#include "tilews/Layout/IntTuple.h"

#include <optional>

namespace tilews {

/// A leaf of a layout: `extent` elements, `stride` apart.
struct Axis {
  int64_t extent, stride;
};

/// A function from coordinates, or indices, to offsets.
///
/// Example: (4,8):(8,1) is a row-major matrix of 4 rows. Coordinate (1,2) is
/// index 1 + 4 * 2 = 9, and has offset 1 * 8 + 2 * 1 = 10.
class Layout {
public:
  /// Makes the layout `1:0` of one element.
  Layout() : shape(1), stride(0) {}
  /// Makes a layout. Fails unless extents are positive, strides not negative,
  /// both are nested alike, and all sizes are at most `maxSize`.
  static llvm::Expected<Layout> get(IntTuple shape, IntTuple stride);
  /// Returns the layout without gaps, the first leaf fastest.
  static llvm::Expected<Layout> getCompact(IntTuple shape);
  /// Returns the layout with the given modes.
  static llvm::Expected<Layout> join(llvm::ArrayRef<Layout> modes);
  /// Returns the layout of a list of axes. One axis makes a leaf, none `1:0`.
  static llvm::Expected<Layout> getFlat(llvm::ArrayRef<Axis> axes);
  /// Parses `shape:stride`, or a shape alone for the layout without gaps.
  static llvm::Expected<Layout> parse(llvm::StringRef text);

  /// The limit of sizes, strides and cosizes.
  static constexpr int64_t maxSize = int64_t(1) << 40;

  const IntTuple &getShape() const { return shape; }
  const IntTuple &getStride() const { return stride; }
  size_t getRank() const { return shape.getRank(); }
  int64_t getDepth() const { return shape.getDepth(); }
  /// Returns the number of coordinates.
  int64_t getSize() const;
  /// Returns one more than the largest offset.
  int64_t getCosize() const;
  Layout getMode(size_t i) const;
  std::vector<Layout> getModes() const;
  /// Returns the leaves, the fastest first.
  llvm::SmallVector<Axis> getAxes() const;

  /// Returns the offset of an index. For indices past the size the last leaf
  /// continues.
  int64_t operator()(int64_t index) const;
  /// Returns the offset at a coordinate. Its parts may be indices of whole
  /// modes.
  llvm::Expected<int64_t> at(const IntTuple &coord) const;
  /// Returns the coordinate of an index, nested like the shape.
  IntTuple getCoord(int64_t index) const;

  std::string str() const;
  friend bool operator==(const Layout &a, const Layout &b) {
    return a.shape == b.shape && a.stride == b.stride;
  }

private:
  Layout(IntTuple shape, IntTuple stride)
      : shape(std::move(shape)), stride(std::move(stride)) {}

  IntTuple shape, stride;
};

/// Returns `a * b`, or a number above every limit.
int64_t multiply(int64_t a, int64_t b);

/// Returns the same function of the index with the fewest leaves:
/// (2,4,8):(1,2,8) becomes 64:1.
Layout coalesce(const Layout &layout);
/// Coalesces each mode by itself.
Layout coalesceModes(const Layout &layout);
/// Returns the same leaves without nesting.
Layout flatten(const Layout &layout);

/// Returns the layout c -> outer(inner(c)), with the modes of `inner`. Offsets
/// of `inner` must be indices of `outer`. (4,8):(8,1) and 16:2 give
/// (2,8):(16,1).
llvm::Expected<Layout> compose(const Layout &outer, const Layout &inner);
/// Composes mode by mode. Modes without a tiler stay.
llvm::Expected<Layout> compose(const Layout &outer,
                               llvm::ArrayRef<Layout> tilers);

/// Returns the layout of the offsets that `layout` leaves out. Together they
/// reach every offset at least up to `size`, and each as often as `layout`
/// does: 4:2 and size 16 give (2,2):(1,8).
llvm::Expected<Layout> complement(const Layout &layout, int64_t size);

/// Returns (tile, rest): the elements of `layout` that `tile` selects, and the
/// positions of the tiles. 16:1 divided by 4:1 is (4,4):(1,4). If tiles do not
/// fill the layout, the last one reaches past its end.
llvm::Expected<Layout> logicalDivide(const Layout &layout, const Layout &tile);
/// Divides mode by mode: ((tile0, rest0), (tile1, rest1), ...).
llvm::Expected<Layout> logicalDivide(const Layout &layout,
                                     llvm::ArrayRef<Layout> tilers);
/// Divides into ((tile0, tile1, ...), (rest0, rest1, ...)). (8,6):(1,8) by 4:1
/// and 2:1 gives ((4,2),(2,3)):((1,8),(4,16)).
llvm::Expected<Layout> zippedDivide(const Layout &layout,
                                    llvm::ArrayRef<Layout> tilers);
/// Divides into ((tile0, tile1, ...), rest0, rest1, ...).
llvm::Expected<Layout> tiledDivide(const Layout &layout,
                                   llvm::ArrayRef<Layout> tilers);

/// Returns (layout, repetition): copies of `layout` side by side, in the order
/// of `by`. 4:1 by 3:1 is (4,3):(1,4).
llvm::Expected<Layout> logicalProduct(const Layout &layout, const Layout &by);
/// Repeats with paired modes, ((layout0, by0), (layout1, by1), ...): whole
/// copies lie side by side along each mode.
llvm::Expected<Layout> blockedProduct(const Layout &layout, const Layout &by);
/// Repeats with paired modes, ((by0, layout0), (by1, layout1), ...): copies are
/// interleaved.
llvm::Expected<Layout> rakedProduct(const Layout &layout, const Layout &by);

/// Returns the largest layout r of whole modes with layout(r(i)) == i.
/// (4,8):(8,1) gives (8,4):(4,1).
Layout rightInverse(const Layout &layout);
/// Returns a layout l with l(layout(i)) == i for every index.
llvm::Expected<Layout> leftInverse(const Layout &layout);

/// Two coordinates with the same offset.
struct Collision {
  IntTuple first, second;
  int64_t offset;
};
/// Returns two coordinates with the same offset, if there are any. Fails for
/// layouts of many leaves with unrelated strides, which take too long to
/// decide.
llvm::Expected<std::optional<Collision>> findCollision(const Layout &layout);
/// Returns the smallest offset below the cosize that no coordinate has.
std::optional<int64_t> findGap(const Layout &layout);

/// Returns the layout in units of `factor` elements; the coordinates in a unit
/// become one coordinate.
llvm::Expected<Layout> upcast(const Layout &layout, int64_t factor);
/// Returns the layout of smaller elements, `factor` in each of this layout's
/// elements. The first leaf of stride one becomes longer.
llvm::Expected<Layout> downcast(const Layout &layout, int64_t factor);
/// Returns the layout of the same bits as elements of another width. From 8 to
/// 16 bits, (4,8):(1,4) becomes (2,8):(1,2).
llvm::Expected<Layout> recast(const Layout &layout, int64_t fromBits,
                              int64_t toBits);

/// The rest of a layout when some coordinates are fixed, and its first offset.
struct Slice {
  Layout layout;
  int64_t offset = 0;
};
/// Fixes the coordinates that `coord` gives and keeps its open places, as in
/// `(_,3)`.
llvm::Expected<Slice> slice(const Layout &layout, const IntTuple &coord);

/// Returns the layout of `count` versions: the step of the new leading mode is
/// the cosize, rounded up to a multiple of `alignment`.
llvm::Expected<Layout> expand(const Layout &layout, int64_t count,
                              int64_t alignment);

/// Returns the largest number of elements, up to `limit`, that are contiguous
/// in both layouts, in the same order, and aligned to that number.
llvm::Expected<int64_t> getCommonVector(const Layout &a, const Layout &b,
                                        int64_t limit);

/// `count` steps of a leaf, each of which adds `digits` to the digits of a
/// mixed-radix number.
struct DigitStep {
  int64_t count;
  llvm::SmallVector<int64_t> digits; // added by each step
};
/// Cuts the numbers 0, stride, 2 * stride, ... of an axis into parts in which
/// no digit carries. None if there is no such cut. The last digit has no limit.
std::optional<llvm::SmallVector<DigitStep>>
splitSteps(Axis axis, llvm::ArrayRef<int64_t> radices);

} // namespace tilews

#endif // TILEWS_LAYOUT_ALGEBRA_H
