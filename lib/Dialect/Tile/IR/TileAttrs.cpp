//===- TileAttrs.cpp - Attributes of the tile dialect ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsers, printers and verifiers of the layouts and of the other attributes.
//
// A `#tile.shared` is injective: two elements must not have the same address.
// The layout library proves this, or names two elements that collide. A
// `#tile.fragment` must hold each element exactly once, up to replication. Each
// mode moves along one dimension only, so each dimension can be checked
// alone: modes are added one by one, and each coordinate records the thread and
// the register that hold it. Coordinate 5 of `(4):(2*d0)` with value
// `(2):(1*d0)` is held by register 1 of thread 2.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Layout/SwizzledLayout.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
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
  registerBytecode();
}

//===----------------------------------------------------------------------===//
// SharedLayoutAttr
//===----------------------------------------------------------------------===//

namespace {
/// Adapts the parser of attributes to the parser of the layout algebra.
class AsmTokens : public TupleTokens {
public:
  explicit AsmTokens(AsmParser &parser) : parser(parser) {}
  bool consume(char token) override {
    switch (token) {
    case '(':
      return succeeded(parser.parseOptionalLParen());
    case ')':
      return succeeded(parser.parseOptionalRParen());
    case ',':
      return succeeded(parser.parseOptionalComma());
    default: // Attributes have no placeholders.
      return false;
    }
  }
  std::optional<int64_t> consumeInteger() override {
    int64_t value;
    OptionalParseResult result = parser.parseOptionalInteger(value);
    if (result.has_value() && succeeded(*result))
      return value;
    return std::nullopt;
  }
  // The location of the error shows the token.
  std::string getFound() override { return ""; }

private:
  AsmParser &parser;
};
} // namespace

static ParseResult parseTuple(AsmParser &parser, IntTuple &tuple) {
  AsmTokens tokens(parser);
  llvm::Expected<IntTuple> parsed = IntTuple::parse(tokens);
  if (!parsed)
    return parser.emitError(parser.getCurrentLocation(),
                            llvm::toString(parsed.takeError()));
  tuple = std::move(*parsed);
  return success();
}

static ParseResult parseSwizzleBits(AsmParser &parser, Swizzle &swizzle) {
  return failure(parser.parseKeyword("Sw") || parser.parseLess() ||
                 parser.parseInteger(swizzle.bits) || parser.parseComma() ||
                 parser.parseInteger(swizzle.base) || parser.parseComma() ||
                 parser.parseInteger(swizzle.shift) || parser.parseGreater());
}

Attribute SharedLayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  IntTuple shape, stride;
  if (parser.parseLess() || parseTuple(parser, shape) || parser.parseColon() ||
      parseTuple(parser, stride))
    return {};
  Swizzle swizzle;
  if (succeeded(parser.parseOptionalComma()) &&
      parseSwizzleBits(parser, swizzle))
    return {};
  if (parser.parseGreater())
    return {};
  if (!shape.isCongruentTo(stride)) {
    parser.emitError(loc, "shape and stride of ")
        << shape.str() << ":" << stride.str()
        << " are not nested in the same way";
    return {};
  }
  // Each dimension has one group. Nesting inside of it has no meaning.
  SmallVector<Mode> modes;
  for (int64_t dim = 0, e = shape.getRank(); dim < e; ++dim)
    for (auto [extent, step] :
         llvm::zip(shape[dim].flatten(), stride[dim].flatten()))
      modes.push_back({extent, step, dim});
  return parser.getChecked<SharedLayoutAttr>(loc, parser.getContext(), modes,
                                             swizzle);
}

/// Prints the extents or the strides of all modes, such as `(4, (8, 2))`.
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

/// The largest offset of a layout. Larger ones could overflow the arithmetic on
/// sizes.
static constexpr int64_t kMaxReach = std::numeric_limits<int32_t>::max();

/// Returns whether the size and the offsets of a layout are at most kMaxReach.
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
  }
  if (llvm::Error error = checkSwizzle(swizzle))
    return emitError() << llvm::toString(std::move(error));
  SharedLayout layout(modes, swizzle);
  llvm::Expected<SwizzledLayout> whole = getSwizzledLayout(layout, 8);
  if (!whole)
    return emitError() << llvm::toString(whole.takeError());
  if (whole->layout.getSize() > kMaxReach || whole->getCosize() > kMaxReach)
    return emitError() << "reaches past " << kMaxReach << " elements";
  llvm::Expected<std::optional<SharedCollision>> collision =
      findCollision(layout);
  if (!collision)
    return emitError() << llvm::toString(collision.takeError());
  if (!*collision)
    return success();
  InFlightDiagnostic diag = emitError();
  diag << "elements (";
  llvm::interleaveComma((*collision)->first, diag);
  diag << ") and (";
  llvm::interleaveComma((*collision)->second, diag);
  return diag << ") both lie at offset " << (*collision)->offset;
}

SharedLayout SharedLayoutAttr::getLayout() const {
  return SharedLayout(getModes(), getSwizzle());
}

SharedLayoutAttr SharedLayoutAttr::get(MLIRContext *context,
                                       const SharedLayout &layout) {
  return get(context, layout.getModes(), layout.getSwizzle());
}

unsigned SharedLayoutAttr::getRank() const { return getLayout().getRank(); }

/// Returns the exact map for one-byte elements. The XOR of two bits is their
/// sum modulo 2, so a swizzle is a quasi-affine expression.
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

/// Bounds the time of the check below, which visits each coordinate. Registers
/// hold far fewer elements.
static constexpr int64_t kMaxFragmentExtent = 1 << 24;

namespace {
/// A thread, and the index of one of its registers.
struct Holder {
  int64_t thread = 0, value = 0;
};
/// The register that holds each coordinate of one dimension.
class Holders {
public:
  explicit Holders(int64_t extent) : holders(extent) { holders[0] = Holder(); }

  /// Adds the coordinates that one mode along the dimension reaches. A step of
  /// the mode advances the member `index` by `weight`. Fails if two registers
  /// reach the same coordinate.
  LogicalResult add(const Mode &mode, int64_t weight, int64_t Holder::*index) {
    std::vector<std::optional<Holder>> next = holders;
    for (int64_t from = 0, e = holders.size(); from < e; ++from)
      for (int64_t digit = 1; holders[from] && digit < mode.extent; ++digit) {
        int64_t to = from + digit * mode.stride;
        if (to >= e)
          break;
        Holder holder = *holders[from];
        holder.*index += digit * weight;
        if (next[to]) {
          clash = {to, *next[to], holder};
          return failure();
        }
        next[to] = holder;
      }
    holders = std::move(next);
    return success();
  }

  /// Returns the first coordinate that no register holds.
  std::optional<int64_t> findMissing() const {
    auto missing = llvm::find(holders, std::nullopt);
    if (missing == holders.end())
      return std::nullopt;
    return missing - holders.begin();
  }

  /// The coordinate that two registers hold, after `add` has failed.
  struct Clash {
    int64_t coordinate = 0;
    Holder first, second;
  } clash;

private:
  std::vector<std::optional<Holder>> holders;
};
} // namespace

/// Adds the modes along `dim` to `holders`.
static LogicalResult addModes(ArrayRef<Mode> modes, int64_t dim,
                              int64_t Holder::*index, Holders &holders) {
  int64_t weight = 1;
  for (const Mode &mode : modes) {
    if (mode.dim == dim && mode.stride != 0 &&
        failed(holders.add(mode, weight, index)))
      return failure();
    weight *= mode.extent;
  }
  return success();
}

LogicalResult FragmentAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    llvm::function_ref<InFlightDiagnostic()> emitError) const {
  for (ArrayRef<Mode> modes : {getThread(), getValue()})
    for (const Mode &mode : modes)
      if (mode.stride != 0 && mode.dim >= int64_t(shape.size()))
        return emitError() << "layout has a mode along dimension " << mode.dim
                           << " of a fragment of rank " << shape.size();
  // Each mode moves along one dimension, so the fragment is covered
  // exactly if each dimension is.
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(extent) || extent == 0)
      continue;
    if (extent > kMaxFragmentExtent)
      return emitError() << "expected extents of at most " << kMaxFragmentExtent
                         << ", found " << extent;
    Holders holders(extent);
    if (failed(addModes(getThread(), dim, &Holder::thread, holders)) ||
        failed(addModes(getValue(), dim, &Holder::value, holders))) {
      auto [coordinate, first, second] = holders.clash;
      return emitError() << "layout holds coordinate " << coordinate
                         << " of dimension " << dim << " twice, in register "
                         << first.value << " of thread " << first.thread
                         << " and in register " << second.value << " of thread "
                         << second.thread << "; replicas have stride 0";
    }
    if (std::optional<int64_t> missing = holders.findMissing())
      return emitError() << "layout does not reach coordinate " << *missing
                         << " of dimension " << dim << " with extent "
                         << extent;
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
