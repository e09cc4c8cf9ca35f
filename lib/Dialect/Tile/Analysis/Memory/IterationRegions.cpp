//===- IterationRegions.cpp - Regions that move with a loop ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The growth of a value is found by recursion over sums, differences, and
// products with constants, down to the induction variable and to values from
// outside of the loop. A region moves with the innermost loop in which one of
// its offsets grows. It is elsewhere in each iteration if the offset grows by
// at least the size of the region: |growth| * |i - j| >= size for iterations
// i != j.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/IterationRegions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Longer expressions count as unknown, so that shared operands cost no time.
static constexpr unsigned kMaxDepth = 6;
/// Growth beyond the extent of any shared buffer counts as unknown: offsets
/// inside of a buffer then never wrap around.
static constexpr int64_t kMaxGrowth = int64_t(1) << 20;

static std::optional<int64_t> getGrowth(Value value, scf::ForOp loop,
                                        unsigned depth) {
  if (value == loop.getInductionVar())
    return getConstantIntValue(loop.getStep());
  if (loop.isDefinedOutsideOfLoop(value))
    return 0;
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 ||
      !isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return std::nullopt;
  auto lhs = getGrowth(op->getOperand(0), loop, depth - 1);
  auto rhs = getGrowth(op->getOperand(1), loop, depth - 1);
  if (!lhs || !rhs)
    return std::nullopt;
  int64_t growth = 0;
  bool overflows = false;
  if (isa<arith::AddIOp>(op)) {
    overflows = llvm::AddOverflow(*lhs, *rhs, growth);
  } else if (isa<arith::SubIOp>(op)) {
    overflows = llvm::SubOverflow(*lhs, *rhs, growth);
  } else if (*lhs != 0 || *rhs != 0) {
    auto factor = getConstantIntValue(op->getOperand(*lhs == 0 ? 0 : 1));
    if (!factor)
      return std::nullopt;
    overflows = llvm::MulOverflow(*lhs + *rhs, *factor, growth);
  }
  if (overflows || growth > kMaxGrowth || growth < -kMaxGrowth)
    return std::nullopt;
  return growth;
}

std::optional<int64_t> tile::getGrowth(Value value, scf::ForOp loop) {
  // Integers of other types may wrap around.
  if (!value.getType().isIndex())
    return std::nullopt;
  return ::getGrowth(value, loop, kMaxDepth);
}

std::optional<IterationRegion>
tile::getIterationRegion(const TileRegion &region, Operation *op) {
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>()) {
    bool moves = false;
    for (auto [dim, offset] : llvm::enumerate(region.offsets)) {
      auto value = dyn_cast<Value>(offset);
      if (!value)
        continue;
      std::optional<int64_t> growth = getGrowth(value, loop);
      if (growth &&
          std::abs(*growth) >= std::max<int64_t>(region.sizes[dim], 1))
        return IterationRegion{loop, value, unsigned(dim), *growth};
      moves |= growth != 0;
    }
    if (moves)
      return std::nullopt;
  }
  return std::nullopt;
}
