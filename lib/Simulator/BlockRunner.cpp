//===- BlockRunner.cpp - Runs of one block --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The policy `worst` is systematic concurrency testing, as in CHESS (Musuvathi
// et al., "Finding and Reproducing Heisenbugs in Concurrent Programs", 2008):
// it runs a block repeatedly from the same memory with different schedules. A
// run is given by its choices; where the given ones end, the first possibility
// is taken. From each run others are made that differ from it in one choice
// after the given ones:
//
//   run 1: given {}       made choices 0 0 0, of 2, 1 and 3 possibilities
//   next:  {1}, {0 0 1}, {0 0 2}
//
// So no run is made twice, and runs with few unusual choices, which suffice for
// most faults, come first.
//
//===----------------------------------------------------------------------===//

#include "BlockRunner.h"
#include "ClusterState.h"
#include "PartialOrderSearch.h"

#include "tilews/Simulator/Interruption.h"

#include <deque>

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

BlockRunner::BlockRun BlockRunner::runOnce(Int3 block, Policy &policy) const {
  if (launch.interruption && launch.interruption->isRequested())
    return {Failure{program.location, "the caller ended the run"}};
  ClusterState cluster(launch, block, policy);
  // Operations in flight refer to frames, so frames outlive the run.
  std::vector<std::unique_ptr<Frame>> frames;
  for (const std::unique_ptr<BlockState> &state : cluster.getBlocks())
    frames.push_back(std::make_unique<Frame>(
        launch, state->getBlock(), std::vector<Datum>(program.numSlots), *state,
        state->getMainAgent()));
  BlockRun outcome;
  outcome.failure = cluster.run([&](BlockState &state) {
    Frame &frame = *frames[state.getRank()];
    return success(succeeded(frame.run(program.code, arguments)) &&
                   succeeded(state.leave()));
  });
  for (const std::unique_ptr<BlockState> &state : cluster.getBlocks())
    outcome.isRegular &= state->isRegular();
  return outcome;
}

std::optional<Failure> BlockRunner::run(int64_t index) const {
  const Int3 &extents = launch.cluster.extents;
  Int3 clusters = {launch.grid[0] / extents[0], launch.grid[1] / extents[1],
                   launch.grid[2] / extents[2]};
  Int3 block = {index % clusters[0] * extents[0],
                index / clusters[0] % clusters[1] * extents[1],
                index / clusters[0] / clusters[1] * extents[2]};
  if (timing.kind == TimingKind::Worst)
    return runAll(block);
  if (timing.kind == TimingKind::Exhaustive)
    return runExhaustively(block);
  bool isReplayed = true;
  for (unsigned dim = 0; dim < 3; ++dim)
    isReplayed &= block[dim] == timing.block[dim] / extents[dim] * extents[dim];
  if (timing.kind == TimingKind::Replay && isReplayed) {
    Policy policy(timing.choices, timing.isOfExhaustive);
    return runOnce(block, policy).failure;
  }
  Timing other = timing;
  if (timing.kind == TimingKind::Replay)
    other.kind = TimingKind::Earliest;
  Policy policy(other, index);
  std::optional<Failure> failure = runOnce(block, policy).failure;
  if (failure && timing.kind == TimingKind::Random)
    failure->notes.emplace_back(
        failure->location,
        ("seen under the policy 'random' with seed " + Twine(timing.seed))
            .str());
  return failure;
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

namespace {
/// A copy of the memory that a launch may write.
class Snapshot {
public:
  explicit Snapshot(ArrayRef<Datum> arguments) {
    for (const Datum &argument : arguments)
      if (argument.memref && argument.memref->buffer->writable)
        add(*argument.memref);
  }
  void restore() const {
    for (auto &[memory, bytes] : parts)
      llvm::copy(bytes, memory.begin());
  }
  bool isUnchanged() const {
    return llvm::all_of(parts, [](auto &part) {
      return part.first.equals(ArrayRef<uint8_t>(part.second));
    });
  }

private:
  /// Copies the bytes that a memref reaches; its strides may be negative.
  void add(const MemRef &memref) {
    int64_t low = 0, high = 0;
    for (auto [extent, stride] :
         llvm::zip_equal(memref.shape, memref.strides)) {
      if (extent == 0)
        return;
      (stride < 0 ? low : high) += (extent - 1) * stride;
    }
    int64_t bits = memref.storageBits;
    int64_t first = low * bits / 8;
    int64_t last = llvm::divideCeil((high + 1) * bits, 8);
    MutableArrayRef<uint8_t> memory(memref.buffer->data + first, last - first);
    parts.emplace_back(memory,
                       std::vector<uint8_t>(memory.begin(), memory.end()));
  }

  std::vector<std::pair<MutableArrayRef<uint8_t>, std::vector<uint8_t>>> parts;
};
} // namespace

/// Returns the text of a schedule for `sim.run(schedule=...)`: "0,0,0:1.0.2" is
/// block (0, 0, 0) and its choices.
static std::string getSchedule(Int3 block, ArrayRef<unsigned> choices) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(block, os, ",");
  os << ":";
  llvm::interleave(choices, os, ".");
  return text;
}

/// Returns the failure of a block whose runs have different results.
Failure BlockRunner::getDifference(Int3 block) const {
  return {program.location, "the results of block " + toString(block) +
                                " depend on the order of what happens in it"};
}

static void addSchedule(Failure &failure, uint64_t run, StringRef schedule) {
  failure.notes.emplace_back(failure.location,
                             ("seen in run " + Twine(run) +
                              " of the search; its schedule is " + schedule)
                                 .str());
}

std::optional<Failure> BlockRunner::runAll(Int3 block) const {
  Snapshot before(arguments);
  std::optional<Snapshot> result;
  std::deque<SmallVector<unsigned>> next = {{}};
  for (unsigned run = 0; run < timing.runs && !next.empty(); ++run) {
    SmallVector<unsigned> given = std::move(next.front());
    next.pop_front();
    before.restore();
    Policy policy(given);
    std::optional<Failure> failure = runOnce(block, policy).failure;
    if (!failure && result && !result->isUnchanged())
      failure = getDifference(block);
    if (failure) {
      addSchedule(*failure, run + 1, getSchedule(block, given));
      return failure;
    }
    if (!result)
      result.emplace(arguments);
    ArrayRef<Policy::Choice> choices = policy.getChoices();
    for (size_t i = given.size(); i < choices.size(); ++i) {
      if (run + next.size() >= timing.runs)
        break;
      SmallVector<unsigned> other = given;
      for (size_t j = given.size(); j < i; ++j)
        other.push_back(choices[j].taken);
      other.push_back(0);
      for (unsigned k = 1; k < choices[i].possibilities; ++k) {
        other.back() = k;
        next.push_back(other);
      }
    }
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// All orders
//===----------------------------------------------------------------------===//

std::optional<Failure> BlockRunner::explore(Int3 block,
                                            PartialOrderSearch &search,
                                            Exploration &result) const {
  Snapshot before(arguments);
  std::optional<Snapshot> after;
  while (result.runs < timing.runs && search.beginRun()) {
    before.restore();
    ++result.runs;
    Policy policy(search);
    auto [failure, isRegular] = runOnce(block, policy);
    search.endRun();
    bool isComplete = !search.wasCutOff() && !search.hasDeparted();
    if (!failure && isComplete && after && !after->isUnchanged())
      failure = getDifference(block);
    if (failure) {
      std::string schedule = getSchedule(block, search.getChoices());
      addSchedule(*failure, result.runs,
                  search.isReducing() ? "exhaustive:" + schedule : schedule);
      return failure;
    }
    result.cutOff += !isComplete;
    if (isComplete && !after)
      after.emplace(arguments);
    if (!isRegular && search.isReducing() && !search.isExact())
      search.makeExact();
  }
  result.isExhausted = !search.hasDeparted() && !search.beginRun();
  if (after)
    after->restore();
  if (result.isExhausted)
    return std::nullopt;
  std::string reason =
      search.hasDeparted()
          ? "a run did not repeat the steps of the one before it"
          : "more orders are possible";
  return Failure{program.location,
                 ("block " + toString(block) + ": " + Twine(result.runs) +
                  " runs, not exhausted: " + reason)
                     .str()};
}

std::optional<Failure> BlockRunner::runExhaustively(Int3 block) const {
  PartialOrderSearch search(timing.reduces);
  Exploration result{block, 0, 0, 0, false};
  std::optional<Failure> failure = explore(block, search, result);
  result.traces = search.countTraces();
  if (launch.explored)
    launch.explored(result);
  return failure;
}
