//===- OverlapProducts.cpp - Matmuls and arithmetic at the same time ------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An iteration of an attention loop is a matmul, arithmetic on its result, and
// a second matmul on the result of that. Each needs the one before, so the
// tensor cores and the other units of a warpgroup are never busy at the same
// time. The loop is therefore rotated: the late part of an iteration runs
// together with the early part of the next one (Shah et al.,
// "FlashAttention-3", section 3.2).
//
//   for i { s = gemm q, k[i]; p = exp s; o += gemm p, v[i] }
//     -> s = gemm q, k[0]; p = exp s                    ; early part
//        for i = 1.. {
//          s = gemm q, k[i] {async}                     ; early
//          o += gemm p, v[i-1] {async}                  ; late
//          gemm_wait s; p' = exp s                      ; overlaps with o
//          gemm_wait o; p = p' }
//        o += gemm p, v[n-1]                            ; late part
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/SlotAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_OVERLAPPRODUCTSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-overlap-products"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops rotated");

/// Whether `op` is a wgmma that is waited for at once, so that it can be made
/// asynchronous.
static bool isWgmma(GemmOp op) {
  return hasInst(op, InstKind::Wgmma) && !op.getAsync();
}

namespace {
/// A loop whose body is split into an early and a late part. In the example
/// above the late part is the second matmul with its wait and release; it
/// carries `p` from the early part of the iteration.
class Rotation {
public:
  explicit Rotation(scf::ForOp loop) : loop(loop), body(*loop.getBody()) {}

  /// Splits the body. Returns whether the loop has two matmuls to overlap, and
  /// may be rotated.
  bool find();
  /// Replaces the loop by the rotated one, if `find` succeeded.
  void rewrite(RewriterBase &rewriter);

private:
  bool findMatmuls();
  bool isLate(Value value);
  bool usesLate(Operation &op);
  void addChannel(GemmOp gemm);
  void closeLate();
  void sinkIntoLate();
  bool mayReorder();
  bool splitLate();
  bool fitsRegisters();
  void findCarried();

  void cloneEarly(OpBuilder &b, IRMapping &mapping, bool afterMatmul);
  SmallVector<Value> getYielded(const IRMapping &early, const IRMapping &late);
  scf::ForOp createLoop(OpBuilder &b, const IRMapping &prologue);
  void createIteration(OpBuilder &b, scf::ForOp rotated);
  SmallVector<Value> createEpilogue(OpBuilder &b, ValueRange results);

  scf::ForOp loop;
  Block &body;
  /// The early matmul, and those of the late part.
  GemmOp first;
  SmallVector<GemmOp> second;
  /// The operations, carried values and channels of the late part.
  llvm::SmallPtrSet<Operation *, 16> late;
  llvm::SmallPtrSet<Value, 4> lateArgs;
  llvm::SmallPtrSet<Operation *, 2> lateChannels;
  /// The late operations before and after the wait for the late matmuls.
  SmallVector<Operation *> before, after;
  /// Values of the early part that the late part uses, one iteration later.
  llvm::SetVector<Value> carried;
};
} // namespace

//===----------------------------------------------------------------------===//
// Early and late
//===----------------------------------------------------------------------===//

/// Finds a matmul that starts from zero, with its left operand in shared
/// memory, and later ones whose left operand is computed from its result.
bool Rotation::findMatmuls() {
  llvm::SmallPtrSet<Operation *, 16> following;
  for (Operation &op : body.without_terminator()) {
    auto gemm = dyn_cast<GemmOp>(op);
    bool follows = llvm::any_of(op.getOperands(), [&](Value operand) {
      return following.contains(operand.getDefiningOp());
    });
    if (!gemm) {
      // An operation uses what the operations in its regions use.
      op.walk([&](Operation *inner) {
        follows |= llvm::any_of(inner->getOperands(), [&](Value operand) {
          return following.contains(operand.getDefiningOp());
        });
      });
    } else if (!isWgmma(gemm)) {
      return false;
    } else if (!first) {
      if (!gemm.getClearAccumulator() || !isShared(gemm.getLhs()))
        return false;
      first = gemm;
      follows = true;
    } else {
      if (isShared(gemm.getLhs()) ||
          !following.contains(gemm.getLhs().getDefiningOp()))
        return false;
      second.push_back(gemm);
    }
    if (follows)
      following.insert(&op);
  }
  return !second.empty();
}

bool Rotation::isLate(Value value) {
  if (Operation *op = value.getDefiningOp())
    return late.contains(op);
  return lateArgs.contains(value);
}

/// Whether `op` or an operation in it uses a late value or a channel of the
/// late part.
bool Rotation::usesLate(Operation &op) {
  return op
      .walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (isLate(operand) || lateChannels.contains(operand.getDefiningOp()))
            return WalkResult::interrupt();
        if (auto slot = dyn_cast<SlotOp>(inner))
          for (Operation *user : slot.getSource().getUsers())
            if (lateChannels.contains(user))
              return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Makes late the channel whose slot a late matmul reads, and the cursor of
/// that slot: the wait and the advance go with the matmul.
void Rotation::addChannel(GemmOp gemm) {
  SlotOp slot = getViewedSlot(gemm.getRhs());
  if (!slot || slot->getBlock() != &body)
    return;
  for (Operation *user : slot.getSource().getUsers())
    if (isa<ChannelOp>(user))
      lateChannels.insert(user);
  Value cursor = slot.getCursor();
  while (auto advance = cursor.getDefiningOp<AdvanceOp>()) {
    late.insert(advance);
    cursor = advance.getCursor();
  }
  if (auto argument = dyn_cast<BlockArgument>(cursor);
      argument && argument.getOwner() == &body)
    lateArgs.insert(argument);
}

/// Adds to the late part everything that uses one of its results, to a
/// fixpoint.
void Rotation::closeLate() {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : body.without_terminator())
      if (!late.contains(&op) && usesLate(op)) {
        late.insert(&op);
        changed = true;
      }
    for (auto [argument, yielded] :
         llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
      if (isLate(yielded))
        changed |= lateArgs.insert(argument).second;
  }
}

/// Moves operations that only the late part uses to the late part, unless their
/// operands have more bits than their results: the operands would be carried
/// instead.
void Rotation::sinkIntoLate() {
  auto getBits = [](Value value) -> int64_t {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getNumElements() * getStorageBits(type.getElementType())
                : 64;
  };
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (late.contains(&op) || !isMemoryEffectFree(&op) || op.use_empty() ||
        op.getNumRegions() != 0)
      continue;
    bool onlyLate = llvm::all_of(op.getUsers(), [&](Operation *user) {
      return late.contains(body.findAncestorOpInBlock(*user));
    });
    int64_t results = 0, operands = 0;
    for (Value result : op.getResults())
      results += getBits(result);
    for (Value operand : op.getOperands())
      if (!loop.isDefinedOutsideOfLoop(operand))
        operands += getBits(operand);
    if (onlyLate && operands <= results)
      late.insert(&op);
  }
}

/// Whether the late part of an iteration may run after the early part of the
/// next one. Only waits, releases and matmuls may have effects, and a carried
/// value may not be late at its use and early at its definition.
bool Rotation::mayReorder() {
  for (Operation &op : body.without_terminator())
    if (!isa<WaitOp, ReleaseOp, GemmOp>(op) && !isMemoryEffectFree(&op))
      return false;
  for (auto [argument, yielded] :
       llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (lateArgs.contains(argument) && !isLate(yielded))
      return false;
  // The arithmetic between the matmuls must be early.
  return !late.contains(first) && llvm::none_of(second, [&](GemmOp gemm) {
    return isLate(gemm.getLhs());
  });
}

/// Splits the late part where its matmuls have to be complete: at the first use
/// of a result, or at the first release.
bool Rotation::splitLate() {
  for (Operation &op : body.without_terminator()) {
    if (!late.contains(&op))
      continue;
    bool ends = isa<ReleaseOp>(op);
    for (GemmOp gemm : second)
      ends |= llvm::is_contained(gemm.getResult().getUsers(), &op);
    if (ends || !after.empty())
      after.push_back(&op);
    else
      before.push_back(&op);
  }
  return llvm::all_of(second, [&](GemmOp gemm) {
    return llvm::is_contained(before, gemm.getOperation());
  });
}

/// Finds the values that the late part uses from the early part.
void Rotation::findCarried() {
  auto add = [&](Value value) {
    bool inLoop = value.getParentRegion() == &loop.getRegion();
    if (inLoop && !isLate(value))
      carried.insert(value);
  };
  for (Operation &op : body.without_terminator())
    if (late.contains(&op))
      op.walk(
          [&](Operation *inner) { llvm::for_each(inner->getOperands(), add); });
}

/// Whether the registers of a thread suffice for both parts at the same time.
bool Rotation::fitsRegisters() {
  auto role = loop->getParentOfType<RoleOp>();
  RegisterPressure pressure(role.getNumThreads());
  int64_t added = 0;
  for (Value value : carried)
    added += pressure.count(value);
  int64_t need = pressure.findPeak(loop.getRegion()) + added;
  int64_t limit = getDonatedLimit(role.getWarps()) - kOtherRegisters;
  LDBG() << "loop at " << loop.getLoc() << ": both parts need " << need
         << " registers for fragments, the limit is " << limit;
  return need <= limit;
}

bool Rotation::find() {
  if (loop.getUnsignedCmp() || !findMatmuls())
    return false;
  for (GemmOp gemm : second) {
    late.insert(gemm);
    addChannel(gemm);
  }
  closeLate();
  if (!mayReorder()) {
    LDBG() << "loop at " << loop.getLoc()
           << " has two matmuls, but its parts may not be reordered";
    return false;
  }
  sinkIntoLate();
  findCarried();
  return splitLate() && fitsRegisters();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Clones the early operations after the first matmul, or else the matmul and
/// those before it.
void Rotation::cloneEarly(OpBuilder &b, IRMapping &mapping, bool afterMatmul) {
  for (Operation &op : body.without_terminator())
    if (!late.contains(&op) && (afterMatmul == first->isBeforeInBlock(&op)))
      b.clone(op, mapping);
}

/// Returns what the rotated loop yields: the values of the original loop, then
/// those that the late part needs from the early part.
SmallVector<Value> Rotation::getYielded(const IRMapping &early,
                                        const IRMapping &lateMapping) {
  SmallVector<Value> values;
  for (Value value : loop.getYieldedValues())
    values.push_back(
        (isLate(value) ? lateMapping : early).lookupOrDefault(value));
  for (Value value : carried)
    values.push_back(early.lookup(value));
  return values;
}

/// Creates the rotated loop, with an empty body. It starts one iteration later;
/// `prologue` maps the values of the early part of the first iteration.
scf::ForOp Rotation::createLoop(OpBuilder &b, const IRMapping &prologue) {
  Location loc = loop.getLoc();
  IRMapping none;
  SmallVector<Value> inits = getYielded(prologue, none);
  // No late part has run yet.
  for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (lateArgs.contains(argument))
      inits[i] = loop.getInitArgs()[i];
  Value start =
      arith::AddIOp::create(b, loc, loop.getLowerBound(), loop.getStep());
  auto rotated = scf::ForOp::create(b, loc, start, loop.getUpperBound(),
                                    loop.getStep(), inits);
  rotated->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  return rotated;
}

/// Maps the arguments of the loop and the `carried` values, as the late part
/// sees them, to `values` of the rotated loop.
static void mapLate(IRMapping &mapping, Block::BlockArgListType arguments,
                    ArrayRef<Value> carried, ValueRange values) {
  mapping.map(arguments, values.take_front(arguments.size()));
  mapping.map(carried, values.drop_front(arguments.size()));
}

/// Fills the body of the rotated loop: the early part of this iteration and the
/// late part of the previous one.
void Rotation::createIteration(OpBuilder &b, scf::ForOp rotated) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(rotated.getBody());
  ValueRange arguments = rotated.getRegionIterArgs();
  IRMapping early, lateMapping;
  early.map(loop.getInductionVar(), rotated.getInductionVar());
  early.map(loop.getRegionIterArgs(),
            arguments.take_front(loop.getNumRegionIterArgs()));
  mapLate(lateMapping, loop.getRegionIterArgs(), carried.getArrayRef(),
          arguments);

  auto start = [&](GemmOp gemm, const IRMapping &mapping) {
    auto clone = mapping.lookup(gemm.getResult()).getDefiningOp<GemmOp>();
    clone.setAsync(true);
    return clone;
  };
  cloneEarly(b, early, /*afterMatmul=*/false);
  GemmOp started = start(first, early);
  for (Operation *op : before)
    b.clone(*op, lateMapping);
  auto firstDone =
      GemmWaitOp::create(b, first.getLoc(), started.getResult().getType(),
                         started.getResult(), second.size());
  early.map(first.getResult(), firstDone.getResult(0));
  cloneEarly(b, early, /*afterMatmul=*/true);

  // The wait also takes the left operands. They are in registers, which must
  // keep their values until the matmuls have read them.
  SmallVector<Value> running;
  for (GemmOp gemm : second)
    running.push_back(start(gemm, lateMapping).getResult());
  for (GemmOp gemm : second)
    if (Value lhs = lateMapping.lookupOrDefault(gemm.getLhs());
        !llvm::is_contained(running, lhs))
      running.push_back(lhs);
  auto done = GemmWaitOp::create(b, second.back().getLoc(),
                                 TypeRange(ValueRange(running)), running,
                                 /*pending=*/0);
  for (auto [gemm, result] : llvm::zip(second, done.getResults()))
    lateMapping.map(gemm.getResult(), result);
  for (Operation *op : after)
    b.clone(*op, lateMapping);
  scf::YieldOp::create(b, loop.getLoc(), getYielded(early, lateMapping));
}

/// Creates the late part of the last iteration. Returns the results of the
/// original loop.
SmallVector<Value> Rotation::createEpilogue(OpBuilder &b, ValueRange results) {
  IRMapping mapping;
  mapLate(mapping, loop.getRegionIterArgs(), carried.getArrayRef(), results);
  for (Operation *op : before)
    b.clone(*op, mapping);
  for (Operation *op : after)
    b.clone(*op, mapping);
  SmallVector<Value> values(results.take_front(loop.getNumResults()));
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
    if (isLate(yielded))
      values[i] = mapping.lookup(yielded);
  return values;
}

// A loop without iterations must have no prologue either: an `scf.if` around
// all of it returns the initial values then.
void Rotation::rewrite(RewriterBase &rewriter) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  Value any = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::slt,
                                    loop.getLowerBound(), loop.getUpperBound());
  auto create = [&](OpBuilder &b, Location loc) {
    IRMapping prologue;
    prologue.map(loop.getInductionVar(), loop.getLowerBound());
    prologue.map(loop.getRegionIterArgs(), loop.getInitArgs());
    cloneEarly(b, prologue, /*afterMatmul=*/false);
    cloneEarly(b, prologue, /*afterMatmul=*/true);
    scf::ForOp rotated = createLoop(b, prologue);
    createIteration(b, rotated);
    scf::YieldOp::create(b, loc, createEpilogue(b, rotated.getResults()));
  };
  auto guarded = scf::IfOp::create(
      rewriter, loc, any, create, [&](OpBuilder &b, Location loc) {
        scf::YieldOp::create(b, loc, loop.getInitArgs());
      });
  rewriter.replaceOp(loop, guarded.getResults());
}

void tile::overlapProducts(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->getParentOfType<RoleOp>())
      loops.push_back(loop);
  });
  IRRewriter rewriter(kernel.getContext());
  for (scf::ForOp loop : loops)
    if (Rotation rotation(loop); rotation.find()) {
      LDBG() << "loop at " << loop.getLoc() << " is rotated";
      rotation.rewrite(rewriter);
      ++numLoops;
    }
}

namespace {
struct OverlapProductsPass
    : tile::impl::OverlapProductsPassBase<OverlapProductsPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { overlapProducts(kernel); });
  }
};
} // namespace
