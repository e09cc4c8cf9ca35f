//===- TypeConverter.cpp - Types of per-thread code -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types of the code of one thread. A fragment is the vector of the registers of
// a thread, a shared buffer or a barrier a pointer to shared memory, an index
// an integer of the chosen width:
//
//   tensor<64x64xf32, #layout>  ->  vector<32xf32> for 128 threads
//   memref<64x64xf16, shared>   ->  !llvm.ptr<3>
//
// Helpers that most patterns need follow: packing of registers, pointers into
// the arena, offsets, and the number of the thread in its role.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Conversion/LLVMCommon/LoweringOptions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static LowerToLLVMOptions getLoweringOptions(MLIRContext *context,
                                             unsigned bitwidth) {
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(bitwidth);
  return options;
}

TileTypeConverter::TileTypeConverter(MLIRContext *context,
                                     unsigned indexBitwidth)
    : LLVMTypeConverter(context, getLoweringOptions(context, indexBitwidth)) {
  addConversion([this](RankedTensorType type) -> std::optional<Type> {
    if (!hasFragmentLayout(type))
      return std::nullopt;
    Type element = isBelowByte(type.getElementType())
                       ? IntegerType::get(type.getContext(), 8)
                       : convertType(type.getElementType());
    if (!element)
      return std::nullopt;
    return VectorType::get({getFragmentLayout(type).getNumValues()}, element);
  });
  addConversion([](MemRefType type) -> std::optional<Type> {
    if (!isShared(type))
      return std::nullopt;
    return LLVM::LLVMPointerType::get(type.getContext(), 3);
  });
  // A pointer to the first barrier of the array.
  addConversion([](MBarrierType type) -> std::optional<Type> {
    return LLVM::LLVMPointerType::get(type.getContext(), 3);
  });
  addTypeAttributeConversion([](BaseMemRefType,
                                gpu::AddressSpaceAttr space) -> Attribute {
    unsigned number = space.getValue() == gpu::AddressSpace::Workgroup ? 3 : 0;
    return IntegerAttr::get(IntegerType::get(space.getContext(), 64), number);
  });
}

SmallVector<Value> tilews::unpack(ImplicitLocOpBuilder &b, Value vector) {
  auto type = cast<VectorType>(vector.getType());
  SmallVector<Value> registers;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    registers.push_back(vector::ExtractOp::create(b, vector, i));
  return registers;
}

Value tilews::pack(ImplicitLocOpBuilder &b, Type element,
                   ArrayRef<Value> registers) {
  auto type = VectorType::get({int64_t(registers.size())}, element);
  return vector::FromElementsOp::create(b, type, registers);
}

Value tilews::createArenaPointer(ImplicitLocOpBuilder &b, int64_t offset) {
  auto pointer = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value arena = LLVM::AddressOfOp::create(b, pointer, kArenaName);
  if (offset == 0)
    return arena;
  return LLVM::GEPOp::create(
      b, pointer, b.getI8Type(), arena,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
}

Value tilews::createElementPointer(ImplicitLocOpBuilder &b, Value base,
                                   Value index, int64_t stride) {
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), stride);
  return LLVM::GEPOp::create(b, base.getType(), type, base,
                             ArrayRef<LLVM::GEPArg>{index});
}

SmallVector<SplitOffset> tilews::splitOffsets(ImplicitLocOpBuilder &b,
                                              ArrayRef<int64_t> staticOffsets,
                                              ValueRange dynamic,
                                              int64_t rank) {
  SmallVector<SplitOffset> offsets(rank);
  unsigned next = 0;
  for (auto [offset, constant] : llvm::zip(offsets, staticOffsets)) {
    if (ShapedType::isDynamic(constant))
      offset.value = dynamic[next++];
    else
      offset.constant = constant;
  }
  return offsets;
}

Value tilews::createThreadId(ImplicitLocOpBuilder &b,
                             const TargetLowering &target,
                             const ThreadGroup &threads) {
  Value id = target.getThreadId(b);
  if (threads.first == 0)
    return id;
  Value first =
      arith::ConstantOp::create(b, b.getI32IntegerAttr(threads.first));
  return arith::SubIOp::create(b, id, first);
}

Value tilews::createInteger(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, attr);
}

Value tilews::isFirstThread(ImplicitLocOpBuilder &b, Value threadId) {
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, threadId, zero);
}
