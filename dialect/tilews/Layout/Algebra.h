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

/// A mode without parts.
struct Axis {
  int64_t extent, stride;
};

class Layout {
public:
  /// The layout `1:0` of one element.
  Layout() : shape(1), stride(0) {}
  /// Checks that extents are positive, strides not negative, both nested alike
  /// and everything below `maxSize`.
  static llvm::Expected<Layout> get(IntTuple shape, IntTuple stride);
  /// The layout without gaps, the first leaf fastest.
  static llvm::Expected<Layout> getCompact(IntTuple shape);
  /// The layout whose modes are the given ones.
  static llvm::Expected<Layout> join(llvm::ArrayRef<Layout> modes);
  /// Axes side by side; a single one is a leaf, none is `1:0`.
  static llvm::Expected<Layout> getFlat(llvm::ArrayRef<Axis> axes);
  /// Reads `shape:stride`, or a shape alone for the layout without gaps.
  static llvm::Expected<Layout> parse(llvm::StringRef text);

  /// Sizes, strides and cosizes are at most this.
  static constexpr int64_t maxSize = int64_t(1) << 40;

  const IntTuple &getShape() const { return shape; }
  const IntTuple &getStride() const { return stride; }
  size_t getRank() const { return shape.getRank(); }
  int64_t getDepth() const { return shape.getDepth(); }
  /// The number of coordinates.
  int64_t getSize() const;
  /// One more than the largest offset.
  int64_t getCosize() const;
  Layout getMode(size_t i) const;
  std::vector<Layout> getModes() const;
  /// The leaves, first one fastest.
  llvm::SmallVector<Axis> getAxes() const;

  /// The offset of the element with this index. Past the size, the last leaf
  /// goes on.
  int64_t operator()(int64_t index) const;
  /// The offset at a coordinate, whose parts may be indices of whole modes.
  llvm::Expected<int64_t> at(const IntTuple &coord) const;
  /// The coordinate of an index, nested like the shape.
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

/// The same function of the index with as few leaves as it takes.
Layout coalesce(const Layout &layout);
/// Each mode coalesced by itself.
Layout coalesceModes(const Layout &layout);
/// The same leaves without nesting.
Layout flatten(const Layout &layout);

/// The layout c -> outer(inner(c)), its modes those of `inner`. `inner` has to
/// stay inside of `outer`.
llvm::Expected<Layout> compose(const Layout &outer, const Layout &inner);
/// Composes mode by mode; modes without a tiler stay.
llvm::Expected<Layout> compose(const Layout &outer,
                               llvm::ArrayRef<Layout> tilers);

/// The layout of what `layout` leaves out of [0, size): together they reach
/// every offset once (as far as `layout` does), at least up to `size`.
llvm::Expected<Layout> complement(const Layout &layout, int64_t size);

/// (tile, rest): the elements of `layout` that `tile` picks, and the repetition
/// of that. Where tiles do not fill the layout, the last one goes past its end.
llvm::Expected<Layout> logicalDivide(const Layout &layout, const Layout &tile);
/// The same mode by mode: ((tile0, rest0), (tile1, rest1), ...).
llvm::Expected<Layout> logicalDivide(const Layout &layout,
                                     llvm::ArrayRef<Layout> tilers);
/// ((tile0, tile1, ...), (rest0, rest1, ...)).
llvm::Expected<Layout> zippedDivide(const Layout &layout,
                                    llvm::ArrayRef<Layout> tilers);
/// ((tile0, tile1, ...), rest0, rest1, ...).
llvm::Expected<Layout> tiledDivide(const Layout &layout,
                                   llvm::ArrayRef<Layout> tilers);

/// (layout, repetition): `layout` repeated beside itself in the order of `by`.
llvm::Expected<Layout> logicalProduct(const Layout &layout, const Layout &by);
/// The same with modes paired: ((layout0, by0), (layout1, by1), ...), so that
/// whole copies are laid side by side.
llvm::Expected<Layout> blockedProduct(const Layout &layout, const Layout &by);
/// ((by0, layout0), (by1, layout1), ...): the copies are interleaved.
llvm::Expected<Layout> rakedProduct(const Layout &layout, const Layout &by);

/// The layout r with layout(r(i)) == i, as long as whole modes give one.
Layout rightInverse(const Layout &layout);
/// A layout l with l(layout(i)) == i for every index.
llvm::Expected<Layout> leftInverse(const Layout &layout);

/// Two coordinates with the same offset.
struct Collision {
  IntTuple first, second;
  int64_t offset;
};
/// A pair of coordinates that shows that the layout is not injective. Fails for
/// layouts of many leaves with unrelated strides, which take too long to
/// decide.
llvm::Expected<std::optional<Collision>> findCollision(const Layout &layout);
/// The smallest offset below the cosize that no coordinate has.
std::optional<int64_t> findGap(const Layout &layout);

/// The layout in units of `factor` elements: the coordinates of a unit become
/// one.
llvm::Expected<Layout> upcast(const Layout &layout, int64_t factor);
/// The layout of elements of which `factor` make up one of this layout's. They
/// extend the first leaf of stride one.
llvm::Expected<Layout> downcast(const Layout &layout, int64_t factor);
/// The layout of the same bits as elements of another width.
llvm::Expected<Layout> recast(const Layout &layout, int64_t fromBits,
                              int64_t toBits);

/// What is left of a layout when coordinates are fixed, and where it begins.
struct Slice {
  Layout layout;
  int64_t offset = 0;
};
/// Keeps the open places of `coord`, such as `(_,3)`.
llvm::Expected<Slice> slice(const Layout &layout, const IntTuple &coord);

/// The layout of `count` versions: a leading mode steps over the layout's
/// elements, rounded up to a multiple of `alignment`.
llvm::Expected<Layout> expand(const Layout &layout, int64_t count,
                              int64_t alignment);

/// Returns the largest number of elements, up to `limit`, that are contiguous
/// in both layouts, in the same order, and aligned to that number.
llvm::Expected<int64_t> getCommonVector(const Layout &a, const Layout &b,
                                        int64_t limit);

/// Steps of one leaf over the digits of a mixed-radix number.
struct DigitStep {
  int64_t count;
  llvm::SmallVector<int64_t> digits; // added by each step
};
/// Cuts the steps 0, stride, 2 * stride ... of an axis into parts in which no
/// digit carries; none if there is no such cut. The last digit has no limit.
std::optional<llvm::SmallVector<DigitStep>>
splitSteps(Axis axis, llvm::ArrayRef<int64_t> radices);

} // namespace tilews

#endif // TILEWS_LAYOUT_ALGEBRA_H
