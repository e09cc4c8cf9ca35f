//===- FragmentGraph.cpp - Fragments and what ties them -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nodes are equivalence classes of values (union-find): operations that need
// equal types join their values, among them loops whose arguments one operand
// initializes. All other uses are edges. An operand whose layout an instruction
// requires has no edge: the requirement is a property of the operand's node,
// since a conversion can be put before the instruction. Errors are found while
// the graph is built, so that the later steps of inference cannot fail.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/FragmentGraph.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRules.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

FragmentAttr tile::getFragmentAttr(MLIRContext *context,
                                   const FragmentLayout &layout) {
  return FragmentAttr::get(context, layout.coalesce());
}

Operation *FragmentGraph::Demand::getOp() const {
  if (auto *operand = dyn_cast<OpOperand *>(place))
    return operand->getOwner();
  return cast<OpResult>(place).getOwner();
}

Value FragmentGraph::Demand::getValue() const {
  return LayoutRequirement{place, layout}.getValue();
}

FailureOr<FragmentGraph> FragmentGraph::get(gpu::GPUFuncOp kernel,
                                            const TargetInfo &target) {
  FragmentGraph graph(kernel);
  if (failed(graph.collect()))
    return failure();
  graph.addDemands(target);
  if (failed(graph.buildNodes()))
    return failure();
  return graph;
}

Value FragmentGraph::getLeader(Operation *op) {
  if (op->getNumResults() > 0)
    return isFragment(op->getResult(0)) ? op->getResult(0) : Value();
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  return indexed ? indexed.getStored() : Value();
}

bool FragmentGraph::isFree(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isRepeatable(op) && !hasFragmentLayout(value.getType());
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Returns the operation that sets the number of threads that hold `value`.
static Operation *getThreadOwner(Value value) {
  Operation *op = value.getParentRegion()->getParentOp();
  while (!isa<gpu::GPUFuncOp, RoleOp>(op))
    op = op->getParentOp();
  return op;
}

LogicalResult FragmentGraph::addValue(Value value) {
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
    if (spanned != threads) {
      InFlightDiagnostic diag = emitError();
      diag << "spans " << spanned << " threads, but runs on " << threads
           << "; change the layout or the number of threads";
      diag.attachNote(getThreadOwner(value)->getLoc())
          << "the number of threads is set here";
      return diag;
    }
  }
  ids.insert({value, ids.size()});
  return success();
}

LogicalResult FragmentGraph::collectOp(Operation *op) {
  auto isTensor = [](Value value) { return isa<TensorType>(value.getType()); };
  bool touches = llvm::any_of(op->getOperands(), isTensor) ||
                 llvm::any_of(op->getResults(), isTensor);
  if (touches && !hasLayoutRule(op))
    return op->emitOpError(
        "has no rule for the layouts of its fragments; use tile, "
        "arith and math operations and structured control flow");
  for (Value value : op->getResults())
    if (failed(addValue(value)))
      return failure();
  for (mlir::Region &region : op->getRegions()) {
    for (BlockArgument argument : region.getArguments()) {
      if (op == kernel && isTensor(argument))
        return kernel.emitOpError("has a fragment as argument ")
               << argument.getArgNumber() << ", expected memrefs and scalars";
      if (failed(addValue(argument)))
        return failure();
    }
  }
  return success();
}

LogicalResult FragmentGraph::collect() {
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    return failed(collectOp(op)) ? WalkResult::interrupt()
                                 : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void FragmentGraph::join(Value a, Value b) {
  classes.join(ids.lookup(a), ids.lookup(b));
}

/// Records that control flow passes `operands` on to `inputs`, one by one.
void FragmentGraph::link(OperandRange operands, ValueRange inputs) {
  for (auto [i, input] : llvm::enumerate(inputs)) {
    if (!isFragment(input))
      continue;
    Operation *owner = operands.getBase()->getOwner();
    OpOperand *operand =
        &owner->getOpOperand(operands.getBeginOperandIndex() + i);
    // An operand has one layout, so that all values it is passed on to share
    // it.
    auto [first, isNew] = forwarded.try_emplace(operand, input);
    if (isNew)
      flow.emplace_back(operand, input);
    else
      join(first->second, input);
  }
}

void FragmentGraph::collectFlow(RegionBranchOpInterface op) {
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

void FragmentGraph::addDemands(const TargetInfo &target) {
  kernel.walk([&](LayoutOpInterface op) {
    SmallVector<LayoutRequirement> requirements;
    op.getLayoutRequirements(target, getNumThreads(op), requirements);
    for (const LayoutRequirement &requirement : requirements) {
      auto wanted = dyn_cast<FragmentAttr>(requirement.layout);
      if (!wanted)
        continue;
      FragmentAttr layout =
          getFragmentAttr(op.getContext(), wanted.getLayout());
      demands.push_back({requirement.place, layout});
      if (auto *operand = dyn_cast<OpOperand *>(requirement.place))
        demandedOperands[operand] = layout;
      else
        demandedResults[requirement.getValue()] = layout;
    }
  });
}

void FragmentGraph::addEdge(OpOperand &operand, Value result) {
  if (isFree(operand.get()) || isFree(result))
    return;
  unsigned from = getNode(operand.get()), to = getNode(result);
  nodes[from].edges.push_back(edges.size());
  if (to != from)
    nodes[to].edges.push_back(edges.size());
  edges.push_back({&operand, result, from, to});
}

LogicalResult FragmentGraph::buildNodes() {
  classes.grow(ids.size());
  kernel.walk([&](Operation *op) {
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
      collectFlow(branch);
    if (auto wait = dyn_cast<GemmWaitOp>(op))
      for (auto [before, after] :
           llvm::zip(wait.getFragments(), wait.getResults()))
        join(before, after);
    if (isElementwise(op))
      for (Value result : op->getResults())
        if (isFragment(result) && isFragment(op->getResult(0)))
          join(op->getResult(0), result);
  });
  classes.compress();
  nodes.resize(classes.getNumClasses());
  for (auto [value, id] : ids) {
    Node &node = nodes[classes[id]];
    node.values.push_back(value);
    if (!hasFragmentLayout(value.getType()))
      continue;
    if (!node.given) {
      node.given = value;
      continue;
    }
    if (getFragmentLayout(value.getType())
            .isSameAs(getFragmentLayout(node.given.getType())))
      continue;
    InFlightDiagnostic diag = mlir::emitError(value.getLoc())
                              << "the layouts of two values differ, but an "
                                 "operation, loop or branch requires one; "
                                 "convert one value with 'tile.convert_layout'";
    diag << "; this value has type " << value.getType();
    diag.attachNote(node.given.getLoc())
        << "the other value has type " << node.given.getType();
    return diag;
  }
  for (auto [operand, input] : flow)
    addEdge(*operand, input);
  kernel.walk([&](Operation *op) {
    Value leader = getLeader(op);
    if (!leader)
      return;
    for (OpOperand &operand : op->getOpOperands())
      if (isFragment(operand.get()) && operand.get() != leader &&
          !getDemanded(operand) && !getForwarded(operand))
        addEdge(operand, leader);
  });
  for (auto [i, demand] : llvm::enumerate(demands)) {
    Value value = demand.getValue();
    if (isFree(value))
      continue;
    Node &node = nodes[getNode(value)];
    node.demands.push_back(i);
    auto matmul = value.getDefiningOp<MatmulOpInterface>();
    if (matmul && matmul.getAsync() && demand.isResult())
      node.unfinished = demand.layout;
  }
  return success();
}

FragmentAttr FragmentGraph::getFixed(unsigned node) const {
  Value given = nodes[node].given;
  if (!given)
    return nodes[node].unfinished;
  return getFragmentAttr(given.getContext(),
                         getFragmentLayout(given.getType()));
}

//===----------------------------------------------------------------------===//
// Edges
//===----------------------------------------------------------------------===//

FragmentAttr FragmentGraph::getNeeded(OpOperand &operand,
                                      FragmentAttr result) const {
  if (getForwarded(operand))
    return result;
  auto needed = getOperandLayout(operand, result.getLayout());
  return needed ? getFragmentAttr(result.getContext(), *needed)
                : FragmentAttr();
}

FragmentAttr FragmentGraph::getProduced(OpOperand &operand,
                                        FragmentAttr source) const {
  if (getForwarded(operand))
    return source;
  auto produced = getResultLayout(operand.getOwner(), source.getLayout());
  return produced ? getFragmentAttr(source.getContext(), *produced)
                  : FragmentAttr();
}

void FragmentGraph::print(raw_ostream &os) const {
  BriefPrinter printer(kernel, os);
  for (auto [i, node] : llvm::enumerate(nodes)) {
    os << "node " << i << ": ";
    llvm::interleaveComma(node.values, os,
                          [&](Value value) { printer << value; });
    if (FragmentAttr fixed = getFixed(i))
      os << (node.given ? ", type has " : ", unfinished in ") << fixed;
    os << "\n";
    for (unsigned number : node.demands) {
      const Demand &demand = demands[number];
      printer << "  " << demand.getOp() << " requires " << demand.layout
              << "\n";
    }
  }
  for (const Edge &edge : edges)
    printer << "edge " << edge.from << " -> " << edge.to << ": operand "
            << edge.operand->getOperandNumber() << " of "
            << edge.operand->getOwner() << "\n";
}
