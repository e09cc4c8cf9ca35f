//===- LayoutInference.cpp - Layouts of a kernel's fragments --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/LayoutInference.h"

#include "tilews/Dialect/Tile/Analysis/LayoutRules.h"

#include <algorithm>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A layout as the attribute that all equal layouts share.
static FragmentAttr getAttr(MLIRContext *context,
                            const FragmentLayout &layout) {
  return FragmentAttr::get(context, layout.coalesce());
}

LayoutInference::LayoutInference(gpu::GPUFuncOp kernel,
                                 const TargetInfo &target)
    : kernel(kernel), context(kernel.getContext()), target(target) {}

LogicalResult LayoutInference::run() {
  if (failed(collect()))
    return failure();
  buildNodes();
  seed();
  propagate();
  seedOperands();
  seedDefaults();
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// A value in several layouts at once: it is made anew for each use.
bool LayoutInference::isFree(Value value) const {
  Operation *op = value.getDefiningOp();
  return op && isRepeatable(op) && !hasFragmentLayout(value.getType());
}

LogicalResult LayoutInference::addValue(Value value) {
  auto emitError = [&] {
    return mlir::emitError(value.getLoc(), "fragment of type ")
           << value.getType() << " ";
  };
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type) {
    if (isa<TensorType, VectorType>(value.getType()))
      return emitError() << "has no layout; use a tensor with a static shape";
    return success();
  }
  if (!type.hasStaticShape())
    return emitError() << "has a dynamic shape, expected a static one";
  if (Attribute encoding = type.getEncoding()) {
    auto layout = dyn_cast<FragmentAttr>(encoding);
    if (!layout)
      return emitError() << "has an encoding that is no #tile.fragment";
    int64_t spanned = layout.getLayout().getNumThreads();
    int64_t threads = getNumThreads(value);
    if (spanned != threads)
      return emitError() << "spans " << spanned << " threads, but runs on "
                         << threads << "; change the layout or "
                         << "'tile.threads'";
  }
  ids.insert({value, ids.size()});
  return success();
}

LogicalResult LayoutInference::collect() {
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto isTensor = [](Value value) {
      return isa<TensorType>(value.getType());
    };
    bool touches = llvm::any_of(op->getOperands(), isTensor) ||
                   llvm::any_of(op->getResults(), isTensor);
    if (touches && !hasLayoutRule(op)) {
      op->emitOpError("has no rule for the layouts of its fragments; use tile, "
                      "arith and math operations and structured control flow");
      return WalkResult::interrupt();
    }
    for (Value value : op->getResults())
      if (failed(addValue(value)))
        return WalkResult::interrupt();
    for (mlir::Region &region : op->getRegions()) {
      for (BlockArgument argument : region.getArguments()) {
        if (op == kernel && isTensor(argument)) {
          kernel.emitOpError("has a fragment as argument ")
              << argument.getArgNumber() << ", expected memrefs and scalars";
          return WalkResult::interrupt();
        }
        if (failed(addValue(argument)))
          return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void LayoutInference::join(Value a, Value b) {
  classes.join(ids.lookup(a), ids.lookup(b));
}

/// Control flow passes `operands` on to `inputs`, one by one.
void LayoutInference::link(OperandRange operands, ValueRange inputs) {
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!isFragment(input))
      continue;
    Operation *owner = operands.getBase()->getOwner();
    OpOperand *operand =
        &owner->getOpOperand(operands.getBeginOperandIndex() + i);
    // One operand has one layout, so all it is passed on to share it.
    auto [first, isNew] = forwarded.try_emplace(operand, input);
    if (!isNew)
      join(first->second, input);
    feeders[input].push_back(operand);
  }
}

void LayoutInference::collectFlow(RegionBranchOpInterface op) {
  SmallVector<RegionSuccessor> successors;
  op.getSuccessorRegions(RegionBranchPoint::parent(), successors);
  for (RegionSuccessor successor : successors)
    link(op.getEntrySuccessorOperands(successor),
         successor.getSuccessorInputs());
  for (mlir::Region &region : op->getRegions()) {
    for (Block &block : region) {
      auto terminator = dyn_cast<RegionBranchTerminatorOpInterface>(
          block.mightHaveTerminator() ? block.getTerminator() : nullptr);
      if (!terminator)
        continue;
      successors.clear();
      SmallVector<Attribute> operands(terminator->getNumOperands());
      terminator.getSuccessorRegions(operands, successors);
      for (RegionSuccessor successor : successors)
        link(terminator.getSuccessorOperands(successor),
             successor.getSuccessorInputs());
    }
  }
}

void LayoutInference::buildNodes() {
  classes.grow(ids.size());
  kernel.walk([&](Operation *op) {
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
      collectFlow(branch);
    if (!isElementwise(op))
      return;
    for (Value result : op->getResults())
      if (isFragment(result) && isFragment(op->getResult(0)))
        join(op->getResult(0), result);
  });
  classes.compress();
  members.resize(classes.getNumClasses());
  layouts.resize(classes.getNumClasses());
  for (auto [value, id] : ids)
    members[classes[id]].push_back(value);
}

//===----------------------------------------------------------------------===//
// Layouts of nodes
//===----------------------------------------------------------------------===//

void LayoutInference::assign(Value value, FragmentAttr layout) {
  unsigned node = getNode(value);
  if (isFree(value) || layouts[node])
    return;
  layouts[node] = layout;
  pending.push_back(node);
}

void LayoutInference::assign(Value value, const FragmentLayout &layout) {
  assign(value, getAttr(context, layout));
}

/// First round: types that have a layout, results of matrix products, and the
/// accumulators these come from.
void LayoutInference::seed() {
  for (auto [value, id] : ids)
    if (hasFragmentLayout(value.getType()))
      assign(value, cast<FragmentAttr>(getTensor(value).getEncoding()));
  kernel.walk([&](LayoutOpInterface op) {
    SmallVector<LayoutRequirement> requirements;
    op.getLayoutRequirements(target, getNumThreads(op), requirements);
    Attribute ofResult;
    for (const LayoutRequirement &requirement : requirements)
      if (isa<OpResult>(requirement.place))
        ofResult = requirement.layout;
    for (const LayoutRequirement &requirement : requirements) {
      auto wanted = dyn_cast<FragmentAttr>(requirement.layout);
      if (!wanted)
        continue;
      FragmentAttr layout = getAttr(op.getContext(), wanted.getLayout());
      auto *operand = dyn_cast<OpOperand *>(requirement.place);
      if (operand)
        neededOperands[operand] = layout;
      else
        neededResults[requirement.getValue()] = layout;
      if (requirement.layout == ofResult)
        assign(requirement.getValue(), layout);
      else
        weakOperands.push_back(operand);
    }
  });
}

/// Second round: fragments that a matrix instruction reads.
void LayoutInference::seedOperands() {
  for (OpOperand *operand : weakOperands) {
    Operation *producer = operand->get().getDefiningOp();
    // A reduction's result follows from its source.
    if (isa_and_present<ReduceOp>(producer))
      continue;
    assign(operand->get(), neededOperands[operand]);
    propagate();
  }
}

/// Third round: what is left, largest first.
void LayoutInference::seedDefaults() {
  SmallVector<Value> open;
  for (auto [value, id] : ids)
    if (!layouts[classes[id]] && !isFree(value))
      open.push_back(value);
  auto getOrder = [&](Value value) {
    return std::pair(-getTensor(value).getNumElements(), ids.lookup(value));
  };
  llvm::sort(open, [&](Value a, Value b) { return getOrder(a) < getOrder(b); });
  // Sources come before their reductions, which are no larger and defined
  // later, and have passed their layout on, unless they are repeatable.
  for (Value value : open) {
    if (layouts[getNode(value)])
      continue;
    if (auto reduce = value.getDefiningOp<ReduceOp>()) {
      FragmentAttr source = getLayout(reduce.getSource());
      if (!source)
        source = getBlocked(reduce.getSource(), /*vectorElements=*/1);
      assign(value, *getResultLayout(reduce, source.getLayout()));
    } else {
      assign(value, getBlocked(value, chooseVectorElements(value)));
    }
    propagate();
  }
}

FragmentAttr LayoutInference::getBlocked(Value value,
                                         int64_t vectorElements) const {
  RankedTensorType type = getTensor(value);
  // Wide vectors are no use when they leave threads without work.
  int64_t elements = type.getNumElements();
  int64_t threads = getNumThreads(value);
  while (vectorElements > 1 && elements / vectorElements < threads)
    vectorElements /= 2;
  return getAttr(context,
                 getBlockedLayout(type.getShape(), threads, vectorElements));
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

void LayoutInference::propagate() {
  while (!pending.empty()) {
    unsigned node = pending.front();
    pending.pop_front();
    FragmentLayout layout = layouts[node].getLayout();
    for (Value value : members[node]) {
      for (OpOperand &use : value.getUses())
        pushForward(use, layout);
      pushBackward(value, layout);
    }
  }
}

/// The owner of `use` reads a fragment that has got `layout`.
void LayoutInference::pushForward(OpOperand &use,
                                  const FragmentLayout &layout) {
  if (Value input = forwarded.lookup(&use))
    assign(input, layout);
  Operation *op = use.getOwner();
  if (op->getNumResults() == 0 || !isFragment(op->getResult(0)))
    return;
  if (auto result = getResultLayout(op, layout))
    assign(op->getResult(0), *result);
}

/// `value` has got `layout`: what it is made of follows it.
void LayoutInference::pushBackward(Value value, const FragmentLayout &layout) {
  auto give = [&](OpOperand &operand, const FragmentLayout &needed) {
    if (!operand.get().getDefiningOp<ReduceOp>())
      assign(operand.get(), needed);
  };
  if (auto it = feeders.find(value); it != feeders.end())
    for (OpOperand *operand : it->second)
      give(*operand, layout);
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  for (OpOperand &operand : op->getOpOperands())
    if (isFragment(operand.get()))
      if (auto needed = getOperandLayout(operand, layout))
        give(operand, *needed);
}

/// Appends the values that elementwise operations and control flow tie to
/// `value`.
void LayoutInference::getEquals(Value value, SmallVectorImpl<Value> &equals) {
  for (OpOperand &use : value.getUses()) {
    if (Value input = forwarded.lookup(&use))
      equals.push_back(input);
    Operation *op = use.getOwner();
    if (isElementwise(op))
      llvm::append_range(equals,
                         llvm::make_filter_range(op->getResults(), isFragment));
  }
  for (OpOperand *operand : feeders.lookup(value))
    equals.push_back(operand->get());
  Operation *op = value.getDefiningOp();
  if (op && isElementwise(op))
    llvm::append_range(equals,
                       llvm::make_filter_range(op->getOperands(), isFragment));
}

/// The widest vector that an access to memory can use; 1 for other operations.
int64_t LayoutInference::getVectorElements(Operation *access) {
  if (!isa<LoadOp, StoreOp, AtomicRMWOp>(access))
    return 1;
  SmallVector<AccessRegion> regions;
  cast<AccessOpInterface>(access).getAccessRegions(regions);
  const AccessRegion &only = regions.front();
  return divisibility.getVectorElements(only.buffer->get(), only.region);
}

/// The widest vector that an access of a fragment tied to `value` can use.
int64_t LayoutInference::chooseVectorElements(Value value) {
  int64_t elements = 1;
  SmallVector<Value> work = members[getNode(value)];
  llvm::DenseSet<unsigned> seen = {getNode(value)};
  while (!work.empty()) {
    Value current = work.pop_back_val();
    if (Operation *op = current.getDefiningOp())
      elements = std::max(elements, getVectorElements(op));
    for (Operation *user : current.getUsers())
      elements = std::max(elements, getVectorElements(user));
    SmallVector<Value> equals;
    getEquals(current, equals);
    for (Value next : equals)
      if (!isFree(next) && !layouts[getNode(next)] &&
          seen.insert(getNode(next)).second)
        llvm::append_range(work, members[getNode(next)]);
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

FragmentAttr LayoutInference::getLayout(Value value) const {
  return isFree(value) ? FragmentAttr() : layouts[getNode(value)];
}

FragmentAttr LayoutInference::getNeeded(OpOperand &operand) const {
  if (FragmentAttr needed = neededOperands.lookup(&operand))
    return needed;
  if (Value input = forwarded.lookup(&operand))
    return getLayout(input);
  Operation *op = operand.getOwner();
  if (op->getNumResults() == 0 || !isFragment(op->getResult(0)))
    return {};
  FragmentLayout result = getLayout(op->getResult(0)).getLayout();
  if (auto needed = getOperandLayout(operand, result))
    return getAttr(context, *needed);
  return {};
}

FragmentAttr LayoutInference::getDefault(OpOperand &operand) {
  return getBlocked(operand.get(), getVectorElements(operand.getOwner()));
}

FragmentAttr LayoutInference::getProduced(OpResult result) const {
  if (FragmentAttr needed = neededResults.lookup(result))
    return needed;
  Operation *op = result.getOwner();
  FragmentAttr own = getLayout(result);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isFragment(operand.get()) || isElementwise(op))
      continue;
    // If the operand can follow the result, it does; else the result follows.
    if (getOperandLayout(operand, own.getLayout()))
      return own;
    FragmentAttr source = getLayout(operand.get());
    if (!source)
      source = getBlocked(operand.get(), /*vectorElements=*/1);
    if (auto follows = getResultLayout(op, source.getLayout()))
      return getAttr(context, *follows);
  }
  return own;
}
