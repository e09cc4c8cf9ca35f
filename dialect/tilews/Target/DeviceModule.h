//===- DeviceModule.h - From LLVM dialect to device code --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_DEVICEMODULE_H
#define TILEWS_TARGET_DEVICEMODULE_H

#include "tilews/Support/TargetInfo.h"
#include "tilews/Target/Resources.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace tilews {

/// The time of one step of a compilation.
struct StageTime {
  std::string stage;
  double milliseconds;
};

/// The device code of a gpu.module, made step by step on demand: optimized LLVM
/// IR, then assembly (PTX or GCN), then a binary (cubin or HSACO). Every step
/// runs once. Errors are MLIR diagnostics at the gpu.module.
class DeviceModule {
public:
  /// Translates the LLVM dialect in `module` for its target and optimizes it.
  /// The operation may be erased afterwards; its context must stay alive.
  static mlir::FailureOr<std::unique_ptr<DeviceModule>>
  create(mlir::gpu::GPUModuleOp module);
  ~DeviceModule();

  const TargetInfo &getTarget() const { return target; }

  /// Returns optimized LLVM IR as text.
  mlir::FailureOr<llvm::StringRef> getLLVMIR();
  /// Returns PTX or GCN assembly.
  mlir::FailureOr<llvm::StringRef> getAssembly();
  /// AMD: returns the relocatable object.
  mlir::FailureOr<llvm::StringRef> getObject();
  /// Returns the cubin, by `ptxas`, or the HSACO, by lld.
  mlir::FailureOr<llvm::StringRef> getBinary();
  /// Returns the resources of each kernel of the binary.
  mlir::FailureOr<llvm::ArrayRef<KernelResources>> getResources();

  /// Sets the directories that are searched for `ptxas` after PATH and the CUDA
  /// toolkit.
  void setToolDirectories(llvm::ArrayRef<std::string> directories) {
    toolDirectories.assign(directories.begin(), directories.end());
  }
  llvm::ArrayRef<StageTime> getTimes() const { return times; }

private:
  DeviceModule(TargetInfo target, mlir::Location loc);
  llvm::LogicalResult translate(mlir::gpu::GPUModuleOp module);
  /// Runs the code generator on a copy of the optimized module.
  mlir::FailureOr<std::string> generate(bool assembly);
  /// Runs `step`, which calls LLVM, and records its time. A fatal error of LLVM
  /// becomes a diagnostic.
  llvm::LogicalResult run(llvm::StringRef stage,
                          llvm::function_ref<llvm::LogicalResult()> step);
  llvm::LogicalResult makeBinary();

  TargetInfo target;
  mlir::Location loc;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> llvmModule;
  bool errorSeen = false;
  std::vector<std::string> toolDirectories;
  std::vector<StageTime> times;

  std::string llvmIR, assembly, object, binary;
  std::vector<KernelResources> resources;
};

} // namespace tilews

#endif // TILEWS_TARGET_DEVICEMODULE_H
