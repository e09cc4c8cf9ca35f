//===- TmaCopy.cpp - Copies that the TMA does -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The boxes follow from the layout of the shared buffer (lib/Layout/Tma.cpp).
// The tensor map describes the kernel's argument: which of its dimensions a box
// has, and the box's extents. Before layouts are chosen, `checkTma` takes the
// layout that TMA likes best, and proves with known divisors that rows, and the
// region in its rows, start at multiples of 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"

#include "tilews/Dialect/Tile/IR/Cluster.h"
#include "tilews/Dialect/Tile/IR/SharedOperands.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

bool tile::isTma(Operation *op) { return hasInst(op, InstKind::Tma); }

bool tile::isMetadata(OpOperand &operand) {
  auto matmul = dyn_cast<MatmulOpInterface>(operand.getOwner());
  return matmul && &operand == matmul.getMetadataOperand();
}

bool tile::isByAsyncProxy(OpOperand &operand) {
  Operation *op = operand.getOwner();
  return !isMetadata(operand) && (isTma(op) || hasInst(op, InstKind::Wgmma));
}

llvm::Expected<TmaCopy> tile::getTmaCopy(CopyOp op) {
  if (llvm::Error error = checkTmaBuffers(op))
    return std::move(error);
  TmaCopy copy;
  copy.isStore = isShared(op.getSource());
  Value global = copy.isStore ? op.getDest() : op.getSource();
  Value shared = copy.isStore ? op.getSource() : op.getDest();
  auto type = cast<MemRefType>(shared.getType());
  llvm::Expected<TmaBoxes> boxes = getTmaBoxes(op, getSharedLayout(type));
  if (!boxes)
    return boxes.takeError();
  copy.boxes = std::move(*boxes);
  copy.bytes = copy.boxes.getBoxBytes(getStorageBits(type.getElementType())) *
               copy.boxes.instructions.size();
  if (std::optional<ClusterDims> dims = op.getMulticast())
    if (llvm::Error error =
            copy.boxes.shareOut(Cluster::get(op).countPeers(*dims),
                                getStorageBits(type.getElementType())))
      return std::move(error);
  int64_t span = copy.boxes.swizzleBytes;
  copy.map = {cast<BlockArgument>(global).getArgNumber(), copy.boxes.dims,
              copy.boxes.extents,
              span == 0 ? SwizzleMode::None
                        : SwizzleMode(llvm::Log2_64(span / 16))};
  if (op.getLimit()) {
    int64_t dim = *op.getLimitDim();
    TileRegion region =
        copy.isStore ? op.getDestRegion() : op.getSourceRegion();
    copy.map.window = {dim, region.sizes[dim]};
  }
  return copy;
}

void TmaCopy::print(raw_ostream &os) const {
  os << (isStore ? "store" : "load") << " of " << bytes << " bytes in "
     << boxes.instructions.size() << " boxes of ";
  llvm::interleave(map.box, os, "x");
  os << " (dimensions ";
  llvm::interleaveComma(map.dims, os);
  os << ") of argument " << map.argument;
  if (boxes.swizzleBytes > 0)
    os << ", swizzle of " << boxes.swizzleBytes << " bytes";
  if (map.window)
    os << ", window of " << map.window->size << " along dimension "
       << map.window->dim;
}

llvm::Error tile::checkTma(CopyOp op, Divisibility &divisibility) {
  if (llvm::Error error = checkTmaBuffers(op))
    return error;
  // The layout of the shared buffer may not be chosen yet.
  llvm::Expected<SharedLayout> layout = chooseTmaLayout(op);
  if (!layout)
    return layout.takeError();
  llvm::Expected<TmaBoxes> boxes = getTmaBoxes(op, *layout);
  if (!boxes)
    return boxes.takeError();
  bool isStore = isShared(op.getSource());
  Value buffer = isStore ? op.getDest() : op.getSource();
  int64_t inner = boxes->dims.front();
  // The first element of an arbitrary row.
  Builder builder(op.getContext());
  int64_t rank = cast<MemRefType>(buffer.getType()).getRank();
  SmallVector<OpFoldResult> row(rank, builder.getIndexAttr(1));
  row[inner] = builder.getIndexAttr(0);
  int64_t alignment = divisibility.getAlignment(buffer, row);
  if (alignment % 16 != 0)
    return llvm::createStringError(
        "rows of the argument are known to begin at multiples of " +
        Twine(alignment) +
        " bytes only, TMA needs 16; see tile.divisible and tile.alignment");
  // Who chose TMA by hand promises that the copy starts well.
  if (isTma(op))
    return llvm::Error::success();
  // Coordinates count elements. Hopper traps ("illegal instruction") if the
  // innermost one is no multiple of 16 bytes.
  TileRegion region = isStore ? op.getDestRegion() : op.getSourceRegion();
  int64_t start = divisibility.getDivisor(region.offsets[inner]) *
                  getStorageBits(getElementType(buffer)) / 8;
  if (start % 16 == 0)
    return llvm::Error::success();
  return llvm::createStringError("the copy is known to begin at multiples of " +
                                 Twine(start) +
                                 " bytes in its row only, TMA needs 16");
}
