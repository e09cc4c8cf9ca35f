//===- TranslateKernel.cpp - From operations to instructions --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Translates a kernel once, before any block runs. SSA values get slots in a
// frame, and operations get the handler of their name. Everything that depends
// on the operation alone is computed here: element types, constants, and the
// addresses at which a layout places the elements of a shared buffer. What the
// simulator cannot run is an error here, with the place of the operation:
//
//   %x = arith.addf %a, %b : tensor<16xf32>
//     handler of arith.addf, operands in slots 3 and 4, result in slot 5
//
// Regions nested more than `kMaxDepth` deep are an error: translation and
// execution recurse over them.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

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

  LogicalResult translateDefinition(tile::AsmOp op, Instruction &inst);

  DenseMap<Value, unsigned> slots;
  /// In the definition of assembly on fragments, their shape: all scalars stand
  /// for fragments.
  std::optional<ArrayRef<int64_t>> spread;
  /// How many regions are being translated, each in the one before.
  unsigned depth = 0;
};
} // namespace

/// Returns whether operands of an operation may be results of asynchronous
/// matmuls in flight: it passes them on or waits for them. Matmuls check their
/// operands themselves.
static bool takesUnfinished(Operation &op) {
  return op.getNumRegions() > 0 ||
         isa<tile::GemmWaitOp, tile::MatmulOpInterface>(op);
}

/// Returns whether a record of the block lists an operation: all except those
/// on scalars and those that make views, barriers and regions.
static bool isRecorded(Operation &op) {
  if (op.getNumRegions() > 0 ||
      isa<ViewLikeOpInterface, arith::ConstantOp, tile::AllocSharedOp,
          tile::ChannelOp, tile::CursorOp, tile::AdvanceOp, tile::MBarrierOp>(
          op))
    return false;
  auto isFragment = [](Type type) { return isa<RankedTensorType>(type); };
  return isa<tile::TileDialect>(op.getDialect()) || !isMemoryEffectFree(&op) ||
         llvm::any_of(op.getOperandTypes(), isFragment) ||
         llvm::any_of(op.getResultTypes(), isFragment);
}

/// Returns the bytes at which the layout of a buffer places its elements.
static std::shared_ptr<const Places> getPlaces(MemRefType type,
                                               unsigned storageBits) {
  auto places = std::make_shared<Places>();
  int64_t bits = tile::getStorageBits(type.getElementType());
  SharedLayout layout = tile::getSharedLayout(type);
  places->elementBytes = bits / 8;
  places->storageBits = storageBits;
  forEachCoordinate(type.getShape(), [&](ArrayRef<int64_t> coords) {
    places->bytes.push_back(layout.getOffset(coords, bits) *
                            places->elementBytes);
    return true;
  });
  return places;
}

/// Sets the offsets of an operation's buffer or scratch memory, once planned.
static void setPlace(Operation &op, Instruction &inst) {
  auto offset = op.getAttrOfType<IntegerAttr>(tile::TileDialect::kOffset);
  if (!offset)
    return;
  inst.sharedOffset = offset.getInt();
  if (auto alloc = dyn_cast<tile::AllocSharedOp>(op)) {
    if (isHeld(alloc.getType().getShape()))
      inst.places = getPlaces(alloc.getType(),
                              inst.resultTypes[0].element.getMemoryBits());
    return;
  }
  if (isa<tile::ChannelOp, tile::MBarrierOp>(op))
    return;
  FailureOr<TargetInfo> target =
      TargetInfo::get(op.getParentOfType<gpu::GPUFuncOp>());
  if (succeeded(target))
    inst.scratchBytes = tile::getScratchBytes(&op, *target);
}

/// Returns the element type of a type. Channels, barriers and cursors count as
/// integers.
static std::optional<ElementType> getElement(Type type) {
  if (isa<tile::ChannelType, tile::CursorType, tile::MBarrierType>(type))
    type = IndexType::get(type.getContext());
  return ElementType::get(type);
}

FailureOr<ValueType> Translator::getType(Operation &op, Type type) {
  ValueType result;
  result.isMemRef = isa<MemRefType>(type);
  if (auto tensor = dyn_cast<RankedTensorType>(type);
      tensor && tensor.hasStaticShape()) {
    result.isFragment = true;
    result.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  } else if (spread) {
    result.isFragment = true;
    result.shape.assign(spread->begin(), spread->end());
  }
  std::optional<ElementType> element =
      result.isMemRef || (result.isFragment && !spread)
          ? ElementType::get(cast<ShapedType>(type).getElementType())
          : getElement(type);
  if (!element)
    return emitOpErrorAt(&op) << "has a value of type " << type
                              << ", which the interpreter does not know";
  result.element = *element;
  if (result.isFragment && !isHeld(result.shape))
    return emitOpErrorAt(&op)
           << "has a fragment of type " << type
           << "; the interpreter holds up to " << kMaxElements << " elements";
  return result;
}

/// Returns the value of a constant, whose type has been checked.
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
  auto setAll = [&](const APInt &bits) {
    for (int64_t i = 0, e = type.countElements(); i < e; ++i)
      setElement(i, bits);
  };
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    setAll(integer.getValue());
  } else if (auto real = dyn_cast<FloatAttr>(value)) {
    setAll(real.getValue().bitcastToAPInt());
  } else if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    int64_t i = 0;
    if (type.element.isFloat)
      for (const APFloat &element : dense.getValues<APFloat>())
        setElement(i++, element.bitcastToAPInt());
    else
      for (const APInt &element : dense.getValues<APInt>())
        setElement(i++, element);
  } else {
    return emitOpErrorAt(op) << "has a value that the interpreter cannot read; "
                                "expected a number or a dense attribute";
  }
  return datum;
}

LogicalResult Translator::translate(Operation &op, Instruction &inst) {
  inst.op = &op;
  inst.takesUnfinished = takesUnfinished(op);
  inst.isRecorded = isRecorded(op);
  inst.handler = Registry::get().find(op.getName().getStringRef());
  if (!inst.handler && !op.hasTrait<OpTrait::IsTerminator>())
    return emitOpErrorAt(&op) << "is not supported by the interpreter, which "
                                 "runs tile, arith, math, "
                                 "scf, index and scalar memref operations";
  for (Value operand : op.getOperands())
    inst.operands.push_back(getSlot(operand));
  for (Value result : op.getResults()) {
    FailureOr<ValueType> type = getType(op, result.getType());
    if (failed(type))
      return failure();
    inst.resultTypes.push_back(*type);
    inst.results.push_back(getSlot(result));
  }
  if (op.getNumOperands()) {
    Type type = getElementTypeOrSelf(op.getOperand(0).getType());
    inst.operandType = *getElement(type); // Its definition was checked.
    inst.isFloat = inst.operandType.isFloat;
  }
  if (op.getNumResults())
    inst.isFloat = inst.resultTypes[0].element.isFloat;
  setPlace(op, inst);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    FailureOr<Datum> value = getConstant(constant, inst.resultTypes[0]);
    if (failed(value))
      return failure();
    inst.constant = *value;
  }
  if (auto assembly = dyn_cast<tile::AsmOp>(op))
    return translateDefinition(assembly, inst);
  for (Region &region : op.getRegions()) {
    FailureOr<BlockCode> code = translate(region);
    if (failed(code))
      return failure();
    inst.regions.push_back(std::move(*code));
  }
  return success();
}

LogicalResult Translator::translateDefinition(tile::AsmOp op,
                                              Instruction &inst) {
  Operation *definition = op.lookupDefinition();
  if (!definition)
    return emitOpErrorAt(op)
           << "is assembly without a definition, which the interpreter cannot "
              "execute; add a function that computes the same (in Python, "
              "python=)";
  for (const ValueType &type : inst.resultTypes)
    if (type.isFragment)
      spread = cast<RankedTensorType>(op.getResultTypes().front()).getShape();
  FailureOr<BlockCode> code = translate(definition->getRegion(0));
  spread.reset();
  if (failed(code))
    return failure();
  inst.regions.push_back(std::move(*code));
  return success();
}

FailureOr<BlockCode> Translator::translate(Region &region) {
  BlockCode code;
  if (region.empty())
    return code;
  if (++depth > kMaxDepth)
    return emitOpErrorAt(region.getParentOp())
           << "is nested more than " << kMaxDepth
           << " regions deep, the most that the interpreter runs";
  if (!region.hasOneBlock())
    return emitOpErrorAt(region.getParentOp())
           << "has a region of several blocks, which the interpreter does not "
              "run; write control flow with scf";
  for (BlockArgument argument : region.getArguments()) {
    if (failed(getType(*region.getParentOp(), argument.getType())))
      return failure();
    code.arguments.push_back(getSlot(argument));
  }
  for (Operation &op : region.front())
    if (failed(translate(op, code.body.emplace_back())))
      return failure();
  // The last instruction yields; a block without terminator yields nothing.
  if (region.getParentOp()->hasTrait<OpTrait::NoTerminator>())
    code.body.emplace_back();
  --depth;
  return code;
}

FailureOr<Program> sim::translateKernel(gpu::GPUFuncOp kernel) {
  Translator translator;
  FailureOr<BlockCode> code = translator.translate(kernel.getBody());
  if (failed(code))
    return failure();
  return Program{std::move(*code), translator.getNumSlots(), kernel.getLoc()};
}
