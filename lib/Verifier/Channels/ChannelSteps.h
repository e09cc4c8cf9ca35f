//===- ChannelSteps.h - Steps of transactions -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSTEPS_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSTEPS_H

#include "Verifier/Channels/ChannelState.h"

namespace tilews::verifier {

/// The steps of transactions: acquire, commit, wait and release. Each is first
/// checked against the state. With roles, a task blocks until a slot is empty,
/// or full; without, nobody else could fill or empty it, so a slot that is not
/// ready is a fault.
///
/// Example: `tile.acquire %c[%p]` with %p = 2 on a channel of depth 2 is right
/// if the next acquire is at 2 and slot 0 is empty. If slot 0 is full, @load
/// blocks until @math releases it.
class ChannelSteps {
public:
  ChannelSteps(const ChannelModel &model, const ChannelState &parts)
      : model(model), parts(parts) {}

  Outcome acquire(State &state, unsigned task, AcquireOp op,
                  ChannelCursor cursor, Finding &finding) const;
  Outcome commit(State &state, unsigned task, CommitOp op, ChannelCursor cursor,
                 Finding &finding) const;
  Outcome wait(State &state, unsigned task, WaitOp op, ChannelCursor cursor,
               Finding &finding) const;
  Outcome release(State &state, unsigned task, ReleaseOp op,
                  ChannelCursor cursor, Finding &finding) const;
  /// Checks, after all tasks have ended, that no transaction of the slot is
  /// open.
  bool finish(const State &state, ChannelCursor slot, Finding &finding) const;

private:
  Outcome checkAcquire(const State &state, unsigned task, AcquireOp op,
                       ChannelCursor cursor, Finding &finding) const;
  Outcome checkWait(const State &state, unsigned task, WaitOp op,
                    ChannelCursor cursor, Finding &finding) const;
  Outcome checkRelease(const State &state, unsigned task, ReleaseOp op,
                       ChannelCursor cursor, Finding &finding) const;

  const ChannelModel &model;
  const ChannelState &parts;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELSTEPS_H
