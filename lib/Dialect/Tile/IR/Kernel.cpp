//===- Kernel.cpp - The interface of a kernel -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the interface of a kernel in its two forms: argument
// attributes on a gpu.func, the array `tile.arguments` on the llvm.func made
// from it. Each element of the array is a dictionary with the type of the
// argument and its attributes:
//
//   %A: memref<?x64xf16> {tile.name = "A"}        on the gpu.func
//   {type = memref<?x64xf16>, tile.name = "A"}    in tile.arguments
//
// Readers may run before the verifier. They return nothing for an attribute
// that is not valid.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Kernel.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The key of the type in a dictionary of `tile.arguments`. The other entries
/// have the names of the argument attributes.
static constexpr StringLiteral kType = "type";

/// Reads an argument from its type and its attributes, which may be null.
static KernelArgument readArgument(Type type, DictionaryAttr attrs) {
  KernelArgument argument;
  argument.type = type;
  if (attrs) {
    if (auto name = attrs.getAs<StringAttr>(TileDialect::kName))
      argument.name = name.str();
    argument.isUnsigned = attrs.contains(TileDialect::kUnsigned);
  }
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return argument;
  argument.divisors.assign(memref.getRank(), 1);
  argument.symbols.assign(memref.getRank(), "");
  if (!attrs)
    return argument;
  if (auto divisors = attrs.getAs<DenseI64ArrayAttr>(TileDialect::kDivisible))
    argument.divisors.assign(divisors.asArrayRef().begin(),
                             divisors.asArrayRef().end());
  if (auto symbols = attrs.getAs<ArrayAttr>(TileDialect::kSymbols))
    for (auto [to, from] :
         llvm::zip(argument.symbols, symbols.getAsRange<StringAttr>()))
      to = from.str();
  if (auto alignment = attrs.getAs<IntegerAttr>(TileDialect::kAlignment))
    argument.alignment = alignment.getInt();
  if (auto reach = attrs.getAs<DenseI64ArrayAttr>(TileDialect::kReach))
    argument.reach.assign(reach.asArrayRef().begin(), reach.asArrayRef().end());
  return argument;
}

SmallVector<KernelArgument>
tile::getKernelArguments(FunctionOpInterface kernel) {
  SmallVector<KernelArgument> arguments;
  if (isa<gpu::GPUFuncOp>(kernel)) {
    for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
      arguments.push_back(readArgument(type, kernel.getArgAttrDict(i)));
    return arguments;
  }
  auto recorded = kernel->getAttrOfType<ArrayAttr>(TileDialect::kArguments);
  if (!recorded)
    return arguments;
  for (Attribute attr : recorded) {
    // The verifier reports the error, but may not have run yet.
    if (failed(verifyKernelArgument(attr, nullptr)))
      return {};
    auto dict = cast<DictionaryAttr>(attr);
    arguments.push_back(
        readArgument(dict.getAs<TypeAttr>(kType).getValue(), dict));
  }
  return arguments;
}

void tile::setKernelArguments(Operation *llvmFunc,
                              FunctionOpInterface gpuFunc) {
  Builder builder(llvmFunc->getContext());
  SmallVector<Attribute> arguments;
  for (auto [i, type] : llvm::enumerate(gpuFunc.getArgumentTypes())) {
    NamedAttrList attrs;
    if (DictionaryAttr dict = gpuFunc.getArgAttrDict(i))
      for (StringRef name : {TileDialect::kName, TileDialect::kUnsigned,
                             TileDialect::kDivisible, TileDialect::kSymbols,
                             TileDialect::kAlignment, TileDialect::kReach})
        if (Attribute attr = dict.get(name))
          attrs.set(name, attr);
    attrs.set(kType, TypeAttr::get(type));
    arguments.push_back(attrs.getDictionary(builder.getContext()));
  }
  llvmFunc->setAttr(TileDialect::kArguments, builder.getArrayAttr(arguments));
}

SmallVector<int64_t> tile::getArgumentStrides(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    strides.assign(type.getRank(), ShapedType::kDynamic);
  return strides;
}

SmallVector<KernelParameter>
tile::getKernelParameters(ArrayRef<KernelArgument> arguments) {
  SmallVector<KernelParameter> parameters;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    unsigned index = i;
    auto memref = dyn_cast<MemRefType>(argument.type);
    if (!memref) {
      parameters.push_back({ParameterKind::Scalar, index, 0, argument.type});
      continue;
    }
    Type indexType = IndexType::get(memref.getContext());
    parameters.push_back(
        {ParameterKind::Pointer, index, 0, memref.getElementType()});
    for (int64_t d = 0; d < memref.getRank(); ++d)
      if (memref.isDynamicDim(d))
        parameters.push_back(
            {ParameterKind::Extent, index, unsigned(d), indexType});
    if (memref.getLayout().isIdentity())
      continue;
    for (auto [d, stride] : llvm::enumerate(getArgumentStrides(memref)))
      if (ShapedType::isDynamic(stride))
        parameters.push_back(
            {ParameterKind::Stride, index, unsigned(d), indexType});
  }
  return parameters;
}

unsigned tile::countGridSymbols(FunctionOpInterface kernel) {
  return llvm::count_if(
      getKernelParameters(getKernelArguments(kernel)), [](KernelParameter p) {
        return p.kind == ParameterKind::Extent ||
               (p.kind == ParameterKind::Scalar && p.type.isIntOrIndex());
      });
}

LogicalResult tile::verifyArgumentAttribute(
    Type type, NamedAttribute attr,
    llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto fail = [&](const Twine &expected) -> LogicalResult {
    if (emitError)
      emitError() << "'" << attr.getName().getValue() << "' expects "
                  << expected << ", found " << attr.getValue();
    return failure();
  };
  StringRef name = attr.getName();
  if (name == TileDialect::kUnsigned)
    return isa<UnitAttr>(attr.getValue()) && isa_and_present<IntegerType>(type)
               ? success()
               : fail("a unit attribute, on an integer");
  auto memref = cast<MemRefType>(type);
  if (name == TileDialect::kDivisible) {
    auto divisors = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!divisors || divisors.size() != memref.getRank() ||
        llvm::any_of(divisors.asArrayRef(), [](int64_t d) { return d < 1; }))
      return fail("array<i64: ...> with " + Twine(memref.getRank()) +
                  " positive divisors");
    return success();
  }
  if (name == TileDialect::kReach) {
    auto reach = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!reach || reach.size() != memref.getRank() ||
        llvm::any_of(reach.asArrayRef(), [](int64_t e) { return e < 0; }))
      return fail("array<i64: ...> with " + Twine(memref.getRank()) +
                  " extents, 0 for the buffer's");
    return success();
  }
  if (name == TileDialect::kSymbols) {
    auto symbols = dyn_cast<ArrayAttr>(attr.getValue());
    if (!symbols || int64_t(symbols.size()) != memref.getRank() ||
        !llvm::all_of(symbols, llvm::IsaPred<StringAttr>))
      return fail("an array of " + Twine(memref.getRank()) + " strings");
    return success();
  }
  if (name == TileDialect::kAlignment) {
    auto alignment = dyn_cast<IntegerAttr>(attr.getValue());
    if (!alignment || !alignment.getType().isInteger(64) ||
        alignment.getInt() < 1 || !llvm::isPowerOf2_64(alignment.getInt()))
      return fail("an i64 power of two");
    return success();
  }
  if (emitError)
    emitError() << "unknown argument attribute '" << name << "'";
  return failure();
}

LogicalResult
tile::verifyKernelArgument(Attribute attr,
                           llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto fail = [&](const Twine &expected) -> LogicalResult {
    if (emitError)
      emitError() << "'tile.arguments' expects " << expected << ", found "
                  << attr;
    return failure();
  };
  auto dict = dyn_cast<DictionaryAttr>(attr);
  auto type = dict ? dict.getAs<TypeAttr>(kType) : TypeAttr();
  if (!type ||
      !isa<MemRefType, IntegerType, IndexType, FloatType>(type.getValue()))
    return fail("dictionaries with the type of a memref or a scalar");
  if (Attribute name = dict.get(TileDialect::kName);
      name && !isa<StringAttr>(name))
    return fail("a string as 'tile.name'");
  for (NamedAttribute named : dict) {
    StringRef name = named.getName();
    if (name == kType || name == TileDialect::kName)
      continue;
    if (name != TileDialect::kUnsigned && !isa<MemRefType>(type.getValue()))
      return fail("no '" + name + "' on a scalar");
    if (failed(verifyArgumentAttribute(type.getValue(), named, emitError)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Pairs of arguments
//===----------------------------------------------------------------------===//

/// Reads one pair. If it is not valid, fails and sets `expected` for the error.
static FailureOr<ArgumentPair> readPair(ArrayRef<KernelArgument> arguments,
                                        Attribute attr, std::string &expected) {
  auto pair = dyn_cast<DenseI32ArrayAttr>(attr);
  if (!pair || pair.size() != 2 || pair[0] == pair[1]) {
    expected = "arrays of two different arguments, such as array<i32: 0, 2>";
    return failure();
  }
  for (int32_t index : pair.asArrayRef())
    if (index < 0 || index >= int64_t(arguments.size()) ||
        !isa<MemRefType>(arguments[index].type)) {
      expected = "the numbers of memref arguments";
      return failure();
    }
  return ArgumentPair(pair[0], pair[1]);
}

SmallVector<ArgumentPair> tile::getArgumentPairs(FunctionOpInterface kernel,
                                                 StringRef name) {
  SmallVector<ArgumentPair> pairs;
  auto list = kernel->getAttrOfType<ArrayAttr>(name);
  if (!list)
    return pairs;
  SmallVector<KernelArgument> arguments = getKernelArguments(kernel);
  std::string ignored;
  for (Attribute attr : list) {
    FailureOr<ArgumentPair> pair = readPair(arguments, attr, ignored);
    if (failed(pair))
      return {};
    pairs.push_back(*pair);
  }
  return pairs;
}

void tile::setArgumentPairs(Operation *kernel, StringRef name,
                            ArrayRef<ArgumentPair> pairs) {
  Builder b(kernel->getContext());
  SmallVector<Attribute> list;
  for (auto [first, second] : pairs)
    list.push_back(b.getDenseI32ArrayAttr({int32_t(first), int32_t(second)}));
  kernel->setAttr(name, b.getArrayAttr(list));
}

LogicalResult
tile::verifyArgumentPairs(FunctionOpInterface kernel, NamedAttribute attr,
                          llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto fail = [&](const Twine &expected, Attribute found) -> LogicalResult {
    if (emitError)
      emitError() << "'" << attr.getName().getValue() << "' expects "
                  << expected << ", found " << found;
    return failure();
  };
  bool isLowered = !isa<gpu::GPUFuncOp>(kernel);
  if (attr.getName() == TileDialect::kDisjoint && !isLowered)
    return fail("the llvm.func of a kernel", attr.getValue());
  auto list = dyn_cast<ArrayAttr>(attr.getValue());
  if (!list)
    return fail("an array of pairs", attr.getValue());
  SmallVector<KernelArgument> arguments = getKernelArguments(kernel);
  for (Attribute pair : list) {
    std::string expected;
    if (failed(readPair(arguments, pair, expected)))
      return fail(expected, pair);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kArgument = "argument";
static constexpr StringLiteral kDims = "dims";
static constexpr StringLiteral kBox = "box";
static constexpr StringLiteral kSwizzle = "swizzle";
static constexpr StringLiteral kWindow = "window";
static constexpr StringLiteral kOutside = "outside";

/// Reads one element of `tile.tensor_maps`. If it is not valid, fails and sets
/// `expected` for the error.
static FailureOr<TensorMap> readTensorMap(ArrayRef<KernelArgument> arguments,
                                          Attribute attr,
                                          std::string &expected) {
  auto dict = dyn_cast<DictionaryAttr>(attr);
  auto argument = dict ? dict.getAs<IntegerAttr>(kArgument) : IntegerAttr();
  auto dims = dict ? dict.getAs<DenseI64ArrayAttr>(kDims) : DenseI64ArrayAttr();
  auto box = dict ? dict.getAs<DenseI64ArrayAttr>(kBox) : DenseI64ArrayAttr();
  auto swizzle =
      dict ? dict.getAs<SwizzleModeAttr>(kSwizzle) : SwizzleModeAttr();
  auto window =
      dict ? dict.getAs<DenseI64ArrayAttr>(kWindow) : DenseI64ArrayAttr();
  auto outside = dict ? dict.getAs<UnitAttr>(kOutside) : UnitAttr();
  if (!argument || !dims || !box || !swizzle || (outside && !window) ||
      dict.size() != (outside  ? 6
                      : window ? 5
                               : 4)) {
    expected = "dictionaries of 'argument', 'dims', 'box', 'swizzle' and "
               "perhaps 'window', with 'window' perhaps 'outside'";
    return failure();
  }
  int64_t index = argument.getInt();
  if (index < 0 || index >= int64_t(arguments.size()) ||
      !isa<MemRefType>(arguments[index].type)) {
    expected = "the number of a memref argument";
    return failure();
  }
  int64_t rank = cast<MemRefType>(arguments[index].type).getRank();
  TensorMap map = {unsigned(index), SmallVector<int64_t>(dims.asArrayRef()),
                   SmallVector<int64_t>(box.asArrayRef()), swizzle.getValue()};
  if (rank < 1 || rank > kMaxTensorMapRank || !isPermutationVector(map.dims) ||
      int64_t(map.dims.size()) != rank) {
    expected = "'dims' to order 1 to 5 dimensions of the argument";
    return failure();
  }
  if (int64_t(map.box.size()) != rank ||
      llvm::any_of(map.box, [](int64_t extent) {
        return extent < 1 || extent > kMaxBoxExtent;
      })) {
    expected = "a box of extents from 1 to 256, one a dimension";
    return failure();
  }
  if (!window)
    return map;
  if (window.size() != 2 || rank == kMaxTensorMapRank || window[0] < 0 ||
      window[0] >= rank || window[0] == map.dims.front() || window[1] < 1 ||
      window[1] > kMaxTileElements) {
    expected = "a window of two numbers: a dimension other than the innermost, "
               "one of at most 4, and a size";
    return failure();
  }
  map.window = {window[0], window[1]};
  map.isOutside = bool(outside);
  return map;
}

SmallVector<TensorMap> tile::getTensorMaps(FunctionOpInterface kernel) {
  SmallVector<TensorMap> maps;
  auto recorded = kernel->getAttrOfType<ArrayAttr>(TileDialect::kTensorMaps);
  if (!recorded)
    return maps;
  SmallVector<KernelArgument> arguments = getKernelArguments(kernel);
  std::string ignored;
  for (Attribute attr : recorded) {
    FailureOr<TensorMap> map = readTensorMap(arguments, attr, ignored);
    if (failed(map))
      return {};
    maps.push_back(*map);
  }
  return maps;
}

void tile::setTensorMaps(Operation *llvmFunc, ArrayRef<TensorMap> maps) {
  Builder b(llvmFunc->getContext());
  SmallVector<Attribute> list;
  for (const TensorMap &map : maps) {
    NamedAttrList entries;
    entries.append(kArgument, b.getI64IntegerAttr(map.argument));
    entries.append(kDims, b.getDenseI64ArrayAttr(map.dims));
    entries.append(kBox, b.getDenseI64ArrayAttr(map.box));
    entries.append(kSwizzle, SwizzleModeAttr::get(b.getContext(), map.swizzle));
    if (map.window)
      entries.append(
          kWindow, b.getDenseI64ArrayAttr({map.window->dim, map.window->size}));
    if (map.isOutside)
      entries.append(kOutside, b.getUnitAttr());
    list.push_back(entries.getDictionary(b.getContext()));
  }
  llvmFunc->setAttr(TileDialect::kTensorMaps, b.getArrayAttr(list));
}

LogicalResult
tile::verifyTensorMaps(FunctionOpInterface kernel, Attribute attr,
                       llvm::function_ref<InFlightDiagnostic()> emitError) {
  auto fail = [&](const Twine &expected, Attribute found) -> LogicalResult {
    if (emitError)
      emitError() << "'tile.tensor_maps' expects " << expected << ", found "
                  << found;
    return failure();
  };
  auto list = dyn_cast<ArrayAttr>(attr);
  if (!list || isa<gpu::GPUFuncOp>(kernel))
    return fail("an array of dictionaries on the llvm.func of a kernel", attr);
  SmallVector<KernelArgument> arguments = getKernelArguments(kernel);
  for (Attribute map : list) {
    std::string expected;
    if (failed(readTensorMap(arguments, map, expected)))
      return fail(expected, map);
  }
  return success();
}
