//===- SimulatorBindings.cpp - The simulator in Python --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The raw interface of tilews.sim, which checks types and reads arrays. The
// interpreter lock is released while a kernel runs, as blocks may run on other
// threads, and taken again for each call of a Python function: prints, events
// and progress. Arrays are passed as addresses with shapes and strides;
// tilews.sim keeps them alive.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "tilews-c/Simulator.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace {
/// Memory for a kernel. A Python list keeps it alive during a launch.
struct Memory {
  uintptr_t data;
  std::vector<int64_t> shape, strides;
  unsigned storageBits;
  bool writable;
};
using Argument = std::variant<Memory, int64_t, double>;
} // namespace

static TilewsSimArgument convert(const Argument &argument) {
  TilewsSimArgument result = {};
  if (const auto *memory = std::get_if<Memory>(&argument)) {
    result.kind = TilewsSimArgumentMemory;
    result.data = reinterpret_cast<void *>(memory->data);
    result.rank = memory->shape.size();
    result.shape = memory->shape.data();
    result.strides = memory->strides.data();
    result.storageBits = memory->storageBits;
    result.writable = memory->writable;
  } else if (const auto *integer = std::get_if<int64_t>(&argument)) {
    result.kind = TilewsSimArgumentInteger;
    result.integer = *integer;
  } else {
    result.kind = TilewsSimArgumentReal;
    result.real = std::get<double>(argument);
  }
  return result;
}

/// Passes the text that a kernel prints to a Python function.
static void print(MlirStringRef text, void *function) {
  nb::gil_scoped_acquire gil;
  (*static_cast<nb::object *>(function))(nb::str(text.data, text.length));
}

static void reportProgress(int64_t done, int64_t blocks, void *function) {
  nb::gil_scoped_acquire gil;
  (*static_cast<nb::object *>(function))(done, blocks);
}

/// Appends an event to a Python list, as a tuple.
static void appendEvent(const TilewsSimEvent *event, void *list) {
  nb::gil_scoped_acquire gil;
  nb::list accesses;
  for (intptr_t i = 0; i < event->numAccesses; ++i) {
    const TilewsSimBytes &bytes = event->accesses[i];
    accesses.append(nb::make_tuple(bytes.memory, bytes.first, bytes.last,
                                   bytes.isWritten != 0));
  }
  static_cast<nb::list *>(list)->append(nb::make_tuple(
      event->op, nb::str(event->role.data, event->role.length),
      static_cast<unsigned>(event->unit), event->begin, event->end,
      event->barrier, event->slot, event->phase, event->bytes, event->number,
      event->work, nb::tuple(accesses)));
}

/// Appends what a search did in a block to a Python list, as a tuple.
static void appendExploration(const TilewsSimExploration *found, void *list) {
  nb::gil_scoped_acquire gil;
  static_cast<nb::list *>(list)->append(nb::make_tuple(
      nb::make_tuple(found->block[0], found->block[1], found->block[2]),
      found->runs, found->cutOff, found->traces, found->isExhausted));
}

/// Runs a kernel; returns the text of the errors, empty if there was none.
static std::string
run(MlirOperation kernel, const std::vector<Argument> &arguments,
    std::optional<std::array<int64_t, 3>> grid, uint64_t maxSteps,
    unsigned threads, unsigned timing, uint64_t seed, unsigned runs,
    bool reduces, std::array<int64_t, 3> block,
    const std::vector<unsigned> &choices, bool isOfExhaustive,
    const std::vector<std::pair<unsigned, uint64_t>> &order, unsigned barriers,
    std::optional<nb::list> events, std::array<int64_t, 3> recordedBlock,
    std::optional<nb::list> explored, nb::object printFunction,
    nb::object progress) {
  std::vector<TilewsSimArgument> converted;
  for (const Argument &argument : arguments)
    converted.push_back(convert(argument));
  TilewsSimOptions options = {};
  options.grid = grid ? grid->data() : nullptr;
  options.maxSteps = maxSteps;
  options.threads = threads;
  options.timing = static_cast<TilewsSimTiming>(timing);
  options.seed = seed;
  options.runs = runs;
  options.reduces = reduces;
  options.isOfExhaustive = isOfExhaustive;
  std::copy(block.begin(), block.end(), options.block);
  options.numChoices = choices.size();
  options.choices = choices.data();
  std::vector<TilewsSimOrderedEvent> ordered;
  for (auto [agent, op] : order)
    ordered.push_back({agent, op});
  options.numOrdered = ordered.size();
  options.order = ordered.data();
  options.barriers = static_cast<TilewsSimBarriers>(barriers);
  options.print = print;
  options.printUserData = &printFunction;
  if (events) {
    options.record = appendEvent;
    options.recordUserData = &*events;
    std::copy(recordedBlock.begin(), recordedBlock.end(),
              options.recordedBlock);
  }
  if (explored) {
    options.explored = appendExploration;
    options.exploredUserData = &*explored;
  }
  if (!progress.is_none()) {
    options.progress = reportProgress;
    options.progressUserData = &progress;
  }
  DiagnosticCollector diagnostics(mlirOperationGetContext(kernel));
  MlirLogicalResult result;
  {
    nb::gil_scoped_release release;
    result = tilewsSimRun(kernel, converted.size(), converted.data(), &options);
  }
  return mlirLogicalResultIsSuccess(result) ? "" : diagnostics.getText();
}

static std::vector<std::pair<intptr_t, intptr_t>>
findDisjointArguments(MlirOperation kernel) {
  std::vector<std::pair<intptr_t, intptr_t>> pairs;
  tilewsSimFindDisjointArguments(
      kernel,
      [](intptr_t written, intptr_t other, void *userData) {
        static_cast<decltype(pairs) *>(userData)->emplace_back(written, other);
      },
      &pairs);
  return pairs;
}

void populateSimulator(nb::module_ &m) {
  nb::class_<Memory>(m, "_SimMemory")
      .def(
          "__init__",
          [](Memory *self, uintptr_t data, std::vector<int64_t> shape,
             std::vector<int64_t> strides, unsigned storageBits,
             bool writable) {
            new (self) Memory{data, std::move(shape), std::move(strides),
                              storageBits, writable};
          },
          nb::arg("data"), nb::arg("shape"), nb::arg("strides"),
          nb::arg("storage_bits"), nb::arg("writable"));
  m.def("_sim_run", run, nb::arg("kernel"), nb::arg("arguments"),
        nb::arg("grid").none(), nb::arg("max_steps"), nb::arg("threads"),
        nb::arg("timing"), nb::arg("seed"), nb::arg("runs"), nb::arg("reduces"),
        nb::arg("block"), nb::arg("choices"), nb::arg("is_of_exhaustive"),
        nb::arg("order"), nb::arg("barriers"), nb::arg("events").none(),
        nb::arg("recorded_block"), nb::arg("explored").none(), nb::arg("print"),
        nb::arg("progress").none());
  m.def("_disjoint_arguments", findDisjointArguments);
}
