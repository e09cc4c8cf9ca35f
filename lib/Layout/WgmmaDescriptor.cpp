//===- WgmmaDescriptor.cpp - Shared operands of wgmma ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives the matrix descriptor of wgmma from the layout of a shared operand.
// The layout is divided by the instruction's extents into one instruction's
// part and the starts of the parts. From the part, steps are taken in the order
// of the canonical layouts of the PTX ISA: 16-byte chunks, the 8 rows of a core
// matrix, groups of 8 rows. Each must have one stride; the strides of chunks
// and groups are the leading and stride byte offsets.
//
//   128 x 64 f16 in 128-byte rows with Sw<3,4,3>, K along the rows:
//     rows 128 bytes apart, groups 1024 bytes apart: stride offset 1024
//
// An error says which part of the layout wgmma cannot read.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/WgmmaDescriptor.h"

#include "tilews/Layout/SwizzledLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tilews;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;

/// Rows of a core matrix, and the bytes of each without a swizzle.
static constexpr int64_t coreRows = 8;
static constexpr int64_t chunkBytes = 16;
/// Offsets have 14 bits, in units of 16 bytes.
static constexpr int64_t maxBytes = int64_t(1) << 18;

int64_t WgmmaDescriptor::getBits() const {
  int64_t mode = swizzleBytes == 128  ? 1
                 : swizzleBytes == 64 ? 2
                 : swizzleBytes == 32 ? 3
                                      : 0;
  return leadingBytes / chunkBytes << 16 | strideBytes / chunkBytes << 32 |
         mode << 62;
}

namespace {
/// One dimension of the operand, K or M (N): the axes of the part that one
/// instruction reads, and the starts of the parts. All in bytes.
///
/// Example: K of 64 f16 elements along rows of 128 bytes, K = 16 of an
/// instruction: axes 16:2, starts 4:32.
struct OperandDim {
  SmallVector<Axis> axes;
  Layout starts;

  int64_t getFirstStride() const {
    return axes.empty() ? 0 : axes.front().stride;
  }
  /// Takes the next `count` coordinates and returns their distance. Returns
  /// nothing if they are not equally far apart.
  std::optional<int64_t> take(int64_t count) {
    if (count == 1)
      return 0;
    if (axes.empty() || axes.front().extent % count != 0)
      return std::nullopt;
    Axis &axis = axes.front();
    int64_t stride = axis.stride;
    axis = {axis.extent / count, stride * count};
    if (axis.extent == 1)
      axes.erase(axes.begin());
    return stride;
  }
};

/// Derives the descriptor from the two dimensions. The canonical layouts are,
/// in bytes with w for the swizzle's span (16 without one) and after the
/// swizzle:
///   along K:     rows (8, M/8) : (w, stride),
///                16-byte chunks of K : 16, or leading without a swizzle;
///   along M, N:  (w, M/w) : (1, leading), rows of K (8, K/8) : (w, stride),
///                leading and stride the other way round without a swizzle.
class Deriver {
public:
  explicit Deriver(const WgmmaOperand &operand)
      : operand(operand), bytes(operand.elementBits / 8) {}

  Expected<WgmmaDescriptor> derive();

private:
  Error check() const;
  Expected<OperandDim> getDim(int64_t dim, int64_t extent,
                              const char *name) const;
  Error takeRows(OperandDim &side, const char *name) const;
  Error deriveMajorK(OperandDim side, OperandDim k);
  Error deriveMajorMN(OperandDim side, OperandDim k);
  Error checkStarts(const OperandDim &side, int64_t within) const;
  Error checkDistance(int64_t distance, const char *what) const;
  int64_t getSpan() const {
    return result.swizzleBytes ? result.swizzleBytes : chunkBytes;
  }

  const WgmmaOperand &operand;
  int64_t bytes;
  WgmmaDescriptor result;
};
} // namespace

Error Deriver::check() const {
  if (operand.layout.getRank() != 2)
    return makeLayoutError("wgmma reads buffers of two dimensions, found ",
                           operand.layout.getRank());
  if (!llvm::is_contained({8, 16, 32}, operand.elementBits))
    return makeLayoutError("wgmma reads elements of 8, 16 or 32 bits, found ",
                           operand.elementBits);
  Swizzle swizzle = operand.layout.getSwizzle();
  if (!swizzle.isIdentity() &&
      (swizzle.bits > 3 || swizzle.base != 4 || swizzle.shift != 3))
    return makeLayoutError("wgmma has no swizzle ", toString(swizzle),
                           ", only Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>");
  if (operand.kDim != 0 && operand.kDim != 1)
    return makeLayoutError("K is dimension 0 or 1, found ", operand.kDim);
  if (operand.extent < 1 || operand.extent % coreRows != 0 || operand.k < 1 ||
      operand.k * bytes % (2 * chunkBytes) != 0)
    return makeLayoutError("wgmma has multiples of 8 elements along M and N, "
                           "and of 32 bytes along K, found ",
                           operand.extent, " and ", operand.k * bytes);
  return Error::success();
}

Expected<OperandDim> Deriver::getDim(int64_t dim, int64_t extent,
                                     const char *name) const {
  Expected<Layout> whole = getDimLayout(operand.layout, dim);
  if (!whole)
    return whole.takeError();
  int64_t size = whole->getSize();
  if (extent < 1 || size % extent != 0)
    return makeLayoutError("the instruction's ", extent, " elements along ",
                           name, " do not divide the buffer's ", size);
  Expected<Layout> divided =
      logicalDivide(*whole, llvm::cantFail(Layout::get(extent, 1)));
  if (!divided) {
    llvm::consumeError(divided.takeError());
    return makeLayoutError("the instruction's ", extent, " elements along ",
                           name, " cut through a part of the layout");
  }
  OperandDim side;
  for (Axis axis : coalesce(divided->getMode(0)).getAxes())
    if (axis.extent > 1)
      side.axes.push_back({axis.extent, axis.stride * bytes});
  SmallVector<Axis> starts = coalesce(divided->getMode(1)).getAxes();
  for (Axis &axis : starts)
    axis.stride *= bytes;
  side.starts = llvm::cantFail(Layout::getFlat(starts));
  return side;
}

/// Checks that parts start at most `within` bytes after the start of the
/// swizzle's pattern.
Error Deriver::checkStarts(const OperandDim &side, int64_t within) const {
  int64_t pattern = result.swizzleBytes ? coreRows * getSpan() : chunkBytes;
  for (int64_t i = 0, e = side.starts.getSize(); i < e; ++i) {
    int64_t start = side.starts(i);
    if (start % chunkBytes != 0 || start % pattern > within)
      return makeLayoutError("an instruction's part begins ", start,
                             " bytes into the buffer, inside of the ", pattern,
                             " bytes after which the layout repeats");
  }
  return Error::success();
}

Error Deriver::checkDistance(int64_t distance, const char *what) const {
  int64_t unit = result.swizzleBytes ? coreRows * getSpan() : chunkBytes;
  if (distance % unit == 0 && distance < maxBytes)
    return Error::success();
  return makeLayoutError(what, " are ", distance,
                         " bytes apart; wgmma needs a multiple of ", unit,
                         " below ", maxBytes);
}

/// Takes the rows of a core matrix.
Error Deriver::takeRows(OperandDim &side, const char *name) const {
  int64_t found = side.getFirstStride();
  if (side.take(coreRows) == getSpan())
    return Error::success();
  return makeLayoutError("wgmma reads rows along ", name, " that are ",
                         getSpan(), " bytes apart, found ", found);
}

Error Deriver::deriveMajorK(OperandDim side, OperandDim k) {
  int64_t span = getSpan();
  k.take(chunkBytes / bytes); // side by side: derive() looked
  int64_t chunks = operand.k * bytes / chunkBytes;
  std::optional<int64_t> chunk = k.take(chunks);
  if (!chunk || (result.swizzleBytes && *chunk != chunkBytes && chunks > 1))
    return makeLayoutError("the ", chunks, " chunks of ", chunkBytes,
                           " bytes along K that an instruction reads are not ",
                           result.swizzleBytes ? "side by side"
                                               : "equally far apart");
  if (Error error = takeRows(side, "M or N"))
    return error;
  int64_t groups = operand.extent / coreRows;
  std::optional<int64_t> group = side.take(groups);
  if (!group)
    return makeLayoutError("groups of eight rows along M or N are not equally "
                           "far apart");
  // Strides that an instruction does not use have their default.
  result.leadingBytes = result.swizzleBytes ? chunkBytes : *chunk;
  result.strideBytes = groups > 1 ? *group : coreRows * span;
  if (Error error = checkDistance(result.strideBytes,
                                  "groups of eight rows along M or N"))
    return error;
  if (!result.swizzleBytes)
    if (Error error = checkDistance(result.leadingBytes, "chunks along K"))
      return error;
  if (Error error = checkStarts(side, 0))
    return error;
  return checkStarts(k, span - 1);
}

Error Deriver::deriveMajorMN(OperandDim side, OperandDim k) {
  if (operand.elementBits != 16)
    return makeLayoutError("elements of ", operand.elementBits,
                           " bits that are not side by side along K cannot be "
                           "transposed; wgmma does that for 16 bits");
  int64_t span = getSpan();
  int64_t width = std::min(span / bytes, operand.extent);
  std::optional<int64_t> element = side.take(width);
  int64_t panels = operand.extent / width;
  std::optional<int64_t> panel = side.take(panels);
  if (!element || *element != bytes || !panel ||
      panels * width != operand.extent)
    return makeLayoutError("an instruction's ", operand.extent,
                           " elements along M or N do not lie in runs of ",
                           span, " bytes");
  if (Error error = takeRows(k, "K"))
    return error;
  int64_t groups = operand.k / coreRows;
  std::optional<int64_t> group = k.take(groups);
  if (!group)
    return makeLayoutError("groups of eight rows along K are not equally far "
                           "apart");
  int64_t panelBytes = panels > 1 ? *panel : coreRows * span;
  int64_t groupBytes = groups > 1 ? *group : coreRows * span;
  if (Error error = checkDistance(panelBytes, "runs along M or N"))
    return error;
  if (Error error = checkDistance(groupBytes, "groups of eight rows along K"))
    return error;
  result.leadingBytes = result.swizzleBytes ? panelBytes : groupBytes;
  result.strideBytes = result.swizzleBytes ? groupBytes : panelBytes;
  if (Error error = checkStarts(side, 0))
    return error;
  return checkStarts(k, 0);
}

Expected<WgmmaDescriptor> Deriver::derive() {
  if (Error error = check())
    return std::move(error);
  int64_t bits = operand.layout.getSwizzle().bits;
  result.swizzleBytes = bits ? chunkBytes << bits : 0;
  Expected<OperandDim> side =
      getDim(1 - operand.kDim, operand.extent, "M or N");
  if (!side)
    return side.takeError();
  Expected<OperandDim> k = getDim(operand.kDim, operand.k, "K");
  if (!k)
    return k.takeError();
  auto hasChunks = [&](const OperandDim &s) {
    return s.getFirstStride() == bytes &&
           s.axes.front().extent * bytes % chunkBytes == 0;
  };
  result.majorK = hasChunks(*k);
  if (!result.majorK && !hasChunks(*side))
    return makeLayoutError("no 16 bytes along K, M or N lie side by side");
  result.starts = side->starts;
  result.kStarts = k->starts;
  if (Error error =
          result.majorK ? deriveMajorK(*side, *k) : deriveMajorMN(*side, *k))
    return std::move(error);
  return result;
}

Expected<WgmmaDescriptor>
tilews::getWgmmaDescriptor(const WgmmaOperand &operand) {
  return Deriver(operand).derive();
}
