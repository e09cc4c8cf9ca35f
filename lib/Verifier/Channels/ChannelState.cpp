//===- ChannelState.cpp - The parts of a state with channels --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each part reserves its words in the order of the members. What concerns
// several parts is here: the initial state, waits without roles, and the
// rotation of a channel, by which the search finds more states to be equal.
//
// A channel treats its slots alike. If its next transaction is at cursor b,
// then renaming each cursor c to (c - b) mod 2 * depth, and the slots with
// them, gives a state with the same future:
//
//     depth 2, next 3: slot 0 full, slot 1 empty
//     depth 2, next 0: slot 0 empty, slot 1 full
//
//===----------------------------------------------------------------------===//

#include "Verifier/Channels/ChannelState.h"

#include "Verifier/Engine/VectorClock.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

ChannelState::ChannelState(const ChannelModel &model, StateLayout layout)
    : transactions(model, layout), contents(model, layout),
      clocks(model, layout), model(model),
      firstMatmul(layout.reserve(model.getNumTasks() * AsyncMatmuls::kWords)),
      firstStoreReads(layout.reserve(model.getNumTasks())),
      numWords(layout.getNumWords()) {}

State ChannelState::getInitial() const {
  State state(numWords, 0);
  transactions.initialize(state);
  contents.initialize(state);
  clocks.initialize(state);
  return state;
}

uint64_t ChannelState::getAsyncReads(const State &state) const {
  uint64_t reads = 0;
  for (unsigned task = 0; task < model.getNumTasks(); ++task)
    reads |= getAsyncReads(state, task);
  return reads;
}

void ChannelState::drain(State &state, unsigned task) const {
  getMatmuls(state, task).end(0);
  state[firstStoreReads + task] = 0;
}

void ChannelState::landAndSynchronize(
    State &state, WaitOp op, const ChannelModel::Channel &channel) const {
  if (std::optional<int64_t> pending = op.getPending())
    contents.land(state, *pending, /*openToo=*/false);
  else if (ChannelOp(channel.op).getProducer() != ProducerKind::Simt)
    contents.land(state, 0, /*openToo=*/true);
  contents.synchronize(state, op.getProxyFence());
}

void ChannelState::rotate(State &state, unsigned channel, int64_t base) const {
  int64_t first = model.channels[channel].getSlot(base);
  transactions.rotate(state, channel, base);
  contents.rotate(state, channel, first);
  clocks.rotate(state, channel, first);
  auto rename = [&](uint64_t reads) {
    return model.rotateSlots(reads, channel, first);
  };
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    getMatmuls(state, task).renamePlaces(rename);
    state[firstStoreReads + task] = rename(getStoreReads(state, task));
  }
}

void ChannelState::print(raw_ostream &os, const State &state) const {
  transactions.print(os, state);
  contents.print(os, state);
  clocks.print(os, state);
  for (unsigned task = 0; task < model.getNumTasks(); ++task) {
    const int64_t *queue = &state[getMatmulWord(task)];
    if (*queue) {
      os << "matmuls of task " << task << ": ";
      AsyncMatmuls::print(os, queue);
      os << "\n";
    }
    if (uint64_t reads = getStoreReads(state, task)) {
      os << "copies of task " << task << " read ";
      VectorClockRef::printPlaces(os, reads);
      os << "\n";
    }
  }
}
