//===- Resources.h - Registers and memory of compiled kernels ---*- C++ -*-===//
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

/// Resources of one kernel. Bytes are per thread unless said otherwise.
struct KernelResources {
  std::string kernel;
  /// 32-bit registers per thread; on AMD the vector registers, without the
  /// accumulation registers.
  int64_t registers = 0;
  /// AMD: accumulation and scalar registers.
  int64_t accumulationRegisters = 0;
  int64_t scalarRegisters = 0;
  /// Static shared memory of the block, in bytes: not part of what the launch
  /// requests.
  int64_t staticSharedBytes = 0;
  int64_t stackBytes = 0;
  /// NVIDIA: bytes of spill code. AMD: spilled registers, as `spillStores`.
  int64_t spillStores = 0;
  int64_t spillLoads = 0;
  /// Warnings of `ptxas` about performance, such as serialized wgmma.
  std::vector<std::string> warnings;
};

/// Reads the output of `ptxas -v`.
std::vector<KernelResources> parsePtxasOutput(llvm::StringRef output);

/// Reads the metadata of the kernels in an AMD code object.
mlir::FailureOr<std::vector<KernelResources>>
readCodeObjectMetadata(llvm::StringRef codeObject, mlir::Location loc);

} // namespace tilews

#endif // TILEWS_TARGET_RESOURCES_H
