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

/// Returns the slot that an instruction uses: operand `operand` is the
/// barriers, the next one the number of the slot. Fails if the number is out of
/// range or the barriers are not ready.
mlir::FailureOr<int64_t> getBarrierSlot(Frame &frame, const Instruction &inst,
                                        unsigned operand);

/// Waits for the phase of parity `parity` of a barrier, and joins the clocks of
/// its arrivals into those of the agent. If the phase never completes, the
/// block fails with a report of all waiting agents.
mlir::LogicalResult waitFor(Frame &frame, const Instruction &inst,
                            BarrierArray &barriers, int64_t slot,
                            int64_t parity);

/// Makes the present phase of a barrier expect `bytes` more bytes.
void expect(Frame &frame, MBarrier &barrier, int64_t bytes);

/// Arrives at a barrier; fails if its phase expects fewer arrivals.
mlir::LogicalResult arrive(Frame &frame, const Instruction &inst,
                           BarrierArray &barriers, int64_t slot,
                           int64_t arrivals, const Clocks &clocks);

/// Returns a record with the barrier, the slot and the present phase.
struct Record makeRecord(const BarrierArray &barriers, int64_t slot);

/// Arrives when all copies by cp.async that the agent has started so far have
/// landed. A wait for the phase is then ordered after these copies.
mlir::LogicalResult arriveAfterCopies(Frame &frame, const Instruction &inst,
                                      BarrierArray &barriers, int64_t slot,
                                      int64_t arrivals, Clocks clocks);

/// Starts a copy of `bytes` bytes by TMA. At any time from now on, `move`
/// copies them and they land on the barrier. `op` comes from `makeLoad`.
mlir::LogicalResult startLoad(Frame &frame, std::shared_ptr<AsyncOp> op,
                              BarrierArray &barriers, int64_t slot,
                              int64_t bytes,
                              std::function<mlir::LogicalResult()> move);
std::shared_ptr<AsyncOp> makeLoad(Frame &frame, const Instruction &inst,
                                  BlockState &block, const MBarrier &barrier);

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_BARRIERWAIT_H
