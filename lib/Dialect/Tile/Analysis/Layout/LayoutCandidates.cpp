//===- LayoutCandidates.cpp - Layouts a fragment may get ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Candidates start at seeds and spread along edges breadth first, by the layout
// rules in both directions. There are five kinds of seeds, strongest first:
// types and requirements of instructions; accesses to memory; reductions;
// slices; and a default for what nothing reached. After each kind the
// candidates spread before the next kind is added, and each kind may fill a
// node's list up to a larger limit. So a weaker kind adds alternatives, but
// never displaces stronger candidates.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/LayoutCandidates.h"

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRules.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

// The most candidates of a fragment after each kind of seed. More are rarely
// better, and take time.
static constexpr size_t kFromDemands = 5;
static constexpr size_t kFromMemory = 8;
static constexpr size_t kFromReductions = 10;
static constexpr size_t kFromSlices = 12;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

LayoutCandidates::LayoutCandidates(const FragmentGraph &graph,
                                   const TargetInfo &target,
                                   Divisibility &divisibility)
    : graph(graph), target(target), candidates(graph.getNodes().size()),
      accesses(graph.getNodes().size()) {
  collectAccesses(divisibility);
  seedDemands();
  propagate(kFromDemands);
  seedAccesses();
  propagate(kFromMemory);
  seedReductions();
  propagate(kFromReductions);
  seedSlices();
  propagate(kFromSlices);
  seedDefaults();
}

void LayoutCandidates::collectAccesses(Divisibility &divisibility) {
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    auto add = [&, i = i](Operation *op) {
      if (auto access = FragmentAccess::get(op, divisibility))
        accesses[i].push_back(*access);
    };
    for (Value value : node.values) {
      if (graph.isFree(value))
        continue;
      if (Operation *op = value.getDefiningOp())
        add(op);
      // MLIR lists uses from last to first.
      auto uses = llvm::map_to_vector(value.getUses(),
                                      [](OpOperand &use) { return &use; });
      for (OpOperand *use : llvm::reverse(uses)) {
        auto indexed = dyn_cast<IndexedOpInterface>(use->getOwner());
        if (!indexed || !indexed.isPlacement(*use))
          add(use->getOwner());
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Spreading
//===----------------------------------------------------------------------===//

void LayoutCandidates::add(unsigned node, const LayoutCandidate &candidate,
                           size_t limit) {
  if (!candidate.layout)
    return;
  FragmentAttr fixed = graph.getFixed(node);
  SmallVector<LayoutCandidate> &list = candidates[node];
  if ((fixed && candidate.layout != fixed) || list.size() >= limit ||
      llvm::any_of(list, [&](const LayoutCandidate &other) {
        return other.layout == candidate.layout;
      }))
    return;
  list.push_back(candidate);
  pending.emplace_back(node, list.size() - 1);
}

void LayoutCandidates::add(Value value, const FragmentLayout &layout,
                           LayoutReason::Kind kind, Operation *op,
                           size_t limit) {
  add(graph.getNode(value),
      {getFragmentAttr(op->getContext(), layout), {kind, op}}, limit);
}

/// Spreads candidates breadth first, so that each node gets the nearest ones.
void LayoutCandidates::propagate(size_t limit) {
  while (!pending.empty()) {
    auto [node, index] = pending.front();
    pending.pop_front();
    LayoutCandidate candidate = candidates[node][index];
    for (unsigned i : graph.getNodes()[node].edges) {
      const FragmentGraph::Edge &edge = graph.getEdges()[i];
      OpOperand &operand = *edge.operand;
      Operation *via = operand.getOwner();
      // A conversion does nothing if both sides have the same layout.
      bool isSame = isa<ConvertLayoutOp>(via);
      if (edge.from == node)
        add(edge.to,
            {isSame ? candidate.layout
                    : graph.getProduced(operand, candidate.layout),
             candidate.reason, via},
            limit);
      if (edge.to == node)
        add(edge.from,
            {isSame ? candidate.layout
                    : graph.getNeeded(operand, candidate.layout),
             candidate.reason, via},
            limit);
    }
  }
}

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

void LayoutCandidates::seedDemands() {
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    if (!node.given)
      continue;
    add(i,
        {graph.getFixed(i), {LayoutReason::Kind::Type, getMaker(node.given)}},
        kFromDemands);
  }
  for (const FragmentGraph::Demand &demand : graph.getDemands()) {
    if (graph.isFree(demand.getValue()))
      continue;
    auto kind = demand.isResult() ? LayoutReason::Kind::Result
                                  : LayoutReason::Kind::Operand;
    add(graph.getNode(demand.getValue()),
        {demand.layout, {kind, demand.getOp()}}, kFromDemands);
  }
}

void LayoutCandidates::seedAccesses() {
  for (auto [i, list] : llvm::enumerate(accesses))
    for (const FragmentAccess &access : list)
      add(access.getFragment(),
          chooseBlockedLayout(getShape(access.getFragment()),
                              getNumThreads(access.getFragment()),
                              access.getMaxVector()),
          LayoutReason::Kind::Access, access.getOp(), kFromMemory);
}

/// Returns the axis along which an operation combines or exchanges elements.
static std::optional<int64_t> getCombinedAxis(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getAxis();
  if (auto scan = dyn_cast<ScanOp>(op))
    return scan.getAxis();
  // No layout is good for several axes at once: the digits of the warp's number
  // belong to one of them, and a flip reverses them.
  if (auto flip = dyn_cast<FlipOp>(op); flip && flip.getAxes().size() == 1)
    return flip.getAxes().front();
  return std::nullopt;
}

void LayoutCandidates::seedReductions() {
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    int64_t vector = 1;
    for (const FragmentAccess &access : accesses[i])
      vector = std::max(vector, access.getMaxVector());
    for (Value value : node.values) {
      if (graph.isFree(value))
        continue;
      for (Operation *user : value.getUsers()) {
        std::optional<int64_t> axis = getCombinedAxis(user);
        if (!axis)
          continue;
        // A candidate from an access elsewhere may have wider vectors.
        for (const LayoutCandidate &candidate : candidates[i])
          vector = std::max(vector, getVectorRun(candidate.layout.getLayout(),
                                                 getShape(value).size() - 1,
                                                 /*limit=*/16));
        int64_t threads = getNumThreads(value);
        add(value,
            getRowLayout(getShape(value), threads, vector, *axis,
                         target.warpSize),
            LayoutReason::Kind::Reduction, user, kFromReductions);
        if (candidates[i].empty())
          add(value, chooseBlockedLayout(getShape(value), threads, 1),
              LayoutReason::Kind::Default, user, kFromReductions);
      }
    }
  }
}

/// Seeds layouts in which registers, not threads, run along the sliced axis.
/// With them a slice can always be made; other layouts may reach past the part.
void LayoutCandidates::seedSlices() {
  for (auto [i, node] : llvm::enumerate(graph.getNodes()))
    for (Value value : node.values)
      if (auto slice = value.getDefiningOp<SliceOp>()) {
        SmallVector<int64_t> others(getShape(value));
        int64_t axis = slice.getAxis();
        int64_t extent = std::exchange(others[axis], 1);
        FragmentLayout rest = getBlockedLayout(others, getNumThreads(value), 1);
        SmallVector<Mode> registers(rest.getValueModes());
        registers.push_back({extent, 1, axis});
        add(value, FragmentLayout(rest.getThreadModes(), registers),
            LayoutReason::Kind::Default, slice, kFromSlices);
      }
}

/// Seeds the nodes that no candidate reached, the largest first, so that a
/// fragment that is broadcast follows the layout of the larger result.
void LayoutCandidates::seedDefaults() {
  SmallVector<std::pair<int64_t, unsigned>> open;
  for (auto [i, list] : llvm::enumerate(candidates)) {
    Value value = graph.getNodes()[i].values.front();
    if (list.empty() && !graph.isFree(value))
      open.emplace_back(
          -cast<RankedTensorType>(value.getType()).getNumElements(), i);
  }
  llvm::sort(open);
  for (auto [order, node] : open) {
    if (!candidates[node].empty())
      continue;
    Value value = graph.getNodes()[node].values.front();
    add(value, chooseBlockedLayout(getShape(value), getNumThreads(value), 1),
        LayoutReason::Kind::Default, getMaker(value), kFromReductions);
    propagate(kFromReductions);
  }
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static StringRef getName(LayoutReason::Kind kind) {
  switch (kind) {
  case LayoutReason::Kind::Type:
    return "type of";
  case LayoutReason::Kind::Result:
    return "result of";
  case LayoutReason::Kind::Operand:
    return "operand of";
  case LayoutReason::Kind::Access:
    return "access by";
  case LayoutReason::Kind::Store:
    return "store by";
  case LayoutReason::Kind::Reduction:
    return "reduction by";
  case LayoutReason::Kind::Default:
    return "default for";
  }
  llvm_unreachable("all kinds are handled");
}

void LayoutCandidates::print(raw_ostream &os) const {
  for (auto [i, node] : llvm::enumerate(graph.getNodes())) {
    if (candidates[i].empty())
      continue;
    BriefPrinter printer(getMaker(node.values.front()), os);
    os << "node " << i << ": ";
    llvm::interleaveComma(node.values, os,
                          [&](Value value) { printer << value; });
    os << "\n";
    for (const FragmentAccess &access : accesses[i]) {
      os << "  ";
      access.print(printer);
      os << "\n";
    }
    for (const LayoutCandidate &candidate : candidates[i]) {
      printer << "  " << getName(candidate.reason.kind) << " "
              << candidate.reason.op;
      if (candidate.via)
        printer << ", via " << candidate.via;
      printer << ": " << candidate.layout << "\n";
    }
  }
}
