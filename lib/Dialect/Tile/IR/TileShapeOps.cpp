//===- TileShapeOps.cpp - Reductions, scans and shape changes -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Type inference, verifiers and folds of reductions, scans and shape changes.
//
// Layouts are assigned after types are built. Type inference therefore derives
// a layout for the result if the source has one, and the comparison with the
// type of the result ignores layouts. A splat has the same value in all
// elements, so every shape change of a splat folds to a splat.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Returns the type of the source during type inference, which runs before the
/// operation is verified.
static FailureOr<RankedTensorType>
getSourceType(std::optional<Location> location, Value source) {
  if (auto type = dyn_cast<RankedTensorType>(source.getType()))
    return type;
  return emitOptionalError(location, "expected a fragment, found ",
                           source.getType());
}

static LogicalResult verifyAxis(Operation *op, int64_t axis, int64_t rank) {
  if (axis < rank)
    return success();
  return op->emitOpError("axis ")
         << axis << " is out of range for rank " << rank;
}

/// Checks the shape and the element type of a result; ignores its layout.
static LogicalResult verifyResult(Operation *op, RankedTensorType found,
                                  ArrayRef<int64_t> shape, Type elementType) {
  if (found.getShape() == shape && found.getElementType() == elementType)
    return success();
  return op->emitOpError("expected a result of type ")
         << RankedTensorType::get(shape, elementType) << ", found " << found;
}

//===----------------------------------------------------------------------===//
// ReduceOp and ScanOp
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferReturnTypes(MLIRContext *,
                                         std::optional<Location> location,
                                         Adaptor adaptor,
                                         SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> found =
      getSourceType(location, adaptor.getSource());
  if (failed(found))
    return failure();
  RankedTensorType source = *found;
  int64_t axis = adaptor.getAxis();
  if (axis >= source.getRank())
    return emitOptionalError(location, "axis ", axis,
                             " is out of range for rank ", source.getRank());
  SmallVector<int64_t> shape(source.getShape());
  shape.erase(shape.begin() + axis);
  Attribute layout;
  if (hasFragmentLayout(source))
    layout = FragmentAttr::get(source.getContext(),
                               getFragmentLayout(source).dropDim(axis));
  types.push_back(
      RankedTensorType::get(shape, source.getElementType(), layout));
  return success();
}

/// Returns whether types have equal shapes and element types. One of them may
/// still lack a layout.
static bool isCompatible(TypeRange inferred, TypeRange found) {
  return llvm::all_of_zip(inferred, found, [](Type a, Type b) {
    auto x = cast<RankedTensorType>(a), y = dyn_cast<RankedTensorType>(b);
    return y && x.getShape() == y.getShape() &&
           x.getElementType() == y.getElementType();
  });
}

bool ReduceOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) {
  return isCompatible(l, r);
}

/// Checks that elements of `type` can be combined by `kind`.
static LogicalResult verifyKind(Operation *op, ReductionKind kind, Type type) {
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Max:
  case ReductionKind::Min:
  case ReductionKind::AbsMax:
  case ReductionKind::AbsMin:
    if (type.isIntOrFloat() && !type.isInteger(1))
      return success();
    return op->emitOpError("'")
           << stringifyReductionKind(kind)
           << "' takes integers or floating point numbers, found " << type;
  case ReductionKind::And:
  case ReductionKind::Or:
  case ReductionKind::Xor:
  case ReductionKind::UMax:
  case ReductionKind::UMin:
    if (type.isInteger())
      return success();
    return op->emitOpError("'") << stringifyReductionKind(kind)
                                << "' takes integers, found " << type;
  case ReductionKind::Any:
  case ReductionKind::All:
    if (type.isInteger(1))
      return success();
    return op->emitOpError("'")
           << stringifyReductionKind(kind) << "' takes i1, found " << type;
  }
  llvm_unreachable("covered switch");
}

LogicalResult ReduceOp::verify() {
  RankedTensorType source = getTensor(getSource());
  if (failed(verifyAxis(*this, getAxis(), source.getRank())))
    return failure();
  return verifyKind(*this, getKind(), source.getElementType());
}

LogicalResult ScanOp::verify() {
  RankedTensorType source = getTensor(getSource());
  if (failed(verifyAxis(*this, getAxis(), source.getRank())))
    return failure();
  if (!llvm::is_contained({ReductionKind::Sum, ReductionKind::Max,
                           ReductionKind::Min, ReductionKind::UMax,
                           ReductionKind::UMin},
                          getKind()))
    return emitOpError(
               "scans by 'sum', 'max', 'min', 'umax' or 'umin', found '")
           << stringifyReductionKind(getKind()) << "'";
  return verifyKind(*this, getKind(), source.getElementType());
}

//===----------------------------------------------------------------------===//
// BroadcastOp
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::verify() {
  RankedTensorType source = getTensor(getSource()),
                   result = getTensor(getResult());
  if (source.getElementType() != result.getElementType())
    return emitOpError("source has element type ")
           << source.getElementType() << ", but the result has "
           << result.getElementType();
  if (source.getRank() != result.getRank())
    return emitOpError("source has rank ")
           << source.getRank() << ", but the result has " << result.getRank()
           << "; insert dimensions with tile.expand_dims";
  for (auto [dim, from, to] :
       llvm::enumerate(source.getShape(), result.getShape()))
    if (from != to && from != 1)
      return emitOpError("cannot repeat dimension ")
             << dim << " of extent " << from << " to extent " << to
             << ", only an extent of one repeats";
  return success();
}

/// Folds a shape change of a splat to a splat of the same value.
static OpFoldResult foldSplat(Attribute source, Type result) {
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(source))
    return splat.resizeSplat(cast<ShapedType>(result));
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  return foldSplat(adaptor.getSource(), getResult().getType());
}

//===----------------------------------------------------------------------===//
// ExpandDimsOp
//===----------------------------------------------------------------------===//

LogicalResult ExpandDimsOp::inferReturnTypes(MLIRContext *,
                                             std::optional<Location> location,
                                             Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> found =
      getSourceType(location, adaptor.getSource());
  if (failed(found))
    return failure();
  RankedTensorType source = *found;
  int64_t axis = adaptor.getAxis();
  if (axis > source.getRank())
    return emitOptionalError(location, "axis ", axis,
                             " is out of range for a result of rank ",
                             source.getRank() + 1);
  SmallVector<int64_t> shape(source.getShape());
  shape.insert(shape.begin() + axis, 1);
  Attribute layout;
  if (hasFragmentLayout(source))
    layout = FragmentAttr::get(source.getContext(),
                               getFragmentLayout(source).insertDim(axis));
  types.push_back(
      RankedTensorType::get(shape, source.getElementType(), layout));
  return success();
}

bool ExpandDimsOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) {
  return isCompatible(l, r);
}

LogicalResult ExpandDimsOp::verify() {
  return verifyAxis(*this, getAxis(), getTensor(getSource()).getRank() + 1);
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

int64_t SliceOp::getNumParts() {
  return getTensor(getSource()).getDimSize(getAxis()) /
         getTensor(getResult()).getDimSize(getAxis());
}

LogicalResult SliceOp::verify() {
  RankedTensorType source = getTensor(getSource()),
                   result = getTensor(getResult());
  if (failed(verifyAxis(*this, getAxis(), source.getRank())))
    return failure();
  int64_t axis = getAxis();
  SmallVector<int64_t> shape(source.getShape());
  if (result.getRank() == source.getRank())
    shape[axis] = result.getDimSize(axis);
  if (failed(verifyResult(*this, result, shape, source.getElementType())))
    return failure();
  if (shape[axis] == 0 || source.getDimSize(axis) % shape[axis] != 0)
    return emitOpError("cannot cut dimension ")
           << axis << " of extent " << source.getDimSize(axis)
           << " into equal parts of extent " << shape[axis];
  if (static_cast<int64_t>(getIndex()) >= getNumParts())
    return emitOpError("expected an index below the ")
           << getNumParts() << " parts, found " << getIndex();
  return success();
}

LogicalResult SliceOp::canonicalize(SliceOp op, PatternRewriter &rewriter) {
  auto splat = op.getSource().getDefiningOp<tensor::SplatOp>();
  if (!splat)
    return failure();
  rewriter.replaceOpWithNewOp<tensor::SplatOp>(op, op.getType(),
                                               splat.getInput());
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  return foldSplat(adaptor.getSource(), getResult().getType());
}

//===----------------------------------------------------------------------===//
// TransposeOp
//===----------------------------------------------------------------------===//

LogicalResult TransposeOp::inferReturnTypes(MLIRContext *,
                                            std::optional<Location> location,
                                            Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  FailureOr<RankedTensorType> found =
      getSourceType(location, adaptor.getSource());
  if (failed(found))
    return failure();
  RankedTensorType source = *found;
  ArrayRef<int64_t> permutation = adaptor.getPermutation();
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(source.getRank())))
    return emitOptionalError(location, "expected a permutation of the ",
                             source.getRank(), " dimensions");
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(source.getDimSize(dim));
  Attribute layout;
  if (hasFragmentLayout(source))
    layout = FragmentAttr::get(
        source.getContext(), getFragmentLayout(source).transpose(permutation));
  types.push_back(
      RankedTensorType::get(shape, source.getElementType(), layout));
  return success();
}

bool TransposeOp::isCompatibleReturnTypes(TypeRange l, TypeRange r) {
  return isCompatible(l, r);
}

LogicalResult TransposeOp::verify() { return success(); }

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType() &&
      llvm::equal(getPermutation(),
                  llvm::seq<int64_t>(getPermutation().size())))
    return getSource();
  return foldSplat(adaptor.getSource(), getResult().getType());
}

//===----------------------------------------------------------------------===//
// ReshapeOp
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::verify() {
  RankedTensorType source = getTensor(getSource()),
                   result = getTensor(getResult());
  if (source.getElementType() != result.getElementType())
    return emitOpError("source has element type ")
           << source.getElementType() << ", but the result has "
           << result.getElementType();
  if (source.getNumElements() != result.getNumElements())
    return emitOpError("source has ")
           << source.getNumElements() << " elements, but the result has "
           << result.getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  return foldSplat(adaptor.getSource(), getResult().getType());
}

//===----------------------------------------------------------------------===//
// BitcastOp
//===----------------------------------------------------------------------===//

/// Returns the bits of an element for `tile.bitcast`; 0 for types that it does
/// not take.
static int64_t getBitcastBits(Type type) {
  if (isa<Float6E2M3FNType, Float6E3M2FNType>(type))
    return 8;
  int64_t bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
  return bits >= 4 ? bits : 0;
}

int64_t BitcastOp::getSplit() {
  return std::max<int64_t>(
      getBitcastBits(tile::getElementType(getSource())) /
          getBitcastBits(tile::getElementType(getResult())),
      1);
}

int64_t BitcastOp::getJoin() {
  return std::max<int64_t>(
      getBitcastBits(tile::getElementType(getResult())) /
          getBitcastBits(tile::getElementType(getSource())),
      1);
}

LogicalResult BitcastOp::verify() {
  RankedTensorType source = getTensor(getSource()),
                   result = getTensor(getResult());
  for (RankedTensorType type : {source, result})
    if (getBitcastBits(type.getElementType()) == 0)
      return emitOpError("reads elements of 4, 8, 16, 32 or 64 bits, found ")
             << type.getElementType();
  if (source.getRank() == 0 || source.getRank() != result.getRank())
    return emitOpError(
               "expected a source and a result of one rank, at least 1, "
               "found ")
           << source << " and " << result;
  SmallVector<int64_t> shape(source.getShape());
  int64_t bits = shape.back() * getBitcastBits(source.getElementType());
  int64_t width = getBitcastBits(result.getElementType());
  if (bits % width != 0)
    return emitOpError("a line of the source has ")
           << bits << " bits, which are no whole number of "
           << result.getElementType();
  shape.back() = bits / width;
  return verifyResult(*this, result, shape, result.getElementType());
}

OpFoldResult BitcastOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  auto inner = getSource().getDefiningOp<BitcastOp>();
  // Bits that a type of 6 bits drops are 0 afterwards.
  if (inner && getTensor(getSource()).getElementTypeBitWidth() != 6) {
    setOperand(inner.getSource());
    return getResult();
  }
  return {};
}

//===----------------------------------------------------------------------===//
// IotaOp
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  return verifyAxis(*this, getAxis(), getTensor(getResult()).getRank());
}

//===----------------------------------------------------------------------===//
// ConvertLayoutOp
//===----------------------------------------------------------------------===//

LogicalResult ConvertLayoutOp::verify() {
  RankedTensorType source = getTensor(getSource()),
                   result = getTensor(getResult());
  if (!hasFragmentLayout(source) || !hasFragmentLayout(result))
    return emitOpError("converts between two #tile.fragment layouts, found ")
           << source << " and " << result;
  return verifyResult(*this, result, source.getShape(),
                      source.getElementType());
}

OpFoldResult ConvertLayoutOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  // A conversion of a conversion goes straight to the last layout, until
  // scratch memory is planned: it may need some where the two steps do not.
  auto inner = getSource().getDefiningOp<ConvertLayoutOp>();
  if (inner && !isScratchPlanned(*this)) {
    setOperand(inner.getSource());
    return getResult();
  }
  return foldSplat(adaptor.getSource(), getResult().getType());
}
