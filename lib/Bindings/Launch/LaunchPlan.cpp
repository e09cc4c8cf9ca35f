//===- LaunchPlan.cpp - One launch of a kernel ----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch fills the holes of its plan: it copies addresses, packs numbers,
// checks alignment and overlaps, evaluates the grid and encodes tensor maps. It
// then gives back Python's lock and calls the driver. Python's own path in
// tilews/runtime does the same, and a launch that this one declines.
//
//===----------------------------------------------------------------------===//

#include "LaunchPlan.h"

#include <cmath>
#include <cstring>

using namespace tilews::launch;

namespace {

constexpr int64_t kMostBlocks[] = {2147483647, 65535, 65535};
constexpr uint64_t kMapAlignment = 16;
constexpr unsigned kMaxGridDepth = 32;

/// Applies an operation of the grid; false if its value is no 64-bit integer.
bool apply(GridStep step, int64_t a, int64_t b, int64_t &result) {
  if (step == GridStep::Add)
    return !__builtin_add_overflow(a, b, &result);
  if (step == GridStep::Multiply)
    return !__builtin_mul_overflow(a, b, &result);
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  int64_t quotient = a / b, rest = a % b;
  bool isRoundedUp = rest != 0 && (rest < 0) != (b < 0);
  if (step == GridStep::Floor)
    result = quotient - isRoundedUp;
  else if (step == GridStep::Ceil)
    result = quotient + (rest != 0 && !isRoundedUp);
  else
    result = isRoundedUp ? rest + b : rest;
  return true;
}

/// Packs an integer into a parameter; false if it does not fit.
bool packInteger(const NumberSlot &slot, PyObject *value, uint64_t &bits) {
  int overflow = 0;
  int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow)
    return false;
  bits = number;
  if (slot.kind == NumberKind::Unsigned) {
    if (number < 0)
      return false;
    return slot.bits >= 64 || bits >> slot.bits == 0;
  }
  if (slot.bits >= 64)
    return true;
  int64_t highest = (int64_t(1) << (slot.bits - 1)) - 1;
  bits &= (uint64_t(1) << slot.bits) - 1;
  return -highest - 1 <= number && number <= highest;
}

/// Packs a number into a parameter of floating point; false if it does not fit.
bool packFloat(const NumberSlot &slot, double number, uint64_t &bits) {
  bits = 0;
  if (slot.kind == NumberKind::Float64) {
    std::memcpy(&bits, &number, sizeof(number));
    return true;
  }
  // A conversion that overflows is undefined in C++, and infinite with IEEE
  // 754.
  auto rounded = static_cast<float>(number);
  std::memcpy(&bits, &rounded, sizeof(rounded));
  return !std::isinf(rounded) || std::isinf(number);
}

/// Packs a number by a function of Python.
bool packByPython(const NumberSlot &slot, PyObject *value, uint64_t &bits) {
  PyObject *packed =
      PyObject_CallFunctionObjArgs(slot.pack, value, slot.name, nullptr);
  if (!packed)
    return false;
  bits = PyLong_AsUnsignedLongLong(packed);
  Py_DECREF(packed);
  return !PyErr_Occurred();
}

bool packNumber(const NumberSlot &slot, PyObject *value, uint64_t &bits) {
  if (slot.kind == NumberKind::Other)
    return packByPython(slot, value, bits);
  bool isInteger = PyLong_Check(value);
  if (slot.kind == NumberKind::Signed || slot.kind == NumberKind::Unsigned)
    return isInteger && packInteger(slot, value, bits);
  double number = isInteger ? PyLong_AsDouble(value) : PyFloat_AS_DOUBLE(value);
  return !(isInteger && PyErr_Occurred()) && packFloat(slot, number, bits);
}

} // namespace

LaunchPlan::LaunchPlan(LaunchFrame frame, std::vector<uint64_t> values,
                       std::vector<ArraySlot> arrays,
                       std::vector<NumberSlot> numbers,
                       std::vector<ForbiddenDistance> distances,
                       std::array<GridProgram, 3> grid,
                       std::vector<MapSlot> maps)
    : frame(frame), values(std::move(values)), arrays(std::move(arrays)),
      numbers(std::move(numbers)), distances(std::move(distances)),
      grid(std::move(grid)), maps(std::move(maps)) {
  for (NumberSlot &number : this->numbers) {
    Py_INCREF(number.pack);
    Py_INCREF(number.name);
  }
}

LaunchPlan::~LaunchPlan() {
  for (NumberSlot &number : numbers) {
    Py_DECREF(number.pack);
    Py_DECREF(number.name);
  }
  for (PyObject *object : {owner, unused, raise, toHandle})
    Py_XDECREF(object);
}

void LaunchPlan::setPython(PyObject *owner, PyObject *unused, PyObject *raise,
                           PyObject *findStream) {
  this->owner = Py_NewRef(owner);
  this->unused = Py_NewRef(unused);
  this->raise = Py_NewRef(raise);
  toHandle = Py_NewRef(findStream);
}

PlanOutcome LaunchPlan::run(CallKey &key, PyObject *&result) const {
  PreparedLaunch launch;
  if (!prepare(key, launch))
    return PlanOutcome::Declined;
  PlanOutcome outcome = start(launch);
  if (outcome == PlanOutcome::Done)
    result = Py_NewRef(Py_None);
  return outcome;
}

bool LaunchPlan::prepare(const CallKey &key, PreparedLaunch &launch) const {
  return fill(key, launch) && evaluateGrid(key, launch.grid) &&
         findStream(key, launch.stream) && isUsual(launch.stream);
}

bool LaunchPlan::fillArrays(const CallKey &key, PreparedLaunch &into) const {
  for (const ArraySlot &array : arrays) {
    uint64_t address = key.getArgument(array.argument).address;
    if (address % array.alignment != 0)
      return false;
    into.values[array.slot] = address;
  }
  for (const ForbiddenDistance &each : distances) {
    auto distance = static_cast<int64_t>(into.values[arrays[each.first].slot] -
                                         into.values[arrays[each.second].slot]);
    if (each.low < distance && distance < each.high)
      return false;
  }
  return true;
}

bool LaunchPlan::fill(const CallKey &key, PreparedLaunch &into) const {
  for (size_t i = 0; i < values.size(); ++i) {
    into.values[i] = values[i];
    into.addresses[i] = &into.values[i];
  }
  if (!fillArrays(key, into))
    return false;
  for (const NumberSlot &number : numbers)
    if (!packNumber(number, key.getArgument(number.argument).value,
                    into.values[number.slot])) {
      PyErr_Clear();
      return false;
    }
  for (size_t i = 0; i < maps.size(); ++i) {
    uint64_t address = into.values[arrays[maps[i].array].slot];
    if (!fillMap(maps[i], address, into.maps[i]))
      return false;
    into.addresses[maps[i].slot] = into.maps[i];
  }
  return true;
}

bool LaunchPlan::fillMap(const MapSlot &map, uint64_t address,
                         unsigned char *into) const {
  if (address % kMapAlignment != 0 || address < map.shift)
    return false;
  // Large arrays start at multiples of 512 bytes, which torch allocates.
  MapSlot::Encoded &cached = map.cache[(address >> 9) % MapSlot::kCached];
  if (cached.address != address || address == 0) {
    uint64_t start = (map.zeros ? map.zeros : address) - map.shift;
    int status = frame.driver.encodeTensorMap(
        into, map.type, map.extents.size(), reinterpret_cast<void *>(start),
        map.extents.data(), map.strides.data(), map.box.data(),
        map.elementStrides.data(), map.interleave, map.swizzle, map.promotion,
        map.fill);
    if (status != 0)
      return false;
    cached.address = address;
    std::memcpy(cached.bytes, into, MapSlot::kBytes);
    return true;
  }
  std::memcpy(into, cached.bytes, MapSlot::kBytes);
  return true;
}

bool LaunchPlan::evaluateGrid(const CallKey &key, uint32_t *blocks) const {
  for (unsigned d = 0; d < 3; ++d) {
    int64_t stack[kMaxGridDepth];
    unsigned size = 0;
    for (auto [step, number] : grid[d]) {
      if (step > GridStep::Argument) {
        --size;
        if (!apply(step, stack[size - 1], stack[size], stack[size - 1]))
          return false;
        continue;
      }
      if (size == kMaxGridDepth)
        return false;
      if (step == GridStep::Argument)
        number = PyLong_AsLongLong(key.getArgument(number).value);
      stack[size++] = number;
    }
    if (stack[0] < 0 || stack[0] > kMostBlocks[d] ||
        stack[0] % frame.cluster[d] != 0)
      return false;
    blocks[d] = stack[0];
  }
  return true;
}

bool LaunchPlan::findStream(const CallKey &key, void *&stream) const {
  if (!key.stream) {
    if (!key.getApi())
      return false;
    bool isFound = key.getApi()->currentStream(
                       key.getDeviceType(), key.getDeviceIndex(), &stream) == 0;
    PyErr_Clear();
    return isFound;
  }
  PyObject *handle = PyObject_CallOneArg(toHandle, key.stream);
  if (handle) {
    stream = PyLong_AsVoidPtr(handle);
    Py_DECREF(handle);
  }
  bool isFound = !PyErr_Occurred();
  PyErr_Clear();
  return isFound;
}

/// Whether no module waits to be unloaded and no graph captures the stream.
bool LaunchPlan::isUsual(void *stream) const {
  if (PySequence_Size(unused) != 0)
    return false;
  if (stream == reinterpret_cast<void *>(1) ||
      (!stream && !frame.driver.isZeroOfThread))
    return true;
  int status = 0;
  return frame.driver.isCapturing(stream, &status) == 0 && status == 0;
}

PlanOutcome LaunchPlan::start(PreparedLaunch &launch) const {
  if (!launch.grid[0] || !launch.grid[1] || !launch.grid[2])
    return PlanOutcome::Done;
  LaunchAttribute cluster{LaunchAttribute::kCluster, 0, {}};
  LaunchConfig config;
  for (unsigned d = 0; d < 3; ++d) {
    config.grid[d] = launch.grid[d];
    config.block[d] = frame.block[d];
    cluster.value[d] = frame.cluster[d];
  }
  config.stream = launch.stream;
  config.sharedBytes = frame.sharedBytes;
  config.attributes = &cluster;
  config.numAttributes = frame.cluster != std::array<uint32_t, 3>{1, 1, 1};
  const Driver &driver = frame.driver;
  int status;
  Py_BEGIN_ALLOW_THREADS void *current = nullptr;
  status = driver.getContext(&current);
  if (status != 0 || current != frame.context)
    status = driver.setContext(frame.context);
  if (status == 0)
    status = driver.launch(&config, frame.function, launch.addresses, nullptr);
  Py_END_ALLOW_THREADS if (status == 0) return PlanOutcome::Done;
  PyObject *raised = PyObject_CallFunction(raise, "i", status);
  if (raised) {
    Py_DECREF(raised);
    PyErr_SetString(PyExc_SystemError, "the error of a launch was not raised");
  }
  return PlanOutcome::Failed;
}
