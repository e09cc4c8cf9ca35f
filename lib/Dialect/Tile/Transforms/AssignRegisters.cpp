//===- AssignRegisters.cpp - Registers of roles by need -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/RegisterPressure.h"
#include "tilews/Dialect/Tile/Analysis/TmaCopy.h"
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

/// The role that needs more registers than all threads can have, if it is the
/// only one that does more than start copies.
static RoleOp findNeedy(SpecializeOp specialize) {
  RoleOp needy;
  int64_t limit = getRegisterLimit(specialize.getNumWarps());
  for (RoleOp role : specialize.getRoles()) {
    if (role.getRegisters() || (needy && !onlyStartsCopies(role)))
      return {};
    if (needy || onlyStartsCopies(role))
      continue;
    if (role.getWarps() % 4 != 0 || getNeed(role) <= limit)
      return {};
    needy = role;
  }
  return needy;
}

/// The registers of a role that starts the copies for `needy`: more in a nest
/// of loops, where it holds places in all of them, if `needy` can spare them.
static int64_t getLoadRegisters(RoleOp load, RoleOp needy) {
  bool isNest = load.getBody()
                    .walk([](LoopLikeOpInterface loop) {
                      return loop->getParentOfType<LoopLikeOpInterface>()
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    })
                    .wasInterrupted();
  int64_t warps = needy.getWarps();
  int64_t need = std::min(getNeed(needy), getDonatedLimit(warps));
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
    RoleOp needy = findNeedy(specialize);
    // One warpgroup of donors: more would eat up what they give.
    if (!needy || llvm::range_size(specialize.getRoles()) != 2)
      continue;
    for (RoleOp role : specialize.getRoles()) {
      if (role == needy)
        continue;
      int64_t registers = getLoadRegisters(role, needy);
      role.setRegisters(registers);
      role.setWarps(4);
      needy.setRegisters(getDonatedLimit(needy.getWarps(), registers));
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
