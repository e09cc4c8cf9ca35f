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

/// Options of the pipelines from the tile dialect to the LLVM dialect.
struct LoweringOptions : mlir::PassPipelineOptions<LoweringOptions> {
  Option<std::string> chip{
      *this, "chip",
      llvm::cl::desc("The chip to compile for, such as sm_90a or gfx942; by "
                     "default the target of the gpu.module")};
  Option<unsigned> indexBitwidth{
      *this, "index-bitwidth",
      llvm::cl::desc("Width of index arithmetic: 32, if no buffer has more "
                     "than 2^31-1 elements, or 64"),
      llvm::cl::init(32)};
};

/// From phase 1 to the LLVM and NVVM dialects.
void buildToNVVMPipeline(mlir::OpPassManager &passes,
                         const LoweringOptions &options);
/// From phase 1 to the LLVM and ROCDL dialects.
void buildToROCDLPipeline(mlir::OpPassManager &passes,
                          const LoweringOptions &options);

/// Registers `tilews-to-nvvm` and `tilews-to-rocdl`.
void registerPipelines();

} // namespace tilews

#endif // TILEWS_PIPELINES_PIPELINES_H
