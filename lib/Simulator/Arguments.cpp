//===- Arguments.cpp - Arguments and grid of a launch ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the arguments of a launch against the signature of the kernel before
// anything runs: shapes, strides, promised divisors, and extents that share a
// symbol. For example `memref<?x?xf32>` with `tile.symbols` M and K, and an
// array of 512 x 64, bind M = 512; a later array whose dimension M has 256
// elements is an error that names both arguments.
//
// The grid is the one of the launch or the value of the map `tile.grid`, whose
// symbols are the dynamic extents and the integers among the arguments, in
// order.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "tilews/Dialect/Tile/IR/Kernel.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;
using tilews::tile::TileDialect;

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
/// Checks the arguments of a launch and converts them to values.
class Binder {
public:
  explicit Binder(gpu::GPUFuncOp kernel)
      : kernel(kernel), declared(tile::getKernelArguments(kernel)) {}

  LogicalResult bind(ArrayRef<Argument> arguments,
                     SmallVectorImpl<Datum> &values);

private:
  InFlightDiagnostic emitError(unsigned index);
  LogicalResult checkShape(unsigned index, ArrayRef<int64_t> shape);
  LogicalResult checkStrides(unsigned index, const MemoryArgument &arg);
  FailureOr<Datum> bindMemory(unsigned index, const Argument &arg);
  FailureOr<Datum> bindScalar(unsigned index, const Argument &arg);
  MemRefType getMemRefType(unsigned index) {
    return dyn_cast<MemRefType>(declared[index].type);
  }

  gpu::GPUFuncOp kernel;
  SmallVector<tile::KernelArgument> declared;
  /// Extents of symbols, and the argument that bound the symbol.
  llvm::StringMap<std::pair<int64_t, unsigned>> symbols;
};
} // namespace

InFlightDiagnostic Binder::emitError(unsigned index) {
  InFlightDiagnostic diagnostic = mlir::emitError(kernel.getLoc(), "argument ");
  diagnostic << index;
  if (!declared[index].name.empty())
    diagnostic << " ('" << declared[index].name << "')";
  diagnostic << " of '" << kernel.getName() << "': ";
  return diagnostic;
}

LogicalResult Binder::checkShape(unsigned index, ArrayRef<int64_t> shape) {
  MemRefType type = getMemRefType(index);
  bool fits = int64_t(shape.size()) == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = type.isDynamicDim(dim) || type.getDimSize(dim) == shape[dim];
  if (!fits)
    return emitError(index)
           << "shape " << toString(shape) << " does not fit " << type;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    int64_t divisor = declared[index].divisors[dim];
    if (extent % divisor != 0)
      return emitError(index) << "extent " << extent << " of dimension " << dim
                              << " is not a multiple of " << divisor
                              << ", which 'tile.divisible' promises";
    StringRef symbol = declared[index].symbols[dim];
    auto [known, isNew] = symbols.try_emplace(symbol, extent, index);
    if (!symbol.empty() && !isNew && known->second.first != extent)
      return emitError(index)
             << "extent " << extent << " of dimension " << dim << " is '"
             << symbol << "', which is " << known->second.first
             << " in argument " << known->second.second;
  }
  return success();
}

LogicalResult Binder::checkStrides(unsigned index, const MemoryArgument &arg) {
  MemRefType type = getMemRefType(index);
  SmallVector<int64_t> expected;
  if (type.getLayout().isIdentity()) {
    expected = getRowMajorStrides(arg.shape);
  } else {
    int64_t offset;
    if (failed(type.getStridesAndOffset(expected, offset)))
      return emitError(index)
             << type << " has no strides; expected a strided layout";
    if (offset != 0 && !ShapedType::isDynamic(offset))
      return emitError(index)
             << type << " starts at offset " << offset << ", expected 0";
  }
  // Libraries give arbitrary strides to arrays without elements.
  if (llvm::is_contained(arg.shape, 0))
    return success();
  for (auto [extent, stride, wanted] :
       llvm::zip_equal(arg.shape, arg.strides, expected))
    if (extent > 1 && stride != wanted && !ShapedType::isDynamic(wanted))
      return emitError(index)
             << "strides " << toString(arg.strides) << " do not fit " << type
             << ", which has strides " << toString(expected)
             << "; pass a contiguous array or give the memref a strided layout";
  return success();
}

FailureOr<Datum> Binder::bindMemory(unsigned index, const Argument &arg) {
  MemRefType type = getMemRefType(index);
  if (arg.kind != Argument::Kind::Memory)
    return emitError(index) << "expected an array for " << type;
  if (tile::isShared(type))
    return emitError(index)
           << "a kernel cannot take shared memory, found " << type;
  if (failed(checkShape(index, arg.memory.shape)))
    return failure();
  auto memref = std::make_shared<MemRef>();
  memref->type = *ElementType::get(type.getElementType());
  unsigned width = memref->type.width, bits = arg.memory.storageBits;
  if (memref->type.getMemoryBits() == 0)
    return emitError(index)
           << type << " has elements that have no form in memory";
  if ((width >= 8 || bits != 8) && bits != width)
    return emitError(index)
           << "elements take " << bits << " bits each, but those of " << type
           << " take " << width;
  if (failed(checkStrides(index, arg.memory)))
    return failure();
  memref->buffer = std::make_shared<Buffer>();
  memref->buffer->data = static_cast<uint8_t *>(arg.memory.data);
  memref->buffer->writable = arg.memory.writable;
  memref->storageBits = bits;
  memref->shape = arg.memory.shape;
  memref->strides = arg.memory.strides;
  Datum datum;
  datum.memref = std::move(memref);
  return datum;
}

FailureOr<Datum> Binder::bindScalar(unsigned index, const Argument &arg) {
  Type type = declared[index].type;
  if (!type.isIntOrIndexOrFloat())
    return emitError(index) << "a kernel takes memrefs and scalars, found "
                            << type << "; load fragments from a memref";
  ElementType element = *ElementType::get(type);
  Datum datum;
  if (element.isFloat && arg.kind != Argument::Kind::Memory) {
    datum.real = arg.kind == Argument::Kind::Real ? arg.real : arg.integer;
    normalize(element, &datum.real, 1);
    return datum;
  }
  if (arg.kind != Argument::Kind::Integer)
    return emitError(index) << (element.isFloat ? "expected a number for "
                                                : "expected an integer for ")
                            << type;
  datum.integer = wrapInteger(arg.integer, element.width);
  if (datum.integer != arg.integer &&
      int64_t(getUnsigned(arg.integer, element.width)) != arg.integer)
    return emitError(index) << arg.integer << " does not fit " << type;
  return datum;
}

/// Lets arguments that overlap share the shadow of their bytes, so that
/// accesses to one are checked against those to the other. An argument that
/// starts 64 bytes after another has its first byte in cell 64.
static void shareShadows(ArrayRef<Datum> values) {
  struct ShadowExtent {
    Buffer *buffer;
    const uint8_t *begin, *end;
  };
  SmallVector<ShadowExtent> extents;
  for (const Datum &value : values) {
    if (!value.memref || llvm::is_contained(value.memref->shape, 0))
      continue;
    const MemRef &memref = *value.memref;
    int64_t first = 0, last = 0;
    for (auto [extent, stride] : llvm::zip_equal(memref.shape, memref.strides))
      (stride < 0 ? first : last) += (extent - 1) * stride;
    const uint8_t *data = memref.buffer->data;
    int64_t bytes = memref.storageBits / 8;
    extents.push_back(
        {memref.buffer.get(), data + first * bytes, data + (last + 1) * bytes});
  }
  llvm::sort(extents, [](const ShadowExtent &a, const ShadowExtent &b) {
    return a.begin < b.begin;
  });
  const uint8_t *origin = nullptr, *end = nullptr;
  for (const ShadowExtent &extent : extents) {
    if (!end || extent.begin >= end)
      origin = extent.begin;
    end = std::max(end, extent.end);
    extent.buffer->origin = origin;
    extent.buffer->firstCell = extent.buffer->data - origin;
  }
}

LogicalResult Binder::bind(ArrayRef<Argument> arguments,
                           SmallVectorImpl<Datum> &values) {
  if (arguments.size() != declared.size())
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName() << "' takes " << declared.size()
           << " arguments, found " << arguments.size();
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    FailureOr<Datum> value = getMemRefType(index) ? bindMemory(index, argument)
                                                  : bindScalar(index, argument);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  shareShadows(values);
  return success();
}

LogicalResult sim::bindArguments(gpu::GPUFuncOp kernel,
                                 ArrayRef<Argument> arguments,
                                 SmallVectorImpl<Datum> &values) {
  return Binder(kernel).bind(arguments, values);
}

//===----------------------------------------------------------------------===//
// Grid
//===----------------------------------------------------------------------===//

/// Returns the number that a launch was given as `argument`: a datum has the
/// sign of a signed one, so that 200 as `tl.u8` is kept as -56.
static int64_t getNumber(const tile::KernelArgument &declared,
                         const Datum &argument) {
  auto type = dyn_cast<IntegerType>(declared.type);
  if (!type || type.getWidth() == 64 ||
      !(declared.isUnsigned || type.isInteger(1)))
    return argument.integer;
  return argument.integer & llvm::maskTrailingOnes<uint64_t>(type.getWidth());
}

/// Evaluates `tile.grid` for a kernel's arguments.
static FailureOr<Int3> evaluateGrid(gpu::GPUFuncOp kernel,
                                    ArrayRef<Datum> arguments) {
  auto attr = kernel->getAttrOfType<AffineMapAttr>(TileDialect::kGrid);
  if (!attr)
    return mlir::emitError(kernel.getLoc(), "'")
           << kernel.getName()
           << "' has no 'tile.grid' attribute; give the grid explicitly";
  SmallVector<int64_t> symbols;
  for (const auto &[declared, argument] :
       llvm::zip_equal(tile::getKernelArguments(kernel), arguments)) {
    if (auto memref = dyn_cast<MemRefType>(declared.type)) {
      for (int64_t dim = 0; dim < memref.getRank(); ++dim)
        if (memref.isDynamicDim(dim))
          symbols.push_back(argument.memref->shape[dim]);
    } else if (declared.type.isIntOrIndex()) {
      symbols.push_back(getNumber(declared, argument));
    }
  }
  Int3 grid = {1, 1, 1};
  for (auto [dim, expr] : llvm::enumerate(attr.getValue().getResults())) {
    std::optional<int64_t> extent = evaluate(expr, {}, symbols);
    if (!extent)
      return mlir::emitError(kernel.getLoc(),
                             "'tile.grid' divides by zero or less for symbols ")
             << toString(symbols);
    grid[dim] = *extent;
  }
  return grid;
}

FailureOr<Int3> sim::getGrid(gpu::GPUFuncOp kernel, ArrayRef<Datum> arguments,
                             const LaunchOptions &options) {
  FailureOr<Int3> grid = options.grid ? FailureOr<Int3>(*options.grid)
                                      : evaluateGrid(kernel, arguments);
  if (failed(grid))
    return failure();
  // CUDA's limits; they also keep the number of blocks below 2^63.
  constexpr Int3 limits = {std::numeric_limits<int32_t>::max(), 65535, 65535};
  for (auto [extent, limit] : llvm::zip_equal(*grid, limits))
    if (extent < 0 || extent > limit)
      return mlir::emitError(kernel.getLoc(), "grid ")
             << toString(*grid) << " of '" << kernel.getName()
             << "' cannot be launched; expected extents of at most "
             << toString(limits) << " and none negative";
  return grid;
}
