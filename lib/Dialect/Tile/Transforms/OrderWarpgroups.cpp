//===- OrderWarpgroups.cpp - Warpgroups one after the other ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {
#define GEN_PASS_DEF_ORDERWARPGROUPSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// wgmma is of four warps.
static constexpr int64_t kWarpgroupWarps = 4;

namespace {
/// The products that a turn starts before it waits for any.
struct Products {
  GemmOp first, last;
};
} // namespace

static bool isArithmetic(Operation &op) {
  return isMemoryEffectFree(&op) &&
         llvm::any_of(op.getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

/// The products of a block beside which it computes, if there are two or more.
static std::optional<Products> findProducts(Block &block) {
  Products products;
  bool started = false, computed = false;
  for (Operation &op : block) {
    if (isa<OrderWaitOp>(op))
      return std::nullopt;
    auto gemm = dyn_cast<GemmOp>(op);
    if (gemm && gemm.getAsync() && !started) {
      if (!products.first)
        products.first = gemm;
      products.last = gemm;
      continue;
    }
    auto wait = dyn_cast<GemmWaitOp>(op);
    if (!wait) {
      computed |= started && isArithmetic(op);
      continue;
    }
    if (!products.first)
      continue; // Of products of the turn before.
    if (started)
      return computed ? std::optional(products) : std::nullopt;
    if (wait.getPending() == 0 || products.first == products.last)
      return std::nullopt;
    started = true;
  }
  return std::nullopt;
}

void tile::orderWarpgroups(gpu::GPUFuncOp kernel) {
  kernel.walk([](scf::ForOp loop) {
    auto role = loop->getParentOfType<RoleOp>();
    if (!role || role.getWarps() <= kWarpgroupWarps)
      return;
    std::optional<Products> products = findProducts(*loop.getBody());
    if (!products)
      return;
    OpBuilder b(products->first);
    OrderWaitOp::create(b, products->first.getLoc());
    b.setInsertionPointAfter(products->last);
    OrderPassOp::create(b, products->last.getLoc());
  });
}

namespace {
struct OrderWarpgroupsPass
    : tile::impl::OrderWarpgroupsPassBase<OrderWarpgroupsPass> {
  void runOnOperation() override {
    getOperation()->walk(
        [](gpu::GPUFuncOp kernel) { orderWarpgroups(kernel); });
  }
};
} // namespace
