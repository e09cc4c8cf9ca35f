//===- PingPong.cpp - Two roles that take turns ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both roles run through all turns, so that their loops stay those of the role
// that fills the channels: in the other's turns a role does nothing but move
// its cursors on.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"
#include "tilews/Dialect/Tile/Analysis/Refusal.h"
#include "tilews/Dialect/Tile/Analysis/Roles/RoleSlice.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PINGPONGPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

/// A loop with `tile.ping_pong` and its role, which becomes two.
class PingPong {
public:
  explicit PingPong(scf::ForOp loop)
      : loop(loop), kernel(loop->getParentOfType<gpu::GPUFuncOp>()),
        memory(kernel) {}

  MaybeRefusal check(const TargetInfo &target);
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
  /// Those that the role reads.
  llvm::SetVector<Operation *> channels;
  /// Shared memory of which each of the two roles needs its own.
  llvm::SetVector<Operation *> own;
};

} // namespace

//===----------------------------------------------------------------------===//
// Whether it can be
//===----------------------------------------------------------------------===//

template <typename OpT>
static bool holds(Operation *op) {
  return op->walk([](OpT) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// The loop is all that the role does.
MaybeRefusal PingPong::checkPlace() {
  role = dyn_cast<RoleOp>(loop->getParentOp());
  if (!role)
    return Refusal{loop, 1, "the loop is not in the body of a role"};
  specialize = cast<SpecializeOp>(role->getParentOp());
  for (Operation &op : role.getBody().front())
    if (&op != loop && !onlyReads(&op))
      return Refusal{&op, 2, "its role does this outside of the loop"};
  if (!holds<WaitOp>(loop))
    return Refusal{loop, 2, "it waits for no channel"};
  return std::nullopt;
}

/// The role is the only one to read its channels, and fills none.
MaybeRefusal PingPong::checkChannels() {
  MaybeRefusal refusal;
  loop.walk([&](Operation *op) {
    if (isa<WaitOp, ReleaseOp>(op))
      channels.insert(op->getOperand(0).getDefiningOp());
    else if (isa<AcquireOp, CommitOp>(op))
      refusal = Refusal{op, 2, "its role fills a channel, too"};
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

/// What a turn hands on to the next one can be computed without it.
MaybeRefusal PingPong::checkCarried() {
  auto writes =
      llvm::filter_to_vector(memory.get(specialize), [](const auto &access) {
        return access.writes();
      });
  for (auto [i, value] : llvm::enumerate(loop.getYieldedValues())) {
    bool isCursor = isa<CursorType>(value.getType());
    auto refuse = [&](Operation *op) {
      return isCursor
                 ? Refusal{op, 4, "how many slots a turn takes depends on this"}
                 : Refusal{op, 3, "the next turn depends on this"};
    };
    if (!loop.getResult(i).use_empty())
      return Refusal{*loop.getResult(i).user_begin(), 3,
                     "it uses what the last turn hands on"};
    RoleSlice slice;
    slice.add(value);
    for (Operation *op : slice.getOps()) {
      // Of control flow only what the values need is cloned.
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

/// Shared memory that the role writes is its own.
MaybeRefusal PingPong::checkBuffers(const TargetInfo &target) {
  for (const MemoryAccess &write : memory.get(role)) {
    if (!write.shared || !write.writes())
      continue;
    if (write.roots.empty())
      return Refusal{write.op, 6, "it writes to a buffer that is not known"};
    for (AllocSharedOp root : write.roots)
      if (llvm::none_of(root->getUsers(), llvm::IsaPred<ChannelOp>))
        own.insert(root);
  }
  for (const MemoryAccess &access : memory.get(kernel))
    for (AllocSharedOp root : access.roots)
      if (own.contains(root) && !role->isAncestor(access.op))
        return Refusal{access.op, 6,
                       "it uses a buffer that the role writes, too"};
  int64_t bytes = countSharedBytes(kernel);
  for (Operation *alloc : own)
    bytes += getBufferBytes(cast<AllocSharedOp>(alloc).getBuffer().getType());
  if (!own.empty() && bytes > target.maxSharedBytes)
    return Refusal{loop, 6,
                   "with two copies of what its role writes the kernel needs " +
                       std::to_string(bytes) + " bytes of shared memory of " +
                       std::to_string(target.maxSharedBytes)};
  return std::nullopt;
}

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
                   "a thread of its role needs " + std::to_string(need) +
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
// Taking turns
//===----------------------------------------------------------------------===//

/// Lets the role that begins `start` its products when the other one has
/// started its own, and say when it has, and the same the other way round.
/// Returns the next cursor.
static Value order(OpBuilder &b, Block &turn, Value channel, Value cursor,
                   bool begins) {
  Operation *first = nullptr, *last = nullptr;
  for (Operation &op : turn)
    if (holds<WaitOp>(&op)) {
      first = first ? first : &op;
      last = &op;
    }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(first);
  if (begins)
    AcquireOp::create(b, first->getLoc(), channel, cursor);
  else
    WaitOp::create(b, first->getLoc(), channel, cursor,
                   /*pending=*/IntegerAttr());
  b.setInsertionPointAfter(last);
  if (begins)
    CommitOp::create(b, last->getLoc(), channel, cursor);
  else
    ReleaseOp::create(b, last->getLoc(), channel, cursor);
  return AdvanceOp::create(b, last->getLoc(), cursor);
}

/// The values that a turn hands on, and the cursor of the turns.
static void yield(OpBuilder &b, scf::ForOp loop, const IRMapping &mapping,
                  Value cursor) {
  SmallVector<Value> values;
  for (Value value : loop.getYieldedValues())
    values.push_back(mapping.lookupOrDefault(value));
  values.push_back(cursor);
  scf::YieldOp::create(b, loop.getLoc(), values);
}

/// Lets the role of `loop` take every second turn of it.
static void takeTurns(scf::ForOp loop, Value channel, bool begins) {
  Location loc = loop.getLoc();
  OpBuilder b(loop);
  auto type = CursorType::get(b.getContext(), 1);
  SmallVector<Value> inits(loop.getInitArgs());
  inits.push_back(CursorOp::create(b, loc, type));
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  inits.push_back(begins ? yes : arith::ConstantIntOp::create(b, loc, 0, 1));
  auto turns = scf::ForOp::create(
      b, loc, loop.getLowerBound(), loop.getUpperBound(), loop.getStep(), inits,
      /*bodyBuilder=*/nullptr, loop.getUnsignedCmp());
  turns->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  Value cursor = turns.getRegionIterArgs().drop_back().back();
  Value mine = turns.getRegionIterArgs().back();

  b.setInsertionPointToStart(turns.getBody());
  SmallVector<Type> types(loop.getResultTypes());
  types.push_back(type);
  auto branch = scf::IfOp::create(b, loc, types, mine, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  SmallVector<Value> next(branch.getResults());
  next.push_back(arith::XOrIOp::create(b, loc, mine, yes));
  scf::YieldOp::create(b, loc, next);

  // The other's turn: what the loop's next turn has to know.
  Block &body = *loop.getBody();
  RoleSlice slice;
  for (Value value : loop.getYieldedValues())
    slice.add(value);
  IRMapping mapping;
  mapping.map(body.getArguments(),
              turns.getBody()->getArguments().drop_back(2));
  b.setInsertionPointToStart(branch.elseBlock());
  slice.clone(b, body.begin(), body.getTerminator()->getIterator(), mapping);
  yield(b, loop, mapping, cursor);

  // Its own turn.
  for (auto [from, to] :
       llvm::zip(body.getArguments(), turns.getBody()->getArguments()))
    from.replaceAllUsesWith(to);
  Block &turn = *branch.thenBlock();
  turn.getOperations().splice(turn.end(), body.getOperations(), body.begin(),
                              body.getTerminator()->getIterator());
  b.setInsertionPointToEnd(&turn);
  yield(b, loop, IRMapping(), order(b, turn, channel, cursor, begins));
  loop.erase();

  if (begins)
    return;
  // The last turn was the other's, which nobody has answered.
  b.setInsertionPointAfter(turns);
  branch = scf::IfOp::create(b, loc, turns.getResults().back(),
                             /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  Value last = turns.getResults().drop_back().back();
  WaitOp::create(b, loc, channel, last, /*pending=*/IntegerAttr());
  ReleaseOp::create(b, loc, channel, last);
}

/// A name of no other role.
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
  takeTurns(loop, channel, /*begins=*/true);
  takeTurns(secondLoop, channel, /*begins=*/false);
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
    // What fills the channels does so for both roles.
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
      pingPong.run(*target);
      continue;
    }
    loop->removeAttr(TileDialect::kPingPong);
    refusal->op->emitRemark(
        llvm::formatv("tile-pp-{0:d4}: turns of a loop are not shared by two "
                      "roles: {1}",
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
