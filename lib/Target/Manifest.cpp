//===- Manifest.cpp - Launch manifests ------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the launch manifest, a JSON object that says how to call a kernel. It
// has the arguments as the user passes them, the parameters as the GPU takes
// them, and the recipe of each tensor map. It also has the grid as an
// expression of the parameters, shared memory and registers. For example the
// parameter
//
//   {"kind": "extent", "dtype": "i32", "argument": 0, "dimension": 1}
//
// is dimension 1 of argument 0, as a 32-bit integer. The manifest is the only
// thing that the Python runtime needs besides the binary.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/Manifest.h"

#include "tilews/Conversion/Common/DeviceVariables.h"
#include "tilews/Dialect/Tile/Analysis/Memory/ArgumentAliases.h"
#include "tilews/Dialect/Tile/IR/Kernel.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
namespace json = llvm::json;

static std::string printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string getName(const KernelArgument &argument, unsigned index) {
  return argument.name.empty() ? "arg" + std::to_string(index) : argument.name;
}

SmallVector<FunctionOpInterface> tilews::getKernels(gpu::GPUModuleOp module) {
  SmallVector<FunctionOpInterface> kernels;
  for (auto function : module.getOps<FunctionOpInterface>()) {
    auto gpuFunc = dyn_cast<gpu::GPUFuncOp>(function.getOperation());
    bool isKernel =
        gpuFunc
            ? gpuFunc.isKernel()
            : function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName()) ||
                  function->hasAttr(
                      ROCDL::ROCDLDialect::getKernelFuncAttrName());
    if (isKernel)
      kernels.push_back(function);
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// Arguments and parameters
//===----------------------------------------------------------------------===//

/// Returns a list of numbers, with null for those that only the launch knows.
static json::Array getNumbers(ArrayRef<int64_t> numbers) {
  json::Array list;
  for (int64_t number : numbers)
    list.push_back(ShapedType::isDynamic(number) ? json::Value(nullptr)
                                                 : json::Value(number));
  return list;
}

/// `indexType` is the type of indices in the memory of the GPU.
static json::Object getArgument(const KernelArgument &argument, unsigned index,
                                StringRef indexType) {
  json::Object object{{"name", getName(argument, index)}};
  auto memref = dyn_cast<MemRefType>(argument.type);
  if (!memref) {
    object["kind"] = "scalar";
    object["dtype"] = printType(argument.type);
    if (argument.isUnsigned)
      object["unsigned"] = true;
    return object;
  }
  json::Array shape = getNumbers(memref.getShape());
  for (auto [d, symbol] : llvm::enumerate(argument.symbols))
    if (memref.isDynamicDim(d) && !symbol.empty())
      shape[d] = symbol;
  object["kind"] = "buffer";
  Type element = memref.getElementType();
  object["dtype"] = element.isIndex() ? indexType.str() : printType(element);
  object["shape"] = std::move(shape);
  object["strides"] = nullptr;
  if (!memref.getLayout().isIdentity())
    object["strides"] = getNumbers(getArgumentStrides(memref));
  object["divisible"] = getNumbers(argument.divisors);
  object["alignment"] = argument.alignment;
  if (!argument.reach.empty())
    object["reach"] = json::Array(argument.reach);
  return object;
}

static json::Object getParameter(const KernelParameter &parameter,
                                 StringRef indexType) {
  static constexpr const char *kinds[] = {"pointer", "extent", "stride",
                                          "scalar"};
  json::Object object{{"kind", kinds[unsigned(parameter.kind)]},
                      {"dtype", parameter.type.isIndex()
                                    ? indexType.str()
                                    : printType(parameter.type)},
                      {"argument", parameter.argument}};
  if (parameter.kind == ParameterKind::Extent ||
      parameter.kind == ParameterKind::Stride)
    object["dimension"] = parameter.dimension;
  return object;
}

/// Returns the pairs of arguments that must not overlap. Null if they are not
/// known: for an llvm.func that was not made from a tile kernel.
static json::Value getDisjoint(FunctionOpInterface kernel) {
  SmallVector<ArgumentPair> pairs;
  if (isa<gpu::GPUFuncOp>(kernel))
    pairs = findDisjointArguments(kernel);
  else if (kernel->hasAttr(TileDialect::kDisjoint))
    pairs = getArgumentPairs(kernel, TileDialect::kDisjoint);
  else
    return nullptr;
  json::Array list;
  for (auto [written, other] : pairs)
    list.push_back(json::Array{written, other});
  return list;
}

/// Returns the recipe of a tensor map. The stride of its first dimension is
/// always one element.
static json::Object getTensorMap(const TensorMap &map,
                                 ArrayRef<KernelArgument> arguments) {
  auto type = cast<MemRefType>(arguments[map.argument].type);
  int64_t bytes = getStorageBits(type.getElementType()) / 8;
  SmallVector<int64_t> strides = getArgumentStrides(type);
  json::Array extents, byteStrides;
  for (int64_t dim : map.dims) {
    json::Array place{map.argument, dim};
    if (!type.isDynamicDim(dim))
      extents.push_back(type.getDimSize(dim));
    else
      extents.push_back(json::Object{{"extent", json::Array(place)}});
    if (dim == map.dims.front())
      continue;
    if (!ShapedType::isDynamic(strides[dim]))
      byteStrides.push_back(strides[dim] * bytes);
    else
      byteStrides.push_back(json::Object{
          {"op", "mul"},
          {"args",
           json::Array{json::Object{{"stride", std::move(place)}}, bytes}}});
  }
  int64_t span =
      map.swizzle == SwizzleMode::None ? 0 : 16 << unsigned(map.swizzle);
  json::Object recipe{
      {"argument", map.argument},
      {"dtype", printType(type.getElementType())},
      {"rank", type.getRank()},
      {"dims", getNumbers(map.dims)},
      {"extents", std::move(extents)},
      {"strides", std::move(byteStrides)},
      {"box", getNumbers(map.box)},
      {"element_strides", getNumbers(SmallVector<int64_t>(map.box.size(), 1))},
      {"swizzle", span},
      {"l2_promotion", 256},
      {"out_of_bounds", "zero"}};
  if (map.window)
    recipe["window"] = json::Object{
        {"position", llvm::find(map.dims, map.window->dim) - map.dims.begin()},
        {"size", map.window->size}};
  if (map.isOutside)
    recipe["outside"] = true;
  return recipe;
}

/// Returns the width that the conversion gave to index parameters.
static unsigned getIndexBitwidth(FunctionOpInterface kernel,
                                 ArrayRef<KernelParameter> parameters) {
  for (auto [parameter, type] :
       llvm::zip(parameters, kernel.getArgumentTypes()))
    if (parameter.type.isIndex() && type.isInteger())
      return type.getIntOrFloatBitWidth();
  return 32;
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

namespace {
/// Writes the results of `tile.grid` with the arguments in place of symbols.
struct GridPrinter {
  ArrayRef<KernelArgument> arguments;
  /// The parameters that are symbols, in order.
  SmallVector<KernelParameter> symbols;

  explicit GridPrinter(ArrayRef<KernelArgument> arguments)
      : arguments(arguments) {
    for (const KernelParameter &parameter : getKernelParameters(arguments))
      if (parameter.kind == ParameterKind::Extent ||
          (parameter.kind == ParameterKind::Scalar &&
           parameter.type.isIntOrIndex()))
        symbols.push_back(parameter);
  }

  json::Value getJSON(AffineExpr expr) const;
  std::string getText(AffineExpr expr) const;
};
} // namespace

json::Value GridPrinter::getJSON(AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    const KernelParameter &p = symbols[symbol.getPosition()];
    if (p.kind == ParameterKind::Scalar)
      return json::Object{{"scalar", p.argument}};
    return json::Object{{"extent", json::Array{p.argument, p.dimension}}};
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  const char *op = nullptr;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    op = "add";
    break;
  case AffineExprKind::Mul:
    op = "mul";
    break;
  case AffineExprKind::Mod:
    op = "mod";
    break;
  case AffineExprKind::FloorDiv:
    op = "floordiv";
    break;
  default: // There are no dimensions in the map.
    op = "ceildiv";
  }
  return json::Object{{"op", op},
                      {"args", json::Array{getJSON(binary.getLHS()),
                                           getJSON(binary.getRHS())}}};
}

std::string GridPrinter::getText(AffineExpr expr) const {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    const KernelParameter &p = symbols[symbol.getPosition()];
    const KernelArgument &argument = arguments[p.argument];
    std::string name = getName(argument, p.argument);
    if (p.kind == ParameterKind::Scalar)
      return name;
    const std::string &extent = argument.symbols[p.dimension];
    return extent.empty() ? name + ".shape[" + std::to_string(p.dimension) + "]"
                          : extent;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::string lhs = getText(binary.getLHS()), rhs = getText(binary.getRHS());
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return "(" + lhs + " + " + rhs + ")";
  case AffineExprKind::Mul:
    return "(" + lhs + " * " + rhs + ")";
  case AffineExprKind::Mod:
    return "(" + lhs + " % " + rhs + ")";
  case AffineExprKind::FloorDiv:
    return "(" + lhs + " // " + rhs + ")";
  default:
    return "ceildiv(" + lhs + ", " + rhs + ")";
  }
}

/// Adds `grid` and `grid_text`.
static void addGrid(json::Object &manifest, FunctionOpInterface kernel,
                    ArrayRef<KernelArgument> arguments) {
  manifest["grid"] = nullptr;
  manifest["grid_text"] = nullptr;
  auto grid = kernel->getAttrOfType<AffineMapAttr>(TileDialect::kGrid);
  if (!grid)
    return;
  GridPrinter printer(arguments);
  json::Array expressions, texts;
  for (AffineExpr expr : grid.getAffineMap().getResults()) {
    expressions.push_back(printer.getJSON(expr));
    texts.push_back(printer.getText(expr));
  }
  while (expressions.size() < 3) {
    expressions.push_back(1);
    texts.push_back("1");
  }
  manifest["grid"] = std::move(expressions);
  manifest["grid_text"] = std::move(texts);
}

//===----------------------------------------------------------------------===//
// The manifest
//===----------------------------------------------------------------------===//

static json::Object getResources(const KernelResources &resources,
                                 const TargetInfo &target) {
  json::Object object{{"registers", resources.registers},
                      {"static_shared_bytes", resources.staticSharedBytes},
                      {"stack_bytes", resources.stackBytes},
                      {"spill_stores", resources.spillStores},
                      {"spill_loads", resources.spillLoads},
                      {"warnings", json::Array(resources.warnings)}};
  if (target.isAMD()) {
    object["accumulation_registers"] = resources.accumulationRegisters;
    object["scalar_registers"] = resources.scalarRegisters;
  }
  return object;
}

/// Returns what a print shows of a value; nothing for an attribute that is none
/// of ours.
static std::optional<json::Object> getPrintedValue(DictionaryAttr value) {
  auto type = value.getAs<TypeAttr>("type");
  if (!type)
    return std::nullopt;
  json::Object object{{"dtype", printType(type.getValue())}};
  if (value.contains("unsigned"))
    object["unsigned"] = true;
  if (auto shape = value.getAs<DenseI64ArrayAttr>("shape"))
    object["shape"] = json::Array(shape.asArrayRef());
  return object;
}

/// Returns the prints that write to memory of the host; nothing if there are
/// none.
static std::optional<json::Array> getPrints(gpu::GPUModuleOp module) {
  auto records = module.lookupSymbol<LLVM::GlobalOp>(kRecordsVariable);
  auto prints = records ? records->getAttrOfType<ArrayAttr>(kPrints) : nullptr;
  if (!prints)
    return std::nullopt;
  json::Array list;
  for (auto each : prints.getAsRange<DictionaryAttr>()) {
    auto message = each.getAs<StringAttr>("message");
    auto values = each.getAs<ArrayAttr>("values");
    if (!message || !values)
      return std::nullopt; // No list of ours.
    json::Array shown;
    for (auto value : values.getAsRange<DictionaryAttr>()) {
      std::optional<json::Object> object = getPrintedValue(value);
      if (!object)
        return std::nullopt;
      shown.push_back(std::move(*object));
    }
    list.push_back(json::Object{{"message", json::fixUTF8(message.getValue())},
                                {"values", std::move(shown)}});
  }
  return list;
}

/// Adds what the launch has to do for prints and assertions.
static void addDeviceVariables(json::Object &manifest,
                               FunctionOpInterface kernel) {
  auto module = kernel->getParentOfType<gpu::GPUModuleOp>();
  if (module.lookupSymbol<LLVM::GlobalOp>(kPrintedVariable))
    manifest["prints"] = true;
  if (std::optional<json::Array> prints = getPrints(module))
    manifest["print_records"] = std::move(*prints);
  auto failure = module.lookupSymbol<LLVM::GlobalOp>(kFailureVariable);
  auto assertions =
      failure ? failure->getAttrOfType<ArrayAttr>(kAssertions) : nullptr;
  if (!assertions)
    return;
  json::Array list;
  for (auto each : assertions.getAsRange<DictionaryAttr>()) {
    auto message = each.getAs<StringAttr>("message");
    if (!message)
      return; // No list of ours.
    json::Object assertion{{"message", json::fixUTF8(message.getValue())}};
    if (auto shape = each.getAs<DenseI64ArrayAttr>("shape"))
      assertion["shape"] = json::Array(shape.asArrayRef());
    list.push_back(std::move(assertion));
  }
  manifest["assertions"] = std::move(list);
}

FailureOr<json::Object> tilews::getManifest(FunctionOpInterface kernel,
                                            const TargetInfo &target,
                                            const KernelResources *resources) {
  if (!isa<gpu::GPUFuncOp>(kernel) && !kernel->hasAttr(TileDialect::kArguments))
    return kernel->emitError("has no 'tile.arguments', from which its launch "
                             "manifest is made");
  SmallVector<KernelArgument> arguments = getKernelArguments(kernel);
  SmallVector<KernelParameter> parameters = getKernelParameters(arguments);
  unsigned indexBitwidth = getIndexBitwidth(kernel, parameters);
  StringRef indexType = indexBitwidth == 64 ? "i64" : "i32";

  json::Array argumentList, parameterList, tensorMaps;
  for (auto [i, argument] : llvm::enumerate(arguments))
    argumentList.push_back(getArgument(argument, i, indexType));
  for (const KernelParameter &parameter : parameters)
    parameterList.push_back(getParameter(parameter, indexType));

  for (const TensorMap &map : getTensorMaps(kernel)) {
    parameterList.push_back(json::Object{{"kind", "tensor_map"},
                                         {"argument", map.argument},
                                         {"map", int64_t(tensorMaps.size())}});
    tensorMaps.push_back(getTensorMap(map, arguments));
  }

  json::Object manifest{
      {"format", kManifestFormat},
      {"kernel", kernel.getName()},
      {"target", json::Object{{"chip", target.chip},
                              {"vendor", target.isNVIDIA() ? "nvidia" : "amd"},
                              {"warp_size", target.warpSize}}},
      {"index_bitwidth", indexBitwidth},
      {"arguments", std::move(argumentList)},
      {"disjoint", getDisjoint(kernel)},
      {"parameters", std::move(parameterList)},
      {"block", json::Array{getNumThreads(kernel), 1, 1}},
      {"cluster", nullptr},
      {"shared_bytes", 0},
      {"tensor_maps", std::move(tensorMaps)},
      {"resources", nullptr}};
  addGrid(manifest, kernel, arguments);
  addDeviceVariables(manifest, kernel);
  if (auto cluster =
          kernel->getAttrOfType<DenseI32ArrayAttr>(TileDialect::kCluster))
    manifest["cluster"] = json::Array(cluster.asArrayRef());
  if (auto bytes =
          kernel->getAttrOfType<IntegerAttr>(TileDialect::kSharedBytes))
    manifest["shared_bytes"] = bytes.getInt();
  if (resources)
    manifest["resources"] = getResources(*resources, target);
  return manifest;
}
