//===- TileControlOps.cpp - Persistent loops and debugging ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Syntax and interfaces of `tile.persistent`, and the verifiers of `tile.print`
// and `tile.assert`.
//
// A persistent loop is a loop for upstream's passes: the region may follow
// itself, and the carried values are block arguments after the indices of the
// tile. Its trip count is unknown and may be zero, because a block may own no
// tile.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// PersistentOp
//===----------------------------------------------------------------------===//

ParseResult PersistentOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType();
  SmallVector<OpAsmParser::Argument> arguments, carried;
  SmallVector<OpAsmParser::UnresolvedOperand> extents, inits;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") ||
      parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren))
    return failure();
  for (OpAsmParser::Argument &argument : arguments)
    argument.type = index;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("iter_args"))) {
    if (parser.parseAssignmentList(carried, inits) ||
        parser.parseArrowTypeList(result.types))
      return failure();
    if (carried.size() != result.types.size())
      return parser.emitError(loc, "found ")
             << carried.size() << " carried values and " << result.types.size()
             << " types";
    for (auto [argument, type] : llvm::zip(carried, result.types))
      argument.type = type;
  }
  llvm::append_range(arguments, carried);
  if (parser.resolveOperands(extents, index, result.operands) ||
      parser.resolveOperands(inits, result.types, loc, result.operands) ||
      parser.parseRegion(*result.addRegion(), arguments) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  ensureTerminator(*result.regions.front(), builder, result.location);
  result.addAttribute(getOperandSegmentSizeAttr(),
                      builder.getDenseI32ArrayAttr(
                          {int32_t(extents.size()), int32_t(inits.size())}));
  return success();
}

void PersistentOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(getTileIndices(), printer);
  printer << ") in (" << getExtents() << ")";
  if (!getInitArgs().empty()) {
    printer << " iter_args(";
    llvm::interleaveComma(
        llvm::zip(getRegionIterArgs(), getInitArgs()), printer, [&](auto pair) {
          printer << std::get<0>(pair) << " = " << std::get<1>(pair);
        });
    printer << ") -> (" << getInitArgs().getTypes() << ")";
  }
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!getInitArgs().empty());
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getOperandSegmentSizeAttr()});
}

LogicalResult PersistentOp::verify() {
  if (getExtents().empty() || getExtents().size() > 3)
    return emitOpError("expected 1 to 3 extents, found ")
           << getExtents().size();
  Block &body = getBody().front();
  size_t expected = getExtents().size() + getInitArgs().size();
  if (body.getNumArguments() != expected)
    return emitOpError("body has ")
           << body.getNumArguments() << " arguments, expected " << expected;
  if (getRasterize() && getExtents().size() < 2)
    return emitOpError("rasterizes two or three dimensions, found one extent");
  for (Value tileIndex : getTileIndices())
    if (!tileIndex.getType().isIndex())
      return emitOpError("tile indices have to be of type index");
  if (getInitArgs().getTypes() != getResultTypes() ||
      getInitArgs().getTypes() != ValueRange(getRegionIterArgs()).getTypes())
    return emitOpError("types of the initial values, the carried arguments "
                       "and the results have to agree");
  return success();
}

SmallVector<mlir::Region *> PersistentOp::getLoopRegions() {
  return {&getBody()};
}

MutableArrayRef<OpOperand> PersistentOp::getInitsMutable() {
  return getOperation()->getOpOperands().take_back(getInitArgs().size());
}

Block::BlockArgListType PersistentOp::getRegionIterArgs() {
  return getBody().front().getArguments().drop_front(getExtents().size());
}

std::optional<MutableArrayRef<OpOperand>>
PersistentOp::getYieldedValuesMutable() {
  return cast<YieldOp>(getBody().front().getTerminator()).getValuesMutable();
}

std::optional<ResultRange> PersistentOp::getLoopResults() {
  return getResults();
}

OperandRange PersistentOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getInitArgs();
}

void PersistentOp::getSuccessorRegions(
    RegionBranchPoint, SmallVectorImpl<RegionSuccessor> &successors) {
  // A block may own no tile: the entry can branch to the results.
  successors.emplace_back(&getBody(), getRegionIterArgs());
  successors.emplace_back(getOperation(), getResults());
}

//===----------------------------------------------------------------------===//
// PrintOp and AssertOp
//===----------------------------------------------------------------------===//

/// The coordinates of a block, of which there are all or none.
static constexpr size_t kBlockRank = 3;

LogicalResult AssertOp::verify() {
  if (getBlock().empty() || getBlock().size() == kBlockRank)
    return success();
  return emitOpError("expects three coordinates of its block, or none, found ")
         << getBlock().size();
}

OperandRange PrintOp::getShown() {
  return getValues().drop_back(getBlock().size());
}

OperandRange PrintOp::getBlock() {
  bool hasBlock = (*this)->hasAttr(TileDialect::kBlock);
  return getValues().take_back(hasBlock ? kBlockRank : 0);
}

/// `tile.block` is a unit attribute. The coordinates are the last values.
static LogicalResult checkBlock(PrintOp op) {
  Attribute value = op->getAttr(TileDialect::kBlock);
  if (!value)
    return success();
  ValueRange values = op.getValues();
  if (isa<UnitAttr>(value) && values.size() >= kBlockRank &&
      llvm::all_of(values.take_back(kBlockRank).getTypes(),
                   llvm::IsaPred<IndexType>))
    return success();
  return op.emitError("'tile.block' expects no value, and three indices at the "
                      "end of the operands, found ")
         << value << " and " << values.getTypes();
}

bool PrintOp::isUnsigned(unsigned place) {
  auto places =
      (*this)->getAttrOfType<DenseI64ArrayAttr>(TileDialect::kUnsigned);
  return places && llvm::is_contained(places.asArrayRef(), place);
}

/// `tile.unsigned` must have positions of the values.
static LogicalResult checkUnsigned(PrintOp op) {
  Attribute value = op->getAttr(TileDialect::kUnsigned);
  if (!value)
    return success();
  auto places = dyn_cast<DenseI64ArrayAttr>(value);
  int64_t count = op.getShown().size();
  if (places && llvm::all_of(places.asArrayRef(), [&](int64_t place) {
        return place >= 0 && place < count;
      }))
    return success();
  return op.emitError("'tile.unsigned' expects array<i64: ...> of "
                      "positions below ")
         << count << ", found " << value;
}

LogicalResult PrintOp::verify() {
  if (failed(checkBlock(*this)) || failed(checkUnsigned(*this)))
    return failure();
  for (Value value : getValues()) {
    Type type = value.getType();
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.hasStaticShape())
      type = tensor.getElementType();
    if (!isTileElement(type))
      return emitOpError("prints scalars and fragments, found ")
             << value.getType();
  }
  return success();
}
