//===- StageCopies.cpp - Copies through registers, in two steps -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chip without asynchronous copies loads into registers and stores from there
// to shared memory. A copy in one piece waits for global memory in between. In
// a pipelined loop, the load goes to the start of an iteration of the pipeline
// and the store stays at its end, so that the consumers run meanwhile. With
// stages in parentheses:
//
//   wait(1) acquire(0) copy(0) commit(0) gemm(1) release(1)
//     -> wait(1) load(0) gemm(1) release(1) acquire(0) store(0) commit(0)
//
// Direct copies of gfx950 (`cp_async`) are left alone.
//
// Both steps belong to one stage, so the fragment and the guards around a copy
// are values of the same iteration. A guard is computed once: the part with the
// loads yields the conditions in it, and the part with the stores uses them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelineDepth.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Transforms/GuardedLoads.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/PipelineItems.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_STAGECOPIESPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-stage-copies"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numStaged, "Copies and loads staged in registers");

/// The most elements of a fragment that a thread can hold.
static constexpr int64_t kMostElements = 1024;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// Returns the registers of each thread that fragments can take beside those
/// that are in use in `kernel` anyway.
static int64_t getSpareRegisters(gpu::GPUFuncOp kernel,
                                 const TargetInfo &target) {
  constexpr int64_t vectorUnits = 4;
  BlockUnit unit = BlockUnit::get(target);
  int64_t threads = getNumThreads(kernel);
  int64_t waves = llvm::divideCeil(threads, target.warpSize * vectorUnits);
  int64_t most = std::min(unit.registers / waves, unit.mostRegisters);
  int64_t peak = RegisterPressure(threads).findPeak(kernel.getBody());
  LDBG() << most << " registers of a thread, of which fragments take " << peak;
  return most - peak - kOtherRegisters;
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

namespace {
/// Splits the copies of one pipelined loop.
class CopyStaging {
public:
  /// `spare` are the registers of each thread that may be used; what the loop
  /// takes is subtracted.
  CopyStaging(RewriterBase &rewriter, scf::ForOp loop, int64_t &spare)
      : rewriter(rewriter), loop(loop), spare(spare) {}

  void run();

private:
  void collectItems();
  void findWritten();
  void findCandidates();
  void addLoads(StoreOp store, int64_t stage);
  bool isAlwaysOfStage(Operation *load, int64_t stage) const;
  std::optional<std::string> check(Operation *op) const;
  std::optional<std::string> checkNeeds(Operation *op) const;
  std::optional<std::string> checkShape(Operation *op) const;
  bool takeRegisters(Operation *op, int64_t &needed);
  bool isRotated() const;
  void split();
  void reorder(ArrayRef<Operation *> loads, bool isRotated);

  Operation *getInBody(Operation *op) const {
    return scf::ForOp(loop).getBody()->findAncestorOpInBlock(*op);
  }

  RewriterBase &rewriter;
  scf::ForOp loop;
  int64_t &spare;
  /// The scheduled operations of the body in their order, and the last stage.
  SmallVector<PipelineItem> items;
  int64_t last = 0;
  /// How many waits come first, and how many producers right after them.
  size_t numWaits = 0, numFirst = 0;
  /// Shared buffers that the loop writes.
  llvm::SmallPtrSet<Operation *, 8> written;
  /// The copies to split and the loads to move, with their stages.
  llvm::MapVector<Operation *, int64_t> candidates;
};
} // namespace

/// Collects the operations of the body that have a stage.
void CopyStaging::collectItems() {
  for (Operation &op : loop.getBody()->without_terminator())
    if (std::optional<PipelineItem> item = getPipelineItem(&op)) {
      items.push_back(*item);
      last = std::max(last, item->stage);
    }
  llvm::sort(items, [](const PipelineItem &a, const PipelineItem &b) {
    return a.order < b.order;
  });
  while (numWaits < items.size() && isa<WaitOp>(items[numWaits].op))
    ++numWaits;
  while (numWaits + numFirst < items.size() &&
         items[numWaits + numFirst].stage < last)
    ++numFirst;
}

void CopyStaging::findWritten() {
  loop->walk([&](Operation *op) {
    for (const SharedAccess &access : getSharedAccesses(op))
      if (access.writes())
        if (AllocSharedOp alloc = getViewedAlloc(access.operand->get()))
          written.insert(alloc);
  });
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns whether `op` is in the body of `loop`, or only in guards of it.
static bool isGuardedOnly(Operation *op, scf::ForOp loop) {
  Operation *parent = op->getParentOp();
  while (isa<scf::IfOp>(parent))
    parent = parent->getParentOp();
  return parent == loop;
}

/// Finds the copies to slots, and the loads from global memory whose fragments
/// are stored to slots. Those that cannot be staged are left alone, with a
/// remark.
void CopyStaging::findCandidates() {
  loop->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != loop && isa<LoopLikeOpInterface>(op))
      return WalkResult::skip();
    auto attr = op->getAttrOfType<IntegerAttr>(TileDialect::kStage);
    if (!attr || attr.getInt() >= last)
      return WalkResult::advance();
    if (auto copy = dyn_cast<CopyOp>(op))
      if (isGlobal(copy.getSource().getType()) && isShared(copy.getDest()) &&
          !hasInst(op, InstKind::CpAsync))
        candidates[op] = attr.getInt();
    if (auto store = dyn_cast<StoreOp>(op); store && isShared(store.getDest()))
      addLoads(store, attr.getInt());
    return WalkResult::advance();
  });
  int64_t needed = 0;
  candidates.remove_if([&](const auto &candidate) {
    Operation *op = candidate.first;
    std::optional<std::string> reason = check(op);
    int64_t registers = 0;
    if (!reason && !takeRegisters(op, registers))
      reason = llvm::formatv("its tile takes {0} registers of each thread, and "
                             "{1} are left",
                             registers, std::max<int64_t>(spare, 0));
    if (!reason) {
      needed += registers;
      return false;
    }
    remarkAt(op, "tile-pipe-0019: '")
        << op->getName() << "' waits for global memory: " << *reason;
    return true;
  });
  LDBG() << "loop at " << loop.getLoc() << ": " << candidates.size()
         << " candidates take " << needed << " registers";
}

/// Adds the loads from global memory that the value of `store` is computed
/// from by pure operations.
void CopyStaging::addLoads(StoreOp store, int64_t stage) {
  SmallVector<Value> values = {store.getValue()};
  llvm::SmallDenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *def = value.getDefiningOp();
    if (!def || !loop->isProperAncestor(def) ||
        !isFragmentType(value.getType()) || !seen.insert(value).second)
      continue;
    auto load = dyn_cast<LoadOp>(def);
    auto gather = dyn_cast<GatherOp>(def);
    if (load || gather) {
      MemRefType type =
          load ? load.getSource().getType() : gather.getSource().getType();
      if (isGlobal(type) && isAlwaysOfStage(def, stage))
        candidates[def] = stage;
    } else if (def->getNumRegions() == 0 && isPure(def)) {
      llvm::append_range(values, def->getOperands());
    }
  }
}

/// Returns whether all that is computed from `load` belongs to `stage`, and
/// stays in the block of the loop or of the guard around `load`.
bool CopyStaging::isAlwaysOfStage(Operation *load, int64_t stage) const {
  SmallVector<Operation *> worklist = {load};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val()->getUsers()) {
      if (isa<scf::YieldOp>(user))
        return false;
      auto own = user->getAttrOfType<IntegerAttr>(TileDialect::kStage);
      if (own && own.getInt() != stage)
        return false;
      if (!own && seen.insert(user).second)
        worklist.push_back(user);
    }
  return !load->hasAttr(TileDialect::kStage);
}

/// Returns the reason why `op` cannot be staged, apart from registers.
std::optional<std::string> CopyStaging::check(Operation *op) const {
  if (!isGuardedOnly(op, loop))
    return "it is in an operation other than guards";
  auto *item = llvm::find_if(items, [&](const PipelineItem &item) {
    return item.op == getInBody(op);
  });
  size_t position = item - items.begin();
  bool isFirst = item != items.end() && position < numWaits + numFirst;
  if (isFirst)
    for (const PipelineItem &other :
         ArrayRef(items).drop_front(numWaits + numFirst))
      if (other.stage < last)
        return "the order of its loop starts copies at the start of an "
               "iteration and later in it";
  if (auto reason = checkShape(op))
    return reason;
  return checkNeeds(op);
}

/// Returns the region of the source of a candidate.
static TileRegion getSource(Operation *op) {
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getSourceRegion();
  return TileRegion{
      {},
      llvm::to_vector(
          cast<RankedTensorType>(op->getResult(0).getType()).getShape())};
}

static Type getSourceType(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  return getElementType(copy ? Value(copy.getSource()) : op->getResult(0));
}

std::optional<std::string> CopyStaging::checkShape(Operation *op) const {
  TileRegion region = getSource(op);
  int64_t elements = 1;
  for (int64_t size : region.sizes)
    elements *= size;
  if (getElementBits(getSourceType(op)) < 8)
    return "several of its elements share a byte";
  if (region.getSqueezedSizes().empty())
    return "it has one element";
  if (elements > kMostElements * getNumThreads(loop))
    return "a thread would hold more than 1024 of its elements";
  if (auto copy = dyn_cast<CopyOp>(op))
    if (copy.getRows() &&
        region.getSqueezedSizes().size() != region.sizes.size())
      return "its region has indices and extents of one";
  return std::nullopt;
}

/// Returns the reason why what `op` and the guards around it need is not
/// available at the start of an iteration.
std::optional<std::string> CopyStaging::checkNeeds(Operation *op) const {
  static constexpr char kWritten[] =
      "its place or its guard depends on shared memory that the loop writes";
  std::optional<std::string> reason;
  auto isWritten = [&](Value buffer) {
    AllocSharedOp alloc = getViewedAlloc(buffer);
    return !alloc || written.contains(alloc);
  };
  // The indices of rows may lie in shared memory.
  if (auto copy = dyn_cast<CopyOp>(op))
    if (Value rows = copy.getRows(); rows && isShared(rows) && isWritten(rows))
      return kWritten;
  forEachNeed(op, loop, [&](Operation *needed) {
    if (needed->hasAttr(TileDialect::kStage) || getPipelineItem(needed))
      reason = "its place or its guard depends on another operation with a "
               "stage";
    else if (!onlyReads(needed))
      reason = "its place or its guard depends on an operation with an effect";
    needed->walk([&](Operation *inner) {
      for (const SharedAccess &access : getSharedAccesses(inner))
        if (isWritten(access.operand->get()))
          reason = kWritten;
    });
  });
  return reason;
}

/// Takes the registers for the fragment of `op`; returns false if there are too
/// few.
bool CopyStaging::takeRegisters(Operation *op, int64_t &needed) {
  TileRegion region = getSource(op);
  auto type = RankedTensorType::get(region.sizes, getSourceType(op));
  int64_t bits = type.getNumElements() * getStorageBits(type.getElementType());
  needed = llvm::divideCeil(bits, 32 * getNumThreads(loop));
  if (needed > spare)
    return false;
  spare -= needed;
  return true;
}

//===----------------------------------------------------------------------===//
// The new order
//===----------------------------------------------------------------------===//

/// Gives the scheduled operations of `op` consecutive orders from `next` on.
static void number(Operation *op, int64_t &next) {
  SmallVector<Operation *> own;
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner->hasAttr(TileDialect::kOrder))
      own.push_back(inner);
    // An inner loop has an order in this one, its operations do not.
    return isa<scf::ForOp>(inner) ? WalkResult::skip() : WalkResult::advance();
  });
  auto getOrder = [](Operation *inner) {
    return inner->getAttrOfType<IntegerAttr>(TileDialect::kOrder).getInt();
  };
  llvm::sort(own, [&](Operation *a, Operation *b) {
    return getOrder(a) < getOrder(b);
  });
  Builder builder(op->getContext());
  for (Operation *inner : own)
    inner->setAttr(TileDialect::kOrder, builder.getI32IntegerAttr(next++));
}

/// Whether the producers right after the waits contain a candidate.
bool CopyStaging::isRotated() const {
  return llvm::any_of(
      ArrayRef(items).slice(numWaits, numFirst), [&](const PipelineItem &item) {
        return llvm::any_of(candidates, [&](const auto &candidate) {
          return item.op->isAncestor(candidate.first);
        });
      });
}

/// Orders the body: first waits, `loads`, then the others. Producers right
/// after the waits, which refill slots in the next iteration, go to the end if
/// `isRotated`.
void CopyStaging::reorder(ArrayRef<Operation *> loads, bool isRotated) {
  ArrayRef<PipelineItem> all = items;
  SmallVector<Operation *> order;
  auto append = [&](ArrayRef<PipelineItem> some) {
    for (const PipelineItem &item : some)
      order.push_back(item.op);
  };
  append(all.take_front(numWaits));
  llvm::append_range(order, loads);
  if (!isRotated)
    append(all.slice(numWaits, numFirst));
  append(all.drop_front(numWaits + numFirst));
  if (isRotated)
    append(all.slice(numWaits, numFirst));
  int64_t next = 0;
  for (Operation *op : order)
    number(op, next);
}

void CopyStaging::split() {
  bool rotated = isRotated();
  // A split erases its candidates, so that each one gets its own only.
  struct Top {
    int64_t stage = 0;
    llvm::SetVector<Operation *> candidates;
  };
  llvm::MapVector<Operation *, Top> tops;
  for (auto [op, stage] : candidates) {
    Top &top = tops[getInBody(op)];
    top.stage = stage;
    top.candidates.insert(op);
  }
  SmallVector<Operation *> loads;
  for (auto &[op, top] : tops) {
    GuardedLoads guarded(rewriter, top.candidates);
    GuardedLoads::Parts parts = guarded.split(op, top.stage);
    loads.push_back(parts.loads);
    for (PipelineItem &item : items)
      if (item.op == op)
        item.op = parts.rest;
  }
  reorder(loads, rotated);
}

void CopyStaging::run() {
  collectItems();
  findWritten();
  findCandidates();
  if (candidates.empty())
    return;
  numStaged += candidates.size();
  split();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

LogicalResult tile::stageCopies(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (isReadyToExpand(loop))
      loops.push_back(loop);
  });
  if (loops.empty())
    return success();
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  if (!target->isAMD())
    return success();
  IRRewriter rewriter(kernel.getContext());
  int64_t most = getSpareRegisters(kernel, *target);
  // Inner loops come first. Loops in sequence do not hold tiles at the same
  // time; a loop and one in it do.
  llvm::DenseMap<Operation *, int64_t> taken;
  for (scf::ForOp loop : loops) {
    int64_t inside = 0;
    loop->walk([&](scf::ForOp inner) {
      inside = std::max(inside, taken.lookup(inner));
    });
    int64_t spare = most - inside;
    CopyStaging(rewriter, loop, spare).run();
    taken[loop] = most - spare;
  }
  return success();
}

namespace {
struct StageCopiesPass : tile::impl::StageCopiesPassBase<StageCopiesPass> {
  void runOnOperation() override {
    WalkResult result = getOperation()->walk([](gpu::GPUFuncOp kernel) {
      return failed(stageCopies(kernel)) ? WalkResult::interrupt()
                                         : WalkResult::skip();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
