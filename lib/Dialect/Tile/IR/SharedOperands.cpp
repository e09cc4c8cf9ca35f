//===- SharedOperands.cpp - Layouts of operands in shared memory ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates operations to the vocabulary of the layout library, which knows no
// IR. A wgmma descriptor needs the layout of a buffer, its K dimension, and the
// extents of the instruction. TMA boxes need the layout, the static region in
// shared memory, and the dimension of the global buffer that each dimension of
// the region follows.
//
// For `tile.copy %A[%m, %b, %k] [128, 1, 64] to %As`, whose destination is a
// memref<128x64>, the shared dimensions 0 and 1 follow the global dimensions 0
// and 2: sizes of one match nothing.
//
// The layout for TMA is the one in the type, if there is one. Otherwise it is
// row-major, or swizzled panels if TMA has no boxes for row-major. Panels are
// not used if a view shows the buffer in another shape: the view has no such
// panels.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/SharedOperands.h"
#include "tilews/Dialect/Tile/IR/Kernel.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using llvm::Expected;

SharedLayout tile::getSwizzledPanels(MemRefType type) {
  int64_t bits = getElementBits(type.getElementType());
  int64_t rowBytes = type.getShape().back() * bits / 8;
  for (int64_t span : {128, 64, 32, 16})
    if (rowBytes % span == 0)
      return SharedLayout::getPanels(type.getShape(), bits, span);
  return SharedLayout::getRowMajor(type.getShape());
}

Expected<WgmmaDescriptor> tile::getWgmmaDescriptor(MatmulOpInterface op,
                                                   OpOperand &operand,
                                                   const MatmulPlan &plan,
                                                   const SharedLayout &layout) {
  bool isLhs = &operand == &op.getLhsMutable();
  bool swapped = isLhs ? op.getTransposeLhs() : op.getTransposeRhs();
  MmaInstruction mma = plan.getOperandMma(op, isLhs);
  // Without transposition, K is the last dimension of the left operand, and the
  // first one of the right operand.
  int64_t kDim = isLhs != swapped ? 1 : 0;
  return tilews::getWgmmaDescriptor({layout,
                                     getElementBits(op.getLhsElementType()),
                                     kDim, isLhs ? mma.m : mma.n, mma.k});
}

/// Returns the dimension of `global` that each dimension of `shared` follows,
/// -1 for a dimension of size one. The other sizes are equal, and in the same
/// order.
static SmallVector<int64_t> matchDims(const tilews::tile::TileRegion &shared,
                                      const tilews::tile::TileRegion &global) {
  SmallVector<int64_t> dims;
  size_t next = 0;
  for (int64_t size : shared.sizes) {
    if (size == 1) {
      dims.push_back(-1);
      continue;
    }
    while (global.sizes[next] == 1)
      ++next;
    dims.push_back(next++);
  }
  return dims;
}

std::optional<int64_t> tile::getInnerDim(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return std::nullopt;
  for (int64_t dim = int64_t(strides.size()) - 1; dim >= 0; --dim)
    if (strides[dim] == 1)
      return dim;
  return std::nullopt;
}

/// Returns whether tensor maps have this element type.
static bool isTensorMapElement(Type type) {
  if (type.isF16() || type.isBF16() || type.isF32() || type.isF64() ||
      isa<Float8E4M3FNType, Float8E5M2Type>(type))
    return true;
  return llvm::any_of(ArrayRef<unsigned>{8, 16, 32, 64},
                      [&](unsigned width) { return type.isInteger(width); });
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::Error tile::checkTmaBuffers(CopyOp op) {
  Value buffer = isShared(op.getSource()) ? op.getDest() : op.getSource();
  auto type = cast<MemRefType>(buffer.getType());
  if (!isGlobal(type) || isShared(op.getSource()) == isShared(op.getDest()))
    return makeLayoutError("TMA copies between global and shared memory");
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument ||
      !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    return makeLayoutError(
        "the global buffer is not an argument of the kernel, "
        "which has no tensor map");
  if (!isTensorMapElement(type.getElementType()))
    return makeLayoutError("tensor maps have no elements of ",
                           print(type.getElementType()));
  if (type.getRank() < 1 || type.getRank() > kMaxTensorMapRank)
    return makeLayoutError("a tensor map has 1 to 5 dimensions, found ",
                           print(type));
  std::optional<int64_t> inner = getInnerDim(type);
  if (!inner)
    return makeLayoutError("the global buffer has no dimension of stride 1");
  if (op.getLimit() && type.getRank() == kMaxTensorMapRank)
    return makeLayoutError("a tensor map with a limit has 1 to 4 dimensions, "
                           "found ",
                           print(type));
  if (op.getLimit() && int64_t(*op.getLimitDim()) == *inner)
    return makeLayoutError("the limit is along dimension ", *inner,
                           ", whose elements lie side by side");
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t bytes = getStorageBits(type.getElementType()) / 8;
  for (auto [dim, stride] : llvm::enumerate(strides))
    if (int64_t(dim) != *inner && type.getDimSize(dim) != 1 &&
        !ShapedType::isDynamic(stride) && stride * bytes % 16 != 0)
      return makeLayoutError("rows of dimension ", dim, " lie ", stride * bytes,
                             " bytes apart, TMA needs a multiple of 16");
  return llvm::Error::success();
}

Expected<TmaBoxes> tile::getTmaBoxes(CopyOp op, const SharedLayout &layout) {
  auto source = cast<MemRefType>(op.getSource().getType());
  auto dest = cast<MemRefType>(op.getDest().getType());
  bool isLoad = isGlobal(source) && isShared(dest);
  if (!isLoad && !(isShared(source) && isGlobal(dest)))
    return makeLayoutError("TMA copies between global and shared memory");
  tilews::tile::TileRegion from = op.getSourceRegion();
  tilews::tile::TileRegion to = op.getDestRegion();
  const tilews::tile::TileRegion &shared = isLoad ? to : from;
  const tilews::tile::TileRegion &global = isLoad ? from : to;
  MemRefType globalType = isLoad ? source : dest;
  std::optional<int64_t> innerDim = getInnerDim(globalType);
  if (!innerDim)
    return makeLayoutError("the global buffer has no dimension of stride 1");
  SmallVector<int64_t> offsets;
  for (OpFoldResult offset : shared.offsets) {
    std::optional<int64_t> constant = getConstantIntValue(offset);
    if (!constant)
      return makeLayoutError("the offset in shared memory is known only when "
                             "the kernel runs");
    offsets.push_back(*constant);
  }
  return tilews::getTmaBoxes({layout, getStorageBits(source.getElementType()),
                              offsets, shared.sizes, matchDims(shared, global),
                              globalType.getRank(), *innerDim});
}

/// Returns the layout of `buffer` given by its type or, if it is a view, by the
/// type of the viewed buffer; row-major if neither has a layout.
static Expected<SharedLayout> getGivenLayout(Value buffer) {
  SmallVector<MemRefType> types = {cast<MemRefType>(buffer.getType())};
  for (auto view = buffer.getDefiningOp<ViewOp>();
       view && !isa<SharedLayoutAttr>(types.back().getLayout());
       view = view.getSource().getDefiningOp<ViewOp>())
    types.push_back(cast<MemRefType>(view.getSource().getType()));
  MemRefType source = types.pop_back_val();
  SharedLayout layout = getSharedLayout(source);
  for (MemRefType type : llvm::reverse(types)) {
    std::optional<SharedLayout> own =
        layout.view(type.getShape(), getStorageBits(source.getElementType()),
                    getStorageBits(type.getElementType()));
    if (!own)
      return makeLayoutError(
          "no layout of ", print(type),
          " places the same bytes as the buffer that it views");
    layout = *own;
    source = type;
  }
  return layout;
}

/// Returns whether a `tile.view` shows the memory of `buffer` in another shape
/// or type.
static bool isViewed(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<ViewOp>(view))
      return true;
    buffer = view.getViewSource();
  }
  return llvm::any_of(buffer.getUsers(), llvm::IsaPred<ViewOp>);
}

Expected<SharedLayout> tile::chooseTmaLayout(CopyOp op) {
  Value shared = isShared(op.getDest()) ? op.getDest() : op.getSource();
  auto type = cast<MemRefType>(shared.getType());
  Expected<SharedLayout> layout = getGivenLayout(shared);
  if (!layout)
    return layout;
  llvm::Error error = getTmaBoxes(op, *layout).takeError();
  if (!error)
    return layout;
  if (!isa<SharedLayoutAttr>(type.getLayout()) && type.getRank() > 1 &&
      !isViewed(shared)) {
    SharedLayout panels = getSwizzledPanels(type);
    if (llvm::Expected<TmaBoxes> boxes = getTmaBoxes(op, panels)) {
      llvm::consumeError(std::move(error));
      return panels;
    } else {
      llvm::consumeError(boxes.takeError());
    }
  }
  return std::move(error);
}
