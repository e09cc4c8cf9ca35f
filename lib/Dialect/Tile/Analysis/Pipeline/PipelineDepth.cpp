//===- PipelineDepth.cpp - Slots that a chip has room for -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each slot of a pipeline costs shared memory, and shared memory limits the
// blocks that run at the same time on a compute unit. Where copies pass through
// registers, the next tile waits in registers while this one is used, so that
// one slot suffices to hide the latency of global memory. A second one saves
// one of two barriers in an iteration, which is worth less than a second block
// on the unit: that computes while the first one waits. Where copies write
// shared memory directly, each slot but one is a tile that is on its way.
//
//   128x128x64, f16, 4 waves    bytes of a block   blocks on gfx942
//     one slot                        32768               2
//     two slots                       65536               1    declined
//
// Shared memory is packed as by `--tile-plan-shared-memory`, with the versions
// of the plans, and buffers of a pipelined loop live throughout the loop.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelineDepth.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"

#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "tile-plan-pipeline"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The vector units of a compute unit (gfx9) or work group processor.
static constexpr int64_t kVectorUnits = 4;
/// The waves of a vector unit with which it is busy.
static constexpr int64_t kEnoughWaves = 2;

// AMD, "CDNA 3 ISA" and "RDNA 3 ISA", chapters on work groups and registers.
// LLVM has the numbers of registers in AMDGPUBaseInfo.cpp
// (`getTotalNumVGPRs`).
BlockUnit BlockUnit::get(const TargetInfo &target) {
  if (target.arch < 0x1000)
    return {target.maxSharedBytes, 512, target.arch == 0x908 ? 256 : 512};
  constexpr int64_t groupBytes = 128 << 10;
  return {groupBytes, target.arch == 0x1102 ? 1024 : 1536, kMostRegistersRDNA};
}

/// Returns the bytes of shared memory of a block. The buffers that `plans`
/// pipe have versions, and live as long as the outermost loop around them.
static int64_t countBytes(gpu::GPUFuncOp kernel, const TargetInfo &target,
                          ArrayRef<PipelinePlan> plans) {
  SharedBuffers buffers(kernel);
  SharedLiveness liveness(kernel, buffers);
  llvm::DenseMap<Operation *, int64_t> versions;
  llvm::DenseMap<Operation *, LiveInterval> live;
  auto extend = [&](AllocSharedOp alloc, const LiveInterval &other) {
    LiveInterval &own =
        live.try_emplace(alloc, liveness.getInterval(alloc)).first->second;
    own.begin = std::min(own.begin, other.begin);
    own.end = std::max(own.end, other.end);
  };
  for (const PipelinePlan &plan : plans) {
    // The slots are allocated at the start of the kernel.
    Operation *outermost = plan.getLoop();
    for (Operation *op = outermost; op != kernel; op = op->getParentOp())
      if (isa<LoopLikeOpInterface>(op))
        outermost = op;
    for (const PipedBuffer &buffer : plan.getBuffers()) {
      int64_t &own = versions[buffer.alloc];
      own = std::max(own, buffer.versions);
      extend(buffer.alloc, liveness.getInterval(outermost));
    }
    scf::ForOp loop = plan.getLoop();
    loop.walk([&](AllocSharedOp alloc) {
      extend(alloc, liveness.getInterval(loop.getOperation()));
    });
  }
  SmallVector<PackedItem> items;
  for (const MemoryUse &use : getMemoryUses(kernel, target)) {
    if (!isa<AllocSharedOp>(use.op))
      continue;
    PackedItem item = use.item;
    if (auto it = live.find(use.op); it != live.end())
      item.live = it->second;
    if (auto it = versions.find(use.op); it != versions.end())
      item.bytes = it->second * llvm::alignTo(item.bytes, kMinAlignment);
    items.push_back(item);
  }
  return pack(items);
}

bool tile::isFilledDirectly(const PipedBuffer &buffer) {
  return llvm::all_of(buffer.writers, [&](Operation *writer) {
    return !writer
                ->walk([&](Operation *op) {
                  bool writes = llvm::any_of(
                      getSharedAccesses(op), [&](const SharedAccess &access) {
                        return access.writes() &&
                               getViewedAlloc(access.operand->get()) ==
                                   buffer.alloc;
                      });
                  return writes && !hasInst(op, InstKind::CpAsync)
                             ? WalkResult::interrupt()
                             : WalkResult::advance();
                })
                .wasInterrupted();
  });
}

/// Returns the registers of a thread: fragments, among them a tile of each
/// piped buffer that is still to be stored, and addresses.
static int64_t countRegisters(gpu::GPUFuncOp kernel,
                              ArrayRef<PipelinePlan> plans) {
  int64_t threads = getNumThreads(kernel);
  int64_t fragments = RegisterPressure(threads).findPeak(kernel.getBody());
  int64_t staged = 0;
  for (const PipelinePlan &plan : plans) {
    int64_t bytes = 0;
    for (const PipedBuffer &buffer : plan.getBuffers())
      if (!isFilledDirectly(buffer))
        bytes +=
            getBufferBytes(AllocSharedOp(buffer.alloc).getBuffer().getType());
    staged = std::max<int64_t>(staged, llvm::divideCeil(bytes, 4 * threads));
  }
  return fragments + staged + kOtherRegisters;
}

static int64_t countWaves(gpu::GPUFuncOp kernel, const TargetInfo &target) {
  return llvm::divideCeil(getNumThreads(kernel), target.warpSize);
}

PipelineNeeds tile::getPipelineNeeds(gpu::GPUFuncOp kernel,
                                     const TargetInfo &target,
                                     ArrayRef<PipelinePlan> plans) {
  BlockUnit unit = BlockUnit::get(target);
  int64_t bytes = countBytes(kernel, target, plans);
  int64_t registers =
      std::min(countRegisters(kernel, plans), unit.mostRegisters);
  if (bytes > target.maxSharedBytes)
    return {bytes, 0};
  int64_t waves = std::max<int64_t>(unit.registers / registers, 1);
  int64_t byRegisters = waves * kVectorUnits / countWaves(kernel, target);
  int64_t byMemory = unit.sharedBytes / std::max<int64_t>(bytes, 1);
  LDBG() << bytes << " bytes, " << registers << " registers: " << byMemory
         << " blocks by memory, " << byRegisters << " by registers";
  return {bytes, std::max<int64_t>(std::min(byRegisters, byMemory), 1)};
}

bool tile::keepsUnitBusy(gpu::GPUFuncOp kernel, const TargetInfo &target,
                         const PipelineNeeds &deep,
                         const PipelineNeeds &shallow) {
  int64_t waves = countWaves(kernel, target);
  int64_t enough = kEnoughWaves * kVectorUnits;
  return deep.blocks > 0 &&
         deep.blocks * waves >= std::min(shallow.blocks * waves, enough);
}
