//===- Pipelines.cpp - Named pass pipelines -------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the default pipelines as texts, in the notation of --pass-pipeline,
// and parses them with the options filled in. For example
// `tilews-to-nvvm{chip=sm_80}` is kTilePasses with {0} = sm_80 and {1} =
// kSchedulePasses, then kConversion and kLLVMPasses, each nested in
// `gpu.module`. One table (`getTable`) names all pipelines: it registers them,
// and the C interface and Python list them from it.
//
// Pipelines nest the passes of the tile dialect in `gpu.module` and not in
// `gpu.func`, and few passes use an `AnalysisManager`: docs/rationale.md has
// the reasons.
//
//===----------------------------------------------------------------------===//

#include "tilews/Pipelines/Pipelines.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tilews;

/// Returns the names of those canonicalization patterns of `OpTs` that contain
/// `part`, separated by commas. They depend on the compiler that built libMLIR,
/// because they contain names of C++ types. Therefore the patterns are asked
/// for them. It is an error if an operation has no such pattern: then LLVM has
/// changed, and `tilews-clean-up` has to change too.
template <typename... OpTs>
static std::string getPatterns(llvm::StringRef part) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<affine::AffineDialect, gpu::GPUDialect>();
  llvm::SmallVector<std::string> names;
  auto add = [&](auto getPatternsOf) {
    RewritePatternSet patterns(&context);
    getPatternsOf(patterns, &context);
    size_t before = names.size();
    for (const auto &pattern : patterns.getNativePatterns())
      if (pattern->getDebugName().contains(part))
        names.push_back(pattern->getDebugName().str());
    if (names.size() == before)
      llvm::report_fatal_error("tilews-clean-up finds no pattern '" + part +
                               "' to leave out");
  };
  (add(OpTs::getCanonicalizationPatterns), ...);
  return llvm::join(names, ",");
}

/// Returns the passes of `tilews-clean-up`. They leave out two patterns.
///
/// `SimplifyDimOfAllocOp` of `gpu.alloc`, which kernels do not contain: in LLVM
/// 22 it crashes on a `memref.dim` of a negative constant
/// (https://github.com/llvm/llvm-project/issues/205073).
///
/// `SimplifyAffineOp`: it composes the map of an operation with those that its
/// operands come from. If each map of a chain uses its operand twice, as in
/// `d0 floordiv 3 + d0 mod 5`, the last one has 2^n terms.
static std::string getCleanUp() {
  static const std::string names =
      getPatterns<gpu::AllocOp>("SimplifyDimOfAllocOp") + "," +
      getPatterns<affine::AffineApplyOp, affine::AffineMinOp,
                  affine::AffineMaxOp, affine::AffineLoadOp,
                  affine::AffineStoreOp, affine::AffineVectorLoadOp,
                  affine::AffineVectorStoreOp>("SimplifyAffineOp");
  return "canonicalize{disable-patterns={" + names + "}},cse";
}

/// From tile IR to tile IR with layouts, a memory plan and barriers.
static constexpr char kTilePasses[] = "tile-set-target{{chip={0}},"
                                      "tile-split-k,"
                                      "tile-stream-k,"
                                      "tile-lower-persistent,"
                                      "tile-rasterize-blocks,"
                                      "tile-widen-small-floats,"
                                      "tilews-clean-up,"
                                      "tile-annotate-instructions,"
                                      "{1}"
                                      "tilews-lay-out{{retry={{{2}}}";

/// Gives kernels layouts, a memory plan and barriers. A kernel whose plan does
/// not fit into memory is scheduled again.
static constexpr char kLayoutPasses[] =
    "tile-infer-layouts,"
    "tile-plan-shared-memory{{retry={{{0}}},"
    "tile-insert-barriers,"
    "tile-multicast-copies";

/// From tile IR with layouts to per-thread code.
static constexpr char kConversion[] =
    "tile-lower-channels,tile-verify-schedule{{retry={{{2}}},{3}"
    "convert-tile-to-{0}{{index-bitwidth={1}}";

/// Builds software pipelines. Passes that need what a chip does not have, such
/// as TMA, decline. Checks the chosen instructions a second time after warp
/// specialization, because the schedule relies on them.
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
    "tile-stage-copies,"
    "tile-expand-pipeline";

/// Builds software pipelines and proves that they are right. A kernel whose
/// plan is wrong is planned again.
static constexpr char kCheckedSchedule[] = "tile-save-kernels,"
                                           "{0},"
                                           "tile-verify-schedule{{retry={0}},"
                                           "tilews-clean-up,";

/// What leads from a saved kernel to its plan of shared memory.
static constexpr char kToMemoryPlan[] = "{0},"
                                        "tile-verify-schedule,"
                                        "tilews-clean-up,"
                                        "tile-infer-layouts";

/// What leads from a saved kernel to the second check of its schedule.
static constexpr char kToBarriers[] =
    "{0},tilews-clean-up,tilews-lay-out,tile-lower-channels";

/// From per-thread code to the LLVM dialect.
static constexpr char kLLVMPasses[] =
    "cse,"
    "tile-expand-math,"
    "tile-expand-affine,"
    "tile-expand-control-flow,"
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

/// Quotes the name of a chip for the text of a pipeline. No chip has a quote or
/// a brace, which would end the option: a name with one stays unknown, and
/// --tile-set-target says so.
static std::string quoteChip(std::string chip) {
  if (llvm::all_of(chip, llvm::isAlnum) || chip.empty())
    return chip;
  for (char &c : chip)
    if (llvm::StringRef("{}'\"").contains(c))
      c = '?';
  return '"' + chip + '"';
}

/// `schedule` plans the schedules of kernels, which are checked; empty if they
/// get none.
static void addTilePasses(OpPassManager &passes, const LoweringOptions &options,
                          llvm::StringRef schedule) {
  std::string checked, retry;
  if (!schedule.empty()) {
    checked = llvm::formatv(kCheckedSchedule, schedule).str();
    retry = llvm::formatv(kToMemoryPlan, schedule).str();
  }
  addPipeline(passes, llvm::formatv(kTilePasses, quoteChip(options.chip),
                                    checked, retry)
                          .str());
}

/// `retry` are the passes that lead from a saved kernel to the check of its
/// barriers; empty if none is saved.
static void addConversion(OpPassManager &passes, unsigned indexBitwidth,
                          llvm::StringRef dialect, const std::string &retry) {
  const char *peel = dialect == "rocdl" ? "tile-peel-pipelines," : "";
  addPipeline(
      passes,
      llvm::formatv(kConversion, dialect, indexBitwidth, retry, peel).str());
  if (dialect == "rocdl")
    addPipeline(passes, "tile-prefetch-operands");
  addPipeline(passes, llvm::formatv(kLLVMPasses, indexBitwidth).str());
}

static void addNVVMConversion(OpPassManager &passes,
                              const LaidOutLoweringOptions &options,
                              const std::string &retry) {
  addConversion(passes, options.indexBitwidth, "nvvm", retry);
  // Operations that stand for inline assembly.
  addPipeline(passes, "convert-nvvm-to-llvm");
}

void tilews::buildLaidOutToNVVMPipeline(OpPassManager &passes,
                                        const LaidOutLoweringOptions &options) {
  addNVVMConversion(passes, options, /*retry=*/"");
}

void tilews::buildLaidOutToROCDLPipeline(
    OpPassManager &passes, const LaidOutLoweringOptions &options) {
  addConversion(passes, options.indexBitwidth, "rocdl", /*retry=*/"");
}

void tilews::buildToNVVMPipeline(OpPassManager &passes,
                                 const NVVMLoweringOptions &options) {
  const char *schedule =
      options.oneRole ? "tilews-schedule{one-role=true}" : "tilews-schedule";
  addTilePasses(passes, options, schedule);
  addNVVMConversion(passes, options,
                    llvm::formatv(kToBarriers, schedule).str());
}

void tilews::buildToROCDLPipeline(OpPassManager &passes,
                                  const ROCDLLoweringOptions &options) {
  if (!options.pipelines) {
    addTilePasses(passes, options, /*schedule=*/"");
    return addConversion(passes, options.indexBitwidth, "rocdl", /*retry=*/"");
  }
  const char *schedule = "tilews-schedule";
  addTilePasses(passes, options, schedule);
  addConversion(passes, options.indexBitwidth, "rocdl",
                llvm::formatv(kToBarriers, schedule).str());
}

static void buildCleanUpPipeline(OpPassManager &passes) {
  addPasses(passes, getCleanUp());
}

static void buildLayOutPipeline(OpPassManager &passes,
                                const LayOutOptions &options) {
  addPasses(passes, llvm::formatv(kLayoutPasses, options.retry).str());
}

static void buildSchedulePipeline(OpPassManager &passes,
                                  const ScheduleOptions &options) {
  addPasses(
      passes,
      llvm::formatv(kSchedulePasses, options.oneRole ? "true" : "false").str());
}

namespace {
/// A pipeline and how to register it.
struct NamedPipeline {
  PipelineInfo info;
  void (*registerIt)(const PipelineInfo &info);
};
} // namespace

/// A pipeline with options.
template <typename Options, void (*build)(OpPassManager &, const Options &)>
static NamedPipeline makePipeline(llvm::StringRef flag,
                                  llvm::StringRef summary) {
  return {{flag, summary, Options().listed}, [](const PipelineInfo &info) {
            PassPipelineRegistration<Options>(info.flag, info.summary, build);
          }};
}

/// A pipeline without options.
template <void (*build)(OpPassManager &)>
static NamedPipeline makePipeline(llvm::StringRef flag,
                                  llvm::StringRef summary) {
  return {{flag, summary, {}}, [](const PipelineInfo &info) {
            PassPipelineRegistration<>(info.flag, info.summary, build);
          }};
}

/// The one list of pipelines: what is registered and what is listed.
static std::vector<NamedPipeline> getTable() {
  return {
      makePipeline<buildCleanUpPipeline>(
          "tilews-clean-up",
          "Canonicalize and eliminate common subexpressions, of any kernel"),
      makePipeline<ScheduleOptions, buildSchedulePipeline>(
          "tilews-schedule",
          "Plan software pipelines and roles, and carry the plans out"),
      makePipeline<LayOutOptions, buildLayOutPipeline>(
          "tilews-lay-out",
          "Give kernels layouts, a plan of shared memory, and barriers"),
      makePipeline<NVVMLoweringOptions, buildToNVVMPipeline>(
          "tilews-to-nvvm",
          "Lower tile kernels to the LLVM dialect for NVIDIA GPUs"),
      makePipeline<ROCDLLoweringOptions, buildToROCDLPipeline>(
          "tilews-to-rocdl",
          "Lower tile kernels to the LLVM dialect for AMD GPUs"),
      makePipeline<LaidOutLoweringOptions, buildLaidOutToNVVMPipeline>(
          "tilews-laid-out-to-nvvm",
          "Lower kernels with layouts to the LLVM dialect for NVIDIA GPUs"),
      makePipeline<LaidOutLoweringOptions, buildLaidOutToROCDLPipeline>(
          "tilews-laid-out-to-rocdl",
          "Lower kernels with layouts to the LLVM dialect for AMD GPUs"),
  };
}

std::vector<PipelineInfo> tilews::getPipelines() {
  std::vector<PipelineInfo> infos;
  for (NamedPipeline &pipeline : getTable())
    infos.push_back(std::move(pipeline.info));
  return infos;
}

void tilews::registerPipelines() {
  for (const NamedPipeline &pipeline : getTable())
    pipeline.registerIt(pipeline.info);
}
