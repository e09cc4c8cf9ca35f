//===- AssignRegisters.cpp - Registers of roles by need -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Builders.h"

namespace tilews::tile {
#define GEN_PASS_DEF_ASSIGNREGISTERSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Whether `role` holds no fragment and moves nothing through its registers.
static bool onlyStartsCopies(RoleOp role) {
  return !role.getBody()
              .walk([](Operation *op) {
                bool moves = isa<CopyOp>(op) && !isTma(op);
                bool holds = llvm::any_of(op->getResultTypes(),
                                          llvm::IsaPred<RankedTensorType>);
                return moves || holds ? WalkResult::interrupt()
                                      : WalkResult::advance();
              })
              .wasInterrupted();
}

static int64_t getNeed(RoleOp role) {
  return RegisterPressure(role.getNumThreads()).findPeak(role.getBody()) +
         kOtherRegisters;
}

/// The roles that do more than start copies, if one of them needs more
/// registers than all threads can have.
static SmallVector<RoleOp> findNeedy(SpecializeOp specialize) {
  SmallVector<RoleOp> needy;
  bool anyLacks = false;
  int64_t limit = getRegisterLimit(specialize.getNumWarps());
  for (RoleOp role : specialize.getRoles()) {
    if (role.getRegisters())
      return {};
    if (onlyStartsCopies(role))
      continue;
    if (role.getWarps() % 4 != 0)
      return {};
    anyLacks |= getNeed(role) > limit;
    needy.push_back(role);
  }
  return anyLacks ? needy : SmallVector<RoleOp>();
}

/// The registers of a role that starts the copies for roles of `warps` warps,
/// each of which needs `need`: more in a nest of loops, where it holds places
/// in all of them, if they can spare them.
static int64_t getLoadRegisters(RoleOp load, int64_t warps, int64_t need) {
  bool isNest = load.getBody()
                    .walk([](LoopLikeOpInterface loop) {
                      return loop->getParentOfType<LoopLikeOpInterface>()
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    })
                    .wasInterrupted();
  need = std::min(need, getDonatedLimit(warps));
  for (int64_t registers : {40, 32})
    if (isNest && getDonatedLimit(warps, registers) >= need)
      return registers;
  return kLoadRegisters;
}

void tile::assignRegisters(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target) || !target->hasWgmma())
    return;
  SmallVector<SpecializeOp> all(kernel.getOps<SpecializeOp>());
  for (SpecializeOp specialize : all) {
    SmallVector<RoleOp> needy = findNeedy(specialize);
    // One warpgroup of donors: more would eat up what they give.
    if (needy.empty() ||
        llvm::range_size(specialize.getRoles()) != needy.size() + 1)
      continue;
    int64_t warps = 0, need = 0;
    for (RoleOp role : needy) {
      warps += role.getWarps();
      need = std::max(need, getNeed(role));
    }
    for (RoleOp role : specialize.getRoles()) {
      if (llvm::is_contained(needy, role))
        continue;
      int64_t registers = getLoadRegisters(role, warps, need);
      role.setRegisters(registers);
      role.setWarps(4);
      for (RoleOp other : needy)
        other.setRegisters(getDonatedLimit(warps, registers));
    }
    Builder builder(kernel.getContext());
    kernel->setAttr(
        TileDialect::kThreads,
        builder.getI32IntegerAttr(specialize.getNumWarps() * target->warpSize));
  }
}

namespace {
struct AssignRegistersPass
    : tile::impl::AssignRegistersPassBase<AssignRegistersPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { assignRegisters(kernel); });
  }
};
} // namespace
