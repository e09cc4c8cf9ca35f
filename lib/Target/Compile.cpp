//===- Compile.cpp - From any phase to an object --------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compilation lowers a copy of the module once, when it is created. Outputs
// are made when they are asked for, and each is kept, as each is made from the
// one before:
//
//   tile dialect -> LLVM dialect -> LLVM IR -> assembly -> object -> binary
//
// A module in any phase is accepted: `getPipeline` chooses the passes from what
// is left to do. Printing a phase in the middle lowers another copy with an
// instrumentation that prints the module when it reaches the phase. Pass times
// are recorded by another instrumentation.
//
// A software pipeline for AMD holds tiles in registers, and only LLVM knows
// whether there are enough of them. So a module with such pipelines is compiled
// to a code object first. Kernels that spill are lowered again from the source,
// with `tile.schedule_limit`, and the better code is kept. What the attempts
// report is held until one of them is taken.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/Compile.h"

#include "tilews/Conversion/Passes.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelinePlan.h"
#include "tilews/Target/Assemble.h"
#include "tilews/Target/Manifest.h"
#include "tilews/Target/Phases.h"

#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"
#include <chrono>

using namespace mlir;
using namespace tilews;

//===----------------------------------------------------------------------===//
// The gpu.module and its target
//===----------------------------------------------------------------------===//

static FailureOr<gpu::GPUModuleOp> getKernelModule(ModuleOp module) {
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() == 1)
    return modules.front();
  InFlightDiagnostic error =
      module.emitError("expected one gpu.module with kernels, found ")
      << modules.size();
  for (gpu::GPUModuleOp extra : modules)
    error.attachNote(extra.getLoc()) << "@" << extra.getName();
  return error;
}

static bool isLowered(gpu::GPUModuleOp module) {
  return module.getOps<gpu::GPUFuncOp>().empty();
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

namespace {
/// Records how long each pass took.
class PassTimer : public PassInstrumentation {
public:
  explicit PassTimer(std::vector<StageTime> &times) : times(times) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    std::lock_guard<std::mutex> lock(mutex);
    starts[{pass, op}] = std::chrono::steady_clock::now();
  }
  void runAfterPass(Pass *pass, Operation *op) override { finish(pass, op); }
  void runAfterPassFailed(Pass *pass, Operation *op) override {
    finish(pass, op);
  }

private:
  using Clock = std::chrono::steady_clock;

  void finish(Pass *pass, Operation *op) {
    std::lock_guard<std::mutex> lock(mutex);
    std::chrono::duration<double, std::milli> time =
        Clock::now() - starts[{pass, op}];
    // Managers of nested passes have no name, and their time is counted there.
    if (!pass->getArgument().empty())
      times.push_back({pass->getArgument().str(), time.count()});
  }

  std::vector<StageTime> &times;
  llvm::DenseMap<std::pair<Pass *, Operation *>, Clock::time_point> starts;
  std::mutex mutex;
};

/// Collects the kernels that are planned as software pipelines.
class PipelineFinder : public PassInstrumentation {
public:
  explicit PipelineFinder(llvm::MapVector<StringAttr, Location> &kernels)
      : kernels(kernels) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument() == "tile-plan-pipeline")
      op->walk([&](scf::ForOp loop) {
        if (tile::PipelinePlan::isAnnotated(loop))
          kernels.try_emplace(
              loop->getParentOfType<gpu::GPUFuncOp>().getNameAttr(),
              loop.getLoc());
      });
  }

private:
  llvm::MapVector<StringAttr, Location> &kernels;
};
} // namespace

/// Returns the passes that lower `module` to the LLVM dialect. In a lowered
/// module only some NVVM operations are left, which become inline assembly.
static std::string getPipeline(gpu::GPUModuleOp module,
                               const TargetInfo &target,
                               const CompileOptions &options) {
  StringRef dialect = target.isNVIDIA() ? "nvvm" : "rocdl";
  if (isLowered(module))
    return target.isNVIDIA() ? "gpu.module(convert-nvvm-to-llvm)" : "";
  if (options.tilePasses.empty())
    return llvm::formatv("tilews-to-{0}{{chip={1} index-bitwidth={2}}", dialect,
                         target.chip, options.indexBitwidth);
  return llvm::formatv("gpu.module(tile-set-target{{chip={0}},{1}),"
                       "tilews-laid-out-to-{2}{{index-bitwidth={3}}",
                       target.chip, options.tilePasses, dialect,
                       options.indexBitwidth);
}

/// Lowers `module`. `instrument` may add to the pass manager.
static LogicalResult lower(ModuleOp module, const TargetInfo &target,
                           const CompileOptions &options,
                           llvm::function_ref<void(PassManager &)> instrument) {
  FailureOr<gpu::GPUModuleOp> kernels = getKernelModule(module);
  if (failed(kernels))
    return failure();
  std::string pipeline = getPipeline(*kernels, target, options);
  PassManager passes(module->getName());
  std::string error;
  llvm::raw_string_ostream os(error);
  if (failed(parsePassPipeline(pipeline, passes, os)))
    return module.emitError("cannot run the pipeline '")
           << pipeline << "': " << error;
  instrument(passes);
  return passes.run(module);
}

//===----------------------------------------------------------------------===//
// Pipelines that spill
//===----------------------------------------------------------------------===//

/// Calls `fn`, and moves what it reports on this thread to `held`.
static LogicalResult hold(MLIRContext *context, std::vector<Diagnostic> &held,
                          llvm::function_ref<LogicalResult()> fn) {
  uint64_t thread = llvm::get_threadid();
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (llvm::get_threadid() != thread)
      return failure();
    held.push_back(std::move(diagnostic));
    return success();
  });
  return fn();
}

/// Returns the bytes of scratch memory of a thread of `kernel`.
static int64_t getScratch(DeviceModule &device, StringRef kernel) {
  auto all = device.getResources();
  if (succeeded(all))
    for (const KernelResources &one : *all)
      if (one.kernel == kernel)
        return one.stackBytes;
  return 0;
}

OwningOpRef<ModuleOp> Compilation::cloneSource() const {
  OwningOpRef<ModuleOp> copy((*source).clone());
  copy->walk([&](gpu::GPUFuncOp kernel) {
    if (unpiped.contains(kernel.getNameAttr()))
      kernel->setAttr(
          tile::TileDialect::kScheduleLimit,
          tile::ScheduleLimitAttr::get(kernel.getContext(),
                                       tile::ScheduleLimit::NoPipeline));
  });
  return copy;
}

LogicalResult Compilation::lower(Attempt &attempt) {
  attempt.lowered = cloneSource();
  return hold(source->getContext(), attempt.messages, [&] {
    return ::lower(*attempt.lowered, target, options, [&](PassManager &passes) {
      passes.addInstrumentation(std::make_unique<PassTimer>(passTimes));
      passes.addInstrumentation(
          std::make_unique<PipelineFinder>(attempt.pipelined));
    });
  });
}

/// Makes the code object of `attempt`. An error is not reported: it comes again
/// when the code is asked for.
LogicalResult Compilation::generate(Attempt &attempt) {
  std::vector<Diagnostic> held;
  if (failed(hold(source->getContext(), held, [&] {
        auto created = createDevice(*attempt.lowered);
        if (failed(created))
          return failure();
        attempt.device = std::move(*created);
        return LogicalResult((*attempt.device).getBinary());
      }))) {
    attempt.device.reset();
    return failure();
  }
  llvm::move(held, std::back_inserter(attempt.messages));
  return success();
}

/// Replaces `attempt` by one without pipelines in kernels that need scratch
/// memory, if these need less of it then.
void Compilation::dropSpillingPipelines(Attempt &attempt) {
  if (failed(generate(attempt)))
    return;
  for (const auto &[kernel, place] : attempt.pipelined)
    if (getScratch(*attempt.device, kernel) > 0)
      unpiped.insert(kernel);
  if (unpiped.empty())
    return;
  Attempt other;
  auto count = [&](Attempt &one) {
    int64_t bytes = 0;
    for (StringAttr kernel : unpiped)
      bytes += getScratch(*one.device, kernel);
    return bytes;
  };
  if (failed(lower(other)) || failed(generate(other)) ||
      count(other) >= count(attempt)) {
    unpiped.clear();
    return;
  }
  for (StringAttr kernel : unpiped) {
    Diagnostic remark(attempt.pipelined.find(kernel)->second,
                      DiagnosticSeverity::Remark);
    remark << "tile-pipe-0020: @" << kernel.getValue()
           << " is compiled without pipelines: with them, a thread needs "
           << getScratch(*attempt.device, kernel)
           << " bytes of scratch memory, because " << target.chip
           << " has too few registers; without them it needs "
           << getScratch(*other.device, kernel);
    other.messages.push_back(std::move(remark));
  }
  llvm::append_range(passTimes, attempt.device->getTimes());
  attempt = std::move(other);
}

LogicalResult Compilation::lowerSource() {
  Attempt attempt;
  LogicalResult result = lower(attempt);
  if (succeeded(result) && target.isAMD() && !attempt.pipelined.empty())
    dropSpillingPipelines(attempt);
  for (Diagnostic &message : attempt.messages)
    source->getContext()->getDiagEngine().emit(std::move(message));
  lowered = std::move(attempt.lowered);
  device = std::move(attempt.device);
  return result;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

FailureOr<std::unique_ptr<Compilation>>
Compilation::create(ModuleOp module, const CompileOptions &options) {
  auto result = std::make_unique<Compilation>();
  result->options = options;
  result->source = module.clone();
  FailureOr<gpu::GPUModuleOp> kernels = getKernelModule(*result->source);
  if (failed(kernels))
    return failure();
  if (!options.chip.empty() && failed(TargetInfo::set(*kernels, options.chip)))
    return failure();
  FailureOr<TargetInfo> target = TargetInfo::get(*kernels);
  if (failed(target))
    return failure();
  result->target = *target;
  if (failed(result->lowerSource()))
    return failure();
  return result;
}

FailureOr<std::string> Compilation::print(StringRef phase) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (phase == "tile") {
    os << **source;
  } else if (phase == "target") {
    os << **lowered;
  } else if (llvm::is_contained(getPhases(), phase)) {
    // Lower another copy and print it on the way.
    OwningOpRef<ModuleOp> copy = cloneSource();
    if (failed(::lower(*copy, target, options, [&](PassManager &passes) {
          passes.addInstrumentation(createPhasePrinter(phase, *copy, text));
        })))
      return failure();
    if (text.empty())
      return source->emitError("never is in phase '")
             << phase << "': it was given in a later one";
  } else {
    return source->emitError("unknown phase '")
           << phase << "', expected one of " << llvm::join(getPhases(), ", ");
  }
  return text;
}

FailureOr<std::unique_ptr<DeviceModule>>
Compilation::createDevice(ModuleOp module) {
  // A copy gets the lines: in later errors, places should be plain.
  OwningOpRef<ModuleOp> copy(module.clone());
  if (options.lineInfo) {
    PassManager passes((*copy)->getName());
    passes.addNestedPass<gpu::GPUModuleOp>(createAddLineTablesPass());
    passes.addInstrumentation(std::make_unique<PassTimer>(passTimes));
    if (failed(passes.run(*copy)))
      return failure();
  }
  FailureOr<gpu::GPUModuleOp> kernels = getKernelModule(*copy);
  if (failed(kernels))
    return failure();
  auto created = DeviceModule::create(*kernels);
  if (succeeded(created))
    (*created)->setToolDirectories(options.toolDirectories);
  return created;
}

FailureOr<DeviceModule *> Compilation::getDevice() {
  if (!device) {
    auto created = createDevice(*lowered);
    if (failed(created))
      return failure();
    device = std::move(*created);
  }
  return device.get();
}

FailureOr<std::string> Compilation::get(Output output) {
  FailureOr<DeviceModule *> device = getDevice();
  if (failed(device))
    return failure();
  FailureOr<StringRef> bytes = failure();
  switch (output) {
  case Output::LLVM:
    bytes = (*device)->getLLVMIR();
    break;
  case Output::Assembly:
    bytes = (*device)->getAssembly();
    break;
  case Output::Object:
    bytes = (*device)->getObject();
    break;
  default:
    bytes = (*device)->getBinary();
  }
  if (failed(bytes))
    return failure();
  return bytes->str();
}

FailureOr<std::string> Compilation::getManifest(StringRef name) {
  FailureOr<gpu::GPUModuleOp> kernels = getKernelModule(*lowered);
  if (failed(kernels))
    return failure();
  SmallVector<FunctionOpInterface> candidates;
  for (FunctionOpInterface kernel : getKernels(*kernels))
    if (name.empty() || kernel.getName() == name)
      candidates.push_back(kernel);
  if (candidates.size() != 1) {
    InFlightDiagnostic error = (*kernels).emitError();
    if (name.empty())
      error << "expected one kernel, found " << candidates.size()
            << "; name one";
    else
      error << "has no kernel '" << name << "'";
    for (FunctionOpInterface kernel : getKernels(*kernels))
      error.attachNote(kernel.getLoc()) << "kernel @" << kernel.getName();
    return error;
  }

  const KernelResources *resources = nullptr;
  if (target.isAMD() || findPtxas(options.toolDirectories)) {
    FailureOr<DeviceModule *> device = getDevice();
    if (failed(device))
      return failure();
    auto all = (*device)->getResources();
    if (failed(all))
      return failure();
    for (const KernelResources &one : *all)
      if (one.kernel == candidates.front().getName())
        resources = &one;
  }
  auto manifest = tilews::getManifest(candidates.front(), target, resources);
  if (failed(manifest))
    return failure();
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(*manifest)))
      .str();
}

std::vector<StageTime> Compilation::getTimes() const {
  std::vector<StageTime> times = passTimes;
  if (device)
    times.insert(times.end(), device->getTimes().begin(),
                 device->getTimes().end());
  return times;
}
