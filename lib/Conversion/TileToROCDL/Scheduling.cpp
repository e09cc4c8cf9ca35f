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
//===----------------------------------------------------------------------===//

#include "ROCDLLowering.h"

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

// Operands of wmma take most of the registers of an RDNA chip, so that those of
// two steps may not fit.
void ROCDLLowering::emitMatmulStart(ImplicitLocOpBuilder &b) const {
  if (info.hasMfma())
    createFence(b, Passing::AllButGlobalLoads);
}

void ROCDLLowering::emitMatmulStep(ImplicitLocOpBuilder &b) const {
  if (info.hasMfma())
    createFence(b, Passing::Nothing);
}
