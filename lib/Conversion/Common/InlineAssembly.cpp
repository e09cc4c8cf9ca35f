//===- InlineAssembly.cpp - Templates of assembly for each register -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.asm` executes its template once for each register of a fragment. Values
// enter and leave it in the type of the register that the constraint names:
//
//   "=f,h" for (f16) -> i32 on NVIDIA   the result is a float, the input an i16
//   "=v,v" for (f16) -> f16 on AMD      both are an i32; its lower half counts
//
// Several results are a struct in LLVM. The verifier of the operation has
// checked that template and constraints fit.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns the type of the register in which assembly holds an element.
static Type getRegisterType(OpBuilder &b, const TargetInfo &target,
                            StringRef constraint, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  if (constraint.ends_with("f"))
    return b.getF32Type();
  if (constraint.ends_with("d"))
    return b.getF64Type();
  return b.getIntegerType(target.isAMD() ? std::max(bits, 32u) : bits);
}

static Value castBits(ImplicitLocOpBuilder &b, Value value, Type type) {
  return value.getType() == type
             ? value
             : LLVM::BitcastOp::create(b, type, value).getResult();
}

/// Puts an element into a register, below zeros if that is wider.
static Value enter(ImplicitLocOpBuilder &b, Value value, Type type) {
  unsigned bits = value.getType().getIntOrFloatBitWidth();
  if (bits == type.getIntOrFloatBitWidth())
    return castBits(b, value, type);
  value = castBits(b, value, b.getIntegerType(bits));
  return LLVM::ZExtOp::create(b, type, value);
}

/// Takes an element from the lowest bits of a register.
static Value leave(ImplicitLocOpBuilder &b, Value value, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  if (value.getType().getIntOrFloatBitWidth() > bits)
    value = LLVM::TruncOp::create(b, b.getIntegerType(bits), value);
  return castBits(b, value, element);
}

namespace {
struct AsmPattern : TilePattern<AsmOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(AsmOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    AssemblyAttr assembly = op.getVariant(getTarget().info);
    if (!assembly && op.getDefinition())
      return op.emitOpError("has no template for '")
             << getTarget().info.chip
             << "'; run --tile-annotate-instructions, which replaces it by its "
                "definition";
    if (!assembly)
      return op.emitMissing(getTarget().info);
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertTypes(op.getResultTypes(), types)))
      return rewriter.notifyMatchFailure(op, "result has no layout");

    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<SmallVector<Value>> inputs;
    int64_t count = 1;
    for (Value input : adaptor.getInputs()) {
      bool isFragment = isa<VectorType>(input.getType());
      inputs.push_back(isFragment ? unpack(b, input)
                                  : SmallVector<Value>{input});
      count = std::max<int64_t>(count, inputs.back().size());
    }
    SmallVector<SmallVector<Value>> results(types.size());
    for (int64_t v = 0; v < count; ++v) {
      SmallVector<Value> operands;
      for (ArrayRef<Value> registers : inputs)
        operands.push_back(registers.size() == 1 ? registers[0] : registers[v]);
      for (auto [i, value] :
           llvm::enumerate(execute(b, op, assembly, operands)))
        results[i].push_back(value);
    }
    SmallVector<Value> packed;
    for (auto [type, registers] : llvm::zip_equal(types, results))
      packed.push_back(isa<VectorType>(type)
                           ? pack(b, getElementTypeOrSelf(type), registers)
                           : registers.front());
    rewriter.replaceOp(op, packed);
    return success();
  }

  /// Executes the template for one element.
  SmallVector<Value> execute(ImplicitLocOpBuilder &b, AsmOp op,
                             AssemblyAttr assembly,
                             ArrayRef<Value> inputs) const {
    const TargetInfo &target = getTarget().info;
    SmallVector<StringRef> constraints;
    assembly.getConstraints().split(constraints, ',');
    SmallVector<Type> outputs;
    for (auto [constraint, type] : llvm::zip(constraints, op.getResultTypes()))
      outputs.push_back(
          getRegisterType(b, target, constraint, getElementTypeOrSelf(type)));
    SmallVector<Value> operands;
    for (auto [i, value] : llvm::enumerate(inputs)) {
      StringRef constraint = constraints[outputs.size() + i];
      size_t tied;
      Type type = constraint.getAsInteger(10, tied)
                      ? getRegisterType(b, target, constraint, value.getType())
                      : outputs[tied];
      operands.push_back(enter(b, value, type));
    }
    SmallVector<Type> returned(outputs);
    if (outputs.size() > 1)
      returned = {LLVM::LLVMStructType::getLiteral(b.getContext(), outputs)};
    auto call = LLVM::InlineAsmOp::create(
        b, returned, operands, assembly.getText(), assembly.getConstraints(),
        /*has_side_effects=*/!op.getPure(), /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
        /*operand_attrs=*/ArrayAttr());
    SmallVector<Value> results;
    for (auto [i, type] : llvm::enumerate(op.getResultTypes())) {
      Value value = outputs.size() > 1
                        ? LLVM::ExtractValueOp::create(b, call.getResult(0), i)
                              .getResult()
                        : call.getResult(0);
      results.push_back(leave(b, value, getElementTypeOrSelf(type)));
    }
    return results;
  }
};
} // namespace

void tilews::populateAssemblyPatterns(const TileTypeConverter &converter,
                                      LoweringContext &lowering,
                                      RewritePatternSet &patterns) {
  // Before the pattern for all elementwise operations.
  patterns.add<AsmPattern>(converter, lowering, /*benefit=*/2);
}
