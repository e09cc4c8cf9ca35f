//===- PipelineDepth.h - Slots that a chip has room for ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEDEPTH_H
#define TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEDEPTH_H

#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Support/TargetInfo.h"

namespace tilews::tile {

/// The most slots that are of use on chips whose copies pass through registers:
/// one is read, one is filled, and the tile after that is in registers.
constexpr int64_t kMostStagedSlots = 2;

/// Whether copies write shared memory directly wherever `buffer` is filled.
bool isFilledDirectly(const PipedBuffer &buffer);

/// The registers and the shared memory of the hardware unit that runs a block:
/// a compute unit of gfx9, a work group processor of gfx11 and gfx12. Both have
/// four vector units.
struct BlockUnit {
  /// The most registers of a thread on RDNA chips.
  static constexpr int64_t kMostRegistersRDNA = 256;

  int64_t sharedBytes;
  /// 32-bit registers of a vector unit, for each lane of a wave.
  int64_t registers;
  /// The most registers of one thread.
  int64_t mostRegisters;

  static BlockUnit get(const TargetInfo &target);
};

/// What the pipelines of a kernel need of a unit, for some number of slots.
struct PipelineNeeds {
  /// Bytes of shared memory of a block.
  int64_t sharedBytes;
  /// Blocks that a unit runs at the same time; 0 if not even one.
  int64_t blocks;
};

/// Returns what `kernel` needs if its loops are pipelined by `plans`, where
/// tiles pass through registers unless a buffer is filled directly. Shared
/// memory is packed as by `--tile-plan-shared-memory`, except for scratch
/// memory, which is not known before layouts.
///
/// For example, with two slots for two tiles of 16 KiB:
///
/// ```
///   sharedBytes  65536
///   blocks       1 on gfx942 (64 KiB), 2 on gfx950 (160 KiB)
/// ```
PipelineNeeds getPipelineNeeds(mlir::gpu::GPUFuncOp kernel,
                               const TargetInfo &target,
                               llvm::ArrayRef<PipelinePlan> plans);

/// Whether a unit is as busy with the needs `deep` as with `shallow`, those of
/// the same kernel with one slot less. Two waves on each vector unit suffice:
/// one computes while the other waits.
bool keepsUnitBusy(mlir::gpu::GPUFuncOp kernel, const TargetInfo &target,
                   const PipelineNeeds &deep, const PipelineNeeds &shallow);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_PIPELINE_PIPELINEDEPTH_H
