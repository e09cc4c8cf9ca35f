//===- Compile.h - From any phase to an object ------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_COMPILE_H
#define TILEWS_TARGET_COMPILE_H

#include "tilews/Target/DeviceModule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace tilews {

struct CompileOptions {
  /// The chip to compile for; empty for the target that the gpu.module names.
  std::string chip;
  /// Width in bits of index arithmetic, and of extents and strides as
  /// parameters.
  unsigned indexBitwidth = 32;
  /// The passes on a gpu.module that produce IR with layouts, a memory plan and
  /// barriers; empty for those of `tilews-to-nvvm` and `tilews-to-rocdl`.
  std::string tilePasses;
  /// Whether device code says which source line each instruction is from.
  bool lineInfo = true;
  /// Further directories that are searched for `ptxas`.
  std::vector<std::string> toolDirectories;
};

/// The forms of device code that a compilation can return.
enum class Output { LLVM, Assembly, Object, Binary };

/// The compilation of one gpu.module: lowered when created, emitted on demand.
/// Errors are diagnostics of the module's context, which must outlive it.
///
/// Software pipelines for AMD are tried at once: if threads of a kernel need
/// scratch memory with pipelines, and less without, the kernel is lowered
/// without them. Remark `tile-pipe-0020` says so.
///
/// Example: `get(Output::Assembly)` of a kernel for sm_90a returns PTX. A later
/// `get(Output::Binary)` continues from that PTX and runs ptxas.
class Compilation {
public:
  /// Lowers a copy of `module`, which holds one gpu.module in any phase.
  static mlir::FailureOr<std::unique_ptr<Compilation>>
  create(mlir::ModuleOp module, const CompileOptions &options);

  const TargetInfo &getTarget() const { return target; }
  mlir::FailureOr<std::string> get(Output output);
  /// Returns the module in `phase`, as text.
  mlir::FailureOr<std::string> print(llvm::StringRef phase);
  /// Returns the launch manifest of `kernel`, or of the only kernel if the name
  /// is empty, as JSON. Its resources are null if `ptxas` is not found.
  mlir::FailureOr<std::string> getManifest(llvm::StringRef kernel);
  /// Returns the steps so far: each pass, then the steps of the emission.
  std::vector<StageTime> getTimes() const;

private:
  /// A lowering of the source, which may be replaced by another one.
  struct Attempt {
    mlir::OwningOpRef<mlir::ModuleOp> lowered;
    std::unique_ptr<DeviceModule> device;
    /// The kernels with software pipelines, and the place of a loop of each.
    llvm::MapVector<mlir::StringAttr, mlir::Location> pipelined;
    /// What it reported, to be emitted if it is taken.
    std::vector<mlir::Diagnostic> messages;
  };

  mlir::OwningOpRef<mlir::ModuleOp> cloneSource() const;
  mlir::LogicalResult lowerSource();
  mlir::LogicalResult lower(Attempt &attempt);
  mlir::LogicalResult generate(Attempt &attempt);
  void dropSpillingPipelines(Attempt &attempt);
  mlir::FailureOr<std::unique_ptr<DeviceModule>>
  createDevice(mlir::ModuleOp module);
  mlir::FailureOr<DeviceModule *> getDevice();

  CompileOptions options;
  TargetInfo target;
  mlir::OwningOpRef<mlir::ModuleOp> source, lowered;
  /// The kernels that are lowered without software pipelines.
  llvm::SetVector<mlir::StringAttr> unpiped;
  std::unique_ptr<DeviceModule> device;
  std::vector<StageTime> passTimes;
};

} // namespace tilews

#endif // TILEWS_TARGET_COMPILE_H
