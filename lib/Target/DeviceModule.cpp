//===- DeviceModule.cpp - From LLVM dialect to device code ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM as a library: translation to LLVM IR, optimization, and code for the
// target. LLVM reports some failures by calling a fatal error handler that must
// not return. Each call of LLVM is therefore guarded by setjmp: the handler
// jumps back, the objects of LLVM are leaked, because they may be in any state,
// and the failure becomes a diagnostic at the location of the module.
//
//   run("optimize", step): setjmp; step(); or a jump with the message
//
// Later calls on the same module fail at once.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/DeviceModule.h"

#include "tilews/Target/Assemble.h"
#include "tilews/Target/OptimizeLLVM.h"
#include "tilews/Target/UndefinedLanes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <chrono>
#include <csetjmp>
#include <mutex>

using namespace mlir;
using namespace tilews;

//===----------------------------------------------------------------------===//
// LLVM as a guest in this process
//===----------------------------------------------------------------------===//

/// Where to continue after a fatal error of LLVM on this thread; null outside
/// of guarded calls.
static thread_local std::jmp_buf *recoveryPoint = nullptr;
static thread_local std::string fatalMessage;

/// LLVM calls this instead of exiting. The jump leaks what LLVM has allocated,
/// but the process survives.
static void handleFatalError(void *, const char *reason, bool) {
  if (!recoveryPoint) {
    llvm::errs() << "LLVM ERROR: " << reason << "\n";
    return;
  }
  fatalMessage = reason;
  std::longjmp(*recoveryPoint, 1);
}

static void initializeLLVM() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); // of inline assembly
    registerUndefinedLanesPass();
    llvm::install_fatal_error_handler(handleFatalError);
  });
}

/// Calls `step`. Returns false after a fatal error in it. No object in this
/// function may need a destructor, because the jump skips destructors.
static bool callGuarded(llvm::function_ref<LogicalResult()> step,
                        LogicalResult &result) {
  std::jmp_buf point;
  if (setjmp(point) != 0) {
    recoveryPoint = nullptr;
    return false;
  }
  recoveryPoint = &point;
  result = step();
  recoveryPoint = nullptr;
  return true;
}

LogicalResult DeviceModule::run(StringRef stage,
                                llvm::function_ref<LogicalResult()> step) {
  if (!context)
    return emitError(loc, "LLVM gave up on this module before");
  auto start = std::chrono::steady_clock::now();
  LogicalResult result = failure();
  errorSeen = false;
  if (!callGuarded(step, result)) {
    // The skipped frames may have held references, so nothing is destroyed.
    (void)llvmModule.release();
    (void)machine.release();
    (void)context.release();
    if (errorSeen) // It has been reported.
      return failure();
    return emitError(loc, "LLVM cannot compile this for ")
           << target.chip << ": " << fatalMessage;
  }
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  times.push_back({stage.str(), time.count()});
  return failure(failed(result) || errorSeen);
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

/// Converts a diagnostic of LLVM to one of MLIR. Sets `errorSeen` for errors.
static void forwardDiagnostic(const llvm::DiagnosticInfo &info, Location loc,
                              bool &errorSeen) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DiagnosticPrinterRawOStream printer(os);
  info.print(printer);
  switch (info.getSeverity()) {
  case llvm::DS_Error:
    errorSeen = true;
    emitError(loc, "LLVM: ") << text;
    break;
  case llvm::DS_Warning:
    emitWarning(loc, "LLVM: ") << text;
    break;
  case llvm::DS_Remark:
  case llvm::DS_Note:
    break;
  }
}

DeviceModule::DeviceModule(TargetInfo target, Location loc)
    : target(std::move(target)), loc(loc),
      context(std::make_unique<llvm::LLVMContext>()) {
  context->setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *self) {
        auto *module = static_cast<DeviceModule *>(self);
        forwardDiagnostic(*info, module->loc, module->errorSeen);
      },
      this);
}

DeviceModule::~DeviceModule() = default;

static FailureOr<std::unique_ptr<llvm::TargetMachine>>
createMachine(const TargetInfo &target, Location loc) {
  llvm::Triple triple(target.triple);
  std::string error;
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return emitError(loc, "no LLVM target for ")
           << target.chip << ": " << error;
  // Multiplications and additions may be fused; no other fast-math is allowed.
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, target.chip, target.features, options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

FailureOr<std::unique_ptr<DeviceModule>>
DeviceModule::create(gpu::GPUModuleOp module) {
  initializeLLVM();
  FailureOr<TargetInfo> target = TargetInfo::get(module);
  if (failed(target))
    return failure();
  for (auto kernel : module.getOps<gpu::GPUFuncOp>())
    return kernel.emitError("is not lowered to the LLVM dialect; run ")
           << (target->isNVIDIA() ? "--tilews-to-nvvm" : "--tilews-to-rocdl");
  std::unique_ptr<DeviceModule> result(
      new DeviceModule(*target, module.getLoc()));
  auto machine = createMachine(*target, module.getLoc());
  if (failed(machine))
    return failure();
  result->machine = std::move(*machine);
  if (failed(result->run("translate to LLVM IR",
                         [&] { return result->translate(module); })) ||
      failed(result->run("optimize LLVM IR", [&] {
        optimizeLLVM(result->llvmModule, *result->machine, *target,
                     module.getLoc());
        return success();
      })))
    return failure();
  return result;
}

LogicalResult DeviceModule::translate(gpu::GPUModuleOp module) {
  llvmModule = translateModuleToLLVMIR(module, *context, module.getName());
  if (!llvmModule)
    return failure(); // with a diagnostic
  llvmModule->setTargetTriple(machine->getTargetTriple());
  llvmModule->setDataLayout(machine->createDataLayout());
  // LLVM's default is newer than most installed ROCm runtimes can load.
  static constexpr StringLiteral version = "amdhsa_code_object_version";
  if (target.isAMD() && !llvmModule->getModuleFlag(version))
    llvmModule->addModuleFlag(llvm::Module::Error, version, 500);
  return success();
}

FailureOr<StringRef> DeviceModule::getLLVMIR() {
  if (llvmIR.empty() && failed(run("print LLVM IR", [&] {
        llvm::raw_string_ostream os(llvmIR);
        llvmModule->print(os, nullptr);
        return success();
      })))
    return failure();
  return StringRef(llvmIR);
}

//===----------------------------------------------------------------------===//
// Assembly, objects and binaries
//===----------------------------------------------------------------------===//

FailureOr<std::string> DeviceModule::generate(bool assembly) {
  SmallString<0> buffer;
  LogicalResult result =
      run(assembly ? "generate assembly" : "generate object", [&] {
        auto copy = llvm::CloneModule(*llvmModule);
        llvm::raw_svector_ostream os(buffer);
        llvm::legacy::PassManager passes;
        auto type = assembly ? llvm::CodeGenFileType::AssemblyFile
                             : llvm::CodeGenFileType::ObjectFile;
        if (machine->addPassesToEmitFile(passes, os, nullptr, type))
          return LogicalResult(emitError(loc, "LLVM has no code generator for ")
                               << target.chip);
        passes.run(*copy);
        return success();
      });
  if (failed(result))
    return failure();
  return buffer.str().str();
}

FailureOr<StringRef> DeviceModule::getAssembly() {
  if (assembly.empty()) {
    FailureOr<std::string> text = generate(/*assembly=*/true);
    if (failed(text))
      return failure();
    assembly = std::move(*text);
  }
  return StringRef(assembly);
}

FailureOr<StringRef> DeviceModule::getObject() {
  if (target.isNVIDIA())
    return emitError(loc, "there are no relocatable objects for ")
           << target.chip << "; emit PTX or a cubin";
  if (object.empty()) {
    FailureOr<std::string> bytes = generate(/*assembly=*/false);
    if (failed(bytes))
      return failure();
    object = std::move(*bytes);
  }
  return StringRef(object);
}

LogicalResult DeviceModule::makeBinary() {
  FailureOr<StringRef> input = target.isNVIDIA() ? getAssembly() : getObject();
  if (failed(input))
    return failure();
  FailureOr<std::string> bytes;
  if (target.isAMD()) {
    if (failed(run("link", [&] {
          bytes = linkCodeObject(*input, loc);
          return success(succeeded(bytes));
        })))
      return failure();
    auto figures = readCodeObjectMetadata(*bytes, loc);
    if (failed(figures))
      return failure();
    resources = std::move(*figures);
  } else {
    std::string log;
    if (failed(run("ptxas", [&] {
          bytes = assemblePtx(*input, target.chip, toolDirectories, loc, log);
          return success(succeeded(bytes));
        })))
      return failure();
    resources = parsePtxasOutput(log);
    for (const KernelResources &kernel : resources)
      for (const std::string &warning : kernel.warnings)
        emitWarning(loc, "ptxas: ") << warning;
  }
  binary = std::move(*bytes);
  return success();
}

FailureOr<StringRef> DeviceModule::getBinary() {
  if (binary.empty() && failed(makeBinary()))
    return failure();
  return StringRef(binary);
}

FailureOr<ArrayRef<KernelResources>> DeviceModule::getResources() {
  if (failed(getBinary()))
    return failure();
  return ArrayRef<KernelResources>(resources);
}
