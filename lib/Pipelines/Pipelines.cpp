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

/// The pattern left out serves `gpu.alloc`, which no kernel has, and in LLVM 22
/// does not survive a `memref.dim` of a negative constant
/// (https://github.com/llvm/llvm-project/issues/205073).
static constexpr char kCleanUp[] =
    "canonicalize{disable-patterns={"
    "(anonymous namespace)::SimplifyDimOfAllocOp}},cse";

/// Tile IR to tile IR with layouts, a memory plan and barriers. Arithmetic on
/// fp8 is widened first: the GPUs convert these types and do not compute with
/// them.
static constexpr char kTilePasses[] =
    "tile-set-target{{chip={0}},"
    "tile-split-k,"
    "tile-stream-k,"
    "tile-lower-persistent,"
    "tile-rasterize-blocks,"
    "arith-emulate-unsupported-floats{{source-types="
    "f8E4M3FN,f8E5M2,f8E4M3FNUZ,f8E5M2FNUZ target-type=f32},"
    "tilews-clean-up,"
    "tile-annotate-instructions,"
    "{1}"
    "tile-infer-layouts,"
    "tile-plan-shared-memory,"
    "tile-insert-barriers,"
    "tile-multicast-copies";

/// What is laid out to per-thread code.
static constexpr char kConversion[] =
    "tile-lower-channels,tile-verify-schedule,"
    "convert-tile-to-{0}{{index-bitwidth={1}}";

/// Software pipelines. Only where copies are asynchronous: elsewhere versions
/// of buffers would gain nothing. What instructions were chosen before is
/// checked once more: by then the schedule relies on them.
static constexpr char kSchedulePasses[] =
    "tile-plan-pipeline,"
    "tile-multi-version,"
    "tile-channel-preludes,"
    "tile-specialize-warps{{one-role={0}},"
    "tile-annotate-instructions,"
    "tile-overlap-products,"
    "tile-defer-gemm-waits,"
    "tile-ping-pong,"
    "tile-stage-stores,"
    "tile-assign-registers,"
    "tile-expand-pipeline,"
    "tile-verify-schedule,"
    "tilews-clean-up,";

/// Per-thread code to the LLVM dialect.
static constexpr char kLLVMPasses[] =
    "cse,"
    "tile-expand-math,"
    "lower-affine,"
    "convert-scf-to-cf,"
    "convert-tile-threads-to-llvm{{index-bitwidth={0}},"
    "reconcile-unrealized-casts,"
    "tilews-clean-up";

static void addPasses(OpPassManager &passes, const std::string &text) {
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (failed(parsePassPipeline(text, passes, stream)))
    llvm::report_fatal_error(llvm::Twine("a tilews pipeline does not parse: ") +
                             error);
}

static void addPipeline(OpPassManager &passes, const std::string &text) {
  addPasses(passes, "gpu.module(" + text + ")");
}

static void addTilePasses(OpPassManager &passes, const LoweringOptions &options,
                          llvm::StringRef schedule) {
  addPipeline(
      passes,
      llvm::formatv(kTilePasses, options.chip.getValue(), schedule).str());
}

static void addConversion(OpPassManager &passes, unsigned indexBitwidth,
                          const char *dialect) {
  addPipeline(passes, llvm::formatv(kConversion, dialect, indexBitwidth).str());
  addPipeline(passes, llvm::formatv(kLLVMPasses, indexBitwidth).str());
}

void tilews::buildLaidOutToNVVMPipeline(OpPassManager &passes,
                                        const LaidOutLoweringOptions &options) {
  addConversion(passes, options.indexBitwidth, "nvvm");
  // Operations that stand for inline assembly.
  addPipeline(passes, "convert-nvvm-to-llvm");
}

void tilews::buildLaidOutToROCDLPipeline(
    OpPassManager &passes, const LaidOutLoweringOptions &options) {
  addConversion(passes, options.indexBitwidth, "rocdl");
}

void tilews::buildToNVVMPipeline(OpPassManager &passes,
                                 const NVVMLoweringOptions &options) {
  std::string schedule =
      llvm::formatv(kSchedulePasses, options.oneRole ? "true" : "false");
  addTilePasses(passes, options, schedule);
  buildLaidOutToNVVMPipeline(passes, options);
}

void tilews::buildToROCDLPipeline(OpPassManager &passes,
                                  const LoweringOptions &options) {
  addTilePasses(passes, options, /*schedule=*/"");
  buildLaidOutToROCDLPipeline(passes, options);
}

void tilews::registerPipelines() {
  PassPipelineRegistration<>(
      "tilews-clean-up",
      "Canonicalize and eliminate common subexpressions, of any kernel",
      [](OpPassManager &passes) { addPasses(passes, kCleanUp); });
  PassPipelineRegistration<NVVMLoweringOptions>(
      "tilews-to-nvvm",
      "Lower tile kernels to the LLVM dialect for NVIDIA GPUs",
      buildToNVVMPipeline);
  PassPipelineRegistration<LoweringOptions>(
      "tilews-to-rocdl", "Lower tile kernels to the LLVM dialect for AMD GPUs",
      buildToROCDLPipeline);
  PassPipelineRegistration<LaidOutLoweringOptions>(
      "tilews-laid-out-to-nvvm",
      "Lower kernels with layouts to the LLVM dialect for NVIDIA GPUs",
      buildLaidOutToNVVMPipeline);
  PassPipelineRegistration<LaidOutLoweringOptions>(
      "tilews-laid-out-to-rocdl",
      "Lower kernels with layouts to the LLVM dialect for AMD GPUs",
      buildLaidOutToROCDLPipeline);
}
