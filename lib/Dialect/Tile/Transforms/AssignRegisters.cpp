//===- AssignRegisters.cpp - Registers of roles by need -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is launched with the same number of registers for each thread. On
// sm_90 a warpgroup can give registers back (`setmaxnreg`) and others can take
// them. If the fragments of a role need more than the common limit, the role
// that only starts copies becomes a warpgroup of its own and gives away all but
// a few:
//
//   math: 8 warps, needs 220 registers      math: 8 warps, registers 240
//   load: 1 warp, needs few            ->   load: 4 warps, registers 24
//
// The need is estimated from the fragments that are live at the same time.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_ASSIGNREGISTERSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-assign-registers"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numRoles, "Roles given registers of their own");

/// Whether `role` has no fragments, and no copy that goes through registers.
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

/// Returns how many registers a thread of `role` needs, as an estimate.
static int64_t getNeed(RoleOp role) {
  RegisterPressure pressure(role.getNumThreads());
  int64_t peak = pressure.findPeak(role.getBody());
  LDBG_OS([&](raw_ostream &os) {
    os << "fragments of role @" << role.getName() << ": ";
    pressure.print(os);
  });
  return peak + kOtherRegisters;
}

/// Returns the roles that do more than start copies, if one of them needs more
/// registers than the common limit. None if registers are given by hand, or if
/// one of them is not a number of warpgroups.
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
    int64_t need = getNeed(role);
    LDBG() << "role @" << role.getName() << " needs " << need
           << " registers, the limit is " << limit;
    anyLacks |= need > limit;
    needy.push_back(role);
  }
  return anyLacks ? needy : SmallVector<RoleOp>();
}

/// Returns the registers of `load`, a role that starts copies for `warps` other
/// warps, whose threads need `need` registers each. A nest of loops gets 40 or
/// 32 if the others can spare them, because the role keeps the position in each
/// loop.
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
    // Exactly one other role gives registers away. It becomes a whole
    // warpgroup; a second one would use up what the first one gives.
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
      LDBG() << "role @" << role.getName() << " keeps " << registers
             << " registers, the others get "
             << getDonatedLimit(warps, registers);
      role.setRegisters(registers);
      role.setWarps(4);
      for (RoleOp other : needy)
        other.setRegisters(getDonatedLimit(warps, registers));
    }
    Builder builder(kernel.getContext());
    kernel->setAttr(
        TileDialect::kThreads,
        builder.getI32IntegerAttr(specialize.getNumWarps() * target->warpSize));
    numRoles += needy.size() + 1;
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
