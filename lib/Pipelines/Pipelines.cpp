//===- Pipelines.cpp - Named pass pipelines -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilews;

/// Tile IR to tile IR with layouts, a memory plan and barriers. Arithmetic on
/// fp8 is widened first: the GPUs convert these types and do not compute with
/// them.
static constexpr char kTilePasses[] =
    "tile-set-target{{chip={0}},"
    "tile-lower-persistent,"
    "tile-rasterize-blocks,"
    "arith-emulate-unsupported-floats{{source-types="
    "f8E4M3FN,f8E5M2,f8E4M3FNUZ,f8E5M2FNUZ target-type=f32},"
    "canonicalize,cse,"
    "tile-annotate-instructions,"
    "tile-infer-layouts,"
    "tile-plan-shared-memory,"
    "tile-insert-barriers";

/// Per-thread code to the LLVM dialect, by upstream's conversions.
static constexpr char kLLVMPasses[] = "cse,"
                                      "tile-expand-math,"
                                      "lower-affine,"
                                      "convert-scf-to-cf,"
                                      "convert-math-to-llvm,"
                                      "convert-vector-to-llvm,"
                                      "{0},"
                                      "canonicalize,cse";

static void addPipeline(OpPassManager &passes, const std::string &text) {
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (failed(parsePassPipeline("gpu.module(" + text + ")", passes, stream)))
    llvm::report_fatal_error(llvm::Twine("a tilews pipeline does not parse: ") +
                             error);
}

void tilews::buildToNVVMPipeline(OpPassManager &passes,
                                 const LoweringOptions &options) {
  unsigned bits = options.indexBitwidth;
  addPipeline(passes,
              llvm::formatv(kTilePasses, options.chip.getValue()).str());
  addPipeline(
      passes,
      llvm::formatv("convert-tile-to-nvvm{{index-bitwidth={0}}", bits).str());
  addPipeline(
      passes,
      llvm::formatv(kLLVMPasses,
                    llvm::formatv("convert-gpu-to-nvvm{{index-bitwidth={0}},"
                                  "reconcile-unrealized-casts,"
                                  "convert-nvvm-to-llvm",
                                  bits))
          .str());
}

void tilews::buildToROCDLPipeline(OpPassManager &passes,
                                  const LoweringOptions &options) {
  unsigned bits = options.indexBitwidth;
  addPipeline(passes,
              llvm::formatv(kTilePasses, options.chip.getValue()).str());
  addPipeline(
      passes,
      llvm::formatv("convert-tile-to-rocdl{{index-bitwidth={0}}", bits).str());
  // The chip only guards instructions that tilews has chosen already.
  std::string chipset =
      options.chip.empty() ? "" : "chipset=" + options.chip.getValue() + " ";
  addPipeline(
      passes,
      llvm::formatv(kLLVMPasses,
                    llvm::formatv("convert-gpu-to-rocdl{{{0}index-bitwidth={1}}"
                                  ",reconcile-unrealized-casts",
                                  chipset, bits))
          .str());
}

void tilews::registerPipelines() {
  PassPipelineRegistration<LoweringOptions>(
      "tilews-to-nvvm",
      "Lower tile kernels to the LLVM dialect for NVIDIA GPUs",
      buildToNVVMPipeline);
  PassPipelineRegistration<LoweringOptions>(
      "tilews-to-rocdl", "Lower tile kernels to the LLVM dialect for AMD GPUs",
      buildToROCDLPipeline);
}
