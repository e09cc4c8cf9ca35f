//===- BarrierWait.h - Arrivals at barriers, and waits ----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_BARRIERWAIT_H
#define TILEWS_LIB_SIMULATOR_BARRIERWAIT_H

#include "Barriers.h"
#include "Program.h"
#include "Scheduler.h"

namespace tilews::sim {

/// The slot that operand `operand + 1` names of the barriers that are operand
/// `operand`. Fails if there is none, or if the barriers are not ready.
mlir::FailureOr<int64_t> getBarrierSlot(Frame &frame, const Instruction &inst,
                                        unsigned operand);

/// Waits for the phase of parity `parity` of a barrier and learns what those
/// know who have arrived. Where nobody ever does, the block fails with a report
/// of all that wait.
mlir::LogicalResult waitFor(Frame &frame, const Instruction &inst,
                            BarrierArray &barriers, int64_t slot,
                            int64_t parity);

/// Arrives at a barrier; fails if its phase expects fewer arrivals.
mlir::LogicalResult arrive(Frame &frame, const Instruction &inst,
                           BarrierArray &barriers, int64_t slot,
                           int64_t arrivals, const Knowledge &knowledge);

/// What a record of an operation under way says of the barrier it arrives at.
struct Record makeRecord(const BarrierArray &barriers, int64_t slot);

/// Arrives as soon as all copies by cp.async that the agent has started so far
/// have landed, which those who wait then know.
mlir::LogicalResult arriveBehindCopies(Frame &frame, const Instruction &inst,
                                       BarrierArray &barriers, int64_t slot,
                                       int64_t arrivals, Knowledge knowledge);

/// Starts a copy of `bytes` bytes by TMA: `move` copies them at any time from
/// now on, and they then land on the barrier. `op` has been made by `makeLoad`.
mlir::LogicalResult startLoad(Frame &frame, std::shared_ptr<AsyncOp> op,
                              BarrierArray &barriers, int64_t slot,
                              int64_t bytes,
                              std::function<mlir::LogicalResult()> move);
std::shared_ptr<AsyncOp> makeLoad(Frame &frame, const Instruction &inst,
                                  BlockState &block, const MBarrier &barrier);

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_BARRIERWAIT_H
