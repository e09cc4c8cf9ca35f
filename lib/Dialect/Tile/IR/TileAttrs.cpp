//===- TileAttrs.cpp - Attributes of the tile dialect ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

#include "tilews/Dialect/Tile/IR/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tilews/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tilews/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "tilews/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// SharedLayoutAttr
//===----------------------------------------------------------------------===//

/// Parses `4` or `(4, 8)`, appending the integers.
static ParseResult parseGroup(AsmParser &parser,
                              SmallVectorImpl<int64_t> &values) {
  auto parseInteger = [&] {
    return parser.parseInteger(values.emplace_back());
  };
  if (succeeded(parser.parseOptionalLParen())) {
    if (parser.parseCommaSeparatedList(parseInteger) || parser.parseRParen())
      return failure();
    return success();
  }
  return parseInteger();
}

/// Parses `(4, (8, 2))`: one group a dimension.
static ParseResult parseGroups(AsmParser &parser,
                               SmallVectorImpl<SmallVector<int64_t>> &groups) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
    return parseGroup(parser, groups.emplace_back());
  });
}

static ParseResult parseSwizzle(AsmParser &parser, Swizzle &swizzle) {
  return failure(parser.parseKeyword("Sw") || parser.parseLess() ||
                 parser.parseInteger(swizzle.bits) || parser.parseComma() ||
                 parser.parseInteger(swizzle.base) || parser.parseComma() ||
                 parser.parseInteger(swizzle.shift) || parser.parseGreater());
}

Attribute SharedLayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<SmallVector<int64_t>> extents, strides;
  if (parser.parseLess() || parseGroups(parser, extents) ||
      parser.parseColon() || parseGroups(parser, strides))
    return {};
  Swizzle swizzle;
  if (succeeded(parser.parseOptionalComma()) && parseSwizzle(parser, swizzle))
    return {};
  if (parser.parseGreater())
    return {};

  SmallVector<Mode> modes;
  if (extents.size() != strides.size())
    return parser.emitError(loc, "shape has ")
               << extents.size() << " dimensions and stride " << strides.size(),
           Attribute();
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    if (extents[dim].size() != strides[dim].size())
      return parser.emitError(loc, "dimension ")
                 << dim << " has " << extents[dim].size() << " extents and "
                 << strides[dim].size() << " strides",
             Attribute();
    for (auto [extent, stride] : llvm::zip(extents[dim], strides[dim]))
      modes.push_back({extent, stride, int64_t(dim)});
  }
  return parser.getChecked<SharedLayoutAttr>(loc, parser.getContext(), modes,
                                             swizzle);
}

/// Prints one number of each mode as `(4, (8, 2))`.
static void printGroups(AsmPrinter &printer, const SharedLayout &layout,
                        int64_t Mode::*member) {
  printer << "(";
  llvm::interleaveComma(
      llvm::seq<int64_t>(layout.getRank()), printer, [&](int64_t dim) {
        SmallVector<Mode> group = layout.getModes(dim);
        if (group.size() == 1) {
          printer << group.front().*member;
          return;
        }
        printer << "(";
        llvm::interleaveComma(
            group, printer, [&](const Mode &mode) { printer << mode.*member; });
        printer << ")";
      });
  printer << ")";
}

void SharedLayoutAttr::print(AsmPrinter &printer) const {
  SharedLayout layout = getLayout();
  printer << "<";
  printGroups(printer, layout, &Mode::extent);
  printer << ":";
  printGroups(printer, layout, &Mode::stride);
  if (Swizzle s = getSwizzle(); !s.isIdentity())
    printer << ", Sw<" << s.bits << "," << s.base << "," << s.shift << ">";
  printer << ">";
}

/// Layouts reach no further than this, so that no size overflows.
static constexpr int64_t kMaxReach = std::numeric_limits<int32_t>::max();

/// Whether a layout's index and offsets stay below the limit.
static bool isInReach(ArrayRef<Mode> modes) {
  int64_t size = 1, reach = 0;
  for (const Mode &mode : modes) {
    if (mode.extent > kMaxReach / size ||
        (mode.stride > 0 &&
         mode.extent - 1 > (kMaxReach - reach) / mode.stride))
      return false;
    size *= mode.extent;
    reach += (mode.extent - 1) * mode.stride;
  }
  return true;
}

LogicalResult
SharedLayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                         ArrayRef<Mode> modes, Swizzle swizzle) {
  int64_t dim = 0;
  for (const Mode &mode : modes) {
    if (mode.dim < dim || mode.dim > dim + 1)
      return emitError() << "modes are not grouped by dimension";
    dim = mode.dim;
    if (mode.extent < 1)
      return emitError() << "expected positive extents, found " << mode.extent;
    if (mode.stride < 0)
      return emitError() << "expected non-negative strides, found "
                         << mode.stride;
  }
  if (!isInReach(modes))
    return emitError() << "reaches past " << kMaxReach << " elements";
  if (swizzle.bits < 0 || swizzle.base < 0 || swizzle.bits > swizzle.shift ||
      swizzle.base > 20 || swizzle.shift > 20 ||
      swizzle.bits + swizzle.base + swizzle.shift > 20)
    return emitError() << "swizzle Sw<bits,base,shift> needs 0 <= bits <= "
                          "shift, 0 <= base and a sum of at most 20";
  return success();
}

SharedLayout SharedLayoutAttr::getLayout() const {
  return SharedLayout(getModes(), getSwizzle());
}

SharedLayoutAttr SharedLayoutAttr::get(MLIRContext *context,
                                       const SharedLayout &layout) {
  return get(context, layout.getModes(), layout.getSwizzle());
}

unsigned SharedLayoutAttr::getRank() const { return getLayout().getRank(); }

/// The exact map for one-byte elements. XOR of two bits is their sum modulo
/// two, so a swizzle is a quasi-affine expression.
AffineMap SharedLayoutAttr::getAffineMap() const {
  MLIRContext *context = getContext();
  AffineExpr offset = getAffineConstantExpr(0, context);
  SmallVector<AffineExpr> rest;
  for (unsigned dim = 0; dim < getRank(); ++dim)
    rest.push_back(getAffineDimExpr(dim, context));
  for (const Mode &mode : getModes()) {
    offset = offset + (rest[mode.dim] % mode.extent) * mode.stride;
    rest[mode.dim] = rest[mode.dim].floorDiv(mode.extent);
  }
  AffineExpr swizzled = offset;
  Swizzle s = getSwizzle();
  for (int64_t bit = 0; bit < s.bits; ++bit) {
    int64_t weight = int64_t(1) << (s.base + bit);
    AffineExpr low = offset.floorDiv(weight) % 2;
    AffineExpr high = offset.floorDiv(weight << s.shift) % 2;
    swizzled = swizzled + ((low + high) % 2 - low) * weight;
  }
  return AffineMap::get(getRank(), 0, swizzled);
}

bool SharedLayoutAttr::isIdentity() const { return getLayout().isRowMajor(); }

LogicalResult SharedLayoutAttr::verifyLayout(
    ArrayRef<int64_t> shape,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  SmallVector<int64_t> own = getLayout().getShape();
  if (ArrayRef<int64_t>(own) == shape)
    return success();
  InFlightDiagnostic diag = emitError();
  diag << "layout has shape (";
  llvm::interleaveComma(own, diag);
  diag << "), but the memref has (";
  llvm::interleaveComma(shape, diag);
  return diag << ")";
}

LogicalResult
SharedLayoutAttr::getStridesAndOffset(ArrayRef<int64_t> shape,
                                      SmallVectorImpl<int64_t> &strides,
                                      int64_t &offset) const {
  if (!getSwizzle().isIdentity() || getModes().size() != shape.size())
    return failure();
  for (const Mode &mode : getModes())
    strides.push_back(mode.stride);
  offset = 0;
  return success();
}

//===----------------------------------------------------------------------===//
// FragmentAttr
//===----------------------------------------------------------------------===//

/// Parses `2*d1`, or `0` for replication.
static ParseResult parseStride(AsmParser &parser, Mode &mode) {
  if (parser.parseInteger(mode.stride))
    return failure();
  if (mode.stride == 0)
    return success();
  StringRef dim;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseStar() || parser.parseKeyword(&dim))
    return failure();
  if (!dim.consume_front("d") || dim.getAsInteger(10, mode.dim))
    return parser.emitError(loc, "expected a dimension such as d0");
  return success();
}

/// Parses `(4, 8):(2*d1, 1*d0)`.
static ParseResult parseModes(AsmParser &parser, SmallVectorImpl<Mode> &modes) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> extents;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Paren,
          [&] { return parser.parseInteger(extents.emplace_back()); }) ||
      parser.parseColon() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
        return parseStride(parser, modes.emplace_back(Mode{1, 0, 0}));
      }))
    return failure();
  if (extents.size() != modes.size())
    return parser.emitError(loc, "found ")
           << extents.size() << " extents and " << modes.size() << " strides";
  for (auto [mode, extent] : llvm::zip(modes, extents))
    mode.extent = extent;
  return success();
}

static void printModes(AsmPrinter &printer, ArrayRef<Mode> modes) {
  printer << "(";
  llvm::interleaveComma(modes, printer,
                        [&](const Mode &mode) { printer << mode.extent; });
  printer << "):(";
  llvm::interleaveComma(modes, printer, [&](const Mode &mode) {
    printer << mode.stride;
    if (mode.stride != 0)
      printer << "*d" << mode.dim;
  });
  printer << ")";
}

Attribute FragmentAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Mode> thread, value;
  if (parser.parseLess() || parser.parseKeyword("thread") ||
      parser.parseEqual() || parseModes(parser, thread) ||
      parser.parseComma() || parser.parseKeyword("value") ||
      parser.parseEqual() || parseModes(parser, value) || parser.parseGreater())
    return {};
  return parser.getChecked<FragmentAttr>(loc, parser.getContext(), thread,
                                         value);
}

void FragmentAttr::print(AsmPrinter &printer) const {
  printer << "<thread = ";
  printModes(printer, getThread());
  printer << ", value = ";
  printModes(printer, getValue());
  printer << ">";
}

LogicalResult
FragmentAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                     ArrayRef<Mode> thread, ArrayRef<Mode> value) {
  for (ArrayRef<Mode> modes : {thread, value}) {
    for (const Mode &mode : modes) {
      if (mode.extent < 1 || mode.stride < 0 || mode.dim < 0)
        return emitError() << "expected positive extents, non-negative strides "
                              "and dimensions, found "
                           << mode.extent << ":" << mode.stride << "*d"
                           << mode.dim;
    }
    if (!isInReach(modes))
      return emitError() << "reaches past " << kMaxReach << " elements";
  }
  return success();
}

FragmentLayout FragmentAttr::getLayout() const {
  return FragmentLayout(getThread(), getValue());
}

FragmentAttr FragmentAttr::get(MLIRContext *context,
                               const FragmentLayout &layout) {
  return get(context, layout.getThreadModes(), layout.getValueModes());
}

/// Registers hold far less; coverage is checked element by element.
static constexpr int64_t kMaxFragmentExtent = 1 << 24;

/// Marks what `modes` reach along `dim`, starting from what is reached.
static void spread(ArrayRef<Mode> modes, int64_t dim,
                   SmallVectorImpl<bool> &reached) {
  for (const Mode &mode : modes) {
    if (mode.dim != dim || mode.stride == 0)
      continue;
    SmallVector<bool> next(reached.size(), false);
    for (size_t from = 0; from < reached.size(); ++from)
      for (int64_t digit = 0; reached[from] && digit < mode.extent; ++digit) {
        size_t to = from + digit * mode.stride;
        if (to >= next.size())
          break;
        next[to] = true;
      }
    reached.assign(next);
  }
}

LogicalResult FragmentAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  for (ArrayRef<Mode> modes : {getThread(), getValue()})
    for (const Mode &mode : modes)
      if (mode.stride != 0 && mode.dim >= int64_t(shape.size()))
        return emitError() << "layout has a mode along dimension " << mode.dim
                           << " of a fragment of rank " << shape.size();
  // Each mode moves one dimension alone, so the fragment is covered exactly if
  // each dimension is.
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(extent) || extent == 0)
      continue;
    if (extent > kMaxFragmentExtent)
      return emitError() << "expected extents of at most " << kMaxFragmentExtent
                         << ", found " << extent;
    SmallVector<bool> reached(extent, false);
    reached[0] = true;
    spread(getThread(), dim, reached);
    spread(getValue(), dim, reached);
    if (auto missing = llvm::find(reached, false); missing != reached.end())
      return emitError() << "layout does not reach coordinate "
                         << missing - reached.begin() << " of dimension " << dim
                         << " with extent " << extent;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// RasterizeAttr
//===----------------------------------------------------------------------===//

LogicalResult
RasterizeAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                      RasterOrder, int64_t panel) {
  if (panel < 1 || panel > 65535)
    return emitError() << "expected a panel of 1 to 65535 tiles, found "
                       << panel;
  return success();
}
