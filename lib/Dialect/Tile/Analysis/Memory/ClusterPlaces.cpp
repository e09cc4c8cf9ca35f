//===- ClusterPlaces.cpp - Values uniform in a cluster --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A uniformity (divergence) analysis (Coutinho et al., "Divergence Analysis and
// Optimizations", 2011), with the blocks of a cluster in place of threads.
//
// A sparse forward dataflow (SliceSolver.h) evaluates values from their
// operands to the form base + slope * place. Integer arithmetic maps forms to
// forms; other pure operations on equal operands have equal results. Control
// flow depends on the place if a condition or a trip count does. A loop-carried
// value counts as the same in all blocks until what the loop yields is found to
// differ. A fact changes at most twice: it is open, then a form, then unknown.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ClusterPlaces.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/IR/Cluster.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ClusterPlaces::ClusterPlaces(gpu::GPUFuncOp kernel, gpu::Dimension dim)
    : dim(dim), extent(Cluster::get(kernel).extents[unsigned(dim)]) {
  for (const MemoryAccess &access : MemoryAccesses(kernel).get(kernel)) {
    if (access.shared || !access.writes())
      continue;
    written.insert(access.argument);
  }
}

bool ClusterPlaces::isSame(Value value) {
  Known form = get(value);
  return form && form->slope == 0;
}

/// Returns whether 0 <= slope * place < g at all places, where g is the
/// greatest common divisor of the base's divisor and `divisor`.
bool ClusterPlaces::isBelow(const Form &form, int64_t divisor) const {
  int64_t common = std::gcd(form.divisor, divisor);
  return form.slope >= 0 && (common == 0 || form.slope * (extent - 1) < common);
}

ClusterPlaces::Known ClusterPlaces::sameIf(bool same, Value value) {
  if (!same)
    return std::nullopt;
  bool isInteger = value.getType().isIntOrIndex();
  return Form{0, isInteger ? divisibility.getDivisor(value) : 1};
}

ClusterPlaces::Known ClusterPlaces::get(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second.form;
  if (!solver) {
    SliceSolver<Fact> slice(known);
    llvm::SaveAndRestore restore(solver, &slice);
    slice.solve(value, [&](Value each, Fact) { return evaluate(each); });
    return known.lookup(value).form;
  }
  Fact fact = solver->read(value);
  readsOpen |= fact.isOpen;
  return fact.isOpen ? Form{0, 1} : fact.form;
}

/// Evaluates a value; it stays open while a value that it needs is open.
ClusterPlaces::Fact ClusterPlaces::evaluate(Value value) {
  readsOpen = false;
  Known form = compute(value);
  return readsOpen ? Fact() : Fact{/*isOpen=*/false, form};
}

/// Returns whether a loop-carried value is the same in every iteration. An open
/// `next` may depend on the value itself and does not differ so far.
bool ClusterPlaces::isKept(Value init, Value next) {
  if (!isSame(init))
    return false;
  llvm::SaveAndRestore ignoreOpen(readsOpen);
  return isSame(next);
}

ClusterPlaces::Known ClusterPlaces::compute(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument);
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (op->getNumRegions() > 0)
    return computeResult(result);
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return id.getDimension() == dim ? Form{1, extent} : Form{0, 1};
  if (auto count = dyn_cast<gpu::GridDimOp>(op))
    return Form{0, count.getDimension() == dim ? extent : 1};
  if (Known form = computeArithmetic(op))
    return form;
  return sameIf(givesTheSame(op), value);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

ClusterPlaces::Known ClusterPlaces::computeArgument(BlockArgument argument) {
  Operation *parent = argument.getOwner()->getParentOp();
  if (isa<gpu::GPUFuncOp>(parent))
    return sameIf(true, argument);
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (argument != loop.getInductionVar())
      return sameIf(isKept(loop.getTiedLoopInit(argument)->get(),
                           loop.getTiedLoopYieldedValue(argument)->get()),
                    argument);
    Known lower = get(loop.getLowerBound()), step = get(loop.getStep());
    if (!lower || !step || step->slope != 0)
      return std::nullopt;
    return Form{lower->slope, std::gcd(lower->divisor, step->divisor)};
  }
  auto loop = dyn_cast<scf::WhileOp>(parent);
  if (!loop)
    return std::nullopt;
  unsigned number = argument.getArgNumber();
  if (argument.getOwner() == loop.getAfterBody())
    return sameIf(isSame(loop.getConditionOp().getArgs()[number]), argument);
  return sameIf(
      isKept(loop.getInits()[number], loop.getYieldOp().getOperand(number)),
      argument);
}

ClusterPlaces::Known ClusterPlaces::computeResult(OpResult result) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return sameIf(hasSameTripCount(loop) &&
                      isSame(loop.getRegionIterArg(number)),
                  result);
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    scf::ConditionOp condition = loop.getConditionOp();
    return sameIf(isSame(condition.getCondition()) &&
                      isSame(condition.getArgs()[number]),
                  result);
  }
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return sameIf(isSame(branch.getCondition()) &&
                      isSame(branch.thenYield().getOperand(number)) &&
                      isSame(branch.elseYield().getOperand(number)),
                  result);
  return std::nullopt;
}

/// Returns whether all blocks leave the loop after the same iteration: in each
/// iteration the induction variable is less than the upper bound in all of them
/// or in none.
bool ClusterPlaces::hasSameTripCount(scf::ForOp loop) {
  return isSame(loop.getStep()) &&
         isSameOrder(loop.getInductionVar(), loop.getUpperBound());
}

Operation *ClusterPlaces::getDivergence(Operation *op) {
  for (Operation *parent = op->getParentOp();
       parent && !isa<gpu::GPUFuncOp>(parent); parent = parent->getParentOp()) {
    bool same =
        llvm::TypeSwitch<Operation *, bool>(parent)
            .Case([&](scf::ForOp loop) { return hasSameTripCount(loop); })
            .Case(
                [&](scf::IfOp branch) { return isSame(branch.getCondition()); })
            .Case([&](scf::WhileOp loop) {
              return isSame(loop.getConditionOp().getCondition());
            })
            .Case<SpecializeOp, RoleOp>([](auto) { return true; })
            .Default(false);
    if (!same)
      return parent;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

ClusterPlaces::Known ClusterPlaces::computeProduct(Value lhs, Value rhs) {
  Known a = get(lhs), b = get(rhs);
  if (!a || !b)
    return std::nullopt;
  if (a->slope != 0) {
    std::swap(a, b);
    std::swap(lhs, rhs);
  }
  if (a->slope != 0)
    return std::nullopt;
  Form product{0, 0};
  // Larger divisors are of no use, and multiplying them could overflow.
  constexpr int64_t kLargest = int64_t(1) << 30;
  if (a->divisor != 0 && b->divisor != 0)
    product.divisor = a->divisor < kLargest && b->divisor < kLargest
                          ? a->divisor * b->divisor
                          : 1;
  if (b->slope == 0)
    return product;
  std::optional<int64_t> factor = getConstantIntValue(lhs);
  if (!factor || std::abs(*factor) > kLargest || std::abs(b->slope) > kLargest)
    return std::nullopt;
  product.slope = *factor * b->slope;
  return product;
}

/// Evaluates an unsigned quotient or remainder, whose operands are not
/// negative.
ClusterPlaces::Known ClusterPlaces::computeQuotient(Value value, Value by,
                                                    bool isRemainder) {
  Known a = get(value), b = get(by);
  if (!a || !b || b->slope != 0 || !isBelow(*a, b->divisor))
    return std::nullopt;
  if (isRemainder)
    return Form{a->slope, std::gcd(a->divisor, b->divisor)};
  std::optional<int64_t> divisor = getConstantIntValue(by);
  bool isExact = divisor && *divisor != 0 && a->divisor % *divisor == 0;
  return Form{0, isExact ? a->divisor / std::abs(*divisor) : 1};
}

/// Evaluates integer arithmetic; other operations are unknown.
ClusterPlaces::Known ClusterPlaces::computeArithmetic(Operation *op) {
  using namespace arith;
  auto operand = [&](unsigned i) { return op->getOperand(i); };
  auto combine = [&](Value lhs, Value rhs, int64_t sign) -> Known {
    Known a = get(lhs), b = get(rhs);
    if (!a || !b)
      return std::nullopt;
    return Form{a->slope + sign * b->slope, std::gcd(a->divisor, b->divisor)};
  };
  return llvm::TypeSwitch<Operation *, Known>(op)
      .Case<IndexCastOp, IndexCastUIOp, ExtSIOp, ExtUIOp>(
          [&](auto) { return get(operand(0)); })
      .Case([&](AddIOp) { return combine(operand(0), operand(1), 1); })
      .Case([&](SubIOp) { return combine(operand(0), operand(1), -1); })
      .Case([&](MulIOp) { return computeProduct(operand(0), operand(1)); })
      .Case([&](DivUIOp) {
        return computeQuotient(operand(0), operand(1), /*isRemainder=*/false);
      })
      .Case([&](FloorDivSIOp) -> Known {
        if (getConstantIntValue(operand(1)).value_or(0) <= 0)
          return std::nullopt;
        return computeQuotient(operand(0), operand(1), /*isRemainder=*/false);
      })
      .Case([&](RemUIOp) {
        return computeQuotient(operand(0), operand(1), /*isRemainder=*/true);
      })
      .Case<MinUIOp, MinSIOp, MaxUIOp, MaxSIOp>([&](auto) -> Known {
        if (!areSame(op->getOperands()))
          return std::nullopt;
        return combine(operand(0), operand(1), 1);
      })
      .Case([&](SelectOp) -> Known {
        Known yes = get(operand(1)), no = get(operand(2));
        if (!isSame(operand(0)) || !yes || !no || yes->slope != no->slope)
          return std::nullopt;
        return Form{yes->slope, std::gcd(yes->divisor, no->divisor)};
      })
      .Case([&](CmpIOp cmp) { return sameIf(isSameCondition(cmp), cmp); })
      .Default(std::nullopt);
}

bool ClusterPlaces::isSameOrder(Value lhs, Value rhs) {
  Known a = get(lhs), b = get(rhs);
  if (!a || !b)
    return false;
  // A negative difference of the bases is at most minus their common divisor,
  // so that the slopes cannot change its sign.
  return isBelow({a->slope - b->slope, a->divisor}, b->divisor) ||
         a->slope == b->slope;
}

bool ClusterPlaces::isSameCondition(arith::CmpIOp op) {
  using arith::CmpIPredicate;
  if (areSame(op->getOperands()))
    return true;
  switch (op.getPredicate()) {
  case CmpIPredicate::slt:
  case CmpIPredicate::ult:
  case CmpIPredicate::sge:
  case CmpIPredicate::uge:
    return isSameOrder(op.getLhs(), op.getRhs());
  case CmpIPredicate::sgt:
  case CmpIPredicate::ugt:
  case CmpIPredicate::sle:
  case CmpIPredicate::ule:
    return isSameOrder(op.getRhs(), op.getLhs());
  default:
    return false;
  }
}

/// Memory that the kernel does not write has the same content for all blocks.
bool ClusterPlaces::givesTheSame(Operation *op) {
  if (!areSame(op->getOperands()))
    return false;
  if (isMemoryEffectFree(op))
    return isa<arith::ConstantOp, memref::DimOp>(op) ||
           (op->getNumOperands() > 0 &&
            isa_and_present<arith::ArithDialect, affine::AffineDialect,
                            math::MathDialect, tensor::TensorDialect,
                            TileDialect>(op->getDialect()));
  if (!isa<memref::LoadOp, LoadOp>(op))
    return false;
  BlockArgument argument = getKernelArgument(op->getOperand(0));
  return argument && llvm::none_of(written, [&](BlockArgument other) {
           return mayAlias(argument, other);
         });
}

void ClusterPlaces::print(raw_ostream &os) const {
  for (auto [value, fact] : known) {
    BriefPrinter printer(value.getParentRegion()->getParentOp(), os);
    printer << value << ": ";
    Known form = fact.form;
    if (!form)
      os << "unknown";
    else if (form->slope == 0)
      os << "same, divisor " << form->divisor;
    else
      os << form->slope << " * place, divisor " << form->divisor;
    os << "\n";
  }
}
