//===- Roles.cpp - Roles as branches of the block -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.specialize` becomes one branch for each role:
//
//   warp = thread / 32
//   if (0 <= warp < 4)  { setmaxnreg; body of the first role }
//   if (4 <= warp < 8)  { setmaxnreg; body of the second role }
//
// The branches are uniform in a warp. Each role has a hardware barrier of its
// own for its threads (PTX ISA, "bar.sync" with a number and a count), of which
// a block has 16.
//
//===----------------------------------------------------------------------===//

#include "AsyncPlan.h"
#include "NVVMLowering.h"

#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

struct SpecializePattern : TilePattern<SpecializeOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(SpecializeOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    int64_t threads = getNumThreads(op);
    // All lanes of a warp have the same role. ptxas cannot infer this from the
    // division, but from the shuffle it does, and makes uniform branches.
    Value warp = arith::DivUIOp::create(
        b, NVVM::ThreadIdXOp::create(b, b.getI32Type()), constantI32(b, 32));
    warp = NVVM::ShflOp::create(b, b.getI32Type(), constantI32(b, -1), warp,
                                constantI32(b, 0), constantI32(b, 31),
                                NVVM::ShflKind::idx, UnitAttr());
    for (RoleOp role : llvm::make_early_inc_range(op.getRoles())) {
      const ThreadGroup &group = lowering.getThreads(role);
      if (group.barrier > 15)
        return op.emitError("has more than 15 roles, for each of which there "
                            "has to be a hardware barrier");
      if (role.getRegisters())
        reserveRegisters(op, threads, rewriter);
      createBranch(b, role, group, warp, threads, rewriter);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// Sets the number of registers that each thread starts with: ptxas accepts
  /// `setmaxnreg` only in kernels that state it.
  static void reserveRegisters(SpecializeOp op, int64_t threads,
                               ConversionPatternRewriter &rewriter) {
    auto kernel = op->getParentOfType<LLVM::LLVMFuncOp>();
    rewriter.modifyOpInPlace(kernel, [&] {
      kernel->setAttr(
          NVVM::NVVMDialect::getMaxnregAttrName(),
          rewriter.getI32IntegerAttr(getRegisterLimit(threads / 32)));
    });
  }

  /// Emits `if (warp is one of the role's) { body }`, with the number of
  /// registers set at its start. An elected role runs in one lane of its first
  /// warp.
  void createBranch(ImplicitLocOpBuilder &b, RoleOp role,
                    const ThreadGroup &group, Value warp, int64_t threads,
                    ConversionPatternRewriter &rewriter) const {
    OpBuilder::InsertionGuard guard(b);
    auto branch = scf::IfOp::create(b, isIn(b, warp, group, threads));
    b.setInsertionPointToStart(branch.thenBlock());
    if (std::optional<int64_t> registers = role.getRegisters())
      NVVM::SetMaxRegisterOp::create(
          b, b.getI32IntegerAttr(*registers),
          NVVM::SetMaxRegisterActionAttr::get(
              b.getContext(), *registers < getRegisterLimit(threads / 32)
                                  ? NVVM::SetMaxRegisterAction::decrease
                                  : NVVM::SetMaxRegisterAction::increase));
    if (group.elected) {
      // A lane of the role's first warp.
      Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp,
                                            constantI32(b, group.first / 32));
      branch = scf::IfOp::create(b, isFirst);
      b.setInsertionPointToStart(branch.thenBlock());
      Value elected = createElected(b, getTarget().info);
      branch = scf::IfOp::create(b, elected);
      b.setInsertionPointToStart(branch.thenBlock());
    }
    rewriter.inlineBlockBefore(&role.getBody().front(),
                               branch.thenBlock()->getTerminator());
    rewriter.eraseOp(role);
  }

  /// Returns whether `warp` is one of the group's. Comparisons that always hold
  /// are left out.
  static Value isIn(ImplicitLocOpBuilder &b, Value warp,
                    const ThreadGroup &group, int64_t threads) {
    Value in;
    auto require = [&](arith::CmpIPredicate predicate, int64_t thread) {
      Value holds = arith::CmpIOp::create(b, predicate, warp,
                                          constantI32(b, thread / 32));
      in = in ? arith::AndIOp::create(b, in, holds).getResult() : holds;
    };
    int64_t end = group.first + group.count;
    if (group.first > 0)
      require(arith::CmpIPredicate::uge, group.first);
    if (end < threads || !in)
      require(arith::CmpIPredicate::ult, end);
    return in;
  }
};

} // namespace

void tilews::populateRolePatterns(const TileTypeConverter &converter,
                                  LoweringContext &lowering,
                                  RewritePatternSet &patterns) {
  patterns.add<SpecializePattern>(converter, lowering);
}
