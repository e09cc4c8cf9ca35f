//===- PingPong.cpp - Two roles that alternate ----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Makes two roles of one, which run alternate iterations of its loop: while one
// role runs matmuls, the other does the arithmetic and stores of its iteration.
//
//   role math { for i { body } }
//     -> role math0 { for i { if even { acquire; body; commit } } }
//        role math1 { for i { if odd { wait; body; release } } }
//
// Both roles go through all iterations, so their loops have the same trip count
// as that of the role that fills the channels. In the iterations of the other
// role, a role only computes what an iteration passes on, such as cursors. A
// channel of one slot and without buffers orders the matmuls of the two roles.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"
#include "tilews/Dialect/Tile/Analysis/Remarks.h"
#include "tilews/Dialect/Tile/Analysis/Roles/RoleSlice.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PINGPONGPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-ping-pong"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numLoops, "Loops in which two roles alternate");

namespace {

/// A loop with `tile.ping_pong`, and its role, which becomes two roles.
class PingPong {
public:
  explicit PingPong(scf::ForOp loop)
      : loop(loop), kernel(loop->getParentOfType<gpu::GPUFuncOp>()),
        memory(kernel) {}

  /// Returns why the role has to stay one. Changes nothing.
  MaybeRefusal check(const TargetInfo &target);
  /// Makes two roles, if `check` found no reason against it.
  void run(const TargetInfo &target);

private:
  MaybeRefusal checkPlace();
  MaybeRefusal checkChannels();
  MaybeRefusal checkCarried();
  MaybeRefusal checkBuffers(const TargetInfo &target);
  MaybeRefusal checkResources(const TargetInfo &target);

  scf::ForOp loop;
  gpu::GPUFuncOp kernel;
  MemoryAccesses memory;
  RoleOp role;
  SpecializeOp specialize;
  /// The channels that the role reads.
  llvm::SetVector<Operation *> channels;
  /// Allocations that the role writes: each of the two roles gets its own.
  llvm::SetVector<Operation *> own;
};

} // namespace

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether `op` is, or contains, an `OpT`.
template <typename OpT>
static bool holds(Operation *op) {
  return op->walk([](OpT) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// The loop must be all that the role does, and it must wait for a channel.
MaybeRefusal PingPong::checkPlace() {
  role = dyn_cast<RoleOp>(loop->getParentOp());
  if (!role)
    return Refusal{loop, 1, "the loop is not in the body of a role"};
  specialize = cast<SpecializeOp>(role->getParentOp());
  for (Operation &op : role.getBody().front())
    if (&op != loop && !onlyReads(&op))
      return Refusal{&op, 2, "the role does this outside of the loop"};
  if (!holds<WaitOp>(loop))
    return Refusal{loop, 2, "the loop waits for no channel"};
  return std::nullopt;
}

/// The role must be the only one that reads its channels, and must fill none.
MaybeRefusal PingPong::checkChannels() {
  MaybeRefusal refusal;
  loop.walk([&](Operation *op) {
    if (isa<WaitOp, ReleaseOp>(op))
      channels.insert(op->getOperand(0).getDefiningOp());
    else if (isa<AcquireOp, CommitOp>(op))
      refusal = Refusal{op, 2, "the role also fills a channel"};
  });
  for (Operation *channel : channels) {
    if (!channel)
      return Refusal{loop, 2, "a channel is passed on as a value"};
    for (Operation *user : channel->getUsers())
      if (isa<WaitOp, ReleaseOp>(user) && !role->isAncestor(user))
        return Refusal{user, 2, "another role reads the same channel"};
  }
  return refusal;
}

/// The values that an iteration passes on must be cheap to compute: a backward
/// slice of operations that only read what the kernel does not write. Each role
/// computes the slice for the iterations of the other one.
MaybeRefusal PingPong::checkCarried() {
  auto writes =
      llvm::filter_to_vector(memory.get(specialize), [](const auto &access) {
        return access.writes();
      });
  for (auto [i, value] : llvm::enumerate(loop.getYieldedValues())) {
    bool isCursor = isa<CursorType>(value.getType());
    auto refuse = [&](Operation *op) {
      return isCursor
                 ? Refusal{op, 4,
                           "the number of slots of an iteration depends on "
                           "this"}
                 : Refusal{op, 3, "the next iteration depends on this"};
    };
    if (!loop.getResult(i).use_empty())
      return Refusal{*loop.getResult(i).user_begin(), 3,
                     "a result of the last iteration is used here"};
    RoleSlice slice;
    slice.add(value);
    for (Operation *op : slice.getOps()) {
      // Control flow is cloned with only those operations that the values need,
      // and these are in the slice as well.
      if (!loop->isProperAncestor(op) ||
          isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
        continue;
      if (!onlyReads(op))
        return refuse(op);
      for (const MemoryAccess &read : memory.get(op))
        if (llvm::any_of(writes, [&](const MemoryAccess &write) {
              return read.conflictsWith(write);
            }))
          return refuse(op);
    }
  }
  return std::nullopt;
}

/// Buffers that the role writes must be used by no other role, and there must
/// be room for a second copy of them.
MaybeRefusal PingPong::checkBuffers(const TargetInfo &target) {
  for (const MemoryAccess &write : memory.get(role)) {
    if (!write.shared || !write.writes())
      continue;
    if (write.roots.empty())
      return Refusal{write.op, 6, "the buffer written here is not known"};
    for (AllocSharedOp root : write.roots)
      if (llvm::none_of(root->getUsers(), llvm::IsaPred<ChannelOp>))
        own.insert(root);
  }
  for (const MemoryAccess &access : memory.get(kernel))
    for (AllocSharedOp root : access.roots)
      if (own.contains(root) && !role->isAncestor(access.op))
        return Refusal{access.op, 6,
                       "a buffer that the role writes is also used here"};
  int64_t bytes = countSharedBytes(kernel);
  for (Operation *alloc : own)
    bytes += getBufferBytes(cast<AllocSharedOp>(alloc).getBuffer().getType());
  if (!own.empty() && bytes > target.maxSharedBytes)
    return Refusal{loop, 6,
                   "with two copies of the role's buffers the kernel needs " +
                       std::to_string(bytes) + " bytes of shared memory of " +
                       std::to_string(target.maxSharedBytes)};
  return std::nullopt;
}

/// There must be threads and registers for a second role. Registers that are
/// not given are estimated.
MaybeRefusal PingPong::checkResources(const TargetInfo &target) {
  int64_t warps = specialize.getNumWarps() + role.getWarps();
  int64_t threads = warps * target.warpSize;
  if (threads > target.maxThreads)
    return Refusal{loop, 5,
                   "two such roles make " + std::to_string(threads) +
                       " threads, more than the " +
                       std::to_string(target.maxThreads) + " of " +
                       target.chip};
  if (std::optional<int64_t> registers = role.getRegisters()) {
    int64_t total = *registers * role.getNumThreads();
    for (RoleOp other : specialize.getRoles())
      total += other.getRegisters().value_or(0) * other.getNumThreads();
    if (total > kRegisterFile)
      return Refusal{loop, 5,
                     "two such roles ask for " + std::to_string(total) +
                         " registers, but a block has " +
                         std::to_string(kRegisterFile)};
    return std::nullopt;
  }
  int64_t need =
      RegisterPressure(role.getNumThreads()).findPeak(role.getBody()) +
      kOtherRegisters;
  int64_t limit = std::max(getRegisterLimit(warps),
                           target.hasWgmma() && role.getWarps() % 4 == 0
                               ? getDonatedLimit(2 * role.getWarps())
                               : 0);
  if (need > limit)
    return Refusal{loop, 5,
                   "a thread of the role needs " + std::to_string(need) +
                       " registers, and has at most " + std::to_string(limit) +
                       " beside another such role"};
  return std::nullopt;
}

MaybeRefusal PingPong::check(const TargetInfo &target) {
  if (MaybeRefusal refusal = checkPlace())
    return refusal;
  if (MaybeRefusal refusal = checkChannels())
    return refusal;
  if (MaybeRefusal refusal = checkCarried())
    return refusal;
  if (MaybeRefusal refusal = checkBuffers(target))
    return refusal;
  return checkResources(target);
}

//===----------------------------------------------------------------------===//
// Alternation
//===----------------------------------------------------------------------===//

/// Orders the matmuls of the two roles by a channel of one slot. The role that
/// goes first acquires the slot before its first wait in `iteration` and
/// commits it after the last one. The other role waits for the slot and
/// releases it at the same points. Each role thus starts its matmuls when the
/// other has started its own. Returns the next cursor.
static Value order(OpBuilder &b, Block &iteration, Value channel, Value cursor,
                   bool isFirst) {
  Operation *first = nullptr, *last = nullptr;
  for (Operation &op : iteration)
    if (holds<WaitOp>(&op)) {
      first = first ? first : &op;
      last = &op;
    }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(first);
  if (isFirst)
    AcquireOp::create(b, first->getLoc(), channel, cursor);
  else
    WaitOp::create(b, first->getLoc(), channel, cursor,
                   /*pending=*/IntegerAttr());
  b.setInsertionPointAfter(last);
  if (isFirst)
    CommitOp::create(b, last->getLoc(), channel, cursor);
  else
    ReleaseOp::create(b, last->getLoc(), channel, cursor);
  return AdvanceOp::create(b, last->getLoc(), cursor);
}

/// Yields the values that an iteration passes on, and the cursor of the channel
/// between the two roles.
static void yield(OpBuilder &b, scf::ForOp loop, const IRMapping &mapping,
                  Value cursor) {
  SmallVector<Value> values;
  for (Value value : loop.getYieldedValues())
    values.push_back(mapping.lookupOrDefault(value));
  values.push_back(cursor);
  scf::YieldOp::create(b, loop.getLoc(), values);
}

/// Returns the operations that compute what an iteration passes on.
static RoleSlice slicePassedOn(scf::ForOp loop) {
  RoleSlice slice;
  for (Value value : loop.getYieldedValues())
    slice.add(value);
  LDBG_OS([&](raw_ostream &os) {
    os << "an iteration of the other role computes\n";
    slice.print(os);
  });
  return slice;
}

/// Lets the role of `loop` run every second iteration: the even ones if it goes
/// first, else the odd ones. In the others it only computes what the iteration
/// passes on. The new loop carries two more values: the cursor, and whether the
/// iteration belongs to the role.
static void alternate(scf::ForOp loop, Value channel, bool isFirst) {
  Location loc = loop.getLoc();
  OpBuilder b(loop);
  auto type = CursorType::get(b.getContext(), 1);
  SmallVector<Value> inits(loop.getInitArgs());
  inits.push_back(CursorOp::create(b, loc, type));
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  inits.push_back(isFirst ? yes : arith::ConstantIntOp::create(b, loc, 0, 1));
  auto alternating = scf::ForOp::create(
      b, loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits,
      /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
  alternating->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Value cursor = alternating.getRegionIterArgs().drop_back().back();
  Value mine = alternating.getRegionIterArgs().back();

  b.setInsertionPointToStart(alternating.getBody());
  SmallVector<Type> types(loop.getResultTypes());
  types.push_back(type);
  auto branch = scf::IfOp::create(b, loc, types, mine, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  SmallVector<Value> next(branch.getResults());
  next.push_back(arith::XOrIOp::create(b, loc, mine, yes));
  scf::YieldOp::create(b, loc, next);

  // An iteration of the other role: compute what the next iteration needs.
  Block &body = *loop.getBody();
  RoleSlice slice = slicePassedOn(loop);
  IRMapping mapping;
  mapping.map(body.getArguments(),
              alternating.getBody()->getArguments().drop_back(2));
  b.setInsertionPointToStart(branch.elseBlock());
  slice.clone(b, body.begin(), body.getTerminator()->getIterator(), mapping);
  yield(b, loop, mapping, cursor);

  // An iteration of this role: the body of the loop.
  for (auto [from, to] :
       llvm::zip(body.getArguments(), alternating.getBody()->getArguments()))
    from.replaceAllUsesWith(to);
  Block &iteration = *branch.thenBlock();
  iteration.getOperations().splice(iteration.end(), body.getOperations(),
                                   body.begin(),
                                   body.getTerminator()->getIterator());
  b.setInsertionPointToEnd(&iteration);
  yield(b, loop, IRMapping(), order(b, iteration, channel, cursor, isFirst));
  loop.erase();

  if (isFirst)
    return;
  // If the other role ran the last iteration, its commit is still unanswered:
  // consume it, so that the channel is empty when the roles start again.
  b.setInsertionPointAfter(alternating);
  branch = scf::IfOp::create(b, loc, alternating.getResults().back(),
                             /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  Value last = alternating.getResults().drop_back().back();
  WaitOp::create(b, loc, channel, last, /*pending=*/IntegerAttr());
  ReleaseOp::create(b, loc, channel, last);
}

/// Returns `name`, with underscores appended until no other role has that name.
static std::string findName(SpecializeOp specialize, std::string name) {
  while (llvm::any_of(specialize.getRoles(),
                      [&](RoleOp role) { return role.getName() == name; }))
    name += "_";
  return name;
}

void PingPong::run(const TargetInfo &target) {
  loop->removeAttr(TileDialect::kPingPong);
  OpBuilder b(specialize);
  auto channel =
      ChannelOp::create(b, loop.getLoc(), ChannelType::get(b.getContext(), 1),
                        ValueRange(), ProducerKind::Simt);
  for (Operation *op : channels)
    cast<ChannelOp>(op).setAlternating(true);
  IRMapping mapping;
  for (Operation *alloc : own)
    b.clone(*alloc, mapping);
  b.setInsertionPointAfter(role);
  auto second = cast<RoleOp>(b.clone(*role, mapping));
  std::string name = role.getName().str();
  role.setName(findName(specialize, name + "0"));
  second.setName(findName(specialize, name + "1"));
  auto secondLoop = cast<scf::ForOp>(mapping.lookup(loop.getOperation()));
  alternate(loop, channel, /*isFirst=*/true);
  alternate(secondLoop, channel, /*isFirst=*/false);
  kernel->setAttr(
      TileDialect::kThreads,
      b.getI32IntegerAttr(specialize.getNumWarps() * target.warpSize));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void tile::pingPong(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return;
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (!loop->hasAttr(TileDialect::kPingPong))
      return;
    // The load role has a copy of the loop. It fills the channels for both
    // roles and stays one.
    if (loop->getParentOfType<RoleOp>() && holds<AcquireOp>(loop) &&
        !holds<WaitOp>(loop))
      loop->removeAttr(TileDialect::kPingPong);
    else
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops) {
    PingPong pingPong(loop);
    MaybeRefusal refusal = pingPong.check(*target);
    if (!refusal) {
      LDBG() << "two roles alternate in the loop at " << loop.getLoc();
      pingPong.run(*target);
      ++numLoops;
      continue;
    }
    LDBG() << "loop at " << loop.getLoc() << " stays: " << refusal->reason;
    loop->removeAttr(TileDialect::kPingPong);
    remarkAt(
        refusal->op,
        llvm::formatv("tile-pp-{0:d4}: iterations of a loop are not shared by "
                      "two roles: {1}",
                      refusal->id, refusal->reason)
            .str());
  }
}

namespace {
struct PingPongPass : tile::impl::PingPongPassBase<PingPongPass> {
  void runOnOperation() override {
    getOperation()->walk([](gpu::GPUFuncOp kernel) { pingPong(kernel); });
  }
};
} // namespace
