//===- Pipelines.h - Named pass pipelines -----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_PIPELINES_PIPELINES_H
#define TILEWS_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tilews {

/// Options of the pipelines from IR with layouts to the LLVM dialect.
struct LaidOutLoweringOptions
    : mlir::PassPipelineOptions<LaidOutLoweringOptions> {
  Option<unsigned> indexBitwidth{
      *this, "index-bitwidth",
      llvm::cl::desc("Width of index arithmetic: 32, if no buffer has more "
                     "than 2^31-1 elements, or 64"),
      llvm::cl::init(32)};
};

/// Options of the pipelines from the tile dialect to the LLVM dialect.
struct LoweringOptions : LaidOutLoweringOptions {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("The chip to compile for, such as sm_90a or gfx942; by "
                     "default the target of the gpu.module")};
};

struct NVVMLoweringOptions : LoweringOptions {
  Option<bool> oneRole{
      *this, "one-role",
      llvm::cl::desc("Pipeline copies without warps of their own, as before "
                     "Hopper")};
};

/// From phase 1 to the LLVM and NVVM dialects.
void buildToNVVMPipeline(mlir::OpPassManager &passes,
                         const NVVMLoweringOptions &options);
/// From phase 1 to the LLVM and ROCDL dialects.
void buildToROCDLPipeline(mlir::OpPassManager &passes,
                          const LoweringOptions &options);

/// From phase 4 to the LLVM and NVVM dialects.
void buildLaidOutToNVVMPipeline(mlir::OpPassManager &passes,
                                const LaidOutLoweringOptions &options);
/// From phase 4 to the LLVM and ROCDL dialects.
void buildLaidOutToROCDLPipeline(mlir::OpPassManager &passes,
                                 const LaidOutLoweringOptions &options);

/// Registers `tilews-to-nvvm` and `tilews-to-rocdl`, and
/// `tilews-laid-out-to-nvvm` and `tilews-laid-out-to-rocdl`.
void registerPipelines();

} // namespace tilews

#endif // TILEWS_PIPELINES_PIPELINES_H
