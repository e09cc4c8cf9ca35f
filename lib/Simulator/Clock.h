//===- Clock.h - Vector clocks ----------------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks (Fidge, "Timestamps in message-passing systems that preserve
// the partial ordering", 1988). Events belong to components and are numbered
// there: the ordinary accesses of an agent, its copies, its matmuls, the bytes
// that land on a barrier. A clock of an agent with entry t for a component
// means: events 1 to t of the component happen before the agent's next step.
//
//   components:  0 accesses of @load   1 bytes on barrier 'full'
//   clock (3, 1) of @math: the first 3 steps of @load, and the bytes of the
//   first phase, happen before the next step of @math
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_CLOCK_H
#define TILEWS_LIB_SIMULATOR_CLOCK_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>

namespace tilews::sim {

/// A time for each component; 0 if none of its events is ordered before.
class Clock {
public:
  uint32_t get(unsigned component) const {
    return component < times.size() ? times[component] : 0;
  }
  void raise(unsigned component, uint32_t time) {
    if (component >= times.size())
      times.resize(component + 1);
    times[component] = std::max(times[component], time);
  }
  /// Prints "3 0 2": the times of components 0, 1 and 2.
  void print(llvm::raw_ostream &os) const { llvm::interleave(times, os, " "); }
  void join(const Clock &other) {
    if (times.size() < other.times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }

private:
  llvm::SmallVector<uint32_t, 16> times;
};

/// Two clocks: `done` for events that happen before the next step, and `fenced`
/// for ordinary accesses after which a proxy fence comes.
struct Clocks {
  Clock done, fenced;

  void join(const Clocks &other) {
    done.join(other.done);
    fenced.join(other.fenced);
  }
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_CLOCK_H
