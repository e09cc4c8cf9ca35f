//===- Interpreter.cpp - Reference interpreter of tile kernels ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Simulator/Interpreter.h"
#include "Program.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;
using tilews::tile::TileDialect;

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

namespace {
/// Translates a kernel. Errors are emitted as diagnostics.
class Translator {
public:
  FailureOr<BlockCode> translate(Region &region);
  unsigned getNumSlots() const { return slots.size(); }

private:
  LogicalResult translate(Operation &op, Instruction &inst);
  FailureOr<ValueType> getType(Operation &op, Type type);
  unsigned getSlot(Value value) {
    return slots.try_emplace(value, slots.size()).first->second;
  }

  DenseMap<Value, unsigned> slots;
};
} // namespace

FailureOr<ValueType> Translator::getType(Operation &op, Type type) {
  ValueType result;
  result.isMemRef = isa<MemRefType>(type);
  if (auto tensor = dyn_cast<RankedTensorType>(type);
      tensor && tensor.hasStaticShape()) {
    result.isFragment = true;
    result.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  }
  std::optional<ElementType> element =
      result.isMemRef || result.isFragment
          ? ElementType::get(cast<ShapedType>(type).getElementType())
          : ElementType::get(type);
  if (!element)
    return op.emitOpError("has a value of type ")
           << type << ", which the interpreter does not know";
  result.element = *element;
  return result;
}

/// The value of a constant, whose type is known to be supported.
static FailureOr<Datum> getConstant(arith::ConstantOp op,
                                    const ValueType &type) {
  Datum datum = makeDatum(type);
  auto setElement = [&](int64_t i, const APInt &bits) {
    if (type.element.isFloat)
      fromBits(type.element, bits.getZExtValue(), datum.elements<double>()[i]);
    else
      datum.elements<int64_t>()[i] =
          wrapInteger(bits.getZExtValue(), type.element.width);
  };
  Attribute value = op.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    setElement(0, integer.getValue());
  } else if (auto real = dyn_cast<FloatAttr>(value)) {
    setElement(0, real.getValue().bitcastToAPInt());
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    int64_t i = 0;
    if (type.element.isFloat)
      for (const APFloat &element : dense.getValues<APFloat>())
        setElement(i++, element.bitcastToAPInt());
    else
      for (const APInt &element : dense.getValues<APInt>())
        setElement(i++, element);
  } else {
    return op.emitOpError("has a value that the interpreter cannot read; "
                          "expected a number or a dense attribute");
  }
  return datum;
}

LogicalResult Translator::translate(Operation &op, Instruction &inst) {
  inst.op = &op;
  inst.handler = Registry::get().find(op.getName().getStringRef());
  if (!inst.handler && !op.hasTrait<OpTrait::IsTerminator>())
    return op.emitOpError("is not supported by the interpreter, which runs "
                          "kernels of the first phase: tile, arith, math, scf, "
                          "index and scalar memref operations");
  for (Value operand : op.getOperands())
    inst.operands.push_back(getSlot(operand));
  for (Value result : op.getResults()) {
    FailureOr<ValueType> type = getType(op, result.getType());
    if (failed(type))
      return failure();
    inst.resultTypes.push_back(*type);
    inst.results.push_back(getSlot(result));
  }
  if (op.getNumResults() || op.getNumOperands()) {
    Value first =
        op.getNumResults() ? Value(op.getResult(0)) : op.getOperand(0);
    inst.isFloat = isa<FloatType>(getElementTypeOrSelf(first.getType()));
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    FailureOr<Datum> value = getConstant(constant, inst.resultTypes[0]);
    if (failed(value))
      return failure();
    inst.constant = *value;
  }
  for (Region &region : op.getRegions()) {
    FailureOr<BlockCode> code = translate(region);
    if (failed(code))
      return failure();
    inst.regions.push_back(std::move(*code));
  }
  return success();
}

FailureOr<BlockCode> Translator::translate(Region &region) {
  BlockCode code;
  if (region.empty())
    return code;
  if (!region.hasOneBlock())
    return region.getParentOp()->emitOpError(
        "has a region of several blocks, which the interpreter does not run; "
        "write control flow with scf");
  for (BlockArgument argument : region.getArguments()) {
    if (failed(getType(*region.getParentOp(), argument.getType())))
      return failure();
    code.arguments.push_back(getSlot(argument));
  }
  for (Operation &op : region.front())
    if (failed(translate(op, code.body.emplace_back())))
      return failure();
  return code;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

static InFlightDiagnostic argumentError(gpu::GPUFuncOp kernel, unsigned index) {
  return kernel.emitError("argument ")
         << index << " of '" << kernel.getName() << "': ";
}

static LogicalResult checkShape(gpu::GPUFuncOp kernel, unsigned index,
                                MemRefType type, ArrayRef<int64_t> shape) {
  bool fits = int64_t(shape.size()) == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = type.isDynamicDim(dim) || type.getDimSize(dim) == shape[dim];
  if (!fits)
    return argumentError(kernel, index)
           << "shape " << toString(shape) << " does not fit " << type;
  auto divisors = kernel.getArgAttrOfType<DenseI64ArrayAttr>(
      index, TileDialect::kDivisible);
  for (int64_t dim = 0; divisors && dim < type.getRank(); ++dim)
    if (shape[dim] % divisors[dim] != 0)
      return argumentError(kernel, index)
             << "extent " << shape[dim] << " of dimension " << dim
             << " is not a multiple of " << divisors[dim]
             << ", which 'tile.divisible' promises";
  return success();
}

static LogicalResult checkStrides(gpu::GPUFuncOp kernel, unsigned index,
                                  MemRefType type, const MemoryArgument &arg) {
  SmallVector<int64_t> expected;
  if (type.getLayout().isIdentity()) {
    expected = getRowMajorStrides(arg.shape);
  } else {
    int64_t offset;
    if (failed(type.getStridesAndOffset(expected, offset)))
      return argumentError(kernel, index)
             << type << " has no strides; expected a strided layout";
    if (offset != 0 && !ShapedType::isDynamic(offset))
      return argumentError(kernel, index)
             << type << " starts at offset " << offset << ", expected 0";
  }
  for (auto [extent, stride, wanted] :
       llvm::zip_equal(arg.shape, arg.strides, expected))
    if (extent > 1 && stride != wanted && !ShapedType::isDynamic(wanted))
      return argumentError(kernel, index)
             << "strides " << toString(arg.strides) << " do not fit " << type
             << ", which has strides " << toString(expected)
             << "; pass a contiguous array or give the memref a strided layout";
  return success();
}

static FailureOr<Datum> bindMemory(gpu::GPUFuncOp kernel, unsigned index,
                                   MemRefType type, const Argument &arg) {
  if (arg.kind != Argument::Kind::Memory)
    return argumentError(kernel, index) << "expected an array for " << type;
  if (tile::isShared(type))
    return argumentError(kernel, index)
           << "a kernel cannot take shared memory, found " << type;
  if (failed(checkShape(kernel, index, type, arg.memory.shape)))
    return failure();
  auto memref = std::make_shared<MemRef>();
  memref->type = *ElementType::get(type.getElementType());
  unsigned width = memref->type.width, bits = arg.memory.storageBits;
  if ((width >= 8 || bits != 8) && bits != width)
    return argumentError(kernel, index)
           << "elements take " << bits << " bits each, but those of " << type
           << " take " << width;
  if (failed(checkStrides(kernel, index, type, arg.memory)))
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

static FailureOr<Datum> bindScalar(gpu::GPUFuncOp kernel, unsigned index,
                                   Type type, const Argument &arg) {
  ElementType element = *ElementType::get(type);
  Datum datum;
  if (element.isFloat && arg.kind != Argument::Kind::Memory) {
    datum.real = arg.kind == Argument::Kind::Real ? arg.real : arg.integer;
    normalize(element, &datum.real, 1);
    return datum;
  }
  if (arg.kind != Argument::Kind::Integer)
    return argumentError(kernel, index)
           << (element.isFloat ? "expected a number for "
                               : "expected an integer for ")
           << type;
  datum.integer = wrapInteger(arg.integer, element.width);
  if (datum.integer != arg.integer &&
      int64_t(getUnsigned(arg.integer, element.width)) != arg.integer)
    return argumentError(kernel, index)
           << arg.integer << " does not fit " << type;
  return datum;
}

static LogicalResult bindArguments(gpu::GPUFuncOp kernel,
                                   ArrayRef<Argument> arguments,
                                   SmallVectorImpl<Datum> &values) {
  if (arguments.size() != kernel.getNumArguments())
    return kernel.emitError("'")
           << kernel.getName() << "' takes " << kernel.getNumArguments()
           << " arguments, found " << arguments.size();
  for (auto [index, type, argument] :
       llvm::enumerate(kernel.getArgumentTypes(), arguments)) {
    auto memref = dyn_cast<MemRefType>(type);
    FailureOr<Datum> value = memref
                                 ? bindMemory(kernel, index, memref, argument)
                                 : bindScalar(kernel, index, type, argument);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Grid
//===----------------------------------------------------------------------===//

static FailureOr<Int3> getGrid(gpu::GPUFuncOp kernel, ArrayRef<Datum> arguments,
                               const LaunchOptions &options) {
  Int3 grid = {1, 1, 1};
  if (options.grid) {
    grid = *options.grid;
  } else {
    auto attr = kernel->getAttrOfType<AffineMapAttr>(TileDialect::kGrid);
    if (!attr)
      return kernel.emitError("'")
             << kernel.getName()
             << "' has no 'tile.grid' attribute; give the grid explicitly";
    SmallVector<int64_t> symbols;
    for (auto [type, argument] :
         llvm::zip_equal(kernel.getArgumentTypes(), arguments)) {
      if (auto memref = dyn_cast<MemRefType>(type)) {
        for (int64_t dim = 0; dim < memref.getRank(); ++dim)
          if (memref.isDynamicDim(dim))
            symbols.push_back(argument.memref->shape[dim]);
      } else if (type.isIntOrIndex()) {
        symbols.push_back(argument.integer);
      }
    }
    for (auto [dim, expr] : llvm::enumerate(attr.getValue().getResults())) {
      std::optional<int64_t> extent = evaluate(expr, {}, symbols);
      if (!extent)
        return kernel.emitError("'tile.grid' divides by zero or less for "
                                "symbols ")
               << toString(symbols);
      grid[dim] = *extent;
    }
  }
  for (int64_t extent : grid)
    if (extent < 0 || extent > std::numeric_limits<int32_t>::max())
      return kernel.emitError("grid ")
             << toString(grid) << " of '" << kernel.getName()
             << "' is not a launch; expected extents from 0 to 2^31 - 1";
  return grid;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Whether the outcome may depend on the order of blocks.
static bool isOrdered(gpu::GPUFuncOp kernel) {
  WalkResult result = kernel.walk([](Operation *op) {
    return isa<tile::AtomicRMWOp, tile::PrintOp, memref::AtomicRMWOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

namespace {
/// Hands out blocks in order and keeps the first block's failure.
class BlockQueue {
public:
  BlockQueue(const Launch &launch, const BlockCode &code, unsigned numSlots,
             ArrayRef<Datum> arguments)
      : launch(launch), code(code), numSlots(numSlots), arguments(arguments),
        count(launch.grid[0] * launch.grid[1] * launch.grid[2]) {}

  /// Runs blocks until there are none or one has failed.
  void work() {
    for (int64_t i; (i = next++) < count && i < firstFailed;)
      runBlock(i);
  }
  int64_t size() const { return count; }
  const std::optional<Failure> &getFailure() const { return failure; }

private:
  void runBlock(int64_t index) {
    const Int3 &grid = launch.grid;
    Frame frame(
        launch,
        {index % grid[0], index / grid[0] % grid[1], index / grid[0] / grid[1]},
        std::vector<Datum>(numSlots));
    if (succeeded(frame.run(code, arguments)))
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (index < firstFailed) {
      firstFailed = index;
      failure = frame.getFailure();
    }
  }

  const Launch &launch;
  const BlockCode &code;
  unsigned numSlots;
  ArrayRef<Datum> arguments;
  int64_t count;
  std::atomic<int64_t> next = 0;
  std::atomic<int64_t> firstFailed = std::numeric_limits<int64_t>::max();
  std::mutex mutex;
  std::optional<Failure> failure;
};
} // namespace

LogicalResult sim::runKernel(gpu::GPUFuncOp kernel,
                             ArrayRef<Argument> arguments,
                             const LaunchOptions &options) {
  if (kernel.getBody().empty())
    return kernel.emitError("'") << kernel.getName() << "' has no body";
  if (kernel.getBody().getNumArguments() != kernel.getNumArguments())
    return kernel.emitError("'")
           << kernel.getName()
           << "' has memory attributions, which the interpreter does not "
              "know; use tile.alloc_shared";
  Translator translator;
  FailureOr<BlockCode> code = translator.translate(kernel.getBody());
  SmallVector<Datum> values;
  if (failed(code) || failed(bindArguments(kernel, arguments, values)))
    return failure();
  FailureOr<Int3> grid = getGrid(kernel, values, options);
  if (failed(grid))
    return failure();

  Launch launch{*grid, tile::getNumThreads(kernel), options.maxSteps,
                options.print};
  BlockQueue queue(launch, *code, translator.getNumSlots(), values);
  int64_t threads =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  threads = isOrdered(kernel) ? 1 : std::min(threads, queue.size());
  std::vector<std::thread> helpers;
  for (int64_t i = 1; i < threads; ++i)
    helpers.emplace_back([&] { queue.work(); });
  queue.work();
  for (std::thread &helper : helpers)
    helper.join();
  if (const std::optional<Failure> &failed = queue.getFailure())
    return emitError(failed->location) << failed->message;
  return success();
}
