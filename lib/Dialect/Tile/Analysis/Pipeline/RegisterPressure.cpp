//===- RegisterPressure.cpp - Registers that fragments take ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The peak is found by a backward walk over each block with the set of live
// fragments. The operands of an operation, and the values that its regions use,
// become live before it; its results stop being live. Inside a loop, values
// from outside stay live throughout, because the next iteration uses them
// again. The sizes of fragments do not depend on layouts, so that the estimate
// is available before layouts are chosen.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/RegisterPressure.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

int64_t RegisterPressure::count(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || isRemade(value))
    return 0;
  int64_t bits = type.getNumElements() * getStorageBits(type.getElementType());
  return llvm::divideCeil(bits, 32 * threads);
}

bool RegisterPressure::isRemade(Value root) {
  if (auto it = remade.find(root); it != remade.end())
    return it->second;
  SliceSolver<bool> solver(remade);
  solver.solve(root, [&](Value value, bool) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (op->hasTrait<OpTrait::ConstantLike>() ||
        isa<tensor::SplatOp, IotaOp, BroadcastOp, ExpandDimsOp, SliceOp>(op))
      return true;
    return op->hasTrait<OpTrait::Elementwise>() &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) { return solver.read(operand); });
  });
  return remade.lookup(root);
}

void RegisterPressure::addFragments(ValueRange values, LiveSet &live) {
  for (Value value : values)
    if (count(value) > 0)
      live.insert(value);
}

void RegisterPressure::raisePeak(const LiveSet &live, Operation *before) {
  int64_t registers = 0;
  for (Value value : live)
    registers += count(value);
  if (registers <= peak.registers)
    return;
  peak = {registers, before, {}};
  for (Value value : live)
    peak.fragments.emplace_back(value, count(value));
}

void RegisterPressure::visit(Region &region, LiveSet live) {
  if (region.empty())
    return;
  for (Operation &op : llvm::reverse(region.front())) {
    for (Value result : op.getResults())
      live.remove(result);
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    for (Region &inner : op.getRegions()) {
      LiveSet held = live;
      // The next iteration uses them again.
      if (isa<LoopLikeOpInterface>(op))
        addFragments(captured.getArrayRef(), held);
      visit(inner, std::move(held));
    }
    addFragments(captured.getArrayRef(), live);
    addFragments(op.getOperands(), live);
    raisePeak(live, &op);
  }
}

int64_t RegisterPressure::findPeak(Region &region) {
  peak = {};
  visit(region, {});
  return peak.registers;
}

void RegisterPressure::print(raw_ostream &os) const {
  os << peak.registers << " registers";
  if (!peak.before)
    return;
  BriefPrinter printer(peak.before, os);
  printer << " before " << peak.before << ": ";
  llvm::interleaveComma(peak.fragments, os, [&](const auto &fragment) {
    printer << fragment.first << " " << fragment.second;
  });
}

int64_t tile::getRegisterLimit(int64_t warps) {
  constexpr int64_t quarter = 16384, lanes = 32, most = 248;
  int64_t perQuarter = llvm::divideCeil(warps, 4);
  return std::min(quarter / (perQuarter * lanes) / 8 * 8, most);
}

int64_t tile::getDonatedLimit(int64_t warps, int64_t others) {
  int64_t groups = llvm::alignTo(warps, 4), total = groups + 4;
  int64_t pool = getRegisterLimit(total) * total - others * 4;
  return std::min(pool / groups / 8 * 8, kMostRoleRegisters);
}
