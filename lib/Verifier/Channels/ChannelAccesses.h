//===- ChannelAccesses.h - Accesses to the slots of channels ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_CHANNELS_CHANNELACCESSES_H
#define TILEWS_LIB_VERIFIER_CHANNELS_CHANNELACCESSES_H

#include "Verifier/Channels/ChannelState.h"

namespace tilews::verifier {

/// The accesses to slots: each must lie within a transaction of its task, or be
/// a read of a slot that nobody fills any more.
///
/// Example: @math loads from slot 0. It must have waited for slot 0 and not
/// released it, the transaction must have filled the buffer, and its copies
/// must have landed.
class ChannelAccesses {
public:
  ChannelAccesses(const ChannelModel &model, const ChannelState &parts)
      : model(model), parts(parts) {}

  /// All accesses of an event; `cursors` has one for each. The state is
  /// unchanged unless the outcome is `Done`.
  Outcome access(State &state, unsigned task, const ChannelEvent &event,
                 llvm::ArrayRef<int64_t> cursors, Finding &finding) const;

private:
  Outcome accessSlot(State &state, unsigned task, mlir::Operation *op,
                     const SlotAccess &access, ChannelCursor cursor,
                     Finding &finding) const;
  Outcome overwrite(State &state, unsigned task, mlir::Operation *op,
                    const SlotAccess &access, ChannelCursor cursor,
                    Finding &finding) const;
  Outcome contest(State &state, unsigned task, mlir::Operation *op,
                  const SlotAccess &access, ChannelCursor cursor,
                  Finding &finding) const;
  Outcome fill(State &state, mlir::Operation *op, const SlotAccess &access,
               ChannelCursor cursor, Finding &finding) const;
  Outcome checkRead(const State &state, unsigned task, mlir::Operation *op,
                    const SlotAccess &access, ChannelCursor cursor,
                    Finding &finding) const;
  Outcome accessLoosely(State &state, unsigned task, mlir::Operation *op,
                        const SlotAccess &access, ChannelCursor cursor,
                        Finding &finding) const;
  Outcome checkLooseRead(const State &state, unsigned task, mlir::Operation *op,
                         ChannelCursor cursor, Finding &finding) const;
  void startReads(State &state, unsigned task, const ChannelEvent &event,
                  llvm::ArrayRef<int64_t> cursors) const;

  const ChannelModel &model;
  const ChannelState &parts;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_CHANNELS_CHANNELACCESSES_H
