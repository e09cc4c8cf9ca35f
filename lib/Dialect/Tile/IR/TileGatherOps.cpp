//===- TileGatherOps.cpp - Accesses at indices and under masks ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions, verifiers and folds of gathers and scatters. The region of such an
// operation is a box only along the dimensions that have no indices; along the
// others its elements may be anywhere. Analyses therefore take it as a part of
// the buffer that nobody knows (`AccessRegion::isExact`).
//
// The sizes of the region, without those that are 1, are the last extents of
// the fragment. Leading extents beyond them come from the indices: sizes (1,
// 128) with indices 64x1 along dimension 0 are a fragment of 64x128.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Regions.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

static RankedTensorType getAccessedType(IndexedOpInterface op) {
  return cast<RankedTensorType>(op.getAccessed().getType());
}

template <typename OpT>
static TileRegion buildIndexedRegion(OpT op) {
  IndexedOpInterface access = op;
  return buildRegion(
      cast<MemRefType>(access.getBufferOperand().get().getType()),
      op.getOffsets(), op.getStaticOffsets(), op.getSizes(),
      getAccessedType(access).getShape());
}

/// Returns whether neighbors along the last dimension of the fragment have
/// indices of their own.
static bool hasIndexForEach(IndexedOpInterface op) {
  return llvm::any_of(op.getIndices(), [](Value index) {
    auto type = cast<RankedTensorType>(index.getType());
    return type.getRank() > 0 && type.getShape().back() != 1;
  });
}

static void addRegion(IndexedOpInterface op, AccessKind kind,
                      SmallVectorImpl<AccessRegion> &regions) {
  AccessRegion region = {&op.getBufferOperand(),
                         kind,
                         op.getRegion(),
                         SmallVector<int64_t>(op.getIndexDims()),
                         /*isMasked=*/op.getMask() != Value(),
                         op.getLimit(),
                         int64_t(op.getLimitDim().value_or(0))};
  // Neighbors in the last dimension are then no neighbors in memory.
  int64_t last = int64_t(region.region.sizes.size()) - 1;
  if (hasIndexForEach(op) && !llvm::is_contained(region.indexedDims, last))
    region.indexedDims.push_back(last);
  regions.push_back(std::move(region));
}

/// Checks that indices or a mask have extents that are 1 or the fragment's.
static LogicalResult verifyPlacement(IndexedOpInterface op, StringRef what,
                                     Value placement) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(placement.getType()).getShape();
  RankedTensorType fragment = getAccessedType(op);
  bool fits =
      int64_t(shape.size()) == fragment.getRank() &&
      llvm::all_of(llvm::zip(shape, fragment.getShape()), [](auto pair) {
        auto [extent, wanted] = pair;
        return extent == 1 || extent == wanted;
      });
  if (fits)
    return success();
  return op->emitOpError() << what << " of shape " << printSizes(shape)
                           << " does not fit the fragment of shape "
                           << printSizes(fragment.getShape())
                           << ": expected the same rank, and extents that are "
                              "equal or 1";
}

/// Checks that the region has the last extents of the fragment.
static LogicalResult verifyExtents(IndexedOpInterface op) {
  auto buffer = cast<MemRefType>(op.getBufferOperand().get().getType());
  RankedTensorType fragment = getAccessedType(op);
  if (buffer.getElementType() != fragment.getElementType())
    return op->emitOpError()
           << "buffer has element type " << buffer.getElementType()
           << ", but the fragment has " << fragment.getElementType();
  TileRegion region = op.getRegion();
  SmallVector<int64_t> sizes = region.getSqueezedSizes();
  SmallVector<int64_t> wanted = llvm::filter_to_vector(
      fragment.getShape(), [](int64_t size) { return size != 1; });
  bool fits = int64_t(region.sizes.size()) == buffer.getRank() &&
              sizes.size() <= wanted.size() &&
              ArrayRef(wanted).take_back(sizes.size()) == ArrayRef(sizes);
  // Without indices nothing else makes elements.
  if (fits && (!op.getIndices().empty() || sizes.size() == wanted.size()))
    return success();
  return op->emitOpError() << "region has sizes " << printSizes(region.sizes)
                           << ", but the fragment has shape "
                           << printSizes(fragment.getShape());
}

/// Checks the index at which the buffer ends.
static LogicalResult verifyLimit(IndexedOpInterface op) {
  if (!op.getLimit() && !op.getLimitDim())
    return success();
  if (!op.getLimit() || !op.getLimitDim())
    return op->emitOpError(
        "has a limit or its dimension: expected both, or none");
  int64_t dim = *op.getLimitDim(), rank = op.getRegion().sizes.size();
  if (dim < 0 || dim >= rank)
    return op->emitOpError("has a limit along dimension ")
           << dim << " of a buffer of rank " << rank;
  if (llvm::is_contained(op.getIndexDims(), dim))
    return op->emitOpError("has indices and a limit along dimension ")
           << dim << ", expected one of them";
  return success();
}

template <typename OpT>
static LogicalResult verifyIndexed(OpT op, StringRef side) {
  IndexedOpInterface access = op;
  auto buffer = cast<MemRefType>(access.getBufferOperand().get().getType());
  ArrayRef<int64_t> dims = op.getIndexDims();
  if (dims.size() != op.getIndices().size())
    return op.emitOpError() << "has " << op.getIndices().size()
                            << " indices for " << dims.size() << " dimensions";
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t dim : dims)
    if (dim < 0 || dim >= buffer.getRank() || !seen.insert(dim).second)
      return op.emitOpError()
             << "has indices along dimension " << dim
             << ", expected different dimensions of a buffer of rank "
             << buffer.getRank();
  if (failed(verifyRegion(op, side, buffer, op.getOffsets(),
                          op.getStaticOffsets(), op.getSizes())) ||
      failed(verifyExtents(access)))
    return failure();
  for (Value index : op.getIndices()) {
    if (getElementType(index).isInteger(1))
      return op.emitOpError(
          "has indices of type i1, expected wider integers; a mask of i1 is "
          "given by 'mask'");
    if (failed(verifyPlacement(access, "index", index)))
      return failure();
  }
  if (op.getMask() && failed(verifyPlacement(access, "mask", op.getMask())))
    return failure();
  return verifyLimit(access);
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

namespace {
/// Drops a mask that is true everywhere.
template <typename OpT>
struct DropTrueMask : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    DenseElementsAttr constant;
    if (!op.getMask() || !matchPattern(op.getMask(), m_Constant(&constant)) ||
        !constant.isSplat() || !constant.getSplatValue<bool>())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
    return success();
  }
};

/// A gather without indices, mask and limit is a load.
struct GatherToLoad : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GatherOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getIndices().empty() || op.getMask() || op.getLimit())
      return failure();
    rewriter.replaceOpWithNewOp<LoadOp>(
        op, op.getType(), op.getSource(), op.getOffsets(), op.getPadding(),
        op.getStaticOffsetsAttr(), op.getSizesAttr());
    return success();
  }
};

/// A scatter without indices, mask and limit is a store.
struct ScatterToStore : OpRewritePattern<ScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScatterOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getIndices().empty() || op.getMask() || op.getLimit())
      return failure();
    rewriter.replaceOpWithNewOp<StoreOp>(
        op, op.getValue(), op.getDest(), op.getOffsets(),
        op.getStaticOffsetsAttr(), op.getSizesAttr());
    return success();
  }
};

/// Removes old values that nobody uses.
struct DropOldScattered : OpRewritePattern<AtomicScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(AtomicScatterOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getOld() || !op.getOld().use_empty())
      return failure();
    AtomicScatterOp::create(rewriter, op.getLoc(), TypeRange(),
                            op->getOperands(), op->getAttrs());
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// GatherOp
//===----------------------------------------------------------------------===//

TileRegion GatherOp::getRegion() { return buildIndexedRegion(*this); }
OpOperand &GatherOp::getBufferOperand() { return getSourceMutable(); }
unsigned GatherOp::getFirstIndex() { return 1 + getOffsets().size(); }
Value GatherOp::getStored() { return {}; }

void GatherOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  addRegion(*this, AccessKind::Read, regions);
}

void GatherOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
}

LogicalResult GatherOp::verify() { return verifyIndexed(*this, "source"); }

void GatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<DropTrueMask<GatherOp>, GatherToLoad>(context);
}

//===----------------------------------------------------------------------===//
// ScatterOp
//===----------------------------------------------------------------------===//

TileRegion ScatterOp::getRegion() { return buildIndexedRegion(*this); }
OpOperand &ScatterOp::getBufferOperand() { return getDestMutable(); }
unsigned ScatterOp::getFirstIndex() { return 2 + getOffsets().size(); }
Value ScatterOp::getStored() { return getValue(); }

void ScatterOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  addRegion(*this, AccessKind::Write, regions);
}

void ScatterOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
}

LogicalResult ScatterOp::verify() {
  return verifyIndexed(*this, "destination");
}

void ScatterOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<DropTrueMask<ScatterOp>, ScatterToStore>(context);
}

//===----------------------------------------------------------------------===//
// AtomicScatterOp
//===----------------------------------------------------------------------===//

TileRegion AtomicScatterOp::getRegion() { return buildIndexedRegion(*this); }
OpOperand &AtomicScatterOp::getBufferOperand() { return getDestMutable(); }
unsigned AtomicScatterOp::getFirstIndex() { return 2 + getOffsets().size(); }
Value AtomicScatterOp::getStored() { return getValue(); }
Value AtomicScatterOp::getAtomicBuffer() { return getDest(); }

void AtomicScatterOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  addRegion(*this, AccessKind::ReadWrite, regions);
}

void AtomicScatterOp::getEffects(Effects &effects) {
  addAccessEffects(*this, effects);
  addOrderEffects(*this, effects);
}

LogicalResult AtomicScatterOp::verify() {
  if (failed(verifyIndexed(*this, "destination")) ||
      failed(
          verifyAtomicElement(*this, getElementType(getValue()), getKind())) ||
      failed(verifyAtomicScope(*this)))
    return failure();
  if (getOld() && getOld().getType() != getValue().getType())
    return emitOpError("the old values have type ")
           << getOld().getType() << ", expected that of the new ones, "
           << getValue().getType();
  return success();
}

void AtomicScatterOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<DropTrueMask<AtomicScatterOp>, DropOldScattered>(context);
}
