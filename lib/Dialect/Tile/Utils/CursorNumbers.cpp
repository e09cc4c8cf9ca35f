//===- CursorNumbers.cpp - Cursors as two numbers -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Converts cursors to two i32, the slot and the phase, by a 1:2 type
// conversion. Upstream's patterns convert scf operations that carry cursors.
// `tile.advance` of a cursor with depth 4 becomes
//
//   %next = arith.addi %slot, %c1
//   %wraps = arith.cmpi eq, %next, %c4
//   %slot1 = arith.select %wraps, %c0, %next
//   %flipped = arith.xori %phase, %c1
//   %phase1 = arith.select %wraps, %flipped, %phase
//
// A comparison is used instead of a remainder, because an integer division is
// slow on GPUs.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Utils/Cursors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

Value I32Constants::get(OpBuilder &b, int64_t value) {
  Value &constant = values[value];
  if (constant)
    return constant;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(block);
  constant = arith::ConstantOp::create(b, block->getParentOp()->getLoc(),
                                       b.getI32IntegerAttr(value));
  return constant;
}

CursorNumbers tile::castCursor(ImplicitLocOpBuilder &b, Value cursor) {
  Type i32 = b.getI32Type();
  auto cast =
      UnrealizedConversionCastOp::create(b, TypeRange{i32, i32}, cursor);
  return {cast.getResult(0), cast.getResult(1)};
}

static bool hasCursor(TypeRange types) {
  return llvm::any_of(types, llvm::IsaPred<CursorType>);
}

LogicalResult tile::checkCursors(gpu::GPUFuncOp kernel) {
  if (hasCursor(kernel.getArgumentTypes()))
    return kernel.emitOpError("has a cursor as argument; expected it to come "
                              "from a tile.cursor");
  WalkResult result = kernel.walk([&](Operation *op) {
    if (isa<CursorOp, AdvanceOp, SlotOp, AcquireOp, CommitOp, WaitOp, ReleaseOp,
            scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp,
            arith::SelectOp>(op))
      return WalkResult::advance();
    if (!hasCursor(op->getOperandTypes()) && !hasCursor(op->getResultTypes()))
      return WalkResult::advance();
    op->emitError("'")
        << op->getName()
        << "' cannot carry a cursor; expected scf.for, scf.if, scf.while or "
           "arith.select";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

namespace {

/// Converts an operation on cursors to arithmetic on their numbers.
template <typename OpT>
struct CursorPattern : OpConversionPattern<OpT> {
  CursorPattern(const TypeConverter &converter, MLIRContext *context,
                I32Constants &constants)
      : OpConversionPattern<OpT>(converter, context), constants(constants) {}
  using Adaptor = typename OpConversionPattern<OpT>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(OpT op, Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> numbers = lower(b, op, adaptor);
    if constexpr (std::is_same_v<OpT, UnrealizedConversionCastOp>)
      rewriter.replaceOp(op, numbers);
    else
      rewriter.replaceOpWithMultiple(op, ArrayRef<ValueRange>{numbers});
    return success();
  }

private:
  using Numbers = SmallVector<Value>;

  Numbers lower(ImplicitLocOpBuilder &b, CursorOp, Adaptor) const {
    Value zero = constants.get(b, 0);
    return {zero, zero};
  }

  Numbers lower(ImplicitLocOpBuilder &b, AdvanceOp op, Adaptor adaptor) const {
    Value zero = constants.get(b, 0), one = constants.get(b, 1);
    int64_t depth = op.getCursor().getType().getDepth();
    Value slot = adaptor.getCursor()[0], phase = adaptor.getCursor()[1];
    Value other = arith::XOrIOp::create(b, phase, one);
    if (depth == 1)
      return {zero, other};
    Value next = arith::AddIOp::create(b, slot, one);
    Value wraps = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next,
                                        constants.get(b, depth));
    return {arith::SelectOp::create(b, wraps, zero, next),
            arith::SelectOp::create(b, wraps, other, phase)};
  }

  Numbers lower(ImplicitLocOpBuilder &b, arith::SelectOp,
                Adaptor adaptor) const {
    Value condition = adaptor.getCondition().front();
    Numbers numbers;
    for (auto [yes, no] :
         llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      numbers.push_back(arith::SelectOp::create(b, condition, yes, no));
    return numbers;
  }

  /// Resolves a cast of `castCursor`.
  Numbers lower(ImplicitLocOpBuilder &, UnrealizedConversionCastOp,
                Adaptor adaptor) const {
    return llvm::to_vector(adaptor.getInputs().front());
  }

  I32Constants &constants;
};

} // namespace

LogicalResult tile::lowerCursors(gpu::GPUFuncOp kernel,
                                 I32Constants &constants) {
  MLIRContext *context = kernel.getContext();
  TypeConverter converter;
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](CursorType type, SmallVectorImpl<Type> &numbers) {
    numbers.append(2, IntegerType::get(type.getContext(), 32));
    return success();
  });
  RewritePatternSet patterns(context);
  ConversionTarget legal(*context);
  patterns.add<CursorPattern<CursorOp>, CursorPattern<AdvanceOp>,
               CursorPattern<arith::SelectOp>,
               CursorPattern<UnrealizedConversionCastOp>>(converter, context,
                                                          constants);
  scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                       legal);
  legal.addIllegalOp<CursorOp, AdvanceOp>();
  legal.addDynamicallyLegalOp<arith::SelectOp, UnrealizedConversionCastOp>(
      [](Operation *op) { return !hasCursor(op->getOperandTypes()); });
  legal.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(kernel, legal, std::move(patterns));
}
