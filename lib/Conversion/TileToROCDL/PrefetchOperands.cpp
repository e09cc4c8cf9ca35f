//===- PrefetchOperands.cpp - Operands read an iteration ahead ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In a pipelined loop of a matmul, all waves read the operands of the first
// step right after the barrier, and the matrix units have nothing to do until
// these are there. But the last step needs registers only. So the wait for the
// next tile, the barrier, and the reads of its first step go before it:
//
//   for { wait; barrier; copies; read 0; mfma 0; read 1; ...; mfma n }
//     -> wait; barrier; read 0
//        for { copies; mfma 0; read 1; ...; wait; barrier; read 0; mfma n }
//
// Waits, barriers, copies and reads keep their order: only matrix instructions
// move, and those access no memory. So the proof of the schedule, and the
// numbers that waits count, stay valid. The reads of the last iteration are of
// the tile after it, which the peeled iterations (`--tile-peel-pipelines`) wait
// for and read again.
//
// A step's operands and those of the next one are in registers at the same time
// in any case, so that a wave needs no more of them. The operands that the loop
// carries are those of the instructions, in the registers that these need.
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews {
#define GEN_PASS_DEF_PREFETCHOPERANDSPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

#define DEBUG_TYPE "tile-prefetch-operands"

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops whose first operands are read ahead");

/// The fewest steps of a matmul with which this pays: the copies have the time
/// of all steps but the last one. With two steps, `tilews cycles` says that
/// waves wait for them. So do waves that wait for all copies (two slots), if
/// global memory is slow: for 128x128x64 f16 78 % become 69 %.
static constexpr int64_t kLeastSteps = 3;

//===----------------------------------------------------------------------===//
// Operations of a loop
//===----------------------------------------------------------------------===//

static bool isMatrixInstruction(Operation *op) {
  return op->getName().getStringRef().starts_with("rocdl.mfma");
}

static bool isWait(Operation *op) {
  return isa<ROCDL::SWaitcntOp, ROCDL::SBarrierOp, LLVM::FenceOp>(op);
}

/// Whether `op` waits for all loads from global memory: vmcnt(0) of gfx9.
static bool waitsForAllLoads(Operation *op) {
  auto wait = dyn_cast<ROCDL::SWaitcntOp>(op);
  return wait && (wait.getBitfield() & 0xc00f) == 0;
}

static bool isSharedRead(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return !load.getVolatile_() &&
           cast<LLVM::LLVMPointerType>(load.getAddr().getType())
                   .getAddressSpace() ==
               ROCDL::ROCDLDialect::kSharedMemoryAddressSpace;
  return op->getName().getStringRef().starts_with("rocdl.ds.read.tr");
}

/// Whether `op` can be computed once more elsewhere.
static bool isArithmetic(Operation *op) {
  return op->getNumRegions() == 0 &&
         (isMemoryEffectFree(op) || isa<ROCDL::ReadfirstlaneOp>(op));
}

namespace {
/// The parts of a loop around one matmul.
struct MatmulLoop {
  /// The waits and the barrier at its start.
  SmallVector<Operation *> waits;
  /// The reads and the matrix instructions of the first step.
  SmallVector<Operation *> reads, first;
  /// The fence before the last step.
  Operation *lastStep = nullptr;

  static std::optional<MatmulLoop> get(scf::ForOp loop);
};
} // namespace

std::optional<MatmulLoop> MatmulLoop::get(scf::ForOp loop) {
  MatmulLoop found;
  bool hasBarrier = false, hasCopies = false, hasStarted = false;
  bool hasMultiplied = false;
  int64_t numSteps = 1;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isWait(&op)) {
      if (hasCopies || hasStarted || waitsForAllLoads(&op))
        return std::nullopt;
      found.waits.push_back(&op);
      hasBarrier |= isa<ROCDL::SBarrierOp>(op);
    } else if (isa<ROCDL::LoadToLDSOp>(op)) {
      if (hasStarted)
        return std::nullopt;
      hasCopies = true;
    } else if (auto fence = dyn_cast<ROCDL::SchedBarrier>(op)) {
      bool isStart = isMatmulStart(fence);
      if (isStart == hasStarted)
        return std::nullopt;
      hasStarted = true;
      if (!isStart) {
        found.lastStep = fence;
        ++numSteps;
      }
    } else if (isSharedRead(&op)) {
      if (!hasStarted)
        return std::nullopt;
      if (!hasMultiplied)
        found.reads.push_back(&op);
      else
        found.lastStep = nullptr;
    } else if (isMatrixInstruction(&op)) {
      hasMultiplied = true;
      if (numSteps == 1)
        found.first.push_back(&op);
    } else if (!isArithmetic(&op)) {
      LDBG() << "loop at " << loop.getLoc() << " has " << op.getName();
      return std::nullopt;
    }
  }
  if (!hasBarrier || found.reads.empty() || !found.lastStep ||
      numSteps < kLeastSteps)
    return std::nullopt;
  return found;
}

//===----------------------------------------------------------------------===//
// The change
//===----------------------------------------------------------------------===//

namespace {
using Operations = llvm::SmallPtrSet<Operation *, 32>;

/// Moves the wait and the reads of a loop to the end of the iteration before.
class OperandPrefetch {
public:
  OperandPrefetch(RewriterBase &rewriter, scf::ForOp loop,
                  const MatmulLoop &parts)
      : rewriter(rewriter), loop(loop), parts(parts) {}

  /// Whether the wait and the reads can run before the last step: the values
  /// that they need do not depend on it, or on any other operation with an
  /// effect.
  bool check();
  void run();

private:
  bool addNeeds(ValueRange values, ArrayRef<Operation *> allowed,
                Operations &needs) const;
  bool findMoved();
  void clone(const Operations &ops, IRMapping &mapping);
  SmallVector<Value> cloneAhead(IRMapping &mapping);
  SmallVector<Value> createFirst();
  scf::ForOp createLoop(ValueRange first);

  RewriterBase &rewriter;
  scf::ForOp loop;
  const MatmulLoop &parts;
  /// The operands of the first step.
  llvm::SetVector<Value> carried;
  /// The wait and the first operands with all that they need in an iteration,
  /// and what the iteration before needs for the values that it passes to them.
  Operations ahead, passed;
  /// The operations of `ahead` that leave their place.
  Operations moved;
};
} // namespace

/// Adds the arithmetic of the loop, and the operations of `allowed`, that
/// compute `values`. Returns false if these depend on something else.
bool OperandPrefetch::addNeeds(ValueRange values, ArrayRef<Operation *> allowed,
                               Operations &needs) const {
  Block *body = scf::ForOp(loop).getBody();
  SmallVector<Value> pending(values);
  while (!pending.empty()) {
    Operation *def = pending.pop_back_val().getDefiningOp();
    if (!def || def->getBlock() != body)
      continue;
    if (!llvm::is_contained(allowed, def) &&
        (!isArithmetic(def) || isMatrixInstruction(def)))
      return false;
    if (needs.insert(def).second)
      llvm::append_range(pending, def->getOperands());
  }
  return true;
}

bool OperandPrefetch::check() {
  for (Operation *op : parts.first)
    for (Value operand : op->getOperands()) {
      Operations needs;
      if (!addNeeds(operand, parts.reads, needs))
        return false;
      if (llvm::any_of(parts.reads,
                       [&](Operation *read) { return needs.contains(read); })) {
        carried.insert(operand);
        ahead.insert_range(needs);
      }
    }
  for (Operation *op : parts.waits) {
    if (!addNeeds(op->getOperands(), /*allowed=*/{}, ahead))
      return false;
    ahead.insert(op);
  }
  for (auto [arg, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    if (llvm::any_of(arg.getUsers(),
                     [&](Operation *user) { return ahead.contains(user); }) &&
        !addNeeds(yielded, /*allowed=*/{}, passed))
      return false;
  return findMoved();
}

/// Finds the operations of the iteration that need a read or are one. Returns
/// false if something else than a matrix instruction uses their results.
bool OperandPrefetch::findMoved() {
  moved.insert_range(parts.waits);
  moved.insert_range(parts.reads);
  for (Operation &op : *loop.getBody())
    if (ahead.contains(&op) &&
        llvm::any_of(op.getOperands(), [&](Value operand) {
          return moved.contains(operand.getDefiningOp());
        }))
      moved.insert(&op);
  return llvm::all_of(moved, [&](Operation *op) {
    return llvm::all_of(op->getUses(), [&](OpOperand &use) {
      return carried.contains(use.get()) || moved.contains(use.getOwner());
    });
  });
}

/// Clones those of `ops` that have no clone yet, in their order.
void OperandPrefetch::clone(const Operations &ops, IRMapping &mapping) {
  for (Operation &op : *loop.getBody())
    if (ops.contains(&op) && !mapping.contains(&op))
      rewriter.clone(op, mapping);
}

/// Creates the wait and the operands of the first iteration, if there is one.
/// Returns these operands.
SmallVector<Value> OperandPrefetch::createFirst() {
  Location loc = loop.getLoc();
  auto predicate = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                         : arith::CmpIPredicate::slt;
  Value any = arith::CmpIOp::create(rewriter, loc, predicate,
                                    loop.getLowerBound(), loop.getUpperBound());
  auto types = llvm::to_vector(ValueRange(carried.getArrayRef()).getTypes());
  auto branch = scf::IfOp::create(rewriter, loc, types, any,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), loop.getLowerBound());
  mapping.map(loop.getRegionIterArgs(), loop.getInitArgs());
  clone(ahead, mapping);
  SmallVector<Value> values;
  for (Value operand : carried)
    values.push_back(mapping.lookup(operand));
  scf::YieldOp::create(rewriter, loc, values);
  rewriter.setInsertionPointToStart(branch.elseBlock());
  values.clear();
  for (Type type : types)
    values.push_back(LLVM::ZeroOp::create(rewriter, loc, type));
  scf::YieldOp::create(rewriter, loc, values);
  return llvm::to_vector_of<Value>(branch.getResults());
}

/// Clones the wait and the operands for the iteration after the one of
/// `mapping`. Returns these operands.
SmallVector<Value> OperandPrefetch::cloneAhead(IRMapping &mapping) {
  clone(passed, mapping);
  IRMapping next;
  Value variable = mapping.lookup(loop.getInductionVar());
  next.map(
      loop.getInductionVar(),
      arith::AddIOp::create(rewriter, loop.getLoc(), variable, loop.getStep()));
  for (auto [arg, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()))
    next.map(arg, mapping.lookupOrDefault(yielded));
  clone(ahead, next);
  SmallVector<Value> values;
  for (Value operand : carried)
    values.push_back(next.lookup(operand));
  return values;
}

/// Creates the loop that starts with the operands `first`.
scf::ForOp OperandPrefetch::createLoop(ValueRange first) {
  SmallVector<Value> inits(loop.getInitArgs());
  llvm::append_range(inits, first);
  auto created = scf::ForOp::create(
      rewriter, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
      loop.getStep(), inits, /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
  created->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Block *body = created.getBody();
  if (!body->empty())
    rewriter.eraseOp(&body->back());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), created.getInductionVar());
  size_t count = loop.getInitArgs().size();
  mapping.map(loop.getRegionIterArgs(),
              created.getRegionIterArgs().take_front(count));
  mapping.map(ValueRange(carried.getArrayRef()),
              created.getRegionIterArgs().drop_front(count));
  SmallVector<Value> next;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!moved.contains(&op) && !mapping.contains(&op))
      rewriter.clone(op, mapping);
    if (&op == parts.lastStep)
      next = cloneAhead(mapping);
  }
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldedValues())
    yielded.push_back(mapping.lookupOrDefault(value));
  llvm::append_range(yielded, next);
  scf::YieldOp::create(rewriter, loop.getLoc(), yielded);
  return created;
}

void OperandPrefetch::run() {
  rewriter.setInsertionPoint(loop);
  scf::ForOp created = createLoop(createFirst());
  rewriter.replaceOp(loop,
                     created.getResults().take_front(loop.getNumResults()));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct PrefetchOperandsPass
    : tilews::impl::PrefetchOperandsPassBase<PrefetchOperandsPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    IRRewriter rewriter(&getContext());
    for (scf::ForOp loop : loops) {
      std::optional<MatmulLoop> parts = MatmulLoop::get(loop);
      if (!parts)
        continue;
      OperandPrefetch prefetch(rewriter, loop, *parts);
      if (!prefetch.check())
        continue;
      LDBG() << "loop at " << loop.getLoc() << " reads " << parts->reads.size()
             << " operands ahead";
      prefetch.run();
      ++numLoops;
    }
  }
};
} // namespace
