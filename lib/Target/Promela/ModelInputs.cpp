//===- ModelInputs.cpp - The inputs of a model ----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the inputs of a model and chooses their values: those of an option, or
// any within the bound. Extents are chosen in tiles. The tile is the largest
// constant that the kernel divides the extent by, or steps to it with:
//
//   %tiles = arith.ceildivsi %K, %c64      K is 0, 1, 64, 65, 128, 129, ...
//
// With tile.divisible, the rest is 0 or that divisor. All choices are made
// before the kernel runs, except those of elements, which are made when a
// process reads one that none has read before.
//
//===----------------------------------------------------------------------===//

#include "ModelInputs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

/// Reads of elements may be this far ahead of the last iteration.
static constexpr int64_t kElementsAhead = 4;

/// Returns the slots of the deepest channel or barrier, 1 without any.
static int64_t getDepth(gpu::GPUFuncOp kernel) {
  int64_t depth = 1;
  kernel.walk([&](Operation *op) {
    if (auto channel = dyn_cast<ChannelOp>(op))
      depth = std::max(depth, channel.getChannel().getType().getDepth());
    if (auto barrier = dyn_cast<MBarrierOp>(op))
      depth = std::max(depth, barrier.getBarrier().getType().getDepth());
    if (auto slot = dyn_cast<SlotOp>(op))
      depth = std::max(
          depth, cast<MemRefType>(slot.getSource().getType()).getDimSize(0));
  });
  return depth;
}

ModelInputs::ModelInputs(KernelReader &reader, const PromelaOptions &options)
    : reader(reader), options(options),
      bound(options.bound ? *options.bound
                          : 2 * getDepth(reader.getKernel()) + 1) {}

const ModelInput *ModelInputs::add(StringRef key, StringRef wish,
                                   ModelInput input) {
  auto &slot = inputs[key.str()];
  if (!slot) {
    input.name = reader.getSource().makeName(wish);
    slot = std::make_unique<ModelInput>(std::move(input));
  }
  return slot.get();
}

//===----------------------------------------------------------------------===//
// Kinds of inputs
//===----------------------------------------------------------------------===//

/// Returns the largest constant that values computed from `roots` are divided
/// by, or that a loop up to them steps with.
static int64_t findTile(SmallVector<Value> todo) {
  int64_t tile = 1;
  llvm::DenseSet<Value> seen;
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      auto loop = dyn_cast<scf::ForOp>(user);
      std::optional<int64_t> number;
      if (loop && use.getOperandNumber() == 1)
        number = getConstantIntValue(loop.getStep());
      else if (isa<arith::CeilDivSIOp, arith::FloorDivSIOp, arith::DivSIOp,
                   arith::DivUIOp, arith::CeilDivUIOp, arith::RemSIOp,
                   arith::RemUIOp>(user) &&
               use.getOperandNumber() == 0)
        number = getConstantIntValue(user->getOperand(1));
      else if (isa<arith::AddIOp, arith::SubIOp, arith::IndexCastOp,
                   arith::MaxSIOp, arith::MinSIOp, arith::ExtSIOp,
                   arith::TruncIOp>(user))
        todo.push_back(user->getResult(0));
      tile = std::max(tile, number.value_or(1));
    }
  }
  return tile;
}

/// Returns attribute `name` of the argument.
template <typename AttrT>
static AttrT getAttr(gpu::GPUFuncOp kernel, BlockArgument argument,
                     StringRef name) {
  return kernel.getArgAttrOfType<AttrT>(argument.getArgNumber(), name);
}

/// The word for an extent: a symbol that extents may share, or "A_0".
std::string ModelInputs::getExtentName(BlockArgument argument, unsigned dim) {
  gpu::GPUFuncOp kernel = reader.getKernel();
  auto symbols = getAttr<ArrayAttr>(kernel, argument, TileDialect::kSymbols);
  auto symbol = symbols ? dyn_cast<StringAttr>(symbols[dim]) : StringAttr();
  if (symbol && !symbol.empty())
    return symbol.str();
  auto name = getAttr<StringAttr>(kernel, argument, TileDialect::kName);
  return (name ? name.str() : reader.getSource().findWord(argument)) + "_" +
         std::to_string(dim);
}

/// The argument whose extent `op` is, and the dimension.
static std::optional<std::pair<BlockArgument, unsigned>>
getExtent(memref::DimOp op) {
  auto source = dyn_cast<BlockArgument>(op.getSource());
  std::optional<int64_t> number = op.getConstantIndex();
  if (!source || !number ||
      !isa<gpu::GPUFuncOp>(source.getOwner()->getParentOp()))
    return std::nullopt;
  return std::pair(source, unsigned(*number));
}

const ModelInput *ModelInputs::findExtent(BlockArgument argument,
                                          unsigned dim) {
  gpu::GPUFuncOp kernel = reader.getKernel();
  auto divisible =
      getAttr<DenseI64ArrayAttr>(kernel, argument, TileDialect::kDivisible);
  std::string wish = getExtentName(argument, dim), key = "extent " + wish;
  if (auto it = inputs.find(key); it != inputs.end())
    return it->second.get();
  SmallVector<Value> same;
  kernel.walk([&](memref::DimOp op) {
    auto extent = getExtent(op);
    if (extent && getExtentName(extent->first, extent->second) == wish)
      same.push_back(op.getResult());
  });
  ModelInput input{"", "extent " + std::to_string(dim) + " of argument " +
                           std::to_string(argument.getArgNumber())};
  int64_t divisor = divisible ? divisible[dim] : 1;
  input.unit = std::max(findTile(same), divisor);
  input.rest = input.unit > divisor ? divisor : 0;
  input.most = bound;
  // An extent of the same name may be static.
  for (BlockArgument other : kernel.getArguments()) {
    auto type = dyn_cast<MemRefType>(other.getType());
    for (int64_t i = 0; type && i < type.getRank(); ++i)
      if (!type.isDynamicDim(i) && getExtentName(other, i) == wish) {
        input.least = input.most = type.getDimSize(i);
        input.unit = 1;
        input.rest = 0;
      }
  }
  return add(key, wish, input);
}

const ModelInput *ModelInputs::find(Value value) {
  gpu::GPUFuncOp kernel = reader.getKernel();
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == &kernel.getBody().front()) {
    bool isFlag = value.getType().isInteger(1);
    if (!value.getType().isIntOrIndex())
      return nullptr;
    auto name = getAttr<StringAttr>(kernel, argument, TileDialect::kName);
    std::string wish =
        name ? name.str() : reader.getSource().findWord(argument);
    std::string key = "argument " + std::to_string(argument.getArgNumber());
    if (auto it = inputs.find(key); it != inputs.end())
      return it->second.get();
    ModelInput input{"", "argument " + std::to_string(argument.getArgNumber())};
    input.unit = isFlag ? 1 : findTile({value});
    input.rest = input.unit > 1 ? 1 : 0;
    input.most = isFlag ? 1 : bound;
    return add(key, wish, input);
  }
  Operation *op = value.getDefiningOp();
  if (auto dim = dyn_cast_or_null<memref::DimOp>(op)) {
    auto extent = getExtent(dim);
    return extent ? findExtent(extent->first, extent->second) : nullptr;
  }
  if (isa_and_present<gpu::BlockIdOp, gpu::GridDimOp>(op))
    return findBlock(op);
  return nullptr;
}

const ModelInput *ModelInputs::findBlock(Operation *op) {
  auto block = dyn_cast<gpu::BlockIdOp>(op);
  gpu::Dimension dim =
      block ? block.getDimension() : cast<gpu::GridDimOp>(op).getDimension();
  std::string name = gpu::stringifyDimension(dim).str();
  ModelInput blocks{"", "blocks along " + name};
  blocks.least = 1;
  blocks.most = dim == gpu::Dimension::x ? 2 : 1;
  const ModelInput *grid = add("grid " + name, "grid_" + name, blocks);
  if (!block)
    return grid;
  return add("block " + name, "block_" + name,
             ModelInput{"", "number of the block along " + name});
}

int64_t ModelInputs::getElementsAlong(MemRefType type, unsigned dim) const {
  int64_t most = bound + kElementsAhead;
  return type.isDynamicDim(dim) ? most : std::min(most, type.getDimSize(dim));
}

const ModelInput &ModelInputs::getElements(BlockArgument argument) {
  auto type = cast<MemRefType>(argument.getType());
  auto name =
      getAttr<StringAttr>(reader.getKernel(), argument, TileDialect::kName);
  ModelInput input{"", "elements of argument " +
                           std::to_string(argument.getArgNumber())};
  input.elements = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    input.elements *= getElementsAlong(type, dim);
  input.most = type.getElementType().isInteger(1) ? 1 : bound;
  return *add("elements " + std::to_string(argument.getArgNumber()),
              name ? name.str() : reader.getSource().findWord(argument), input);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

LogicalResult ModelInputs::check() const {
  for (const auto &[name, values] : options.values) {
    const ModelInput *found = nullptr;
    std::string all;
    for (const auto &[key, input] : inputs) {
      found = input->name == name ? input.get() : found;
      all += (all.empty() ? "" : ", ") + input->name;
    }
    gpu::GPUFuncOp kernel = reader.getKernel();
    if (!found)
      return kernel.emitError("has no input '")
             << name << "' that its schedule depends on, only: "
             << (all.empty() ? "none" : all);
    int64_t most = std::max<int64_t>(found->elements, 1);
    if (values.empty() || int64_t(values.size()) > most)
      return kernel.emitError("takes ")
             << (most > 1 ? "1 to " + std::to_string(most) + " values"
                          : std::string("one value"))
             << " for '" << name << "', found " << values.size();
  }
  return success();
}

void ModelInputs::declare(ModelText &out) const {
  for (const auto &[key, input] : inputs)
    if (input->elements)
      out.line("short " + input->name + "[" + Twine(input->elements) +
               "] = -1; /* " + input->meaning + ", -1: not chosen yet */");
}

void ModelInputs::choose(ModelText &out) const {
  for (const auto &[key, input] : inputs) {
    auto given = options.values.find(input->name);
    if (input->elements) {
      if (given != options.values.end())
        for (auto [i, value] : llvm::enumerate(given->second))
          out.line(input->name + "[" + Twine(i) + "] = " + Twine(value) + ";");
      continue;
    }
    std::string comment = " /* " + input->meaning + " */";
    if (given != options.values.end()) {
      out.line(input->name + " = " + Twine(given->second.front()) + ";" +
               comment);
      continue;
    }
    bool isBlock = StringRef(key).starts_with("block ");
    std::string most = std::to_string(input->most);
    if (isBlock)
      most = inputs.find("grid " + key.substr(6))->second->name + " - 1";
    out.line("select(" + input->name + " : " + Twine(input->least) + " .. " +
             most + ");" + comment);
    if (input->unit > 1)
      out.line(input->name + " = " + input->name + " * " + Twine(input->unit) +
               ";");
    if (input->rest)
      out.line("if :: skip :: " + input->name + " = " + input->name + " + " +
               Twine(input->rest) + " fi;");
  }
}

SmallVector<std::string> ModelInputs::getNumbers() const {
  SmallVector<std::string> names;
  for (const auto &[key, input] : inputs)
    if (!input->elements)
      names.push_back(input->name);
  return names;
}
