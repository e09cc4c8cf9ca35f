//===- LayoutInference.cpp - Layouts of a kernel's fragments --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Inference is an optimization problem. Nodes choose among candidates. The cost
// of a choice is that of accesses, reductions, computations and required
// conversions in that layout. The cost of an edge is that of the conversion if
// the layouts of its ends do not follow from each other. An operand that is
// wanted in another layout is converted where it is made, so that an edge out
// of a loop is paid once, not in each iteration. `ChoiceProblem` minimizes the
// sum; the results are read off lazily.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/LayoutInference.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Layout/ChoiceProblem.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRules.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

LogicalResult LayoutInference::run() {
  FailureOr<FragmentGraph> built = FragmentGraph::get(kernel, target);
  if (failed(built))
    return failure();
  graph = std::move(*built);
  candidates = std::make_unique<LayoutCandidates>(*graph, target, divisibility);
  choose();
  return success();
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Returns what the operations that make and read a node's values cost in a
/// layout.
int64_t LayoutInference::getNodeCost(unsigned node, FragmentAttr layout) {
  int64_t cost = 0;
  for (Value value : graph->getNodes()[node].values) {
    if (auto result = dyn_cast<OpResult>(value))
      cost += LayoutCosts::getWeight(value) * costs.getResult(result, layout);
    for (Operation *user : value.getUsers())
      if (auto reduce = dyn_cast<ReduceOp>(user))
        cost += LayoutCosts::getWeight(user->getBlock()) *
                costs.getReduction(reduce, layout);
  }
  for (const FragmentAccess &access : candidates->getAccesses(node))
    cost += LayoutCosts::getWeight(access.getOp()->getBlock()) *
            costs.getStore(access, layout).cost;
  for (unsigned i : graph->getNodes()[node].demands) {
    const FragmentGraph::Demand &demand = graph->getDemands()[i];
    Value value = demand.getValue();
    FragmentAttr from = layout, to = demand.layout;
    if (demand.isResult())
      std::swap(from, to);
    cost += LayoutCosts::getWeight(value) *
            costs.getConversion(getTensor(value), from, to);
  }
  return std::min(cost, LayoutCosts::kImpossible);
}

/// Returns what it costs to make `edge.result` in layout `to` from its operand
/// in layout `from`. A conversion is placed where the converted value is made.
int64_t LayoutInference::getEdgeCost(const FragmentGraph::Edge &edge,
                                     FragmentAttr from, FragmentAttr to,
                                     FragmentAttr produced,
                                     FragmentAttr needed) {
  Value source = edge.operand->get();
  if (needed)
    return LayoutCosts::getWeight(source) *
           costs.getConversion(getTensor(source), from, needed);
  if (produced)
    return LayoutCosts::getWeight(edge.result) *
           costs.getConversion(getTensor(edge.result), produced, to);
  Operation *op = edge.operand->getOwner();
  int64_t weight = LayoutCosts::getWeight(op->getBlock());
  if (isa<ConvertLayoutOp>(op))
    return weight * costs.getConversion(getTensor(source), from, to);
  if (isa<ReshapeOp>(op))
    return weight * costs.getReshape(getTensor(source), from, to);
  // Neither layout leads to the other.
  if (isa<SliceOp>(op))
    return LayoutCosts::kImpossible;
  return 0;
}

void LayoutInference::choose() {
  unsigned numNodes = graph->getNodes().size();
  ChoiceProblem problem;
  SmallVector<unsigned> numbers(numNodes, 0);
  for (unsigned node = 0; node < numNodes; ++node) {
    SmallVector<int64_t> nodeCosts;
    for (const LayoutCandidate &candidate : candidates->get(node))
      nodeCosts.push_back(getNodeCost(node, candidate.layout));
    if (!nodeCosts.empty())
      numbers[node] = problem.addNode(std::move(nodeCosts));
  }
  for (const FragmentGraph::Edge &edge : graph->getEdges()) {
    ArrayRef<LayoutCandidate> from = candidates->get(edge.from);
    ArrayRef<LayoutCandidate> to = candidates->get(edge.to);
    SmallVector<FragmentAttr> produced, needed;
    for (const LayoutCandidate &candidate : from)
      produced.push_back(graph->getProduced(*edge.operand, candidate.layout));
    for (const LayoutCandidate &candidate : to)
      needed.push_back(graph->getNeeded(*edge.operand, candidate.layout));
    problem.addEdge(numbers[edge.from], numbers[edge.to],
                    [&](unsigned a, unsigned b) {
                      return getEdgeCost(edge, from[a].layout, to[b].layout,
                                         produced[a], needed[b]);
                    });
  }
  ChoiceProblem::Choices solution = problem.solve();
  choices.resize(numNodes);
  for (unsigned node = 0; node < numNodes; ++node)
    if (!candidates->get(node).empty())
      choices[node] = solution[numbers[node]];
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::optional<LayoutCandidate> LayoutInference::getChoice(Value value) const {
  if (FragmentGraph::isFree(value))
    return std::nullopt;
  unsigned node = graph->getNode(value);
  return candidates->get(node)[*choices[node]];
}

unsigned LayoutInference::getNumCandidates(Value value) const {
  return candidates->get(graph->getNode(value)).size();
}

FragmentAttr LayoutInference::getLayout(Value value) const {
  std::optional<LayoutCandidate> choice = getChoice(value);
  return choice ? choice->layout : FragmentAttr();
}

FragmentAttr LayoutInference::getNeeded(OpOperand &operand) {
  if (storesRegion(operand.getOwner()))
    return getStoreLayout(operand);
  if (FragmentAttr demanded = graph->getDemanded(operand))
    return demanded;
  if (Value input = graph->getForwarded(operand))
    return getLayout(input);
  Operation *op = operand.getOwner();
  Value leader = FragmentGraph::getLeader(op);
  if (!leader || leader == operand.get())
    return {};
  FragmentAttr layout = getLayout(leader);
  if (!layout) // A scattered constant.
    layout = getDefault(op->getOpOperand(0));
  return graph->getNeeded(operand, layout);
}

/// Returns the layout in which a fragment is stored.
FragmentAttr LayoutInference::getStoreLayout(OpOperand &operand) {
  FragmentAttr own = getLayout(operand.get());
  if (!own)
    return {};
  auto access = FragmentAccess::get(operand.getOwner(), divisibility);
  return costs.getStore(*access, own).layout;
}

LayoutReason LayoutInference::getNeededReason(OpOperand &operand) const {
  Operation *op = operand.getOwner();
  if (storesRegion(op))
    return {LayoutReason::Kind::Store, op};
  if (graph->getDemanded(operand))
    return {LayoutReason::Kind::Operand, op};
  Value input = graph->getForwarded(operand);
  std::optional<LayoutCandidate> choice =
      getChoice(input ? input : FragmentGraph::getLeader(op));
  return choice ? choice->reason
                : LayoutReason{LayoutReason::Kind::Default, op};
}

FragmentAttr LayoutInference::getDefault(OpOperand &operand) {
  Operation *op = operand.getOwner();
  auto access = FragmentAccess::get(op, divisibility);
  return getFragmentAttr(
      op->getContext(),
      chooseBlockedLayout(getTensor(operand.get()).getShape(),
                          getNumThreads(op),
                          access ? access->getMaxVector() : 1));
}

FragmentAttr LayoutInference::getProduced(OpResult result) const {
  if (FragmentAttr demanded = graph->getDemanded(result))
    return demanded;
  Operation *op = result.getOwner();
  FragmentAttr own = getLayout(result);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isFragment(operand.get()) || isElementwise(op))
      continue;
    // The operand follows the result if it can; otherwise the result follows.
    if (graph->getNeeded(operand, own))
      return own;
    FragmentAttr source = getLayout(operand.get());
    if (!source)
      source = getFragmentAttr(
          op->getContext(),
          chooseBlockedLayout(getTensor(operand.get()).getShape(),
                              getNumThreads(op), /*vectorElements=*/1));
    if (FragmentAttr follows = graph->getProduced(operand, source))
      return follows;
  }
  return own;
}

void LayoutInference::print(raw_ostream &os) const {
  BriefPrinter printer(kernel, os);
  for (auto [i, node] : llvm::enumerate(graph->getNodes())) {
    if (!choices[i])
      continue;
    const LayoutCandidate &choice = candidates->get(i)[*choices[i]];
    llvm::interleaveComma(node.values, os,
                          [&](Value value) { printer << value; });
    os << ": " << choice.layout << ", " << describe(choice.reason) << " ("
       << *choices[i] + 1 << " of " << candidates->get(i).size() << ")\n";
  }
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

std::string tile::describe(const LayoutReason &reason) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto name = [&]() -> llvm::raw_ostream & {
    os << "'" << reason.op->getName() << "'";
    if (auto inst = reason.op->getAttrOfType<InstKindAttr>(TileDialect::kInst))
      os << " (" << stringifyInstKind(inst.getValue()) << ")";
    return os;
  };
  switch (reason.kind) {
  case LayoutReason::Kind::Type:
    os << "given by a type";
    break;
  case LayoutReason::Kind::Result:
    os << "result layout of ";
    name();
    break;
  case LayoutReason::Kind::Operand:
    os << "operand layout of ";
    name();
    break;
  case LayoutReason::Kind::Access:
    os << "widest accesses of ";
    name();
    break;
  case LayoutReason::Kind::Store:
    os << "wider accesses of ";
    name() << ", which pay for a conversion";
    break;
  case LayoutReason::Kind::Reduction:
    name() << " stays within warps";
    break;
  case LayoutReason::Kind::Default:
    os << "default layout";
    break;
  }
  return text;
}
