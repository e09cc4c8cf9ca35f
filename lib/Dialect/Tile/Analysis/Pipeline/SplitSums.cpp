//===- SplitSums.cpp - Checks whether blocks can share a loop -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Three conditions make a loop divisible among blocks. First, each carried
// value starts at zero and each iteration only adds to it: a chain of additions
// and matmuls leads from the carried value to the yielded one, and nothing else
// uses its links. Second, the results only flow into atomic additions to global
// memory, possibly scaled. Third, iterations do not exchange data through
// memory, and repeating the rest of the kernel in every block has no visible
// effect.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/SplitSums.h"
#include "tilews/Dialect/Tile/Analysis/SliceSolver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// A carried value, and the chain of additions to it in an iteration. In
///
/// ```mlir
/// scf.for ... iter_args(%c = %zero) {
///   %d = tile.gemm %a, %b, %c
///   %e = arith.addf %x, %d
///   scf.yield %e
/// ```
///
/// the values are %c, %d and %e, and their uses as accumulator, as right
/// operand and in the yield are the links.
class Sum {
public:
  explicit Sum(Value begin) : begin(begin) {}

  /// Returns whether `end` is the value plus something, and nothing uses the
  /// value or an intermediate sum except the next link of the chain.
  bool reaches(OpOperand &end) {
    if (!isSum(end.get()))
      return false;
    collect(end);
    return llvm::all_of(values, [&](Value value) {
      return llvm::all_of(value.getUses(),
                          [&](OpOperand &use) { return links.contains(&use); });
    });
  }

private:
  /// The operands that may add to the chain: one of them has to be a sum for an
  /// addition, all of them for a guard.
  struct Terms {
    SmallVector<OpOperand *, 2> operands;
    bool areAllSums = false;
  };

  Terms getTerms(Value value) const;
  bool isSum(Value value);
  void collect(OpOperand &end);

  Value begin;
  /// Whether a value is `begin` plus something.
  llvm::MapVector<Value, bool> sums;
  llvm::SmallSetVector<Value, 8> values;
  llvm::SmallPtrSet<OpOperand *, 8> links;
};
} // namespace

Sum::Terms Sum::getTerms(Value value) const {
  Operation *op = value.getDefiningOp();
  if (value == begin || !op)
    return {};
  if (auto matmul = dyn_cast<MatmulOpInterface>(op)) {
    if (matmul.getClearAccumulator())
      return {};
    return {{&matmul.getAccMutable()}};
  }
  if (isa<arith::AddFOp, arith::AddIOp>(op))
    return {{&op->getOpOperand(0), &op->getOpOperand(1)}};
  auto guard = dyn_cast<scf::IfOp>(op);
  if (!guard)
    return {};
  unsigned number = cast<OpResult>(value).getResultNumber();
  return {{&guard.thenYield()->getOpOperand(number),
           &guard.elseYield()->getOpOperand(number)},
          /*areAllSums=*/true};
}

/// Returns whether `root` is `begin` plus something. The solver decides about
/// each value once, without recursion: chains can be long, and a value may be
/// reached on many paths.
bool Sum::isSum(Value root) {
  SliceSolver<bool> solver(sums);
  solver.solve(root, [&](Value value, bool) {
    Terms terms = getTerms(value);
    auto isTermSum = [&](OpOperand *term) { return solver.read(term->get()); };
    if (terms.areAllSums)
      return llvm::all_of(terms.operands, isTermSum);
    return value == begin || llvm::any_of(terms.operands, isTermSum);
  });
  return sums.lookup(root);
}

/// Collects the values and the links of the chain that ends at `end`. It goes
/// through the first operand of an addition that is a sum.
void Sum::collect(OpOperand &end) {
  SmallVector<OpOperand *> pending = {&end};
  while (!pending.empty()) {
    OpOperand *link = pending.pop_back_val();
    links.insert(link);
    if (!values.insert(link->get()))
      continue;
    Terms terms = getTerms(link->get());
    for (OpOperand *term : terms.operands)
      if (sums.lookup(term->get())) {
        pending.push_back(term);
        if (!terms.areAllSums)
          break;
      }
  }
}

static bool isZero(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

/// Checks that every carried value starts at zero and is only added to.
static MaybeRefusal checkSums(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    Sum sum(argument);
    if (!sum.reaches(yield->getOpOperand(i)))
      return Refusal{loop, 1, "a carried value is not only added to"};
    if (!isZero(loop.getInitArgs()[i]))
      return Refusal{loop, 1, "a sum does not start at zero"};
  }
  return std::nullopt;
}

/// Checks that the results only flow into atomic additions, possibly scaled,
/// and inserts these into `additions`.
static MaybeRefusal
checkResults(scf::ForOp loop, llvm::SmallPtrSetImpl<Operation *> &additions) {
  SmallVector<Value> parts(loop.getResults());
  for (size_t i = 0; i < parts.size(); ++i)
    for (OpOperand &use : parts[i].getUses()) {
      Operation *user = use.getOwner();
      auto atomic = dyn_cast<AtomicRMWOp>(user);
      if (atomic && atomic.getKind() == AtomicKind::Add &&
          atomic.getOrder() == MemoryOrder::Relaxed &&
          (!atomic.getOld() || atomic.getOld().use_empty()) &&
          &use == &atomic.getValueMutable() && !isShared(atomic.getDest())) {
        additions.insert(user);
        continue;
      }
      auto scale = dyn_cast<arith::MulFOp>(user);
      if (!scale || llvm::is_contained(
                        parts, user->getOperand(1 - use.getOperandNumber())))
        return Refusal{user, 1,
                       "blocks have only a part of the sum here; expected "
                       "'tile.atomic_rmw <add>' to global memory"};
      parts.push_back(scale);
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Returns whether the accesses of `op` are all of its effects.
static bool hasKnownEffects(Operation *op) {
  return isMemoryEffectFree(op) ||
         op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
         isa<AccessOpInterface, AllocSharedOp, memref::LoadOp, memref::StoreOp>(
             op);
}

/// Checks that iterations do not depend on each other through memory: what one
/// reads of shared memory it has written itself, or no iteration writes it.
MaybeRefusal SplitChecker::checkIterations(scf::ForOp loop) const {
  SmallVector<MemoryAccess, 0> inLoop = accesses.get(loop);
  SmallVector<const MemoryAccess *> written;
  for (const MemoryAccess &access : inLoop) {
    if (access.writes() && !access.shared)
      return Refusal{access.op, 1, "the loop writes to global memory"};
    if (access.reads() && access.shared) {
      SmallVector<Write> before;
      for (const MemoryAccess *write : written)
        if (write->op->getBlock()->findAncestorOpInBlock(*access.op))
          before.push_back({write, write->op});
      bool changes = llvm::any_of(inLoop, [&](const MemoryAccess &other) {
        return other.writes() && other.mayAlias(access);
      });
      if (changes && (access.roots.size() != 1 ||
                      !isCovered(*access.roots.begin(), access, before)))
        return Refusal{access.op, 1,
                       "one iteration may read what another wrote to "
                       "shared memory"};
    }
    if (access.writes() && access.shared)
      written.push_back(&access);
  }
  return std::nullopt;
}

/// Checks that repeating the rest of the kernel in every block has no effect
/// except for `additions`, and that nothing reads their sums.
MaybeRefusal SplitChecker::checkRest(
    scf::ForOp loop,
    const llvm::SmallPtrSetImpl<Operation *> &additions) const {
  SmallVector<const MemoryAccess *> added, filled;
  for (const MemoryAccess &access : all) {
    if (access.writes() && additions.contains(access.op))
      added.push_back(&access);
    if (access.writes() && loop->isAncestor(access.op))
      filled.push_back(&access);
  }
  auto isTo = [](const MemoryAccess &access, auto &writes) {
    return llvm::any_of(writes, [&](const MemoryAccess *write) {
      return write->mayAlias(access);
    });
  };
  for (const MemoryAccess &access : all) {
    if (additions.contains(access.op))
      continue;
    if (access.reads() && !access.shared && isTo(access, added))
      return Refusal{access.op, 1,
                     "an operation reads memory that the blocks add to"};
    if (loop->isAncestor(access.op))
      continue;
    if (access.writes() && !access.shared &&
        loop->getBlock()->findAncestorOpInBlock(*access.op))
      return Refusal{access.op, 1, "each of the blocks would do this"};
    if (access.reads() && access.shared && isTo(access, filled))
      return Refusal{
          access.op, 1,
          "an operation outside of the loop reads shared memory that "
          "the loop fills"};
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

SplitChecker::SplitChecker(gpu::GPUFuncOp kernel)
    : accesses(kernel), all(accesses.get(kernel)) {}

MaybeRefusal SplitChecker::check(scf::ForOp loop) const {
  if (loop.getUnsignedCmp())
    return Refusal{loop, 1, "the induction variable is unsigned"};
  if (MaybeRefusal refusal = checkSums(loop))
    return refusal;
  llvm::SmallPtrSet<Operation *, 4> additions;
  if (MaybeRefusal refusal = checkResults(loop, additions))
    return refusal;
  Operation *unknown = nullptr;
  for (Operation &statement : loop->getBlock()->without_terminator())
    statement.walk([&](Operation *op) {
      if (!hasKnownEffects(op))
        unknown = op;
    });
  if (unknown)
    return Refusal{unknown, 1, "each of the blocks would do this"};
  if (MaybeRefusal refusal = checkIterations(loop))
    return refusal;
  return checkRest(loop, additions);
}

MaybeRefusal tile::checkSplitTiles(PersistentOp op) {
  if (!op.getInitArgs().empty())
    return Refusal{op, 1, "values are carried from tile to tile"};
  if (!isa<gpu::GPUFuncOp>(op->getParentOp()))
    return Refusal{op, 1,
                   "the loop over tiles is inside of another loop or a branch"};
  return std::nullopt;
}

LogicalResult tile::remarkUnsplit(scf::ForOp loop, const Refusal &refusal) {
  remarkAt(loop, "tile-split-0001: loop is not split: ")
          .append(refusal.reason)
          .attachNote(refusal.op->getLoc())
      << "because of this operation";
  return failure();
}

Value tile::createTripCount(OpBuilder &builder, scf::ForOp loop) {
  Location loc = loop.getLoc();
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(loop.getInductionVar().getType()));
  Value range = builder.createOrFold<arith::SubIOp>(loc, loop.getUpperBound(),
                                                    loop.getLowerBound());
  range = builder.createOrFold<arith::MaxSIOp>(loc, range, zero);
  return builder.createOrFold<arith::CeilDivUIOp>(loc, range, loop.getStep());
}

void tile::restrictIterations(RewriterBase &rewriter, scf::ForOp loop,
                              Value first, Value last) {
  Location loc = loop.getLoc();
  auto toInductionVar = [&](Value iteration) {
    return rewriter.createOrFold<arith::AddIOp>(
        loc, loop.getLowerBound(),
        rewriter.createOrFold<arith::MulIOp>(loc, iteration, loop.getStep()));
  };
  Value begin = toInductionVar(first), end = toInductionVar(last);
  rewriter.modifyOpInPlace(loop, [&] {
    loop.setLowerBound(begin);
    loop.setUpperBound(end);
  });
}
