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
// and progress. Those threads may change the module, so a copy of it runs.
// Arrays are passed as addresses with shapes and strides; tilews.sim keeps them
// alive. C++ code cannot pass on a Python exception: the first one of a called
// function is kept, and raised at the end.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "InterpreterLock.h"
#include "tilews-c/Simulator.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include "mlir/Bindings/Python/NanobindUtils.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <unordered_map>

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

namespace {
/// The Python objects that receive what a run reports, and the first exception
/// that one of them raised. The interpreter lock guards it.
struct Receivers {
  nb::object print, progress;
  std::optional<nb::list> events, explored;
  /// The operations of the kernel by those of the copy that runs.
  std::unordered_map<void *, nb::object> originals;
  std::optional<nb::python_error> error;

  /// Calls `function`, unless an earlier call raised an exception.
  template <typename Function>
  static void call(void *receivers, Function function) {
    LockScope lock;
    auto &self = *static_cast<Receivers *>(receivers);
    if (self.error)
      return;
    // Calls in the callback report their errors themselves.
    ThreadHandlerScope none({{nullptr}, nullptr, nullptr});
    try {
      function(self);
    } catch (nb::python_error &error) {
      self.error.emplace(std::move(error));
    }
  }
};

/// The copy of a kernel that runs.
class KernelCopy {
public:
  explicit KernelCopy(MlirOperation original)
      : kernel(tilewsSimCopy(original)) {}
  KernelCopy(const KernelCopy &) = delete;
  ~KernelCopy() {
    MlirOperation root = kernel;
    for (MlirOperation op = root; !mlirOperationIsNull(op);
         op = mlirOperationGetParentOperation(op))
      root = op;
    mlirOperationDestroy(root);
  }

  const MlirOperation kernel;
};
} // namespace

static std::vector<MlirOperation> getOperations(MlirOperation kernel) {
  std::vector<MlirOperation> operations;
  mlirOperationWalk(
      kernel,
      [](MlirOperation op, void *list) {
        static_cast<std::vector<MlirOperation> *>(list)->push_back(op);
        return MlirWalkResultAdvance;
      },
      &operations, MlirWalkPreOrder);
  return operations;
}

/// Maps the operations of a copy to Python objects of the original ones.
static std::unordered_map<void *, nb::object>
getOriginals(MlirOperation original, MlirOperation copy) {
  std::unordered_map<void *, nb::object> originals;
  std::vector<MlirOperation> copies = getOperations(copy);
  std::vector<MlirOperation> operations = getOperations(original);
  for (size_t i = 0; i < copies.size(); ++i)
    originals[copies[i].ptr] = nb::cast(operations[i]);
  return originals;
}

/// Passes the text that a kernel prints to a Python function.
static void print(MlirStringRef text, void *receivers) {
  Receivers::call(receivers, [&](Receivers &self) {
    self.print(mlir::decodeText(text.data, text.length));
  });
}

static void reportProgress(int64_t done, int64_t blocks, void *receivers) {
  Receivers::call(receivers,
                  [&](Receivers &self) { self.progress(done, blocks); });
}

/// Lets Python handle signals, such as Ctrl-C, which it does on its main thread
/// only. Returns whether a called function has raised an exception.
static bool isInterrupted(void *receivers) {
  Receivers::call(receivers, [](Receivers &) {
    if (PyErr_CheckSignals() != 0)
      nb::raise_python_error();
  });
  LockScope lock;
  return static_cast<Receivers *>(receivers)->error.has_value();
}

static nb::tuple makeEvent(const TilewsSimEvent *event, Receivers &receivers) {
  nb::list accesses;
  for (intptr_t i = 0; i < event->numAccesses; ++i) {
    const TilewsSimBytes &bytes = event->accesses[i];
    accesses.append(nb::make_tuple(bytes.memory, bytes.first, bytes.last,
                                   bytes.isWritten != 0));
  }
  return nb::make_tuple(receivers.originals.at(event->op.ptr),
                        mlir::decodeText(event->role.data, event->role.length),
                        static_cast<unsigned>(event->unit), event->begin,
                        event->end, event->barrier, event->slot, event->phase,
                        event->bytes, event->number, event->work,
                        nb::tuple(accesses));
}

/// Appends an event to a Python list, as a tuple.
static void appendEvent(const TilewsSimEvent *event, void *receivers) {
  Receivers::call(receivers, [&](Receivers &self) {
    self.events->append(makeEvent(event, self));
  });
}

/// Appends what a search did in a block to a Python list, as a tuple.
static void appendExploration(const TilewsSimExploration *found,
                              void *receivers) {
  Receivers::call(receivers, [&](Receivers &self) {
    self.explored->append(nb::make_tuple(
        nb::make_tuple(found->block[0], found->block[1], found->block[2]),
        found->runs, found->cutOff, found->traces, found->isExhausted));
  });
}

/// Runs a kernel; returns the text of the errors, empty if there was none.
static std::string
run(MlirOperation kernel, const std::vector<Argument> &arguments,
    std::optional<std::array<int64_t, 3>> grid, uint64_t maxSteps,
    unsigned threads, unsigned timing, uint64_t seed, unsigned runs,
    bool reduces, std::array<int64_t, 3> block,
    const std::vector<unsigned> &choices, bool isOfExhaustive,
    const std::vector<std::pair<unsigned, uint64_t>> &order, unsigned barriers,
    const std::optional<nb::list> &events, std::array<int64_t, 3> recordedBlock,
    const std::optional<nb::list> &explored, const nb::object &printFunction,
    const nb::object &progress) {
  std::vector<TilewsSimArgument> converted;
  converted.reserve(arguments.size());
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
  ordered.reserve(order.size());
  for (auto [agent, op] : order)
    ordered.push_back({agent, op});
  options.numOrdered = ordered.size();
  options.order = ordered.data();
  options.barriers = static_cast<TilewsSimBarriers>(barriers);
  Receivers receivers{printFunction, progress, events, explored, {}, {}};
  options.printUserData = options.recordUserData = options.exploredUserData =
      options.progressUserData = options.interruptedUserData = &receivers;
  options.print = print;
  options.interrupted = isInterrupted;
  if (events) {
    options.record = appendEvent;
    std::copy(recordedBlock.begin(), recordedBlock.end(),
              options.recordedBlock);
  }
  if (explored)
    options.explored = appendExploration;
  if (!progress.is_none())
    options.progress = reportProgress;
  DiagnosticCollector diagnostics(mlirOperationGetContext(kernel));
  KernelCopy copy(kernel);
  if (events)
    receivers.originals = getOriginals(kernel, copy.kernel);
  MlirLogicalResult result = verifyAround(copy.kernel);
  if (mlirLogicalResultIsSuccess(result)) {
    LongCall running(mlirOperationGetContext(kernel));
    result =
        tilewsSimRun(copy.kernel, converted.size(), converted.data(), &options);
  }
  if (receivers.error)
    throw std::move(*receivers.error);
  return mlirLogicalResultIsSuccess(result) ? "" : diagnostics.getText();
}

static std::vector<std::pair<intptr_t, intptr_t>>
findDisjointArguments(MlirOperation kernel) {
  std::vector<std::pair<intptr_t, intptr_t>> pairs;
  callOnValid(kernel, [] { return mlirLogicalResultSuccess(); });
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
