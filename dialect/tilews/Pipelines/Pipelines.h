//===- Pipelines.h - Named pass pipelines -----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_PIPELINES_PIPELINES_H
#define TILEWS_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassOptions.h"
#include <string>
#include <type_traits>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tilews {

/// An option of a pipeline. `type` is "integer", "boolean" or "string".
struct PipelineOption {
  llvm::StringRef name;
  llvm::StringRef type;
  llvm::StringRef summary;
};

/// A named pipeline of tilews with its options, in the order of their
/// declaration.
struct PipelineInfo {
  llvm::StringRef flag;
  llvm::StringRef summary;
  std::vector<PipelineOption> options;
};

/// Options of a pipeline that know what they are.
struct ListedOptions : mlir::PassPipelineOptions<ListedOptions> {
  /// What the options of a derived class are.
  std::vector<PipelineOption> listed;

  /// An option that adds itself to `listed`.
  template <typename T>
  struct ListedOption : Option<T> {
    ListedOption(ListedOptions &options, llvm::StringRef name,
                 llvm::StringRef summary, const T &initial = T())
        : Option<T>(options, name, llvm::cl::desc(summary),
                    llvm::cl::init(initial)) {
      llvm::StringRef type = std::is_same_v<T, bool>       ? "boolean"
                             : std::is_same_v<T, unsigned> ? "integer"
                                                           : "string";
      options.listed.push_back({name, type, summary});
    }
    using Option<T>::operator=;
  };
};

/// Options of the pipelines from IR with layouts to the LLVM dialect.
struct LaidOutLoweringOptions : ListedOptions {
  ListedOption<unsigned> indexBitwidth{
      *this, "index-bitwidth",
      "Width of index arithmetic: 32, if no buffer has more than 2^31-1 "
      "elements, or 64",
      32};
};

/// Options of the pipelines from the tile dialect to the LLVM dialect.
struct LoweringOptions : LaidOutLoweringOptions {
  ListedOption<std::string> chip{
      *this, "chip",
      "The chip to compile for, such as sm_90a or gfx942; by default the "
      "target of the gpu.module"};
};

/// Options of the pipeline that plans schedules.
struct ScheduleOptions : ListedOptions {
  ListedOption<bool> oneRole{
      *this, "one-role",
      "Pipeline copies without warps of their own, as before Hopper"};
};

/// Options of the pipeline from a schedule to layouts, memory and barriers.
struct LayOutOptions : ListedOptions {
  ListedOption<std::string> retry{
      *this, "retry",
      "The passes on a saved kernel that lead to its plan of shared memory"};
};

struct NVVMLoweringOptions : LoweringOptions {
  ListedOption<bool> oneRole{
      *this, "one-role",
      "Pipeline copies without warps of their own, as before Hopper"};
};

struct ROCDLLoweringOptions : LoweringOptions {
  ListedOption<bool> pipelines{
      *this, "pipelines",
      "Turn loops with num_stages into software pipelines (default: true)",
      true};
};

/// From phase 1 to the LLVM and NVVM dialects.
void buildToNVVMPipeline(mlir::OpPassManager &passes,
                         const NVVMLoweringOptions &options);
/// From phase 1 to the LLVM and ROCDL dialects.
void buildToROCDLPipeline(mlir::OpPassManager &passes,
                          const ROCDLLoweringOptions &options);

/// From phase 4 to the LLVM and NVVM dialects.
void buildLaidOutToNVVMPipeline(mlir::OpPassManager &passes,
                                const LaidOutLoweringOptions &options);
/// From phase 4 to the LLVM and ROCDL dialects.
void buildLaidOutToROCDLPipeline(mlir::OpPassManager &passes,
                                 const LaidOutLoweringOptions &options);

/// The named pipelines of tilews. `registerPipelines` registers exactly these;
/// tilews.passes makes a Python function of each.
std::vector<PipelineInfo> getPipelines();

/// Registers the named pipelines, so that texts can name them.
void registerPipelines();

} // namespace tilews

#endif // TILEWS_PIPELINES_PIPELINES_H
