//===- TmaCopy.cpp - Copies that the TMA does -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/TmaCopy.h"

#include "tilews/Layout/Algebra.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

bool tile::isTma(Operation *op) {
  auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
  return inst && inst.getValue() == InstKind::Tma;
}

/// The element types a tensor map can name, of the tile dialect's.
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

/// The dimension of a global buffer whose elements lie side by side, and that
/// all other strides are multiples of 16 bytes as far as they are known.
static llvm::Expected<int64_t> getInnerDim(MemRefType type) {
  SmallVector<int64_t> strides = getArgumentStrides(type);
  int64_t rank = type.getRank(), inner = -1;
  for (int64_t dim = rank - 1; dim >= 0 && inner < 0; --dim)
    if (strides[dim] == 1)
      inner = dim;
  if (inner < 0)
    return makeLayoutError("no dimension of ", print(type),
                           " has stride 1, which TMA needs");
  int64_t bytes = getStorageBits(type.getElementType()) / 8;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != inner && type.getDimSize(dim) != 1 &&
        !ShapedType::isDynamic(strides[dim]) && strides[dim] * bytes % 16 != 0)
      return makeLayoutError("rows of dimension ", dim, " lie ",
                             strides[dim] * bytes,
                             " bytes apart, TMA needs a multiple of 16");
  return inner;
}

/// The region of the shared side, and which global dimension each of its
/// dimensions runs along.
static llvm::Expected<TmaRegion> getSharedRegion(MemRefType shared,
                                                 const TileRegion &region,
                                                 const TileRegion &global) {
  TmaRegion result;
  result.layout = getSharedLayout(shared);
  result.elementBits = getStorageBits(shared.getElementType());
  result.globalRank = global.sizes.size();
  result.sizes = region.sizes;
  for (OpFoldResult offset : region.offsets) {
    std::optional<int64_t> constant = getConstantIntValue(offset);
    if (!constant)
      return makeLayoutError("the place in shared memory is not constant");
    result.offsets.push_back(*constant);
  }
  // The dimensions that are not one agree in order.
  size_t next = 0;
  for (int64_t size : region.sizes) {
    if (size == 1) {
      result.globalDims.push_back(0);
      continue;
    }
    while (global.sizes[next] == 1)
      ++next;
    result.globalDims.push_back(next++);
  }
  return result;
}

llvm::Expected<TmaCopy> tile::getTmaCopy(CopyOp op) {
  auto source = cast<MemRefType>(op.getSource().getType());
  auto dest = cast<MemRefType>(op.getDest().getType());
  TmaCopy copy;
  copy.isStore = isGlobal(dest);
  if (isGlobal(source) == copy.isStore)
    return makeLayoutError("TMA copies between global and shared memory");
  Value buffer = copy.isStore ? op.getDest() : op.getSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument ||
      !isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    return makeLayoutError(
        "the global buffer is not an argument of the kernel, "
        "which has no tensor map");
  MemRefType global = copy.isStore ? dest : source;
  MemRefType shared = copy.isStore ? source : dest;
  if (!isTensorMapElement(global.getElementType()))
    return makeLayoutError("tensor maps have no elements of ",
                           print(global.getElementType()));
  TileRegion from = op.getSourceRegion(), to = op.getDestRegion();
  llvm::Expected<TmaRegion> region = getSharedRegion(
      shared, copy.isStore ? from : to, copy.isStore ? to : from);
  if (!region)
    return region.takeError();
  llvm::Expected<int64_t> inner = getInnerDim(global);
  if (!inner)
    return inner.takeError();
  region->innerDim = *inner;
  llvm::Expected<TmaBoxes> boxes = getTmaBoxes(*region);
  if (!boxes)
    return boxes.takeError();
  copy.boxes = std::move(*boxes);
  copy.bytes = copy.boxes.getBoxBytes(region->elementBits) *
               copy.boxes.instructions.size();
  int64_t span = copy.boxes.swizzleBytes;
  copy.map = {argument.getArgNumber(), copy.boxes.dims, copy.boxes.extents,
              span == 0 ? SwizzleMode::None
                        : SwizzleMode(llvm::Log2_64(span / 16))};
  return copy;
}
