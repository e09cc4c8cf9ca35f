//===- AssignRegisters.cpp - Registers of roles by need -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is launched with the same number of registers for each thread. On
// sm_90 a warpgroup can give registers back (`setmaxnreg`) and others can take
// them. If the fragments of a role need more than the common limit, the
// registers of the block are shared out in proportion to the needs:
//
//   left:   4 warps, needs 217 registers       left:   4 warps, registers 240
//   right:  4 warps, needs 169 registers  ->   right:  4 warps, registers 208
//   gather: 4 warps, needs 41 registers        gather: 4 warps, registers 56
//
// A role that only starts copies becomes a warpgroup of its own and gives away
// all but a few:
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

/// Returns the registers of a thread that hold the data of the largest copy of
/// `role` that goes through registers.
static int64_t getCopyRegisters(RoleOp role) {
  int64_t most = 0;
  role.walk([&](CopyOp copy) {
    bool isAsync = isTma(copy) || hasInst(copy, InstKind::CpAsync);
    Value tile = isShared(copy.getDest()) ? copy.getDest() : copy.getSource();
    auto type = cast<MemRefType>(tile.getType());
    if (isAsync || !type.hasStaticShape())
      return;
    int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
    most = std::max(most, bits / 32 / role.getNumThreads());
  });
  return most;
}

/// Returns how many registers a thread of `role` needs, as an estimate.
static int64_t getNeed(RoleOp role) {
  RegisterPressure pressure(role.getNumThreads());
  int64_t peak = pressure.findPeak(role.getBody());
  LDBG_OS([&](raw_ostream &os) {
    os << "fragments of role @" << role.getName() << ": ";
    pressure.print(os);
  });
  return std::max(peak, getCopyRegisters(role)) + kOtherRegisters;
}

namespace {
/// The registers that each thread of a role needs, and those that it gets.
struct Share {
  RoleOp role;
  int64_t need = 0, registers = kLoadRegisters;

  /// Whether it gets a smaller part of its need than `other`.
  bool operator<(const Share &other) const {
    return registers * other.need < other.registers * need;
  }
};

/// How the roles of a block share its registers.
struct Shares {
  /// The roles that do more than start copies.
  SmallVector<Share> roles;
  /// The one that only starts copies; null if there is none.
  RoleOp load;

  int64_t getNumWarps() {
    int64_t warps = 0;
    for (Share &share : roles)
      warps += share.role.getWarps();
    return warps;
  }
};
} // namespace

/// Returns the roles that share the registers of a block. No roles if none of
/// them needs more than the common limit, if registers are given by hand, or if
/// a role that computes is not a number of warpgroups. No roles either if two
/// of them only start copies: as whole warpgroups, they would use up what they
/// give.
static Shares findShares(SpecializeOp specialize) {
  Shares shares;
  bool anyLacks = false;
  int64_t limit = getRegisterLimit(specialize.getNumWarps());
  for (RoleOp role : specialize.getRoles()) {
    bool isLoad = onlyStartsCopies(role);
    if (role.getRegisters() || (isLoad && shares.load) ||
        (!isLoad && role.getWarps() % 4 != 0))
      return {};
    if (isLoad) {
      shares.load = role;
      continue;
    }
    int64_t need = getNeed(role);
    LDBG() << "role @" << role.getName() << " needs " << need
           << " registers, the limit is " << limit;
    anyLacks |= need > limit;
    shares.roles.push_back({role, need});
  }
  return anyLacks && llvm::range_size(specialize.getRoles()) > 1 ? shares
                                                                 : Shares();
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

/// Shares out `pool`, the sum over all warps of the registers of a thread.
/// Gives 8 at a time to the roles that have the smallest part of what they
/// need; roles with equal parts get equal numbers.
static void shareOut(MutableArrayRef<Share> shares, int64_t pool) {
  SmallVector<Share *> open;
  for (Share &share : shares) {
    pool -= share.registers * share.role.getWarps();
    open.push_back(&share);
  }
  while (true) {
    llvm::erase_if(open, [](const Share *share) {
      return share->registers >= kMostRoleRegisters;
    });
    if (open.empty())
      return;
    Share least = **llvm::min_element(
        open, [](const Share *a, const Share *b) { return *a < *b; });
    auto isLeast = [&](const Share *share) { return !(least < *share); };
    int64_t cost = 0;
    for (Share *share : open)
      if (isLeast(share))
        cost += 8 * share->role.getWarps();
    if (cost > pool) {
      llvm::erase_if(open, isLeast);
      continue;
    }
    pool -= cost;
    for (Share *share : open)
      if (isLeast(share))
        share->registers += 8;
  }
}

/// Gives the roles of a block registers of their own if one of them needs more
/// than the common limit.
static void shareRegisters(SpecializeOp specialize) {
  Shares shares = findShares(specialize);
  if (shares.roles.empty())
    return;
  int64_t warps = shares.getNumWarps(), need = 0;
  for (const Share &share : shares.roles)
    need = std::max(need, share.need);
  int64_t total = warps + (shares.load ? 4 : 0);
  int64_t pool = getRegisterLimit(total) * total;
  if (shares.load) {
    int64_t registers = getLoadRegisters(shares.load, warps, need);
    LDBG() << "role @" << shares.load.getName() << " keeps " << registers
           << " registers";
    shares.load.setRegisters(registers);
    shares.load.setWarps(4);
    pool -= registers * 4;
  }
  shareOut(shares.roles, pool);
  for (Share &share : shares.roles) {
    LDBG() << "role @" << share.role.getName() << " gets " << share.registers;
    share.role.setRegisters(share.registers);
  }
  numRoles += llvm::range_size(specialize.getRoles());
}

void tile::assignRegisters(gpu::GPUFuncOp kernel) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target) || !target->hasWgmma())
    return;
  Builder builder(kernel.getContext());
  for (SpecializeOp specialize : kernel.getOps<SpecializeOp>()) {
    int64_t warps = specialize.getNumWarps();
    shareRegisters(specialize);
    if (specialize.getNumWarps() != warps)
      kernel->setAttr(TileDialect::kThreads,
                      builder.getI32IntegerAttr(specialize.getNumWarps() *
                                                target->warpSize));
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
