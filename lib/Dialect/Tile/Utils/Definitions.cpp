//===- Definitions.cpp - What inline assembly computes --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A definition is a function on scalars, made of elementwise operations. The
// same operations on fragments do the same to each element:
//
//   func.func @square(%x: f32) -> f32     %r = tile.asm(%v) ... @square
//     %y = arith.mulf %x, %x : f32    ->  %r = arith.mulf %v, %v
//                                           : tensor<128xf32>
//
// Constants become constants with this value in all elements, and scalar inputs
// next to fragments are repeated.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Utils/Definitions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Clones an operation on scalars. With a `shape` it becomes the operation on
/// fragments of this shape, to whose operands `map` leads.
static void cloneSpread(OpBuilder &builder, Operation &inner,
                        std::optional<ArrayRef<int64_t>> shape,
                        IRMapping &map) {
  Operation *clone = builder.clone(inner, map);
  if (!shape)
    return;
  for (OpResult result : clone->getResults())
    result.setType(RankedTensorType::get(*shape, result.getType()));
  if (auto constant = dyn_cast<arith::ConstantOp>(clone)) {
    Attribute element = constant.getValue();
    constant.setValueAttr(DenseElementsAttr::get(
        cast<RankedTensorType>(constant.getType()), element));
  }
}

static void applyDefinition(AsmOp op, Operation *definition) {
  OpBuilder builder(op);
  std::optional<ArrayRef<int64_t>> shape;
  for (Type type : op->getResultTypes())
    if (auto fragment = dyn_cast<RankedTensorType>(type))
      shape = fragment.getShape();
  Block &body = definition->getRegion(0).front();
  IRMapping map;
  for (auto [argument, input] :
       llvm::zip_equal(body.getArguments(), op.getInputs())) {
    Value value = input;
    if (shape && !isa<RankedTensorType>(input.getType()))
      value = tensor::SplatOp::create(
          builder, op.getLoc(), input,
          RankedTensorType::get(*shape, input.getType()));
    map.map(argument, value);
  }
  for (Operation &inner : body.without_terminator())
    cloneSpread(builder, inner, shape, map);
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(map.lookup(value));
  op->replaceAllUsesWith(results);
  op->erase();
}

LogicalResult tile::applyDefinitions(gpu::GPUFuncOp kernel) {
  SmallVector<AsmOp> ops;
  kernel.walk([&](AsmOp op) { ops.push_back(op); });
  if (ops.empty())
    return success();
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  for (AsmOp op : ops) {
    if (op.getVariant(*target))
      continue;
    Operation *definition = op.lookupDefinition();
    if (!definition)
      return op.emitMissing(*target);
    applyDefinition(op, definition);
  }
  return success();
}
