//===- TargetBindings.cpp - The compilation in Python ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets and compilations in Python. A compilation holds a reference to its
// module, and by that to the context. Its methods release the interpreter lock,
// so other Python threads run while LLVM and ptxas work. Diagnostics of a
// failed call are raised as one CompileError; those of a successful call are
// kept as messages of the compilation.
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "InterpreterLock.h"
#include "tilews-c/Target.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nb = nanobind;

static MlirStringRef toRef(const std::string &string) {
  return mlirStringRefCreate(string.data(), string.size());
}

static std::vector<MlirStringRef>
toRefs(const std::vector<std::string> &strings) {
  std::vector<MlirStringRef> refs;
  refs.reserve(strings.size());
  for (const std::string &string : strings)
    refs.push_back(toRef(string));
  return refs;
}

static void assign(MlirStringRef text, void *string) {
  static_cast<std::string *>(string)->assign(text.data, text.length);
}

namespace {
/// The class `Compilation` of Python. Owns a compilation and a reference to its
/// module, and by that to the context. Methods release the interpreter lock, so
/// that other threads may change the module: a copy is compiled. Failures raise
/// CompileError.
class PyCompilation {
public:
  PyCompilation(const nb::object &module, const std::string &chip,
                unsigned indexBitwidth, const std::string &tilePasses,
                bool lineInfo, const std::vector<std::string> &directories)
      : module(module) {
    auto handle = nb::cast<MlirModule>(module);
    context = mlirModuleGetContext(handle);
    std::vector<MlirStringRef> refs = toRefs(directories);
    MlirModule copy = mlirModuleFromOperation(
        mlirOperationClone(mlirModuleGetOperation(handle)));
    call([&](std::string &) {
      compilation = tilewsCompilationCreate(copy, toRef(chip), indexBitwidth,
                                            toRef(tilePasses), lineInfo,
                                            refs.size(), refs.data());
      mlirModuleDestroy(copy);
      return compilation.ptr ? mlirLogicalResultSuccess()
                             : mlirLogicalResultFailure();
    });
  }
  PyCompilation(const PyCompilation &) = delete;
  ~PyCompilation() { tilewsCompilationDestroy(compilation); }

  std::string getChip() {
    MlirStringRef chip = tilewsCompilationGetChip(compilation);
    return std::string(chip.data, chip.length);
  }

  nb::bytes get(TilewsOutput output) {
    std::string result = call([&](std::string &text) {
      return tilewsCompilationGet(compilation, output, assign, &text);
    });
    return nb::bytes(result.data(), result.size());
  }

  std::string print(const std::string &phase) {
    return call([&](std::string &text) {
      return tilewsCompilationPrint(compilation, toRef(phase), assign, &text);
    });
  }

  std::string getManifest(const std::string &kernel) {
    return call([&](std::string &text) {
      return tilewsCompilationGetManifest(compilation, toRef(kernel), assign,
                                          &text);
    });
  }

  std::vector<std::pair<std::string, double>> getTimes() {
    std::vector<std::pair<std::string, double>> times;
    LongCall running(context);
    std::lock_guard<std::mutex> lock(mutex);
    tilewsCompilationForEachTime(
        compilation,
        [](MlirStringRef stage, double milliseconds, void *list) {
          static_cast<decltype(times) *>(list)->push_back(
              {std::string(stage.data, stage.length), milliseconds});
        },
        &times);
    return times;
  }

  /// Returns warnings and remarks of the calls that succeeded.
  std::vector<std::string> getMessages() const { return messages; }

private:
  template <typename Function>
  std::string call(Function function) {
    std::string text;
    bool failed;
    DiagnosticCollector diagnostics(context);
    {
      LongCall running(context);
      std::lock_guard<std::mutex> lock(mutex);
      failed = mlirLogicalResultIsFailure(function(text));
    }
    if (failed)
      diagnostics.raise();
    // Phases are printed by running passes again, which report the same again.
    for (const auto &message : diagnostics.getMessages())
      if (reported.insert(message.lines).second)
        messages.insert(messages.end(), message.lines.begin(),
                        message.lines.end());
    return text;
  }

  nb::object module;
  MlirContext context;
  TilewsCompilation compilation{nullptr};
  std::mutex mutex;
  std::vector<std::string> messages;
  /// Diagnostics that `messages` has.
  std::set<std::vector<std::string>> reported;
};
} // namespace

static nb::list getTargets(MlirContext context) {
  nb::list targets;
  tilewsForEachTarget(
      context,
      [](MlirStringRef chip, TilewsTargetInfo info, void *list) {
        nb::dict target;
        target["chip"] = nb::str(chip.data, chip.length);
        target["vendor"] = info.isNVIDIA ? "nvidia" : "amd";
        target["warp_size"] = info.warpSize;
        target["max_threads"] = info.maxThreads;
        target["max_shared_bytes"] = info.maxSharedBytes;
        target["cp_async"] = info.hasCpAsync;
        target["tma"] = info.hasTma;
        target["wgmma"] = info.hasWgmma;
        target["mfma"] = info.hasMfma;
        target["wmma"] = info.hasWmma;
        static_cast<nb::list *>(list)->append(target);
      },
      &targets);
  return targets;
}

static std::optional<std::string>
findPtxas(const std::vector<std::string> &directories) {
  std::vector<MlirStringRef> refs = toRefs(directories);
  std::string path;
  tilewsFindPtxas(refs.size(), refs.data(), assign, &path);
  if (path.empty())
    return std::nullopt;
  return path;
}

void populateTarget(nb::module_ &m) {
  nb::enum_<TilewsOutput>(m, "Output", "A form of device code")
      .value("LLVM", TilewsOutputLLVM)
      .value("ASSEMBLY", TilewsOutputAssembly)
      .value("OBJECT", TilewsOutputObject)
      .value("BINARY", TilewsOutputBinary);

  nb::class_<PyCompilation>(m, "Compilation",
                            "A module on its way to device code")
      .def(nb::init<nb::object, std::string, unsigned, std::string, bool,
                    std::vector<std::string>>(),
           nb::arg("module"), nb::arg("chip"), nb::arg("index_bitwidth"),
           nb::arg("tile_passes"), nb::arg("line_info"),
           nb::arg("tool_directories"))
      .def_prop_ro("chip", &PyCompilation::getChip)
      .def_prop_ro("times", &PyCompilation::getTimes)
      .def_prop_ro("messages", &PyCompilation::getMessages)
      .def("get", &PyCompilation::get, nb::arg("output"))
      .def("print", &PyCompilation::print, nb::arg("phase"))
      .def("manifest", &PyCompilation::getManifest, nb::arg("kernel"));

  m.def("targets", &getTargets, nb::arg("context"), "All chips there are");
  m.def("find_ptxas", &findPtxas, nb::arg("directories"),
        "The path of ptxas, or None");
}
