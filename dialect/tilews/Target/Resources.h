//===- Resources.h - What a compiled kernel uses ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_RESOURCES_H
#define TILEWS_TARGET_RESOURCES_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace tilews {

/// Figures of one kernel; bytes are a thread's unless said otherwise.
struct KernelResources {
  std::string kernel;
  /// A thread's 32-bit registers; on AMD the vector registers, without the
  /// accumulation registers.
  int64_t registers = 0;
  /// AMD: accumulation and scalar registers.
  int64_t accumulationRegisters = 0;
  int64_t scalarRegisters = 0;
  /// Shared memory of the block that is not asked for at the launch, in bytes.
  int64_t staticSharedBytes = 0;
  int64_t stackBytes = 0;
  /// NVIDIA: bytes of spill code. AMD: spilled registers, as `spillStores`.
  int64_t spillStores = 0;
  int64_t spillLoads = 0;
  /// What `ptxas` had to say about performance, such as serialized wgmma.
  std::vector<std::string> warnings;
};

/// Reads the output of `ptxas -v`.
std::vector<KernelResources> parsePtxasOutput(llvm::StringRef output);

/// Reads the metadata of the kernels in an AMD code object.
mlir::FailureOr<std::vector<KernelResources>>
readCodeObjectMetadata(llvm::StringRef codeObject, mlir::Location loc);

} // namespace tilews

#endif // TILEWS_TARGET_RESOURCES_H
