//===- ScalarEvaluator.cpp - Symbolic execution of scalars ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The first rule that fits an operation gives its result:
//
//   1. constants, cursors, and operations whose operands are all constants;
//   2. a select whose condition is decided; it is decided by a fork if the
//      result is a slot or a phase, or both sides are constants;
//   3. sums, comparisons, quotients and conditions as expressions, in one form
//      however they are written: ceildiv(k, 16) is floor((k + 15) / 16);
//   4. other operations without effects, and reads of memory that stays as it
//      is, are atoms named by the operation and its operands: two roles that
//      load mask[i] get one atom;
//   5. anything else is a variable that has a new value each time.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/ScalarEvaluator.h"

#include "Verifier/Symbolic/FoldIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

//===----------------------------------------------------------------------===//
// Divisions
//===----------------------------------------------------------------------===//

static bool isDivision(Operation *op) {
  using namespace arith;
  return isa<FloorDivSIOp, CeilDivSIOp, CeilDivUIOp, DivSIOp, DivUIOp, RemSIOp,
             RemUIOp>(op);
}

/// Whether integers of this type are taken not to overflow. Narrow integers
/// wrap around in real kernels, for example as counts of one byte.
static bool isWide(Type type) {
  return type.isIndex() || type.isInteger(32) || type.isInteger(64);
}

/// The number that `op` divides or multiplies its first operand by: 2^n for
/// shifts by n and for `x & (2^n - 1)`. Not positive for other operations.
static int64_t getDivisor(Operation *op, std::optional<int64_t> right) {
  if (!right || *right < 0)
    return 0;
  if (isa<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(op))
    return *right < 31 ? int64_t(1) << *right : 0;
  if (isa<arith::AndIOp>(op))
    return llvm::isPowerOf2_64(*right + 1) ? *right + 1 : 0;
  return isDivision(op) ? *right : 0;
}

/// The result of a division by a constant, or of an operation on bits that is
/// one; 0 for others. Rounding to zero, and numbers without sign, are like
/// rounding down where the dividend is never negative.
static Expr getDivided(ExpressionTable &table, const PathFacts &facts,
                       Operation *op, ArrayRef<Expr> v) {
  using namespace arith;
  int64_t divisor = getDivisor(op, table.getConstantValue(v[1]));
  if (divisor <= 0)
    return 0;
  bool isWideOp = isWide(op->getResult(0).getType());
  bool isNatural = isWideOp && facts.getInterval(table, v[0]).low >= 0;
  if (isa<ShLIOp>(op))
    return isWideOp ? table.getProduct(v[0], table.getConstant(divisor)) : 0;
  if (isa<CeilDivSIOp>(op) || (isa<CeilDivUIOp>(op) && isNatural))
    return table.getQuotient(table.addConstant(v[0], divisor - 1), divisor);
  Expr quotient = table.getQuotient(v[0], divisor);
  if (isa<DivSIOp, RemSIOp>(op) && isWideOp && !isNatural &&
      table.getVariables(v[0]).empty()) {
    // Rounded to zero: one of the quotients of x and -x is not positive.
    Expr minus = table.add(table.getConstant(0), v[0], -1);
    quotient =
        table.add(table.getPositivePart(quotient),
                  table.getPositivePart(table.getQuotient(minus, divisor)), -1);
    return isa<DivSIOp>(op) ? quotient : table.add(v[0], quotient, -divisor);
  }
  if (isa<FloorDivSIOp, ShRSIOp>(op) ||
      (isa<DivSIOp, DivUIOp, ShRUIOp>(op) && isNatural))
    return quotient;
  if (isa<AndIOp>(op) || (isa<RemSIOp, RemUIOp>(op) && isNatural))
    return table.add(v[0], quotient, -divisor);
  return 0;
}

/// The larger or smaller one of two sums; 0 for other operations.
static Expr getExtreme(ExpressionTable &table, Operation *op,
                       ArrayRef<Expr> v) {
  using namespace arith;
  bool areNatural = isWide(op->getResult(0).getType()) &&
                    table.getBounds(v[0]).low >= 0 &&
                    table.getBounds(v[1]).low >= 0;
  Expr difference = table.add(v[0], v[1], -1);
  if (isa<MaxSIOp>(op) || (isa<MaxUIOp>(op) && areNatural))
    return table.add(v[1], table.getPositivePart(difference));
  if (isa<MinSIOp>(op) || (isa<MinUIOp>(op) && areNatural))
    return table.add(v[0], table.getPositivePart(difference), -1);
  return 0;
}

/// Forks on the remainder of a value from outside of loops, where the remainder
/// of its sum with induction variables is asked for: (n - 1 - i) % 2 is known
/// where n % 2 and i % 2 are.
Expr ScalarEvaluator::splitRemainders(Path &path, Expr sum) {
  ExpressionTable &table = context.table;
  for (auto [quotient, factor] : table.getTerms(sum)) {
    ArrayRef<int64_t> name = table.getName(quotient);
    if (name[0] != AtomKind::Quotient)
      continue;
    bool isEven = factor % name[1] == 0;
    int64_t divisor =
        isEven ? name[1] : inductions.getEvenDivisor(sum).value_or(0);
    if (divisor == 0)
      continue;
    Expr outside = inductions.getOutside(path, table.getOperands(quotient)[0]);
    if (!outside)
      continue;
    conditions.splitRemainder(path, outside, divisor);
    return path.facts.resolve(table, sum);
  }
  return sum;
}

/// Uses facts about remainders in a sum; the path may fork on them. For a
/// predicate this counts for nothing: it has to be the same function in each
/// iteration.
Expr ScalarEvaluator::findRemainders(Path &path, Operation *op, Expr sum) {
  if (predicates.areEnabled() &&
      (isa<arith::CmpIOp>(op) || !context.program.isTracked(op->getResult(0))))
    return sum;
  return inductions.divideEvenly(path, splitRemainders(path, sum));
}

//===----------------------------------------------------------------------===//
// Decided results
//===----------------------------------------------------------------------===//

/// The constant that `op` computes, or 0. A dividend whose iteration is known
/// is replaced by its value.
Expr ScalarEvaluator::fold(Path &path, Operation *op,
                           MutableArrayRef<Expr> operands) {
  ExpressionTable &table = context.table;
  if (isa<CursorOp>(op))
    return table.getConstant(0);
  SmallVector<int64_t> constants;
  for (Expr operand : operands)
    if (std::optional<int64_t> value = table.getConstantValue(operand))
      constants.push_back(*value);
  if (auto advance = dyn_cast<AdvanceOp>(op);
      advance && constants.size() == 1) {
    int64_t depth = advance.getCursor().getType().getDepth();
    return table.getConstant((constants[0] + 1) % (2 * depth));
  }
  if (isDivision(op))
    if (std::optional<int64_t> exact = inductions.getExact(path, operands[0]))
      operands[0] = table.getConstant(*exact);
  if (constants.size() == operands.size())
    if (std::optional<int64_t> folded = foldIntegers(op, constants))
      return table.getConstant(*folded);
  return 0;
}

/// The value of a select: a maximum or a minimum, as of `n < 0 ? 0 : n`, or one
/// of two sums.
static Expr getChosen(ExpressionTable &table, ArrayRef<Expr> operands) {
  using Kind = ExpressionTable::Kind;
  Expr condition = operands[0], value = operands[1], other = operands[2];
  if (table.getKind(condition) == Kind::Not) {
    condition = table.getOperands(condition)[0];
    std::swap(value, other);
  }
  Expr choice = getChoice(table, condition, value, other);
  if (table.getKind(condition) != Kind::Positive)
    return choice;
  // Where s > 0 is true, s - 1 is no negative number either.
  Expr sum = table.getOperands(condition)[0];
  for (int64_t sign : {1, -1}) {
    Expr more =
        table.add(table.getConstant(0), table.add(value, other, -1), sign);
    if (more == sum || more == table.addConstant(sum, -1))
      return table.add(other, table.getPositivePart(more), sign);
  }
  return choice;
}

/// The operand that a select with a decided condition takes, or 0.
Expr ScalarEvaluator::select(Path &path, arith::SelectOp op,
                             ArrayRef<Expr> operands) {
  if (!op.getCondition().getType().isInteger(1))
    return 0;
  ExpressionTable &table = context.table;
  context.countQuestion();
  std::optional<bool> known = path.facts.decide(table, operands[0]);
  if (!known && (context.program.isTracked(op.getResult()) ||
                 (table.getConstantValue(operands[1]) &&
                  table.getConstantValue(operands[2]))))
    known = conditions.decide(path, operands[0]);
  if (known)
    return operands[*known ? 1 : 2];
  return isSum(op.getType()) ? getChosen(table, operands) : 0;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static Expr getComparison(ExpressionTable &table,
                          arith::CmpIPredicate predicate, Expr left,
                          Expr right) {
  using arith::CmpIPredicate;
  Expr difference = table.add(left, right, -1);
  Expr minus = table.add(right, left, -1);
  switch (predicate) {
  case CmpIPredicate::eq:
    return table.getZero(difference);
  case CmpIPredicate::ne:
    return table.getNot(table.getZero(difference));
  case CmpIPredicate::slt:
    return table.getPositive(minus);
  case CmpIPredicate::sle:
    return table.getPositive(table.addConstant(minus, 1));
  case CmpIPredicate::sgt:
    return table.getPositive(difference);
  case CmpIPredicate::sge:
    return table.getPositive(table.addConstant(difference, 1));
  default:
    return 0;
  }
}

/// The sum that a conversion between integers computes, if that is its operand.
/// An extension without sign, and a conversion to a narrow type, may change the
/// value: 0 stands for those.
static Expr getConverted(ExpressionTable &table, const PathFacts &facts,
                         Operation *op, Expr value) {
  using namespace arith;
  Type result = op->getResult(0).getType();
  if (isa<ExtSIOp>(op))
    return value;
  if (!isWide(result))
    return 0;
  if (isa<IndexCastOp, TruncIOp>(op))
    return value;
  if (isa<IndexCastUIOp, ExtUIOp>(op) &&
      facts.getInterval(table, value).low >= 0)
    return value;
  return 0;
}

/// The sum or condition that `op` computes; 0 for other operations.
static Expr getArithmetic(ExpressionTable &table, const PathFacts &facts,
                          Operation *op, ArrayRef<Expr> v) {
  using namespace arith;
  bool ofSums = op->getNumOperands() > 0 && isSum(op->getOperand(0).getType());
  if (auto cmp = dyn_cast<CmpIOp>(op); cmp && ofSums)
    return getComparison(table, cmp.getPredicate(), v[0], v[1]);
  bool isExact = ofSums && isWide(op->getOperand(0).getType());
  if (isa<AddIOp, SubIOp>(op) && isExact)
    return table.add(v[0], v[1], isa<SubIOp>(op) ? -1 : 1);
  if (isa<MulIOp>(op) && isExact)
    return table.getProduct(v[0], v[1]);
  if (ofSums && op->getNumOperands() == 2) {
    if (Expr divided = getDivided(table, facts, op, v))
      return divided;
    if (Expr extreme = getExtreme(table, op, v))
      return extreme;
  }
  if (ofSums && isa<CastOpInterface>(op) && isSum(op->getResult(0).getType()))
    if (Expr converted = getConverted(table, facts, op, v[0]))
      return converted;
  if (isa<AndIOp, OrIOp>(op) && !ofSums &&
      op->getResult(0).getType().isInteger(1))
    return table.getBoth(v[0], v[1], isa<AndIOp>(op));
  if (isa<XOrIOp>(op) && op->getResult(0).getType().isInteger(1))
    for (auto [a, b] : {std::pair(v[0], v[1]), std::pair(v[1], v[0])})
      if (std::optional<int64_t> value = table.getConstantValue(b))
        return *value ? table.getNot(a) : a;
  if (isa<ConvertLayoutOp>(op))
    return v[0];
  return 0;
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

/// Whether threads may get different results from equal operands. Operations of
/// unknown dialects, such as reads of special registers, may give them that.
/// Each thread makes an atomic update of its own, and gets the value before it.
static bool mayDifferByThread(Operation *op) {
  if (isa<memref::AtomicRMWOp, memref::GenericAtomicRMWOp>(op))
    return true;
  if (isa<gpu::GPUDialect>(op->getDialect()))
    return !isa<gpu::BlockIdOp, gpu::GridDimOp, gpu::BlockDimOp,
                gpu::ClusterIdOp, gpu::ClusterDimOp, gpu::ClusterBlockIdOp,
                gpu::ClusterDimBlocksOp, gpu::NumSubgroupsOp,
                gpu::SubgroupSizeOp>(op);
  static constexpr StringRef kUniform[] = {
      "affine", "arith",  "builtin", "index", "math",
      "memref", "tensor", "tile",    "ub",    "vector"};
  return !llvm::is_contained(kUniform, op->getName().getDialectNamespace());
}

/// The operands of an identity. For a read of what `copy` brought these are the
/// memory that it copied from, and the indices there.
SmallVector<Expr> ScalarEvaluator::getOperands(const Path &path,
                                               ArrayRef<OpFoldResult> operands,
                                               CopyOp copy) const {
  auto getExpr = [&](OpFoldResult operand) {
    auto value = dyn_cast<Value>(operand);
    return value ? values.get(path, value)
                 : context.table.getConstant(*getConstantIntValue(operand));
  };
  if (!copy)
    return llvm::map_to_vector(operands, getExpr);
  ArrayRef<OpFoldResult> indices = operands.drop_front();
  SmallVector<Expr> place = {values.get(path, copy.getSource())};
  for (auto [offset, dim] :
       llvm::zip_equal(copy.getSourceRegion().offsets, getDestDims(copy))) {
    place.push_back(getExpr(offset));
    if (dim)
      place.back() = context.table.add(place.back(), getExpr(indices[*dim]));
  }
  return place;
}

/// The atom of a result that its operation's operands determine; a read of what
/// `copy` brought is determined by the copy and where it copied from.
Expr ScalarEvaluator::getPureAtom(const Path &path, OpResult result,
                                  CopyOp copy) const {
  Operation *op = result.getOwner();
  Identity identity = getIdentity(result);
  // An element in both memories is one value.
  bool isElement = copy && isa<memref::LoadOp>(op);
  SmallVector<Expr> operands =
      getOperands(path, identity.operands, isElement ? copy : CopyOp());
  if (copy && !isElement) {
    llvm::append_range(operands, values.getAll(path, copy.getSourceOffsets()));
    identity.words.push_back(reinterpret_cast<int64_t>(copy.getOperation()));
  }
  if (mayDifferByThread(op))
    operands.push_back(values.getThread());
  // Equal sums of two widths are different numbers without sign.
  for (Type type : op->getOperandTypes())
    if (isa<arith::ArithDialect>(op->getDialect()) && type.isInteger())
      identity.words.push_back(type.getIntOrFloatBitWidth());
  if (unsigned epoch = context.program.getEpoch(op).value_or(0))
    identity.words.push_back(epoch);
  identity.words.insert(identity.words.begin(), isa<memref::LoadOp, LoadOp>(op)
                                                    ? AtomKind::Element
                                                    : AtomKind::PureResult);
  return context.table.getAtom(identity.words, operands,
                               /*isVariable=*/false,
                               /*isNatural=*/isa<memref::DimOp>(op));
}

/// The extent of an argument, with what is promised about it; 0 for others.
Expr ScalarEvaluator::getExtent(Operation *op) const {
  const ExtentPremises::Extent *extent = context.program.getExtents().find(op);
  if (!extent)
    return 0;
  if (extent->constant)
    return context.table.getConstant(*extent->constant);
  auto [memory, dim] = extent->dimensions.front();
  Expr atom = context.table.getAtom(
      {AtomKind::Extent, reinterpret_cast<int64_t>(memory.getAsOpaquePointer()),
       dim},
      {}, /*isVariable=*/false, /*isNatural=*/true);
  return context.table.add(context.table.getConstant(0),
                           context.table.getInteger(atom), extent->divisor);
}

/// Sets a result to an atom: of the operation and its operands, or a variable.
void ScalarEvaluator::nameResult(Path &path, OpResult result,
                                 ArrayRef<Expr> operands) {
  Operation *op = result.getOwner();
  CopyOp copy = context.program.getCopyOf(op);
  bool isDetermined =
      op->getNumRegions() == 0 &&
      (isMemoryEffectFree(op) || copy || context.program.getEpoch(op));
  Expr atom;
  if (isDetermined) {
    atom = getPureAtom(path, result, copy);
  } else {
    Expr thread = values.getThread();
    bool differs =
        mayDifferByThread(op) || llvm::any_of(operands, [&](Expr operand) {
          return context.table.mentions(operand, thread);
        });
    atom = context.table.getAtom({AtomKind::OpaqueResult,
                                  reinterpret_cast<int64_t>(op),
                                  int64_t(result.getResultNumber())},
                                 differs ? ArrayRef(thread) : ArrayRef<Expr>(),
                                 /*isVariable=*/true);
    path.facts.forget(context.table, atom);
    LDBG() << op->getName() << " may differ each time: it becomes a variable";
  }
  Expr value = isSum(result.getType()) ? context.table.getInteger(atom) : atom;
  value = path.facts.resolve(context.table, value);
  // A fact, unlike a bound for all values, moves with induction variables.
  if (isa<gpu::BlockIdOp, gpu::GridDimOp>(op) &&
      !context.table.getConstantValue(value))
    path.facts.setInterval(context.table, value,
                           {isa<gpu::GridDimOp>(op), INT64_MAX});
  values.set(path, result, value);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// If `op` asks whether x % d, rounded to zero, is 0: x minus d times the
/// quotient that is rounded down, which is 0 for the same x; 0 otherwise.
Expr ScalarEvaluator::getComparedRemainder(const Path &path,
                                           Operation *op) const {
  auto cmp = dyn_cast<arith::CmpIOp>(op);
  if (!cmp || !isWide(cmp.getLhs().getType()) ||
      !matchPattern(cmp.getRhs(), m_Zero()) ||
      (cmp.getPredicate() != arith::CmpIPredicate::eq &&
       cmp.getPredicate() != arith::CmpIPredicate::ne))
    return 0;
  auto remainder = cmp.getLhs().getDefiningOp<arith::RemSIOp>();
  IntegerAttr divisor;
  if (!remainder || !matchPattern(remainder.getRhs(), m_Constant(&divisor)) ||
      !divisor.getValue().isStrictlyPositive() ||
      !divisor.getValue().isSignedIntN(32))
    return 0;
  Expr dividend = values.get(path, remainder.getLhs());
  return context.table.add(
      dividend, context.table.getQuotient(dividend, divisor.getInt()),
      -divisor.getInt());
}

bool ScalarEvaluator::evaluate(Path &path, Operation *op) {
  if (llvm::none_of(op->getResults(), [&](Value result) {
        return context.program.getNumber(result) >= 0;
      }))
    return true;
  IntegerAttr constant;
  if (matchPattern(op, m_Constant(&constant))) {
    values.set(path, op->getResult(0),
               context.table.getConstant(getNumber(constant.getValue())));
    return true;
  }
  SmallVector<Expr> operands = values.getAll(path, op->getOperands());
  if (Expr remainder = getComparedRemainder(path, op))
    operands[0] = findRemainders(path, op, remainder);
  if (context.startsOver())
    return false;
  Expr result = fold(path, op, operands);
  if (!result)
    result = getExtent(op);
  if (auto choice = dyn_cast<arith::SelectOp>(op); choice && !result)
    result = select(path, choice, operands);
  if (context.startsOver())
    return false;
  if (result) {
    values.set(path, op->getResult(0), result);
    return true;
  }
  if (Expr sum = getArithmetic(context.table, path.facts, op, operands)) {
    if (isSum(op->getResult(0).getType()))
      sum = findRemainders(path, op, sum);
    else if (isa<arith::CmpIOp>(op))
      sum = predicates.get(path, op, sum);
    if (context.startsOver())
      return false;
    values.set(path, op->getResult(0), sum);
    return true;
  }
  for (OpResult result : op->getResults())
    nameResult(path, result, operands);
  return true;
}
