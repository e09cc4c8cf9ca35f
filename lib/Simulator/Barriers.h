//===- Barriers.h - Barriers and channels -----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "mbarrier": a barrier counts the arrivals that its present phase
// still needs, and the bytes that have to land. A wait names the parity of a
// phase. A channel has two barriers a slot, as its lowering does.
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
struct MBarrier {
  /// Arrivals a phase, and those that are missing in the present one.
  int64_t count = 1, missing = 1;
  /// Expected bytes less those that have landed. Less than zero while bytes
  /// land before they are expected.
  int64_t bytes = 0;
  /// The number of the present phase.
  int64_t phase = 0;
  /// The component of bytes landing here; those of phase p have time p + 1.
  unsigned component = 0;
  /// Its number in the block, for records.
  unsigned number = 0;
  /// What those know who have arrived in the present phase, and what those know
  /// who have waited for the last complete one.
  Knowledge arriving, complete;

  int64_t getParity() const { return phase & 1; }
  /// Whether a wait for the phase of the given parity returns.
  bool isComplete(int64_t parity) const { return getParity() != parity; }
  /// Begins the next phase if nothing is missing.
  void update() {
    if (missing > 0 || bytes != 0)
      return;
    arriving.done.raise(component, phase + 1);
    complete.join(arriving);
    arriving = {};
    missing = count;
    ++phase;
  }
};

/// The barriers that one operation makes, one a slot.
struct BarrierArray {
  /// What they stand for: "full" and "empty" for those of channels.
  std::string name;
  /// The channel or barrier in the kernel.
  mlir::Value value;
  std::vector<MBarrier> slots;
  /// Whether the initialization is visible to all threads.
  bool isReady = true;
  /// Whether it is to all threads of the cluster.
  bool isReadyInCluster = false;
};

/// The state of a `tile.channel`.
struct Channel {
  std::shared_ptr<BarrierArray> full, empty;

  int64_t getDepth() const { return full->slots.size(); }
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_BARRIERS_H
