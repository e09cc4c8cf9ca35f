//===- Clock.h - What is known to have happened -----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vector clocks. What happens in a block belongs to components, whose events
// are numbered: the ordinary accesses of an agent, its copies, its products,
// the bytes that land on a barrier. Knowing a component up to a time means that
// all events up to it come before whatever the one who knows does next.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_CLOCK_H
#define TILEWS_LIB_SIMULATOR_CLOCK_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace tilews::sim {

/// A time for each component; 0 stands for nothing.
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
  void join(const Clock &other) {
    if (times.size() < other.times.size())
      times.resize(other.times.size());
    for (size_t i = 0; i < other.times.size(); ++i)
      times[i] = std::max(times[i], other.times[i]);
  }

private:
  llvm::SmallVector<uint32_t, 16> times;
};

/// What has happened, and which ordinary writes a proxy fence has made visible
/// to the async proxy.
struct Knowledge {
  Clock done, fenced;

  void join(const Knowledge &other) {
    done.join(other.done);
    fenced.join(other.fenced);
  }
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_CLOCK_H
