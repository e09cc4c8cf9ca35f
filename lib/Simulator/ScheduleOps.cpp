//===- ScheduleOps.cpp - Channels and roles -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The roles of a block take turns: one runs until it has to wait for another.
// Each has a thread of its own, of which one at a time runs, so that a role can
// stop in the middle of nested loops; the order is always the same.
//
//===----------------------------------------------------------------------===//

#include "Program.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include <condition_variable>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

namespace tilews::sim {
/// The roles of a block and whose turn it is.
class RoleTasks {
public:
  explicit RoleTasks(unsigned count) : live(count), blocked(count) {
    alive.assign(count, true);
  }

  /// Runs `body` as role number `role`, from its first turn on.
  void run(unsigned role, function_ref<LogicalResult()> body) {
    std::unique_lock<std::mutex> lock(mutex);
    await(lock, role);
    if (failed(body()) && !firstFailed)
      firstFailed = role;
    alive[role] = false;
    --live;
    stuck = 0;
    pass(role);
  }

  /// Gives the other roles their turns until `ready` holds. Returns false if
  /// that will never be, because all roles wait. Called with the turn, which
  /// holds the lock.
  bool waitUntil(unsigned role, const Instruction &inst, StringRef what,
                 function_ref<bool()> ready) {
    while (!ready()) {
      blocked[role] = {&inst, what.str()};
      if (++stuck >= live)
        isDead = true;
      if (isDead)
        return false;
      pass(role);
      std::unique_lock<std::mutex> lock(mutex, std::adopt_lock);
      await(lock, role);
      lock.release();
    }
    stuck = 0;
    return true;
  }

  /// The role that failed first: others then wait for it in vain.
  std::optional<unsigned> getFirstFailed() const { return firstFailed; }

  /// What each role waits for.
  std::vector<std::pair<Location, std::string>>
  describe(ArrayRef<std::string> names) const {
    std::vector<std::pair<Location, std::string>> notes;
    for (auto [role, block] : llvm::enumerate(blocked))
      if (alive[role] && block.inst)
        notes.emplace_back(block.inst->op->getLoc(),
                           "role @" + names[role] + " " + block.what);
    return notes;
  }

private:
  struct Blocked {
    const Instruction *inst = nullptr;
    std::string what;
  };

  void await(std::unique_lock<std::mutex> &lock, unsigned role) {
    turn.wait(lock, [&] { return current == role; });
  }
  void pass(unsigned role) {
    unsigned next = role;
    for (size_t i = 0; i < alive.size(); ++i) {
      next = (next + 1) % alive.size();
      if (alive[next])
        break;
    }
    current = next;
    turn.notify_all();
  }

  std::mutex mutex;
  std::condition_variable turn;
  unsigned current = 0;
  unsigned live;
  /// Turns in a row that ended without progress.
  unsigned stuck = 0;
  bool isDead = false;
  std::optional<unsigned> firstFailed;
  std::vector<bool> alive;
  std::vector<Blocked> blocked;
};
} // namespace tilews::sim

static LogicalResult runRoles(Frame &frame, const Instruction &inst) {
  const std::vector<Instruction> &roles = inst.regions.front().body;
  unsigned count = roles.size() - 1;
  RoleTasks tasks(count);
  std::vector<Frame> frames;
  for (unsigned role = 0; role < count; ++role)
    frames.push_back(frame.fork(tasks, role));
  std::vector<std::thread> threads;
  for (unsigned role = 0; role < count; ++role)
    threads.emplace_back([&, role] {
      tasks.run(role, [&] {
        return frames[role].run(roles[role].regions.front(), {});
      });
    });
  for (std::thread &thread : threads)
    thread.join();
  if (std::optional<unsigned> role = tasks.getFirstFailed()) {
    frame.fail(*frames[*role].getFailure());
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// The number of roles in which an operation of type `OpT` uses `channel`.
template <typename OpT>
static int64_t countRoles(Value channel) {
  llvm::SmallPtrSet<Operation *, 4> roles;
  for (Operation *user : channel.getUsers())
    if (isa<OpT>(user))
      roles.insert(user->getParentOfType<tile::RoleOp>());
  return roles.size();
}

static LogicalResult makeChannel(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::ChannelOp>(inst.op);
  auto channel = std::make_shared<Channel>();
  channel->depth = op.getChannel().getType().getDepth();
  channel->producers = countRoles<tile::CommitOp>(op.getChannel());
  channel->consumers = countRoles<tile::ReleaseOp>(op.getChannel());
  channel->commits.resize(channel->depth);
  channel->releases.resize(channel->depth);
  Datum datum;
  datum.channel = std::move(channel);
  frame.set(inst, 0, std::move(datum));
  return success();
}

/// Waits until `ready`; where roles wait for each other, the block stops.
static LogicalResult waitUntil(Frame &frame, const Instruction &inst,
                               StringRef what, function_ref<bool()> ready) {
  RoleTasks *tasks = frame.getTasks();
  if (tasks ? tasks->waitUntil(frame.getRole(), inst, what, ready) : ready())
    return success();
  if (!tasks)
    return frame.fail(inst, what + ", which never happens");
  (void)frame.fail(inst, "never returns: all roles wait");
  Failure failure = *frame.getFailure();
  std::vector<std::string> names;
  for (tile::RoleOp role :
       inst.op->getParentOfType<tile::SpecializeOp>().getRoles())
    names.push_back(role.getName().str());
  failure.notes = tasks->describe(names);
  frame.fail(std::move(failure));
  return mlir::failure();
}

namespace {
/// A channel and a place in it.
struct Place {
  Place(const Frame &frame, const Instruction &inst)
      : channel(*frame.get(inst, 0).channel),
        slot(frame.getInteger(inst, 1) % channel.depth),
        round(frame.getInteger(inst, 1) / channel.depth) {}

  /// How often the slot's contents were completed, and were given back.
  int64_t getFills() const {
    return channel.commits[slot] / std::max<int64_t>(channel.producers, 1);
  }
  int64_t getReleases() const {
    return channel.releases[slot] / std::max<int64_t>(channel.consumers, 1);
  }

  Channel &channel;
  int64_t slot;
  int64_t round;
};
} // namespace

static LogicalResult acquire(Frame &frame, const Instruction &inst) {
  Place place(frame, inst);
  std::string what = ("waits for slot " + Twine(place.slot) +
                      " to be released " + Twine(place.round) + " times")
                         .str();
  return waitUntil(frame, inst, what,
                   [&] { return place.getReleases() >= place.round; });
}

static LogicalResult wait(Frame &frame, const Instruction &inst) {
  Place place(frame, inst);
  std::string what = ("waits for slot " + Twine(place.slot) + " to be filled " +
                      Twine(place.round + 1) + " times")
                         .str();
  if (failed(waitUntil(frame, inst, what,
                       [&] { return place.getFills() > place.round; })))
    return failure();
  auto op = cast<tile::WaitOp>(inst.op);
  if (std::optional<int64_t> pending = op.getPending())
    return frame.landCopies(*pending);
  auto channel = op.getChannel().getDefiningOp<tile::ChannelOp>();
  if (channel && channel.getProducer() == tile::ProducerKind::Simt)
    return success();
  frame.closeGroup();
  return frame.landCopies(0);
}

static LogicalResult commit(Frame &frame, const Instruction &inst) {
  Place place(frame, inst);
  ++place.channel.commits[place.slot];
  return success();
}

static LogicalResult release(Frame &frame, const Instruction &inst) {
  Place place(frame, inst);
  ++place.channel.releases[place.slot];
  return success();
}

void sim::registerScheduleHandlers(Registry &registry) {
  registry.add<tile::SpecializeOp>(runRoles); // Runs the bodies of its roles.
  registry.add<tile::RoleOp>(
      [](Frame &, const Instruction &) { return success(); });
  registry.add<tile::ChannelOp>(makeChannel);
  registry.add<tile::CursorOp>([](Frame &frame, const Instruction &inst) {
    frame.setInteger(inst, 0);
    return success();
  });
  registry.add<tile::AdvanceOp>([](Frame &frame, const Instruction &inst) {
    frame.setInteger(inst, frame.getInteger(inst, 0) + 1);
    return success();
  });
  registry.add<tile::CommitGroupOp>([](Frame &frame, const Instruction &) {
    frame.closeGroup();
    return success();
  });
  registry.add<tile::AcquireOp>(acquire);
  registry.add<tile::WaitOp>(wait);
  registry.add<tile::CommitOp>(commit);
  registry.add<tile::ReleaseOp>(release);
}
