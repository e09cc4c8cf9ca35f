//===- PartLayoutTest.cpp - Layouts of parts of a buffer ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The elements of every part must have the places that they have in the buffer:
// the start of the part plus the offset in its layout. A buffer made of parts
// must have parts of the given layout, and no two elements in one place.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/PartLayout.h"

#include "gtest/gtest.h"

#include <set>

using namespace tilews;

namespace {

using Shape = llvm::SmallVector<int64_t>;

/// Calls `fn` with the coordinates of all elements of a shape.
template <typename Fn>
void forEach(llvm::ArrayRef<int64_t> shape, Fn fn) {
  Shape coords(shape.size(), 0);
  while (true) {
    fn(coords);
    size_t dim = shape.size();
    while (dim > 0 && ++coords[dim - 1] == shape[dim - 1])
      coords[--dim] = 0;
    if (dim == 0)
      return;
  }
}

/// Checks all parts of a layout. Returns false if it has none of these sizes.
bool checkParts(const SharedLayout &layout, const Shape &shape,
                const Shape &sizes, int64_t bits) {
  llvm::Expected<SharedLayout> part = getPartLayout(layout, sizes, bits);
  if (!part) {
    llvm::consumeError(part.takeError());
    return false;
  }
  Shape counts;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    counts.push_back(shape[dim] / sizes[dim]);
  SharedLayout places(layout.getModes());
  forEach(counts, [&](const Shape &number) {
    Shape first;
    for (size_t dim = 0; dim < shape.size(); ++dim)
      first.push_back(number[dim] * sizes[dim]);
    int64_t start = places.getOffset(first, bits);
    forEach(sizes, [&](const Shape &inside) {
      Shape coords, kept;
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        coords.push_back(first[dim] + inside[dim]);
        if (sizes[dim] != 1)
          kept.push_back(inside[dim]);
      }
      EXPECT_EQ(layout.getOffset(coords, bits),
                start + part->getOffset(kept, bits));
    });
  });
  return true;
}

TEST(PartLayoutTest, PartsOfRowMajorBuffers) {
  Shape shape = {4, 16, 24};
  SharedLayout layout = SharedLayout::getRowMajor(shape);
  for (const Shape &sizes :
       {Shape{1, 16, 24}, Shape{1, 16, 8}, Shape{1, 1, 24}, Shape{2, 16, 24},
        Shape{1, 16, 1}, Shape{4, 16, 24}, Shape{1, 8, 12}})
    EXPECT_TRUE(checkParts(layout, shape, sizes, 16));
}

TEST(PartLayoutTest, PartsOfSwizzledBuffers) {
  Shape shape = {2, 32, 128};
  for (int64_t span : {32, 64, 128}) {
    SharedLayout layout = SharedLayout::getPanels(shape, 16, span);
    EXPECT_TRUE(checkParts(layout, shape, {1, 32, 128}, 16));
    EXPECT_TRUE(checkParts(layout, shape, {1, 16, 128}, 16));
    EXPECT_TRUE(checkParts(layout, shape, {1, 32, span / 2}, 16));
    // Rows within an atom, and columns within a panel, are swizzled otherwise.
    EXPECT_FALSE(checkParts(layout, shape, {1, 2, 128}, 16));
    EXPECT_FALSE(checkParts(layout, shape, {1, 32, span / 4}, 16));
  }
}

TEST(PartLayoutTest, BuffersAreMadeOfParts) {
  for (int64_t bits : {8, 16, 32})
    for (int64_t span : {16, 32, 64, 128}) {
      Shape shape = {3, 64, 256}, sizes = {1, 32, 128};
      SharedLayout part = SharedLayout::getPanels({32, 128}, bits, span);
      SharedLayout buffer =
          llvm::cantFail(repeatPart(part, shape, sizes, bits));
      EXPECT_EQ(llvm::cantFail(getPartLayout(buffer, sizes, bits)), part);
      EXPECT_TRUE(checkParts(buffer, shape, sizes, bits));
      std::set<int64_t> offsets;
      forEach(shape, [&](const Shape &coords) {
        offsets.insert(buffer.getOffset(coords, bits));
      });
      EXPECT_EQ(offsets.size(), 3u * 64 * 256);
    }
}

TEST(PartLayoutTest, PartsOfPanelsMakePanels) {
  for (int64_t span : {32, 64, 128}) {
    int64_t columns = span / 2;
    SharedLayout part = SharedLayout::getPanels({32, columns}, 16, span);
    SharedLayout panels = SharedLayout::getPanels({64, 2 * columns}, 16, span);
    EXPECT_EQ(
        llvm::cantFail(repeatPart(part, {64, 2 * columns}, {32, columns}, 16)),
        panels);
  }
}

TEST(PartLayoutTest, ErrorsSayWhatDoesNotFit) {
  auto getError = [](llvm::Expected<SharedLayout> layout) {
    return layout ? "" : llvm::toString(layout.takeError());
  };
  SharedLayout layout = SharedLayout::getPanels({32, 128}, 16, 128);
  EXPECT_EQ(getError(getPartLayout(layout, {2, 128}, 16)),
            "parts along dimension 0 lie 256 bytes apart, which is no multiple "
            "of the swizzle's atom of 1024 bytes");
  EXPECT_EQ(getError(getPartLayout(layout, {12, 128}, 16)),
            "a part of 12 elements along dimension 0 cuts a mode of 32");
  EXPECT_EQ(getError(getPartLayout(layout, {64, 128}, 16)),
            "a part of 64 elements does not fit dimension 0");
  EXPECT_EQ(getError(repeatPart(layout, {48, 128}, {32, 128}, 16)),
            "parts of 32 elements do not divide the extent 48");
}

} // namespace
