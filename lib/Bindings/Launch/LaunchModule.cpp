//===- LaunchModule.cpp - The module tilews._launch -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of kernels without Python. The module uses neither MLIR nor LLVM: a
// program whose kernels are compiled loads neither. Python gives plans as rows
// of numbers (tilews/runtime/native_plans.py); what they say is checked here,
// so that no plan reads or writes outside of its own memory.
//
//===----------------------------------------------------------------------===//

#include "HotCall.h"
#include "OperationPlan.h"
#include "PlanObjects.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

namespace nb = nanobind;
using namespace tilews::launch;

namespace {

using ArrayRow = std::tuple<unsigned, unsigned, uint64_t>;
using NumberRow =
    std::tuple<unsigned, unsigned, int, unsigned, nb::object, nb::object>;
using DistanceRow = std::tuple<unsigned, unsigned, int64_t, int64_t>;
using GridRow = std::vector<std::pair<int, int64_t>>;
using Words = std::vector<uint64_t>;
using HalfWords = std::vector<uint32_t>;
using MapRow = std::tuple<unsigned, unsigned, std::array<int, 5>, Words, Words,
                          HalfWords, HalfWords, uint64_t, uint64_t>;

void require(bool condition, const char *what) {
  if (!condition)
    throw nb::value_error(what);
}

template <typename Function>
Function asFunction(uint64_t address) {
  require(address != 0, "a function of the driver has no address");
  return reinterpret_cast<Function>(address);
}

/// The driver from the addresses of its functions, in the order of the fields.
Driver makeDriver(const std::array<uint64_t, 5> &functions,
                  bool isZeroOfThread) {
  return {asFunction<decltype(Driver::launch)>(functions[0]),
          asFunction<decltype(Driver::getContext)>(functions[1]),
          asFunction<decltype(Driver::setContext)>(functions[2]),
          asFunction<decltype(Driver::isCapturing)>(functions[3]),
          asFunction<decltype(Driver::encodeTensorMap)>(functions[4]),
          isZeroOfThread};
}

LaunchFrame makeFrame(const Driver &driver, uint64_t function, uint64_t context,
                      std::array<uint32_t, 3> block,
                      std::array<uint32_t, 3> cluster, uint32_t sharedBytes) {
  for (uint32_t extent : cluster)
    require(extent > 0, "a cluster has no blocks");
  return {driver,
          reinterpret_cast<void *>(function),
          reinterpret_cast<void *>(context),
          block,
          cluster,
          sharedBytes};
}

std::vector<ArraySlot> readArrays(const std::vector<ArrayRow> &rows,
                                  size_t numSlots) {
  std::vector<ArraySlot> slots;
  for (auto [slot, argument, alignment] : rows) {
    require(slot < numSlots && argument < CallKey::kMaxArguments && alignment,
            "an array is out of range");
    slots.push_back({slot, argument, alignment});
  }
  return slots;
}

std::vector<NumberSlot> readNumbers(const std::vector<NumberRow> &rows,
                                    size_t numSlots) {
  std::vector<NumberSlot> slots;
  for (const auto &[slot, argument, kind, bits, pack, name] : rows) {
    require(slot < numSlots && argument < CallKey::kMaxArguments &&
                bits - 1 < 64 && kind >= 0 &&
                kind <= static_cast<int>(NumberKind::Other),
            "a number is out of range");
    slots.push_back({slot, argument, static_cast<NumberKind>(kind), bits,
                     pack.ptr(), name.ptr()});
  }
  return slots;
}

std::vector<ForbiddenDistance>
readDistances(const std::vector<DistanceRow> &rows, size_t numArrays) {
  std::vector<ForbiddenDistance> distances;
  for (auto [first, second, low, high] : rows) {
    require(first < numArrays && second < numArrays,
            "a distance is out of range");
    distances.push_back({first, second, low, high});
  }
  return distances;
}

/// Reads an expression of the grid, which has to leave one number on the stack.
GridProgram readGrid(const GridRow &row,
                     const std::vector<NumberSlot> &numbers) {
  GridProgram program;
  unsigned size = 0;
  for (auto [code, number] : row) {
    auto step = static_cast<GridStep>(code);
    require(code >= 0 && step <= GridStep::Ceil, "a step of a grid is unknown");
    bool isNumber = step == GridStep::Number;
    for (const NumberSlot &slot : numbers)
      isNumber |= step == GridStep::Argument && number == slot.argument &&
                  slot.kind <= NumberKind::Unsigned;
    require(step > GridStep::Argument ? size >= 2 : isNumber,
            "a step of a grid has no number");
    size += step > GridStep::Argument ? -1 : 1;
    program.emplace_back(step, number);
  }
  require(size == 1, "an expression of a grid is incomplete");
  return program;
}

std::vector<MapSlot> readMaps(const std::vector<MapRow> &rows, size_t numSlots,
                              size_t numArrays) {
  std::vector<MapSlot> slots;
  require(rows.size() <= PreparedLaunch::kMaxMaps,
          "there are too many tensor maps");
  for (const auto &[slot, array, kinds, extents, strides, box, elementStrides,
                    shift, zeros] : rows) {
    size_t rank = extents.size();
    require(slot < numSlots && array < numArrays && rank > 0 &&
                strides.size() + 1 >= rank && box.size() == rank &&
                elementStrides.size() == rank && !strides.empty(),
            "a tensor map is out of range");
    auto [type, interleave, swizzle, promotion, fill] = kinds;
    slots.push_back({slot, array, type, extents, strides, box, elementStrides,
                     interleave, swizzle, promotion, fill, shift, zeros});
  }
  return slots;
}

void makeLaunchPlan(LaunchPlan *self, const LaunchFrame &frame,
                    const Words &values, const std::vector<ArrayRow> &arrayRows,
                    const std::vector<NumberRow> &numberRows,
                    const std::vector<DistanceRow> &distanceRows,
                    const std::array<GridRow, 3> &gridRows,
                    const std::vector<MapRow> &mapRows, const nb::object &owner,
                    const nb::object &unused, const nb::object &raise,
                    const nb::object &findStream) {
  size_t size = values.size();
  require(size <= PreparedLaunch::kMaxSlots, "there are too many parameters");
  auto arrays = readArrays(arrayRows, size);
  auto numbers = readNumbers(numberRows, size);
  std::array<GridProgram, 3> grid;
  for (unsigned d = 0; d < 3; ++d)
    grid[d] = readGrid(gridRows[d], numbers);
  auto distances = readDistances(distanceRows, arrays.size());
  auto maps = readMaps(mapRows, size, arrays.size());
  new (self) LaunchPlan(frame, values, std::move(arrays), std::move(numbers),
                        std::move(distances), std::move(grid), std::move(maps));
  self->setPython(owner.ptr(), unused.ptr(), raise.ptr(), findStream.ptr());
}

using ResultRow = std::tuple<unsigned, nb::object, nb::object, nb::object>;
using KeptRow = std::pair<unsigned, nb::object>;

void makeOperationPlan(OperationPlan *self,
                       const std::vector<nb::object> &launches,
                       std::vector<std::pair<unsigned, unsigned>> equal,
                       const std::vector<ResultRow> &allocated,
                       const std::vector<KeptRow> &kept, uint64_t keptStream,
                       const nb::object &allocate, const nb::object &names,
                       std::vector<unsigned> returned, bool isTuple) {
  OperationSteps steps;
  steps.equal = std::move(equal);
  steps.keptStream = reinterpret_cast<void *>(keptStream);
  steps.allocate = allocate.ptr();
  steps.names = names.ptr();
  steps.returned = std::move(returned);
  steps.isTuple = isTuple;
  require(launches.size() <= OperationSteps::kMaxLaunches &&
              allocated.size() <= OperationSteps::kMaxArrays &&
              !steps.returned.empty(),
          "an operation has too many steps or no result");
  for (const nb::object &launch : launches)
    steps.launches.emplace_back(launch.ptr(), &nb::cast<LaunchPlan &>(launch));
  for (auto [first, second] : steps.equal)
    require(first < CallKey::kMaxArguments && second < CallKey::kMaxArguments,
            "an argument is out of range");
  for (unsigned position : steps.returned)
    require(position < CallKey::kMaxArguments, "a result is out of range");
  for (const auto &[position, shape, dtype, device] : allocated) {
    require(position < CallKey::kMaxArguments, "an array is out of range");
    steps.allocated.push_back(
        {position, shape.ptr(), dtype.ptr(), device.ptr()});
  }
  for (const auto &[position, array] : kept) {
    require(position < CallKey::kMaxArguments, "an array is out of range");
    steps.kept.emplace_back(position, array.ptr());
  }
  new (self) OperationPlan(std::move(steps));
}

} // namespace

const CallPlan *tilews::launch::getPlan(PyObject *object) {
  if (object == Py_None || !nb::isinstance<CallPlan>(nb::handle(object)))
    return nullptr;
  return nb::inst_ptr<CallPlan>(object);
}

NB_MODULE(_launch, m) {
  m.doc() = "Calls of kernels without Python.";
  m.attr("HotCall") = nb::steal(makeHotCallType());
  nb::class_<Driver>(m, "Driver")
      .def(
          "__init__",
          [](Driver *self, std::array<uint64_t, 5> functions,
             bool isZeroOfThread) {
            new (self) Driver(makeDriver(functions, isZeroOfThread));
          },
          nb::arg("functions"), nb::arg("is_zero_of_thread"));
  nb::class_<LaunchFrame>(m, "LaunchFrame")
      .def(
          "__init__",
          [](LaunchFrame *self, const Driver &driver, uint64_t function,
             uint64_t context, std::array<uint32_t, 3> block,
             std::array<uint32_t, 3> cluster, uint32_t sharedBytes) {
            new (self) LaunchFrame(makeFrame(driver, function, context, block,
                                             cluster, sharedBytes));
          },
          nb::arg("driver"), nb::arg("function"), nb::arg("context"),
          nb::arg("block"), nb::arg("cluster"), nb::arg("shared_bytes"));
  nb::class_<CallPlan> base(m, "CallPlan");
  base.doc() = "Does calls like an earlier one.";
  nb::class_<LaunchPlan, CallPlan>(m, "LaunchPlan")
      .def("__init__", makeLaunchPlan, nb::arg("frame"), nb::arg("values"),
           nb::arg("arrays"), nb::arg("numbers"), nb::arg("distances"),
           nb::arg("grid"), nb::arg("maps"), nb::arg("owner"),
           nb::arg("unused"), nb::arg("raise_error"), nb::arg("find_stream"));
  nb::class_<OperationPlan, CallPlan>(m, "OperationPlan")
      .def("__init__", makeOperationPlan, nb::arg("launches"), nb::arg("equal"),
           nb::arg("allocated"), nb::arg("kept"), nb::arg("kept_stream"),
           nb::arg("allocate"), nb::arg("names"), nb::arg("returned"),
           nb::arg("is_tuple"));
  m.def("set_recording", setRecording, nb::arg("is_recording"));
}
