//===- GuardedLoads.cpp - Loads and stores of a copy ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A guard is split by cloning the backward slice of its loads into a guard
// before it. All that this one computes and the rest needs is carried out of it
// as results, from the innermost guard outwards: each level yields the values
// of the levels in it, and zeros from its other branch. The rest never uses
// those zeros, because it runs under the same conditions.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/GuardedLoads.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryAccesses.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Returns the operands that decide what a copy or load reads.
static SmallVector<Value> getLoadOperands(Operation *op) {
  auto copy = dyn_cast<CopyOp>(op);
  if (!copy)
    return op->getOperands();
  SmallVector<Value> operands = {copy.getSource()};
  llvm::append_range(operands, copy.getSourceOffsets());
  for (Value optional : {Value(copy.getLimit()), Value(copy.getRows())})
    if (optional)
      operands.push_back(optional);
  return operands;
}

/// Calls `fn` with each operation in `root` that `values` are computed from.
static void walkSlice(SmallVector<Value> values, Operation *root,
                      function_ref<void(Operation *)> fn) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!values.empty()) {
    Operation *def = values.pop_back_val().getDefiningOp();
    if (!def || !root->isProperAncestor(def) || !seen.insert(def).second)
      continue;
    fn(def);
    llvm::append_range(values, def->getOperands());
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(def->getRegions(), captured);
    llvm::append_range(values, captured);
  }
}

void tile::forEachNeed(Operation *op, scf::ForOp loop,
                       function_ref<void(Operation *)> fn) {
  SmallVector<Value> values = getLoadOperands(op);
  for (Operation *parent = op->getParentOp(); parent != loop;
       parent = parent->getParentOp())
    values.push_back(cast<scf::IfOp>(parent).getCondition());
  walkSlice(std::move(values), loop, fn);
}

bool GuardedLoads::containsCandidate(Operation *op) const {
  return llvm::any_of(candidates, [&](Operation *candidate) {
    return op->isProperAncestor(candidate);
  });
}

/// Finds the operations in `guard` that its candidates and the guards around
/// them need.
void GuardedLoads::findNeeds(Operation *guard) {
  SmallVector<Value> values;
  guard->walk([&](Operation *op) {
    if (candidates.contains(op))
      llvm::append_range(values, getLoadOperands(op));
    else if (auto inner = dyn_cast<scf::IfOp>(op);
             inner && containsCandidate(inner))
      values.push_back(inner.getCondition());
  });
  walkSlice(std::move(values), guard, [&](Operation *op) { needs.insert(op); });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Loads the indices of the rows that `copy` reads, as a fragment with the rank
/// of the copied tile.
static Value loadRows(OpBuilder &b, CopyOp copy, int64_t rank, int64_t dim) {
  auto rows = cast<MemRefType>(copy.getRows().getType());
  auto type = RankedTensorType::get(rows.getShape(), rows.getElementType());
  SmallVector<int64_t> zeros(rows.getRank(), 0);
  Value fragment =
      LoadOp::create(b, copy.getLoc(), type, copy.getRows(), ValueRange(),
                     /*padding=*/Value(), zeros, rows.getShape());
  SmallVector<int64_t> shape(type.getShape());
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (axis == dim)
      continue;
    shape.insert(shape.begin() + axis, 1);
    fragment = ExpandDimsOp::create(
        b, copy.getLoc(), RankedTensorType::get(shape, type.getElementType()),
        fragment, axis);
  }
  return fragment;
}

/// Creates a load of the source of `copy`, with its mapped operands.
Value GuardedLoads::createLoad(CopyOp copy) {
  auto source = cast<CopyOp>(rewriter.clone(*copy, mapping));
  TileRegion region = source.getSourceRegion();
  SmallVector<Value> offsets;
  SmallVector<int64_t> constants;
  dispatchIndexOpFoldResults(region.offsets, offsets, constants);
  auto type = RankedTensorType::get(
      region.getSqueezedSizes(), source.getSource().getType().getElementType());
  Operation *load;
  if (source.getRows() || source.getLimit()) {
    SmallVector<Value> indices;
    SmallVector<int64_t> indexDims;
    if (source.getRows()) {
      indexDims.push_back(*source.getRowDim());
      indices.push_back(
          loadRows(rewriter, source, type.getRank(), indexDims.front()));
      region.sizes[indexDims.front()] = 1;
    }
    load = GatherOp::create(rewriter, copy.getLoc(), type, source.getSource(),
                            offsets, indices, /*mask=*/Value(),
                            source.getLimit(), /*padding=*/Value(), constants,
                            region.sizes, indexDims, source.getLimitDimAttr());
  } else {
    load =
        LoadOp::create(rewriter, copy.getLoc(), type, source.getSource(),
                       offsets, /*padding=*/Value(), constants, region.sizes);
  }
  rewriter.eraseOp(source);
  add(copy, load);
  return load->getResult(0);
}

/// Gives a load its stage, and the order of the operation that it comes from.
void GuardedLoads::add(Operation *candidate, Operation *load) {
  load->setAttr(TileDialect::kStage, rewriter.getI32IntegerAttr(stage));
  Attribute order = candidate->getAttr(TileDialect::kOrder);
  load->setAttr(TileDialect::kOrder,
                order ? order : rewriter.getI32IntegerAttr(0));
}

/// Replaces `copy` by a store of `fragment`.
void GuardedLoads::replace(CopyOp copy, Value fragment) {
  rewriter.setInsertionPoint(copy);
  TileRegion region = copy.getDestRegion();
  SmallVector<Value> offsets;
  SmallVector<int64_t> constants;
  dispatchIndexOpFoldResults(region.offsets, offsets, constants);
  auto store =
      StoreOp::create(rewriter, copy.getLoc(), fragment, copy.getDest(),
                      offsets, constants, region.sizes);
  for (StringRef name : {TileDialect::kStage, TileDialect::kOrder})
    store->setAttr(name, copy->getAttr(name));
  rewriter.eraseOp(copy);
}

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

/// Clones the loads of `block`, and what they need, to the insertion point.
SmallVector<GuardedLoads::Carried> GuardedLoads::cloneLoads(Block &block) {
  SmallVector<Carried> carried;
  for (Operation &op : block.without_terminator()) {
    auto guard = dyn_cast<scf::IfOp>(op);
    if (candidates.contains(&op)) {
      if (auto copy = dyn_cast<CopyOp>(op)) {
        carried.push_back({&op, Value(), createLoad(copy)});
        continue;
      }
      Operation *load = rewriter.clone(op, mapping);
      add(&op, load);
      carried.push_back({&op, op.getResult(0), load->getResult(0)});
    } else if (guard && containsCandidate(guard)) {
      Value condition = guard.getCondition();
      if (Operation *def = condition.getDefiningOp();
          def && needs.contains(def))
        carried.push_back({nullptr, condition, mapping.lookup(condition)});
      splitGuard(guard, carried);
    } else if (needs.contains(&op)) {
      Operation *clone = rewriter.clone(op, mapping);
      if (!isMemoryEffectFree(&op))
        for (auto [from, to] :
             llvm::zip_equal(op.getResults(), clone->getResults()))
          carried.push_back({nullptr, from, to});
    }
  }
  return carried;
}

/// Creates the part of `guard` that loads at the insertion point. Adds its
/// results to `carried`.
scf::IfOp GuardedLoads::splitGuard(scf::IfOp guard,
                                   SmallVectorImpl<Carried> &carried) {
  Location loc = guard.getLoc();
  Value condition = mapping.lookupOrDefault(guard.getCondition());
  OpBuilder::InsertionGuard insertion(rewriter);
  auto body = scf::IfOp::create(rewriter, loc, TypeRange(), condition,
                                /*addThenBlock=*/true, /*addElseBlock=*/true);
  SmallVector<SmallVector<Carried>> inner;
  SmallVector<Type> types;
  for (auto [from, to] :
       llvm::zip_equal(guard->getRegions(), body->getRegions())) {
    if (!to.front().empty())
      rewriter.eraseOp(&to.front().back());
    rewriter.setInsertionPointToEnd(&to.front());
    inner.push_back(from.empty() ? SmallVector<Carried>()
                                 : cloneLoads(from.front()));
    for (const Carried &one : inner.back())
      types.push_back(one.value.getType());
  }
  for (auto [side, region] : llvm::enumerate(body->getRegions())) {
    rewriter.setInsertionPointToEnd(&region.front());
    SmallVector<Value> yielded;
    for (auto [other, list] : llvm::enumerate(inner))
      for (const Carried &one : list)
        yielded.push_back(other == side
                              ? one.value
                              : arith::ConstantOp::create(
                                    rewriter, loc,
                                    cast<TypedAttr>(rewriter.getZeroAttr(
                                        one.value.getType()))));
    scf::YieldOp::create(rewriter, loc, yielded);
  }
  rewriter.setInsertionPoint(body);
  auto loads = scf::IfOp::create(rewriter, loc, types, condition,
                                 /*addThenBlock=*/false,
                                 /*addElseBlock=*/false);
  for (auto [from, to] :
       llvm::zip_equal(body->getRegions(), loads->getRegions()))
    to.takeBody(from);
  rewriter.eraseOp(body);
  unsigned result = 0;
  for (const SmallVector<Carried> &list : inner)
    for (const Carried &one : list)
      carried.push_back(
          {one.candidate, one.original, loads.getResult(result++)});
  return loads;
}

GuardedLoads::Parts GuardedLoads::split(Operation *op, int64_t ownStage) {
  stage = ownStage;
  rewriter.setInsertionPoint(op);
  if (auto guard = dyn_cast<scf::IfOp>(op)) {
    findNeeds(op);
    SmallVector<Carried> carried;
    llvm::SmallSetVector<Operation *, 8> dead;
    scf::IfOp loads = splitGuard(guard, carried);
    for (const Carried &one : carried) {
      if (one.original)
        rewriter.replaceAllUsesWith(one.original, one.value);
      else
        replace(cast<CopyOp>(one.candidate), one.value);
    }
    // In reverse, so that the operands of a dead operation die after it.
    for (const Carried &one : llvm::reverse(carried))
      if (one.original)
        if (Operation *def = one.original.getDefiningOp();
            isOpTriviallyDead(def))
          dead.insert(def);
    for (Operation *def : dead)
      rewriter.eraseOp(def);
    return {loads, op};
  }
  auto copy = dyn_cast<CopyOp>(op);
  if (!copy) {
    add(op, op);
    return {op, nullptr};
  }
  Value fragment = createLoad(copy);
  Operation *load = fragment.getDefiningOp();
  replace(copy, fragment);
  return {load, *load->getResult(0).user_begin()};
}
