//===- Barriers.h - Barriers and channels -----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Barriers as in the PTX ISA, "mbarrier": a barrier counts pending arrivals and
// pending bytes of its present phase. A wait names the parity of a phase. A
// channel has two barriers per slot, like its lowering.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_BARRIERS_H
#define TILEWS_LIB_SIMULATOR_BARRIERS_H

#include "Clock.h"

#include "mlir/IR/Value.h"

#include <memory>
#include <string>
#include <vector>

namespace tilews::sim {

/// A barrier in shared memory.
///
/// Example: count 2, phase 0. After two arrivals, and when all expected bytes
/// have landed, `update` starts phase 1: waits for parity 0 return, waits for
/// parity 1 do not.
struct MBarrier {
  /// Arrivals per phase, and those still missing in the present one.
  int64_t count = 1, missing = 1;
  /// Expected bytes minus landed bytes. Negative if bytes land before they are
  /// expected.
  int64_t bytes = 0;
  /// The number of the present phase.
  int64_t phase = 0;
  /// The component of the bytes that land here; those of phase p have time
  /// p + 1.
  unsigned component = 0;
  /// The barrier's number in the block, for records.
  unsigned number = 0;
  /// The joined clocks of the arrivals in the present phase, and those of the
  /// last complete phase, which a wait joins into the clocks of its agent.
  Clocks arriving, complete;
  /// The agents that made the present phase expect bytes and have not arrived
  /// since.
  llvm::SmallVector<unsigned, 2> expecting;
  /// Whether no phase so far has depended on the order of its arrivals and
  /// bytes (see StepTrace.cpp).
  bool isRegular = true;

  int64_t getParity() const { return phase & 1; }
  /// Returns whether a wait for the phase of this parity is over.
  bool isComplete(int64_t parity) const { return getParity() != parity; }
  /// Starts the next phase if no arrivals and no bytes are missing.
  void update() {
    isRegular &= missing > 0 || (bytes >= 0 && expecting.empty());
    if (missing > 0 || bytes != 0)
      return;
    expecting.clear();
    arriving.done.raise(component, phase + 1);
    complete.join(arriving);
    arriving = {};
    missing = count;
    ++phase;
  }
};

/// The barriers that one operation makes, one per slot.
struct BarrierArray {
  /// "full" or "empty" for barriers of channels, empty for others.
  std::string name;
  /// The channel or barrier in the kernel.
  mlir::Value value;
  std::vector<MBarrier> slots;
  /// Whether the initialization is visible to all threads of the block.
  bool isReady = true;
  /// Whether it is visible to all threads of the cluster.
  bool isReadyInCluster = false;
};

/// The state of a `tile.channel`.
struct ChannelBarriers {
  std::shared_ptr<BarrierArray> full, empty;

  int64_t getDepth() const { return full->slots.size(); }
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_BARRIERS_H
