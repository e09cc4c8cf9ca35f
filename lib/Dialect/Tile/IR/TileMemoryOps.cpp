//===- TileMemoryOps.cpp - Buffers, copies, loads and stores --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions, memory effects, verifiers and folds of the operations on buffers.
//
// Memory effects follow from access regions. Either side of a `tile.copy` may
// omit its sizes, which then follow from the other side. Written sizes have
// precedence over the shape of a whole buffer: `tile.copy %A[%m] [64] to %s`
// with a destination of 128 elements copies 64.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Regions.h"
#include "tilews/Layout/PartLayout.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// All operations
//===----------------------------------------------------------------------===//

/// Moves constant offsets from the operands to the static offsets.
template <typename OpT>
static bool foldOffsets(OpT op, PatternRewriter &rewriter,
                        MutableOperandRange operands,
                        ArrayRef<int64_t> staticOffsets,
                        function_ref<void(DenseI64ArrayAttr)> setStatic) {
  SmallVector<OpFoldResult> mixed =
      getMixedValues(staticOffsets, OperandRange(operands), rewriter);
  if (failed(foldDynamicIndexList(mixed)))
    return false;
  // A constant that is too large for a static offset stays an operand.
  if (llvm::any_of(mixed, [](OpFoldResult offset) {
        std::optional<int64_t> constant = getConstantIntValue(offset);
        return isa<Attribute>(offset) && !isStaticOffset(*constant);
      }))
    return false;
  SmallVector<Value> dynamic;
  SmallVector<int64_t> constants;
  dispatchIndexOpFoldResults(mixed, dynamic, constants);
  rewriter.modifyOpInPlace(op, [&] {
    operands.assign(dynamic);
    setStatic(rewriter.getDenseI64ArrayAttr(constants));
  });
  return true;
}

//===----------------------------------------------------------------------===//
// AllocSharedOp
//===----------------------------------------------------------------------===//

void AllocSharedOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  effects.emplace_back(MemoryEffects::Allocate::get(),
                       getOperation()->getOpResult(0));
}

LogicalResult AllocSharedOp::verify() {
  constexpr int64_t most = 65536;
  if (auto alignment = getAlignment();
      alignment && (!llvm::isPowerOf2_64(*alignment) || *alignment > most))
    return emitOpError("alignment has to be a power of two of at most ")
           << most << ", found " << *alignment;
  return success();
}

//===----------------------------------------------------------------------===//
// ViewOp
//===----------------------------------------------------------------------===//

static int64_t countBits(MemRefType type) {
  return type.getNumElements() * getElementBits(type.getElementType());
}

LogicalResult ViewOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto result = cast<MemRefType>(getResult().getType());
  if (countBits(source) != countBits(result))
    return emitOpError("source has ")
           << countBits(source) << " bits, but the result has "
           << countBits(result);
  bool laidOut = isa<SharedLayoutAttr>(source.getLayout()) &&
                 isa<SharedLayoutAttr>(result.getLayout());
  if (laidOut && getBufferBytes(source) != getBufferBytes(result))
    return emitOpError("source occupies ")
           << getBufferBytes(source) << " bytes, but the result occupies "
           << getBufferBytes(result);
  return success();
}

OpFoldResult ViewOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  if (auto inner = getSource().getDefiningOp<ViewOp>()) {
    setOperand(inner.getSource());
    return getResult();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// SubviewOp
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> squeeze(ArrayRef<int64_t> sizes) {
  return llvm::filter_to_vector(sizes, [](int64_t size) { return size != 1; });
}

LogicalResult SubviewOp::inferReturnTypes(MLIRContext *context,
                                          std::optional<Location> location,
                                          Adaptor adaptor,
                                          SmallVectorImpl<Type> &types) {
  auto source = cast<MemRefType>(adaptor.getSource().getType());
  ArrayRef<int64_t> sizes = adaptor.getSizes();
  if (int64_t(sizes.size()) != source.getRank())
    return emitOptionalError(location, "'tile.subview' op has ", sizes.size(),
                             " sizes, but its buffer has rank ",
                             source.getRank());
  for (int64_t size : sizes)
    if (size < 1)
      return emitOptionalError(location, "'tile.subview' op has size ", size,
                               ", expected at least 1");
  MemRefLayoutAttrInterface layout;
  if (auto shared = dyn_cast<SharedLayoutAttr>(source.getLayout())) {
    llvm::Expected<SharedLayout> part = getPartLayout(
        shared.getLayout(), sizes, getStorageBits(source.getElementType()));
    if (!part)
      return emitOptionalError(location, "'tile.subview' op ",
                               llvm::toString(part.takeError()));
    layout = SharedLayoutAttr::get(context, *part);
  }
  types.push_back(MemRefType::get(squeeze(sizes), source.getElementType(),
                                  layout, source.getMemorySpace()));
  return success();
}

LogicalResult SubviewOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  if (failed(verifyRegion(*this, "source", source, getOffsets(),
                          getStaticOffsets(), getSizes())))
    return failure();
  if (getStaticOffsets().empty() || getSizes().empty())
    return emitOpError("expected offsets and sizes");
  for (auto [dim, offset, size] :
       llvm::enumerate(getStaticOffsets(), getSizes())) {
    if (ShapedType::isDynamic(offset)) {
      if (size != 1)
        return emitOpError("has an offset along dimension ")
               << dim << " that is a value, so expected size 1, found " << size;
    } else if (offset < 0 || offset % size != 0 ||
               offset + size > source.getDimSize(dim)) {
      return emitOpError("has offset ")
             << offset << " and size " << size << " along dimension " << dim
             << ", expected a multiple of the size, and a part inside of "
             << source.getDimSize(dim) << " elements";
    }
    if (source.getDimSize(dim) % size != 0)
      return emitOpError("expected a size along dimension ")
             << dim << " that divides " << source.getDimSize(dim) << ", found "
             << size;
  }
  return success();
}

OpFoldResult SubviewOp::fold(FoldAdaptor) {
  bool isWhole =
      getSource().getType() == getResult().getType() && getOffsets().empty();
  return isWhole ? OpFoldResult(getSource()) : OpFoldResult();
}

/// Folds constant offsets. One that is outside stays: the operation may never
/// be executed.
LogicalResult SubviewOp::canonicalize(SubviewOp op, PatternRewriter &rewriter) {
  SmallVector<OpFoldResult> offsets =
      getMixedValues(op.getStaticOffsets(), op.getOffsets(), rewriter);
  for (auto [offset, extent] :
       llvm::zip(offsets, op.getSource().getType().getShape())) {
    std::optional<int64_t> constant = getConstantIntValue(offset);
    if (constant && (*constant < 0 || *constant >= extent))
      return failure();
  }
  return success(foldOffsets(
      op, rewriter, op.getOffsetsMutable(), op.getStaticOffsets(),
      [&](DenseI64ArrayAttr attr) { op.setStaticOffsetsAttr(attr); }));
}

//===----------------------------------------------------------------------===//
// CopyOp
//===----------------------------------------------------------------------===//

/// Returns the sizes that one side determines itself, empty if they follow from
/// the other side.
static SmallVector<int64_t> getOwnSizes(MemRefType type,
                                        ArrayRef<int64_t> staticOffsets,
                                        ArrayRef<int64_t> sizes) {
  if (isWholeBuffer(type, staticOffsets, sizes))
    return SmallVector<int64_t>(type.getShape());
  return SmallVector<int64_t>(sizes);
}

tilews::tile::TileRegion CopyOp::getSourceRegion() {
  auto source = cast<MemRefType>(getSource().getType());
  auto dest = cast<MemRefType>(getDest().getType());
  SmallVector<int64_t> own =
      getOwnSizes(source, getStaticSourceOffsets(), getSourceSizes());
  SmallVector<int64_t> other =
      getOwnSizes(dest, getStaticDestOffsets(), getDestSizes());
  // Written sizes have precedence over the shape of a whole buffer.
  if (getSourceSizes().empty() && !other.empty() &&
      (own.empty() || !getDestSizes().empty()))
    own.clear();
  return buildRegion(source, getSourceOffsets(), getStaticSourceOffsets(), own,
                     other);
}

tilews::tile::TileRegion CopyOp::getDestRegion() {
  auto source = cast<MemRefType>(getSource().getType());
  auto dest = cast<MemRefType>(getDest().getType());
  SmallVector<int64_t> own =
      getOwnSizes(dest, getStaticDestOffsets(), getDestSizes());
  SmallVector<int64_t> other =
      getOwnSizes(source, getStaticSourceOffsets(), getSourceSizes());
  if (getDestSizes().empty() && !other.empty() &&
      (own.empty() || !getSourceSizes().empty()))
    own.clear();
  return buildRegion(dest, getDestOffsets(), getStaticDestOffsets(), own,
                     other);
}

bool CopyOp::limitsDest() {
  return isShared(getSource()) &&
         isGlobal(cast<MemRefType>(getDest().getType()));
}

void CopyOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  regions.push_back({&getSourceMutable(), AccessKind::Read, getSourceRegion()});
  if (std::optional<int64_t> dim = getRowDim())
    regions.back().indexedDims.push_back(*dim);
  regions.push_back({&getDestMutable(), AccessKind::Write, getDestRegion()});
  if (getLimit()) {
    AccessRegion &limited = regions[limitsDest() ? 1 : 0];
    limited.limit = getLimit();
    limited.limitDim = *getLimitDim();
  }
  if (!getRows())
    return;
  auto rows = cast<MemRefType>(getRows().getType());
  SmallVector<OpFoldResult> start(rows.getRank(),
                                  Builder(getContext()).getIndexAttr(0));
  regions.push_back({&getRowsMutable()[0],
                     AccessKind::Read,
                     {start, SmallVector<int64_t>(rows.getShape())}});
}

void CopyOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addAccessEffects(*this, effects);
}

static LogicalResult verifySignal(CopyOp op) {
  if (!op.getSignal() && !op.getSignalSlot())
    return success();
  if (!op.getSignal() || !op.getSignalSlot())
    return op.emitOpError(
        "signals a barrier of a slot: expected both, or none");
  if (!isGlobal(cast<MemRefType>(op.getSource().getType())) ||
      !isShared(op.getDest()))
    return op.emitOpError("signals a barrier, which only copies from global to "
                          "shared memory do");
  if (!hasInst(op, InstKind::Tma))
    return op.emitOpError("signals a barrier, which only TMA does; expected "
                          "tile.inst = #tile.inst<tma>");
  return success();
}

static LogicalResult verifyMulticast(CopyOp op) {
  if (!op.getMulticast())
    return success();
  if (!hasInst(op, InstKind::Tma) ||
      !isGlobal(cast<MemRefType>(op.getSource().getType())) ||
      !isShared(op.getDest()))
    return op.emitOpError(
        "is multicast, which only TMA's copies from global to "
        "shared memory are; expected tile.inst = "
        "#tile.inst<tma>");
  return success();
}

/// Checks the vector with the indices of the source's rows.
static LogicalResult verifyRows(CopyOp op) {
  if (!op.getRows() && !op.getRowDim())
    return success();
  if (!op.getRows() || !op.getRowDim())
    return op.emitOpError(
        "has rows or their dimension: expected both, or none");
  int64_t dim = *op.getRowDim();
  TileRegion region = op.getSourceRegion();
  if (dim < 0 || dim >= int64_t(region.sizes.size()))
    return op.emitOpError("has rows along dimension ")
           << dim << " of a source of rank " << region.sizes.size();
  auto type = cast<MemRefType>(op.getRows().getType());
  Type element = type.getElementType();
  bool isIndex = element.isInteger(32) || element.isInteger(64);
  if (type.getRank() != 1 || type.getDimSize(0) != region.sizes[dim] ||
      !isIndex)
    return op.emitOpError("has rows of type ")
           << type << ", expected a vector of " << region.sizes[dim]
           << " elements of i32 or i64, the size of the region along dimension "
           << dim;
  if (hasInst(op, InstKind::Tma))
    return op.emitOpError("has rows at indices, which TMA does not copy");
  return success();
}

/// Checks the index at which the source or the destination ends.
static LogicalResult verifyLimit(CopyOp op) {
  if (!op.getLimit() && !op.getLimitDim())
    return success();
  if (!op.getLimit() || !op.getLimitDim())
    return op.emitOpError(
        "has a limit or its dimension: expected both, or none");
  bool limitsDest = op.limitsDest();
  TileRegion region = limitsDest ? op.getDestRegion() : op.getSourceRegion();
  int64_t dim = *op.getLimitDim(), rank = region.sizes.size();
  if (dim < 0 || dim >= rank)
    return op.emitOpError("has a limit along dimension ")
           << dim << " of a " << (limitsDest ? "destination" : "source")
           << " of rank " << rank;
  if (!limitsDest && op.getRowDim() == op.getLimitDim())
    return op.emitOpError("has rows at indices and a limit along dimension ")
           << dim << ", expected one of them";
  return success();
}

LogicalResult CopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto dest = cast<MemRefType>(getDest().getType());
  if (failed(verifyRegion(*this, "source", source, getSourceOffsets(),
                          getStaticSourceOffsets(), getSourceSizes())) ||
      failed(verifyRegion(*this, "destination", dest, getDestOffsets(),
                          getStaticDestOffsets(), getDestSizes())))
    return failure();
  if (source.getElementType() != dest.getElementType())
    return emitOpError("source has element type ")
           << source.getElementType() << ", but the destination has "
           << dest.getElementType();
  bool saysSizes =
      !getSourceSizes().empty() || !getDestSizes().empty() ||
      isWholeBuffer(source, getStaticSourceOffsets(), getSourceSizes()) ||
      isWholeBuffer(dest, getStaticDestOffsets(), getDestSizes());
  if (!saysSizes)
    return emitOpError("does not say what to copy: give sizes, or a buffer "
                       "with a static shape and no offsets");
  TileRegion from = getSourceRegion(), to = getDestRegion();
  if (int64_t(from.sizes.size()) != source.getRank() ||
      int64_t(to.sizes.size()) != dest.getRank() ||
      from.getSqueezedSizes() != to.getSqueezedSizes())
    return emitOpError("source region has sizes ")
           << printSizes(from.sizes) << ", but the destination region has "
           << printSizes(to.sizes);
  if (!countElements(from.sizes, kMaxTileElements))
    return emitOpError("copies a region of sizes ")
           << printSizes(from.sizes) << ", expected at most "
           << kMaxTileElements << " elements; copy it tile by tile";
  if (failed(verifyRows(*this)) || failed(verifyLimit(*this)) ||
      failed(verifyMulticast(*this)))
    return failure();
  return verifySignal(*this);
}

namespace {
/// Folds constant offsets of both sides of a copy.
struct FoldCopyOffsets : OpRewritePattern<CopyOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CopyOp op,
                                PatternRewriter &rewriter) const override {
    bool source = foldOffsets(
        op, rewriter, op.getSourceOffsetsMutable(), op.getStaticSourceOffsets(),
        [&](DenseI64ArrayAttr attr) { op.setStaticSourceOffsetsAttr(attr); });
    bool dest = foldOffsets(
        op, rewriter, op.getDestOffsetsMutable(), op.getStaticDestOffsets(),
        [&](DenseI64ArrayAttr attr) { op.setStaticDestOffsetsAttr(attr); });
    return success(source || dest);
  }
};

/// Folds constant offsets of operations with one region.
template <typename OpT>
struct FoldRegionOffsets : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    return success(foldOffsets(
        op, rewriter, op.getOffsetsMutable(), op.getStaticOffsets(),
        [&](DenseI64ArrayAttr attr) { op.setStaticOffsetsAttr(attr); }));
  }
};
} // namespace

void CopyOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<FoldCopyOffsets>(context);
}

//===----------------------------------------------------------------------===//
// LoadOp
//===----------------------------------------------------------------------===//

tilews::tile::TileRegion LoadOp::getRegion() {
  return buildRegion(cast<MemRefType>(getSource().getType()), getOffsets(),
                     getStaticOffsets(), getSizes(),
                     cast<RankedTensorType>(getResult().getType()).getShape());
}

void LoadOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  regions.push_back({&getSourceMutable(), AccessKind::Read, getRegion()});
}

void LoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addAccessEffects(*this, effects);
}

LogicalResult LoadOp::verify() {
  auto buffer = cast<MemRefType>(getSource().getType());
  if (failed(verifyRegion(*this, "source", buffer, getOffsets(),
                          getStaticOffsets(), getSizes())))
    return failure();
  return verifyFragmentRegion(*this, getRegion(), buffer,
                              cast<RankedTensorType>(getResult().getType()));
}

void LoadOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<FoldRegionOffsets<LoadOp>>(context);
}

//===----------------------------------------------------------------------===//
// StoreOp
//===----------------------------------------------------------------------===//

tilews::tile::TileRegion StoreOp::getRegion() {
  return buildRegion(cast<MemRefType>(getDest().getType()), getOffsets(),
                     getStaticOffsets(), getSizes(),
                     cast<RankedTensorType>(getValue().getType()).getShape());
}

void StoreOp::getAccessRegions(SmallVectorImpl<AccessRegion> &regions) {
  regions.push_back({&getDestMutable(), AccessKind::Write, getRegion()});
}

void StoreOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addAccessEffects(*this, effects);
}

LogicalResult StoreOp::verify() {
  auto buffer = cast<MemRefType>(getDest().getType());
  if (failed(verifyRegion(*this, "destination", buffer, getOffsets(),
                          getStaticOffsets(), getSizes())))
    return failure();
  return verifyFragmentRegion(*this, getRegion(), buffer,
                              cast<RankedTensorType>(getValue().getType()));
}

void StoreOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *context) {
  patterns.add<FoldRegionOffsets<StoreOp>>(context);
}

#define GET_OP_CLASSES
#include "tilews/Dialect/Tile/IR/TileOps.cpp.inc"
