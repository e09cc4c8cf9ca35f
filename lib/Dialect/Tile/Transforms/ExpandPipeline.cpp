//===- ExpandPipeline.cpp - Software pipelines without roles --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loop's operations are brought into the form and the order in which
// upstream's software pipeliner takes them: what may not run in turns that do
// not exist is put into an `scf.if`, whose condition the pipeliner then
// chooses.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/PipelinePlan.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"

namespace tilews::tile {
#define GEN_PASS_DEF_EXPANDPIPELINEPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// An operation of the body, in the order of the pipeline.
struct Item {
  Operation *op;
  int64_t stage;
  int64_t order;
};

class Expansion {
public:
  Expansion(RewriterBase &rewriter, scf::ForOp loop)
      : rewriter(rewriter), loop(loop), body(*loop.getBody()) {}

  LogicalResult run();

private:
  LogicalResult refuse(std::string reason);
  LogicalResult collect();
  void wrapSegments();
  scf::IfOp wrap(ArrayRef<Item> segment);
  void sinkInto(scf::IfOp wrapper);
  Value getDefault(OpResult result);
  void addGroups();
  int64_t countPending(size_t wait, size_t commit) const;
  void setPending();
  void placeRest();
  void defineYields();
  void schedule();

  int64_t getLastStage() const {
    int64_t last = 0;
    for (const Item &item : items)
      last = std::max(last, item.stage);
    return last;
  }
  /// The operation of the body that `op` is or is part of; null outside.
  Operation *getInBody(Operation *op) const {
    return body.findAncestorOpInBlock(*op);
  }

  RewriterBase &rewriter;
  scf::ForOp loop;
  Block &body;
  /// Scheduled operations by order; all operations in the end.
  SmallVector<Item> items;
};
} // namespace

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

static std::optional<int64_t> getNumber(Operation *op, StringRef name) {
  if (auto attr = op->getAttrOfType<IntegerAttr>(name))
    return attr.getInt();
  return std::nullopt;
}

/// Stage and order of an operation of the body; a guard has those of the first
/// operation in it.
static std::optional<Item> getItem(Operation *op) {
  std::optional<Item> item;
  auto add = [&](Operation *inner) {
    auto stage = getNumber(inner, TileDialect::kStage);
    auto order = getNumber(inner, TileDialect::kOrder);
    if (stage && order && (!item || *order < item->order))
      item = Item{op, *stage, *order};
  };
  add(op);
  if (!item && isa<scf::IfOp>(op))
    op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
      add(inner);
      return isa<scf::ForOp>(inner) ? WalkResult::skip()
                                    : WalkResult::advance();
    });
  return item;
}

LogicalResult Expansion::refuse(std::string reason) {
  emitPipelineRemark({loop, 14, std::move(reason)});
  return failure();
}

/// Fails if something else than scheduled and replayed operations is there.
LogicalResult Expansion::collect() {
  for (Operation &op : body.without_terminator()) {
    if (std::optional<Item> item = getItem(&op))
      items.push_back(*item);
    else if (!onlyReads(&op))
      return refuse(("'" + op.getName().getStringRef() +
                     "' in it has neither a stage nor an order")
                        .str());
  }
  if (loop.getUnsignedCmp())
    return refuse("its counter is compared as an unsigned number");
  llvm::sort(items,
             [](const Item &a, const Item &b) { return a.order < b.order; });
  return success();
}

/// Calls `fn` with each `OpT` in `op`, and its channel.
template <typename OpT>
static void forEach(Operation *op, function_ref<void(OpT, ChannelOp)> fn) {
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    // Inner loops have pipelines of their own.
    if (isa<scf::ForOp>(inner))
      return WalkResult::skip();
    if (auto match = dyn_cast<OpT>(inner))
      if (auto channel = match.getChannel().template getDefiningOp<ChannelOp>())
        fn(match, channel);
    return WalkResult::advance();
  });
}

//===----------------------------------------------------------------------===//
// Operations that do not run in every turn
//===----------------------------------------------------------------------===//

/// The value of `result`, made in a turn that does not exist: what the loop
/// carries stays the same, the rest does not matter.
Value Expansion::getDefault(OpResult result) {
  for (OpOperand &use : result.getUses())
    if (use.getOwner() == body.getTerminator())
      return loop.getRegionIterArg(use.getOperandNumber());
  if (auto cursor = dyn_cast<CursorType>(result.getType()))
    return CursorOp::create(rewriter, result.getLoc(), cursor);
  TypedAttr zero = rewriter.getZeroAttr(result.getType());
  return arith::ConstantOp::create(rewriter, result.getLoc(), zero);
}

/// Puts operations of one stage into an `scf.if`.
scf::IfOp Expansion::wrap(ArrayRef<Item> segment) {
  llvm::SmallPtrSet<Operation *, 8> inside;
  for (const Item &item : segment)
    inside.insert(item.op);
  SmallVector<OpResult> escaping;
  for (const Item &item : segment)
    for (OpResult result : item.op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(getInBody(user));
          }))
        escaping.push_back(result);

  Location loc = segment.front().op->getLoc();
  rewriter.setInsertionPoint(loop);
  Value always =
      arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
  rewriter.setInsertionPoint(body.getTerminator());
  SmallVector<Type> types;
  for (OpResult result : escaping)
    types.push_back(result.getType());
  auto wrapper = scf::IfOp::create(rewriter, loc, types, always,
                                   /*addThenBlock=*/true,
                                   /*addElseBlock=*/!types.empty());
  if (!types.empty()) {
    rewriter.setInsertionPointToEnd(wrapper.elseBlock());
    SmallVector<Value> defaults;
    for (OpResult result : escaping)
      defaults.push_back(getDefault(result));
    scf::YieldOp::create(rewriter, loc, defaults);
  }
  if (!wrapper.thenBlock()->empty())
    rewriter.eraseOp(wrapper.thenBlock()->getTerminator());
  rewriter.setInsertionPointToEnd(wrapper.thenBlock());
  scf::YieldOp::create(rewriter, loc,
                       SmallVector<Value>(escaping.begin(), escaping.end()));
  for (auto [result, outside] : llvm::zip(escaping, wrapper.getResults()))
    rewriter.replaceUsesWithIf(result, outside, [&](OpOperand &use) {
      Operation *owner = getInBody(use.getOwner());
      return owner != wrapper && !inside.contains(owner);
    });
  for (const Item &item : segment)
    rewriter.moveOpBefore(item.op, wrapper.thenBlock()->getTerminator());
  sinkInto(wrapper);
  return wrapper;
}

/// Moves replayed operations that only `wrapper` uses into it.
void Expansion::sinkInto(scf::IfOp wrapper) {
  Block *block = wrapper.thenBlock();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    bool sinks = &op != wrapper && !op.use_empty() && !getItem(&op) &&
                 !isa<CursorOp>(op) &&
                 llvm::all_of(op.getUsers(), [&](Operation *user) {
                   return block->findAncestorOpInBlock(*user) != nullptr;
                 });
    if (sinks)
      rewriter.moveOpBefore(&op, &block->front());
  }
}

/// Puts runs of operations that are not in the last stage into one `scf.if`
/// each. A run ends where all slots that it acquired are committed.
void Expansion::wrapSegments() {
  int64_t last = getLastStage();
  SmallVector<Item> wrapped, segment;
  int64_t open = 0;
  bool commits = false;
  auto flush = [&] {
    if (segment.empty())
      return;
    scf::IfOp wrapper = wrap(segment);
    wrapped.push_back({wrapper, segment.front().stage, 0});
    segment.clear();
    commits = false;
  };
  for (auto [i, item] : llvm::enumerate(items)) {
    if (item.stage == last ||
        (!segment.empty() && segment.front().stage != item.stage))
      flush();
    if (item.stage == last) {
      wrapped.push_back(item);
      continue;
    }
    segment.push_back(item);
    forEach<AcquireOp>(item.op, [&](AcquireOp, ChannelOp) { ++open; });
    forEach<CommitOp>(item.op, [&](CommitOp, ChannelOp) {
      --open;
      commits = true;
    });
    bool advances = i + 1 < items.size() && isa<AdvanceOp>(items[i + 1].op);
    if (commits && open == 0 && !advances)
      flush();
  }
  flush();
  items = std::move(wrapped);
}

//===----------------------------------------------------------------------===//
// Groups of asynchronous copies
//===----------------------------------------------------------------------===//

static bool isAsync(ChannelOp channel) {
  return channel.getProducer() == ProducerKind::CpAsync ||
         channel.getProducer() == ProducerKind::Mixed;
}

/// Closes a group of copies behind each commit, in every turn, whether copies
/// were made or not.
void Expansion::addGroups() {
  SmallVector<Item> result;
  for (const Item &item : items) {
    result.push_back(item);
    bool commits = false;
    forEach<CommitOp>(item.op, [&](CommitOp, ChannelOp channel) {
      commits |= isAsync(channel);
    });
    if (!commits)
      continue;
    rewriter.setInsertionPoint(body.getTerminator());
    auto group = CommitGroupOp::create(rewriter, item.op->getLoc());
    result.push_back({group, item.stage, 0});
  }
  items = std::move(result);
}

/// The groups that turns up to a wait's close, but not before the group at
/// place `commit`, for the wait at place `wait` of the same original turn.
int64_t Expansion::countPending(size_t wait, size_t commit) const {
  int64_t count = 0;
  for (auto [place, item] : llvm::enumerate(items)) {
    if (!isa<CommitGroupOp>(item.op))
      continue;
    // Of the first turn, before which no group was closed.
    for (int64_t turn = std::max(item.stage, items[commit].stage);
         turn <= items[wait].stage; ++turn) {
      bool isAfter = turn > items[commit].stage || place > commit;
      bool isBefore = turn < items[wait].stage || place < wait;
      count += isAfter && isBefore;
    }
  }
  return count;
}

void Expansion::setPending() {
  llvm::DenseMap<Operation *, size_t> groups;
  for (auto [place, item] : llvm::enumerate(items))
    forEach<CommitOp>(item.op, [&, place = place](CommitOp, ChannelOp channel) {
      if (isAsync(channel))
        groups[channel] = place + 1;
    });
  for (auto [place, item] : llvm::enumerate(items))
    forEach<WaitOp>(item.op,
                    [&, place = place](WaitOp wait, ChannelOp channel) {
                      auto it = groups.find(channel);
                      if (it != groups.end())
                        wait.setPending(countPending(place, it->second));
                    });
}

//===----------------------------------------------------------------------===//
// Replayed operations
//===----------------------------------------------------------------------===//

/// Gives the operations without a stage the stages they are needed in, cloned
/// for each but the first, and places them before their users.
void Expansion::placeRest() {
  auto yield = body.getTerminator();
  llvm::DenseMap<Operation *, llvm::SmallSetVector<int64_t, 2>> stages;
  for (const Item &item : items)
    stages[item.op].insert(item.stage);
  auto isRest = [&](Operation *op) {
    return op != yield &&
           llvm::none_of(items, [&](const Item &i) { return i.op == op; });
  };
  // A value that the loop carries is needed where its next turn uses it.
  auto addNeeds = [&](Value value, auto &needs) {
    bool changed = false;
    for (OpOperand &use : value.getUses()) {
      Operation *user = getInBody(use.getOwner());
      SmallVector<Operation *> users = {user};
      if (user == yield) {
        users.clear();
        for (Operation *next :
             loop.getRegionIterArg(use.getOperandNumber()).getUsers())
          users.push_back(getInBody(next));
      }
      for (Operation *op : users)
        for (int64_t stage : llvm::to_vector(stages[op]))
          changed |= needs.insert(stage);
    }
    return changed;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isRest(&op))
        for (Value result : op.getResults()) {
          llvm::SmallSetVector<int64_t, 2> needs = stages[&op];
          changed |= addNeeds(result, needs);
          stages[&op] = needs;
        }
  }
  int64_t last = getLastStage();
  llvm::DenseMap<Operation *, int64_t> own;
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(body.without_terminator()))) {
    if (!isRest(&op))
      continue;
    SmallVector<int64_t> needs = stages[&op].takeVector();
    llvm::sort(needs);
    if (needs.empty())
      needs.push_back(last);
    own[&op] = needs.front();
    bool carried = llvm::is_contained(op.getUsers(), yield);
    for (int64_t stage : ArrayRef(needs).drop_front()) {
      if (carried)
        break; // One value is carried; later stages use it from before.
      rewriter.setInsertionPointAfter(&op);
      Operation *clone = rewriter.clone(op);
      own[clone] = stage;
      for (auto [from, to] : llvm::zip(op.getResults(), clone->getResults()))
        rewriter.replaceUsesWithIf(from, to, [&](OpOperand &use) {
          Operation *user = getInBody(use.getOwner());
          auto it = own.find(user);
          int64_t at = it != own.end() ? it->second : stages[user].front();
          return at == stage;
        });
    }
  }

  SmallVector<Item> all;
  llvm::SmallPtrSet<Operation *, 16> placed;
  auto place = [&](auto &&self, Operation *op, int64_t stage) -> void {
    if (!placed.insert(op).second)
      return;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *def = operand.getDefiningOp())
          if (def->getBlock() == &body && own.contains(def) &&
              own[def] == stage)
            self(self, def, stage);
    });
    all.push_back({op, stage, 0});
  };
  for (const Item &item : items)
    place(place, item.op, item.stage);
  for (Operation &op : body.without_terminator())
    if (auto it = own.find(&op); it != own.end())
      place(place, &op, it->second);
  items = std::move(all);
}

/// The pipeliner takes values that the loop yields only from operations of its
/// body.
void Expansion::defineYields() {
  Operation *yield = body.getTerminator();
  for (OpOperand &operand : yield->getOpOperands()) {
    Operation *def = operand.get().getDefiningOp();
    if (def && def->getBlock() == &body)
      continue;
    // Carried values stay in the stage of those who use them.
    int64_t stage = getLastStage();
    Value next = loop.getRegionIterArg(operand.getOperandNumber());
    for (Operation *user : next.getUsers())
      for (const Item &item : items)
        if (item.op == getInBody(user))
          stage = std::min(stage, item.stage);
    rewriter.setInsertionPoint(loop);
    Location loc = yield->getLoc();
    Value yes =
        arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
    rewriter.setInsertionPoint(yield);
    Value same = arith::SelectOp::create(rewriter, loc, yes, operand.get(),
                                         operand.get());
    operand.set(same);
    items.push_back({same.getDefiningOp(), stage, 0});
  }
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

/// What `op` is in a turn that exists only if `exists` holds.
static Operation *predicate(RewriterBase &rewriter, Operation *op,
                            Value exists) {
  auto branch = dyn_cast<scf::IfOp>(op);
  if (branch && matchPattern(branch.getCondition(), m_One())) {
    rewriter.modifyOpInPlace(
        op, [&] { branch.getConditionMutable().assign(exists); });
    return op;
  }
  if (isa<CommitGroupOp>(op) || isMemoryEffectFree(op))
    return op;
  // A read that more than one part needs.
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  auto guarded = scf::IfOp::create(rewriter, op->getLoc(), op->getResultTypes(),
                                   exists, true, true);
  rewriter.setInsertionPointToEnd(guarded.elseBlock());
  SmallVector<Value> zeros;
  for (Type type : op->getResultTypes())
    zeros.push_back(arith::ConstantOp::create(
        rewriter, op->getLoc(), cast<TypedAttr>(rewriter.getZeroAttr(type))));
  scf::YieldOp::create(rewriter, op->getLoc(), zeros);
  rewriter.replaceAllUsesWith(op->getResults(), guarded.getResults());
  rewriter.setInsertionPointToEnd(guarded.thenBlock());
  scf::YieldOp::create(rewriter, op->getLoc(), op->getResults());
  rewriter.moveOpBefore(op, guarded.thenBlock(), guarded.thenBlock()->begin());
  return guarded;
}

/// Removes stages and orders, but for those of inner loops' operations.
static void stripStages(scf::ForOp loop) {
  loop->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == loop)
      return WalkResult::advance();
    op->removeAttr(TileDialect::kStage);
    op->removeAttr(TileDialect::kOrder);
    return isa<scf::ForOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
}

/// The pipeliner keeps carried values in turns that do not exist, which an
/// `scf.if` of the same condition has done already.
static void dropSelects(RewriterBase &rewriter, Block &block) {
  for (auto select :
       llvm::make_early_inc_range(block.getOps<arith::SelectOp>())) {
    auto result = dyn_cast<OpResult>(select.getTrueValue());
    auto branch = result ? dyn_cast<scf::IfOp>(result.getOwner()) : scf::IfOp();
    if (branch && branch.getCondition() == select.getCondition() &&
        branch.elseYield().getOperand(result.getResultNumber()) ==
            select.getFalseValue())
      rewriter.replaceOp(select, result);
  }
}

void Expansion::schedule() {
  scf::PipeliningOption options;
  options.getScheduleFn =
      [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &schedule) {
        for (const Item &item : items)
          schedule.push_back({item.op, unsigned(item.stage)});
      };
  options.peelEpilogue = false;
  options.supportDynamicLoops = true;
  options.predicateFn = predicate;
  // Of a loop that is known to be too short the pipeliner is not to know it, or
  // it would take the first turns for granted.
  std::optional<llvm::APInt> trips = loop.getStaticTripCount();
  if (trips && trips->slt(getLastStage() + 1)) {
    rewriter.setInsertionPoint(loop);
    Value zero = arith::ConstantOp::create(
        rewriter, loop.getLoc(),
        rewriter.getIntegerAttr(loop.getUpperBound().getType(), 0));
    loop.setUpperBound(arith::AddIOp::create(rewriter, loop.getLoc(),
                                             loop.getUpperBound(), zero));
  }
  rewriter.setInsertionPoint(loop);
  FailureOr<scf::ForOp> pipelined =
      scf::pipelineForLoop(rewriter, loop, options);
  assert(succeeded(pipelined) && "all conditions are met");
  dropSelects(rewriter, *pipelined->getBody());
  dropSelects(rewriter, *(*pipelined)->getBlock());
}

LogicalResult Expansion::run() {
  if (failed(collect()))
    return failure();
  rewriter.modifyOpInPlace(loop,
                           [&] { loop->removeAttr(TileDialect::kNumStages); });
  wrapSegments();
  addGroups();
  setPending();
  placeRest();
  defineYields();
  for (const Item &item : items)
    rewriter.moveOpBefore(item.op, body.getTerminator());
  stripStages(loop);
  if (getLastStage() > 0)
    schedule();
  return success();
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Whether the loop is planned and its buffers have channels.
static bool isPlanned(scf::ForOp loop) {
  if (!loop->hasAttr(TileDialect::kNumStages) ||
      loop->getParentOfType<RoleOp>())
    return false;
  bool planned = false;
  for (Operation &op : *loop.getBody())
    forEach<AcquireOp>(&op, [&](AcquireOp acquire, ChannelOp) {
      planned |= getNumber(acquire, TileDialect::kStage).has_value();
    });
  return planned;
}

void tile::expandPipelines(gpu::GPUFuncOp kernel) {
  IRRewriter rewriter(kernel.getContext());
  llvm::SmallPtrSet<Operation *, 4> refused;
  // Outer loops come first: an inner one is an operation for them.
  auto next = [&] {
    scf::ForOp found;
    kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (!isPlanned(loop) || refused.contains(loop))
        return WalkResult::advance();
      found = loop;
      return WalkResult::interrupt();
    });
    return found;
  };
  while (scf::ForOp loop = next())
    if (failed(Expansion(rewriter, loop).run()))
      refused.insert(loop);
}

namespace {
struct ExpandPipelinePass
    : tile::impl::ExpandPipelinePassBase<ExpandPipelinePass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { expandPipelines(kernel); });
  }
};
} // namespace
