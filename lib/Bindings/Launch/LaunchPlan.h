//===- LaunchPlan.h - One launch of a kernel --------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan has the parameters of a launch with holes for addresses, numbers and
// tensor maps. It fills in a copy on the stack. So threads share a plan without
// a lock, and the driver is called without Python's.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_LAUNCHPLAN_H
#define TILEWS_BINDINGS_LAUNCH_LAUNCHPLAN_H

#include "CallPlan.h"
#include "Driver.h"

#include <array>
#include <utility>
#include <vector>

namespace tilews::launch {

/// An array of a launch: the argument it is and the parameter it goes to.
struct ArraySlot {
  unsigned slot;
  unsigned argument;
  uint64_t alignment;
};

enum class NumberKind { Signed, Unsigned, Float32, Float64, Other };

/// A number of a launch. One of another kind goes through a function of Python.
struct NumberSlot {
  unsigned slot;
  unsigned argument;
  NumberKind kind;
  unsigned bits;
  PyObject *pack;
  PyObject *name;
};

/// Two arrays, which overlap if the distance of their addresses is between the
/// limits, both excluded.
struct ForbiddenDistance {
  unsigned first, second;
  int64_t low, high;
};

/// A step of an expression of the grid, in postfix order.
enum class GridStep { Number, Argument, Add, Multiply, Modulo, Floor, Ceil };
using GridProgram = std::vector<std::pair<GridStep, int64_t>>;

/// A tensor map of a launch.
struct MapSlot {
  static constexpr unsigned kBytes = 128;
  static constexpr unsigned kCached = 8;

  unsigned slot;
  unsigned array;
  int type;
  std::vector<uint64_t> extents, strides;
  std::vector<uint32_t> box, elementStrides;
  int interleave, swizzle, promotion, fill;
  uint64_t shift;
  /// What is described in place of an array without elements; else 0.
  uint64_t zeros;

  /// The last maps, by address.
  struct Encoded {
    uint64_t address = 0;
    unsigned char bytes[kBytes];
  };
  mutable std::array<Encoded, kCached> cache{};
};

/// What a launch has besides its parameters.
struct LaunchFrame {
  Driver driver;
  void *function;
  void *context;
  std::array<uint32_t, 3> block;
  std::array<uint32_t, 3> cluster;
  uint32_t sharedBytes;
};

/// A launch with all of its parameters.
struct PreparedLaunch {
  static constexpr unsigned kMaxSlots = 64;
  static constexpr unsigned kMaxMaps = 8;

  alignas(64) unsigned char maps[kMaxMaps][MapSlot::kBytes];
  uint64_t values[kMaxSlots];
  void *addresses[kMaxSlots];
  uint32_t grid[3];
  void *stream;
};

class LaunchPlan : public CallPlan {
public:
  LaunchPlan(LaunchFrame frame, std::vector<uint64_t> values,
             std::vector<ArraySlot> arrays, std::vector<NumberSlot> numbers,
             std::vector<ForbiddenDistance> distances,
             std::array<GridProgram, 3> grid, std::vector<MapSlot> maps);
  ~LaunchPlan() override;

  /// Sets what Python has of the kernel. The owner keeps it loaded. As long as
  /// no module waits to be unloaded, `unused` is empty. One function raises the
  /// error of a status, another one gives the handle of a stream's object.
  void setPython(PyObject *owner, PyObject *unused, PyObject *raise,
                 PyObject *findStream);

  PlanOutcome run(CallKey &key, PyObject *&result) const override;

  /// Fills in a launch; false if it has to go the general way.
  bool prepare(const CallKey &key, PreparedLaunch &launch) const;

  /// Starts a launch that was prepared.
  PlanOutcome start(PreparedLaunch &launch) const;

private:
  bool fill(const CallKey &key, PreparedLaunch &into) const;
  bool fillArrays(const CallKey &key, PreparedLaunch &into) const;
  bool fillMap(const MapSlot &map, uint64_t address, unsigned char *into) const;
  bool evaluateGrid(const CallKey &key, uint32_t *blocks) const;
  bool findStream(const CallKey &key, void *&stream) const;
  bool isUsual(void *stream) const;

  LaunchFrame frame;
  std::vector<uint64_t> values;
  std::vector<ArraySlot> arrays;
  std::vector<NumberSlot> numbers;
  std::vector<ForbiddenDistance> distances;
  std::array<GridProgram, 3> grid;
  std::vector<MapSlot> maps;
  PyObject *owner = nullptr;
  PyObject *unused = nullptr;
  PyObject *raise = nullptr;
  PyObject *toHandle = nullptr;
};

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_LAUNCHPLAN_H
