//===- Scheduling.cpp - Limits for LLVM's scheduler -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pipelined loop loads the next tile, multiplies this one, and stores the
// next one to shared memory. LLVM's scheduler shortens the lives of registers:
// it sinks the loads to their stores, so that the waves wait for global memory,
// and it mixes the steps of a matmul. `sched_barrier` keeps the order of
// instructions:
//
//   loads of the next tile
//   -- no load from global memory may pass
//   reads of step 0
//   mfma of step 0, reads of step 1
//   -- nothing may pass
//   mfma of step 1, reads of step 2
//
// Between two fences the reads of a step run while the step before multiplies.
// Copies of gfx950 that write shared memory directly are started where the
// loads are. The cycle model of `tilews cycles` decided about this.
//
// On RDNA chips a wave with one tile of the result waits in each step for the
// step before, and LLVM reads the operands of all steps meanwhile. A matmul
// with a fragment as operand follows another one, whose registers are in use,
// too. If the operands do not fit, two steps are read ahead as above, or the
// fence comes before the reads of each step. Other matmuls need fewer registers
// without fences.
//
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"

#include "tilews/Dialect/Tile/Analysis/Pipeline/PipelineDepth.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace tilews;

/// The instructions that may pass a fence (LLVM's AMDGPU usage guide,
/// "llvm.amdgcn.sched.barrier").
enum class Passing : int32_t {
  Nothing = 0,
  Arithmetic = 0x1,
  GlobalStores = 0x40,
  SharedMemory = 0x80,
  AllButGlobalLoads = Arithmetic | GlobalStores | SharedMemory,
};

static void createFence(ImplicitLocOpBuilder &b, Passing passing) {
  ROCDL::SchedBarrier::create(
      b, b.getI32IntegerAttr(static_cast<int32_t>(passing)));
}

bool tilews::isMatmulStart(ROCDL::SchedBarrier fence) {
  return fence.getMask() == static_cast<uint32_t>(Passing::AllButGlobalLoads);
}

/// How many steps of a matmul by wmma have their operands in registers at the
/// same time.
enum class StepsAhead { All, Two, One };

/// Operands of wmma take most of the registers of an RDNA chip: 16 for each
/// pair on gfx11. A half of what the matmul leaves is for other fragments.
static StepsAhead getStepsAhead(const MatmulRegisters &registers) {
  bool readsNothing = registers.perStep == 0; // Both operands are fragments.
  if (readsNothing || (registers.tiles > 1 && !registers.hasFragment))
    return StepsAhead::All;
  int64_t most = tile::BlockUnit::kMostRegistersRDNA;
  int64_t free = (most - tile::kOtherRegisters - registers.held) / 2;
  if (registers.steps * registers.perStep <= free)
    return StepsAhead::All;
  return 2 * registers.perStep <= free ? StepsAhead::Two : StepsAhead::One;
}

void ROCDLLowering::emitMatmulStart(ImplicitLocOpBuilder &b) const {
  if (info.hasMfma())
    createFence(b, Passing::AllButGlobalLoads);
}

void ROCDLLowering::emitStepReads(ImplicitLocOpBuilder &b,
                                  const MatmulRegisters &registers) const {
  if (info.hasWmma() && getStepsAhead(registers) == StepsAhead::One)
    createFence(b, Passing::Nothing);
}

void ROCDLLowering::emitMatmulStep(ImplicitLocOpBuilder &b,
                                   const MatmulRegisters &registers) const {
  if (info.hasMfma() ||
      (info.hasWmma() && getStepsAhead(registers) == StepsAhead::Two))
    createFence(b, Passing::Nothing);
}
