//===- Regions.cpp - Regions that operations name -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operation stores the offsets of a region in two lists, as upstream's
// tensor.extract_slice does: a static list that holds ShapedType::kDynamic for
// each SSA offset, and the SSA offsets in order. The region [%m, 0] [128, 64]
// has the static offsets [kDynamic, 0], the operand %m, and the sizes [128,
// 64].
//
// `buildRegion` fills in defaults. Two sides of a copy may have different
// ranks: a memref<1x128x1x64> and a memref<128x64> have the same elements.
// Sizes are therefore compared, and distributed to dimensions, without those
// that are one.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Regions.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

#include <limits>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ParseResult
tile::parseRegion(OpAsmParser &parser,
                  SmallVectorImpl<OpAsmParser::UnresolvedOperand> &offsets,
                  DenseI64ArrayAttr &staticOffsets, DenseI64ArrayAttr &sizes) {
  Builder &builder = parser.getBuilder();
  staticOffsets = builder.getDenseI64ArrayAttr({});
  sizes = builder.getDenseI64ArrayAttr({});
  SMLoc loc = parser.getCurrentLocation();
  // Upstream's parseDynamicIndexList requires the bracket, which is optional
  // here.
  if (failed(parser.parseOptionalLSquare()))
    return success();
  SmallVector<int64_t> constants;
  auto parseOffset = [&]() -> ParseResult {
    OpAsmParser::UnresolvedOperand operand;
    OptionalParseResult dynamic = parser.parseOptionalOperand(operand);
    if (dynamic.has_value()) {
      offsets.push_back(operand);
      constants.push_back(ShapedType::kDynamic);
      return *dynamic;
    }
    return parser.parseInteger(constants.emplace_back());
  };
  if (parser.parseCommaSeparatedList(parseOffset) || parser.parseRSquare())
    return failure();
  staticOffsets = builder.getDenseI64ArrayAttr(constants);
  if (constants.empty())
    return parser.emitError(loc, "expected at least one offset");
  if (failed(parser.parseOptionalLSquare()))
    return success();
  SmallVector<int64_t> extents;
  if (parser.parseCommaSeparatedList(
          [&] { return parser.parseInteger(extents.emplace_back()); }) ||
      parser.parseRSquare())
    return failure();
  sizes = builder.getDenseI64ArrayAttr(extents);
  return success();
}

void tile::printRegion(OpAsmPrinter &printer, Operation *, OperandRange offsets,
                       DenseI64ArrayAttr staticOffsets,
                       DenseI64ArrayAttr sizes) {
  if (!staticOffsets.empty()) {
    printer << "[";
    unsigned next = 0;
    llvm::interleaveComma(staticOffsets.asArrayRef(), printer,
                          [&](int64_t offset) {
                            if (ShapedType::isDynamic(offset))
                              printer << offsets[next++];
                            else
                              printer << offset;
                          });
    printer << "]";
  }
  if (!sizes.empty()) {
    printer << " [";
    llvm::interleaveComma(sizes.asArrayRef(), printer);
    printer << "]";
  }
}

ParseResult
tile::parseIndices(OpAsmParser &parser,
                   SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices,
                   SmallVectorImpl<Type> &types, DenseI64ArrayAttr &dims) {
  SmallVector<int64_t> numbers;
  auto parseIndex = [&]() -> ParseResult {
    return failure(parser.parseInteger(numbers.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(indices.emplace_back()) ||
                   parser.parseColonType(types.emplace_back()));
  };
  if (succeeded(parser.parseOptionalKeyword("at")) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseIndex))
    return failure();
  dims = parser.getBuilder().getDenseI64ArrayAttr(numbers);
  return success();
}

void tile::printIndices(OpAsmPrinter &printer, Operation *,
                        OperandRange indices, TypeRange types,
                        DenseI64ArrayAttr dims) {
  if (indices.empty())
    return;
  printer << "at(";
  llvm::interleaveComma(llvm::zip(dims.asArrayRef(), indices, types), printer,
                        [&](auto each) {
                          auto [dim, index, type] = each;
                          printer << dim << " = " << index << " : " << type;
                        });
  printer << ")";
}

SmallVector<int64_t> TileRegion::getSqueezedSizes() const {
  return llvm::filter_to_vector(sizes, [](int64_t size) { return size != 1; });
}

bool tile::isWholeBuffer(MemRefType type, ArrayRef<int64_t> staticOffsets,
                         ArrayRef<int64_t> sizes) {
  return sizes.empty() && staticOffsets.empty() && type.hasStaticShape();
}

tile::TileRegion tile::buildRegion(MemRefType type, OperandRange offsets,
                                   ArrayRef<int64_t> staticOffsets,
                                   ArrayRef<int64_t> sizes,
                                   ArrayRef<int64_t> otherSizes) {
  Builder builder(type.getContext());
  TileRegion region;
  int64_t rank = type.getRank();
  if (staticOffsets.empty())
    region.offsets.assign(rank, builder.getIndexAttr(0));
  else
    region.offsets = getMixedValues(staticOffsets, offsets, builder);
  if (!sizes.empty()) {
    region.sizes.assign(sizes.begin(), sizes.end());
    return region;
  }
  int64_t missing = rank - int64_t(otherSizes.size());
  if (missing >= 0) {
    region.sizes.assign(missing, 1);
    llvm::append_range(region.sizes, otherSizes);
    return region;
  }
  // A buffer of smaller rank has the sizes that are not one.
  SmallVector<int64_t> squeezed = llvm::filter_to_vector(
      otherSizes, [](int64_t size) { return size != 1; });
  region.sizes.assign(std::max<int64_t>(rank - squeezed.size(), 0), 1);
  llvm::append_range(region.sizes, squeezed);
  return region;
}

/// Larger sizes could overflow sums of offsets and sizes.
static constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

bool tile::isStaticOffset(int64_t offset) {
  constexpr int64_t limit = int64_t(1) << 48;
  return offset >= -limit && offset <= limit;
}

LogicalResult tile::verifyRegion(Operation *op, StringRef side, MemRefType type,
                                 OperandRange offsets,
                                 ArrayRef<int64_t> staticOffsets,
                                 ArrayRef<int64_t> sizes) {
  int64_t rank = type.getRank();
  if (!staticOffsets.empty() && int64_t(staticOffsets.size()) != rank)
    return op->emitOpError() << side << " has " << staticOffsets.size()
                             << " offsets, but its buffer has rank " << rank;
  if (llvm::count(staticOffsets, ShapedType::kDynamic) !=
      int64_t(offsets.size()))
    return op->emitOpError()
           << side << " has " << offsets.size()
           << " dynamic offsets, but its static offsets "
              "leave room for "
           << llvm::count(staticOffsets, ShapedType::kDynamic);
  if (!sizes.empty() && int64_t(sizes.size()) != rank)
    return op->emitOpError() << side << " has " << sizes.size()
                             << " sizes, but its buffer has rank " << rank;
  for (int64_t size : sizes)
    if (size < 1 || size > kMaxSize)
      return op->emitOpError()
             << side << " has size " << size << ", expected 1 to " << kMaxSize;
  for (int64_t offset : staticOffsets)
    if (!ShapedType::isDynamic(offset) && !isStaticOffset(offset))
      return op->emitOpError()
             << side << " has offset " << offset << ", which is out of range";
  return success();
}

void tile::addAccessEffects(
    AccessOpInterface op,
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  SmallVector<AccessRegion> regions;
  op.getAccessRegions(regions);
  for (const AccessRegion &region : regions) {
    if (region.reads())
      effects.emplace_back(MemoryEffects::Read::get(), region.buffer);
    if (region.writes())
      effects.emplace_back(MemoryEffects::Write::get(), region.buffer);
  }
}

std::string tile::printSizes(ArrayRef<int64_t> sizes) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "(";
  llvm::interleaveComma(sizes, stream);
  stream << ")";
  return text;
}

LogicalResult tile::verifyFragmentRegion(Operation *op,
                                         const TileRegion &region,
                                         MemRefType buffer,
                                         RankedTensorType fragment) {
  if (buffer.getElementType() != fragment.getElementType())
    return op->emitOpError()
           << "buffer has element type " << buffer.getElementType()
           << ", but the fragment has " << fragment.getElementType();
  if (int64_t(region.sizes.size()) != buffer.getRank())
    return op->emitOpError()
           << "fragment of rank " << fragment.getRank()
           << " does not fit a buffer of rank " << buffer.getRank();
  SmallVector<int64_t> wanted = llvm::filter_to_vector(
      fragment.getShape(), [](int64_t size) { return size != 1; });
  if (region.getSqueezedSizes() != wanted)
    return op->emitOpError() << "region has sizes " << printSizes(region.sizes)
                             << ", but the fragment has shape "
                             << printSizes(fragment.getShape());
  return success();
}
