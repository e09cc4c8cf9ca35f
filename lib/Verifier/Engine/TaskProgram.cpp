//===- TaskProgram.cpp - The slice of a kernel for a proof ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backward slice with a worklist. The criteria are the events: their inputs
// (cursors, slot numbers, parities) and the control flow around them. A value
// in the slice adds its operands, or the values that control flow passes on to
// it. A read of shared memory adds the source offsets of the copy that wrote
// there. Further passes then answer questions on the slice:
//
//   * linked loops: loops of different tasks that use the same channel or
//     barrier, which may have to run together;
//   * tracked values: those that events' inputs are computed from, which have
//     few values;
//   * places: the cursors that belong to each link, which rotations rename;
//   * stable reads: those after all writes to their memory.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/TaskProgram.h"

#include "Verifier/Symbolic/ViewedRegions.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

std::optional<Finding> TaskProgram::addTasks() {
  if (!llvm::hasSingleElement(kernel.getBody()))
    return Finding{kernel, "the kernel's control flow is not structured"};
  tasks.push_back({kernel, &kernel.getBody().front(), "the kernel"});
  SmallVector<SpecializeOp> specialized;
  kernel.walk([&](SpecializeOp op) { specialized.push_back(op); });
  if (specialized.empty())
    return std::nullopt;
  SpecializeOp first = specialized.front();
  if (specialized.size() > 1 || first->getParentOp() != kernel)
    return Finding{specialized.back(),
                   "only one tile.specialize, in the body of the kernel, is "
                   "supported"};
  for (RoleOp role : first.getRoles())
    tasks.push_back(
        {role, &role.getBody().front(), ("role @" + role.getName()).str()});
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// The backward slice
//===----------------------------------------------------------------------===//

SmallVector<Value> verifier::getSources(Value value) {
  SmallVector<Value> sources;
  auto addYields = [&](mlir::Region &region, unsigned number) {
    if (!region.empty())
      sources.push_back(region.front().getTerminator()->getOperand(number));
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned number = argument.getArgNumber();
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && number > 0) {
      sources.push_back(loop.getInitArgs()[number - 1]);
      addYields(loop.getRegion(), number - 1);
    } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
      if (argument.getOwner() == loop.getBeforeBody()) {
        sources.push_back(loop.getInits()[number]);
        addYields(loop.getAfter(), number);
      } else {
        sources.push_back(loop.getConditionOp().getArgs()[number]);
      }
    }
    return sources;
  }
  Operation *op = value.getDefiningOp();
  unsigned number = cast<OpResult>(value).getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    sources.push_back(loop.getInitArgs()[number]);
    sources.push_back(loop.getRegionIterArg(number));
    addYields(loop.getRegion(), number);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    sources.push_back(loop.getConditionOp().getArgs()[number]);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    addYields(branch.getThenRegion(), number);
    addYields(branch.getElseRegion(), number);
  } else {
    llvm::append_range(sources, op->getOperands());
  }
  return sources;
}

static Type dropLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor
             ? RankedTensorType::get(tensor.getShape(), tensor.getElementType())
             : type;
}

Identity verifier::getIdentity(OpResult result) {
  Operation *op = result.getOwner();
  Identity identity;
  Attribute properties = op->getPropertiesAsAttribute();
  DenseElementsAttr dense;
  if (matchPattern(op, m_Constant(&dense)))
    properties = dense.reshape(cast<ShapedType>(dropLayout(dense.getType())));
  llvm::append_range(identity.operands, op->getOperands());
  if (auto load = dyn_cast<LoadOp>(op)) {
    // An offset is a value here and a constant there.
    TileRegion region = load.getRegion();
    properties = DenseI64ArrayAttr::get(op->getContext(), region.sizes);
    identity.operands.assign({load.getSource()});
    llvm::append_range(identity.operands, region.offsets);
    if (load.getPadding())
      identity.operands.push_back(load.getPadding());
  }
  auto add = [&](const void *pointer) {
    identity.words.push_back(reinterpret_cast<int64_t>(pointer));
  };
  add(op->getName().getAsOpaquePointer());
  add(properties.getAsOpaquePointer());
  add(dropLayout(result.getType()).getAsOpaquePointer());
  identity.words.push_back(result.getResultNumber());
  return identity;
}

void TaskProgram::need(Value value) {
  if (!values.try_emplace(value, values.size()).second)
    return;
  byNumber.push_back(value);
  pending.push_back(value);
}

/// Adds `op` to the slice, with all control flow around it.
void TaskProgram::needControl(Operation *op) {
  for (; op != kernel && relevant.insert(op).second; op = op->getParentOp())
    needOperandsOfControl(op);
}

/// Adds the values that decide which regions of `op` are executed.
void TaskProgram::needOperandsOfControl(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    need(loop.getLowerBound());
    need(loop.getUpperBound());
    need(loop.getStep());
    need(loop.getInductionVar());
    relevant.insert(loop.getBody()->getTerminator());
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    need(branch.getCondition());
    for (mlir::Region *region : branch.getRegions())
      if (!region->empty())
        relevant.insert(region->front().getTerminator());
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    need(loop.getConditionOp().getCondition());
    relevant.insert(loop.getConditionOp());
    relevant.insert(loop.getYieldOp());
  }
}

Operation *verifier::findOtherControl(Operation *op, Operation *kernel) {
  Operation *parent = op->getParentOp();
  while (parent != kernel &&
         isa<scf::ForOp, scf::IfOp, scf::WhileOp, RoleOp, SpecializeOp>(parent))
    parent = parent->getParentOp();
  return parent == kernel ? nullptr : parent;
}

Value verifier::getAsserted(Operation *op) {
  if (!isa<AssertOp, cf::AssertOp>(op) ||
      !op->getOperand(0).getType().isInteger(1))
    return {};
  return op->getOperand(0);
}

/// Adds assertions, which are premises for what comes after them.
void TaskProgram::needAssertions(bool withAll) {
  kernel.walk([&](Operation *op) {
    Value condition = getAsserted(op);
    if (!condition)
      return;
    bool isReached = true;
    for (Operation *parent = op->getParentOp(); parent != kernel;
         parent = parent->getParentOp())
      isReached &= matters(parent);
    if (findOtherControl(op, kernel) || !(isReached || withAll))
      return;
    needControl(op);
    need(condition);
  });
}

/// A read of shared memory depends on what was copied there.
void TaskProgram::needCopied(Operation *op) {
  CopyOp copy = findCopyOf(op, kernel, memory);
  if (!copy || !copiedReads.try_emplace(op, copy).second)
    return;
  for (Value offset : copy.getSourceOffsets()) {
    readsByPlace[offset].push_back(op);
    need(offset);
  }
}

/// Adds the copies that write what the slice reads, so that an execution knows
/// whether they stay within their memory.
void TaskProgram::needOrigins() {
  for (size_t number = 0; number < byNumber.size(); ++number) {
    Operation *op = byNumber[number].getDefiningOp();
    // An element that one copy brings has a value of its own.
    if (!op || (isa<memref::LoadOp>(op) && getCopyOf(op)))
      continue;
    for (Operation *origin : filledReads.add(op, memory)) {
      needControl(origin);
      for (OpFoldResult offset : getOriginRegion(origin).second.offsets)
        if (auto value = dyn_cast<Value>(offset))
          need(value);
    }
    drain();
  }
}

/// Returns where events write to shared memory.
static SmallVector<Value> getWrittenOffsets(gpu::GPUFuncOp kernel,
                                            const Rules &rules) {
  SmallVector<Value> offsets;
  kernel.walk([&](Operation *op) {
    if (!rules.isEvent(op))
      return;
    for (const SharedAccess &access : getSharedAccesses(op))
      if (auto region = getViewedRegion(access); region && access.writes())
        llvm::append_range(offsets, region->getValues());
  });
  return offsets;
}

void TaskProgram::drain() {
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (parent != kernel)
        needControl(parent);
    } else {
      needControl(value.getDefiningOp());
      needCopied(value.getDefiningOp());
    }
    for (Value source : getSources(value))
      need(source);
  }
}

/// Adds an event. All control flow around it must be structured.
std::optional<Finding> TaskProgram::addOperation(Operation *op) {
  if (Operation *parent = findOtherControl(op, kernel))
    return Finding{parent, ("an event of the schedule stands in '" +
                            parent->getName().getStringRef() +
                            "', not in scf.for, scf.if or scf.while")
                               .str()};
  needControl(op);
  for (Value input : rules.getInputs(op))
    need(input);
  return std::nullopt;
}

/// Adds the links of an event to all loops around it. All events count, not
/// only the selected ones, so that each unit groups the same loops.
void TaskProgram::addLinks(Operation *op) {
  for (Operation *at = op; at != kernel; at = at->getParentOp()) {
    for (unsigned link : rules.getLinks(op))
      links[at].insert(link);
    if (tasks.size() > 1 && isa<scf::ForOp, scf::WhileOp>(at))
      needControl(at);
  }
}

/// A loop without events may count slots for events after it. It then belongs
/// to the links of these events.
void TaskProgram::linkCountingLoops() {
  llvm::MapVector<Operation *, llvm::SmallSet<unsigned, 4>> counting;
  kernel.walk([&](Operation *event) {
    if (!rules.isEventOfAny(event) || rules.getLinks(event).empty())
      return;
    // The first operand is the link, the others are places of it.
    SmallVector<Value> todo(event->getOperands().drop_front());
    llvm::DenseSet<Value> seen;
    while (!todo.empty()) {
      Value value = todo.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      llvm::append_range(todo, getSources(value));
      Operation *loop = value.getDefiningOp();
      if (isa_and_present<scf::ForOp, scf::WhileOp>(loop) &&
          !links.contains(loop))
        for (unsigned link : rules.getLinks(event))
          counting[loop].insert(link);
    }
  });
  for (auto &[loop, own] : counting) {
    links[loop] = own;
    needControl(loop);
  }
}

void TaskProgram::findLinked() {
  for (const auto &entry : links)
    for (unsigned task = 1; task < tasks.size(); ++task) {
      const auto &others = getLinks(tasks[task].op);
      if (task != getTask(entry.first) &&
          llvm::any_of(entry.second,
                       [&](unsigned link) { return others.contains(link); }))
        linked.insert(entry.first);
    }
}

/// Cursors, slots and parities take few values, and so do the values that they
/// are computed from.
void TaskProgram::track() {
  SmallVector<Value> todo;
  for (Operation *op : relevant)
    if (rules.isEvent(op))
      llvm::append_range(todo, rules.getInputs(op));
  while (!todo.empty()) {
    Value value = todo.pop_back_val();
    if (tracked.insert(value).second)
      llvm::append_range(todo, getSources(value));
  }
}

bool TaskProgram::isTracked(Value value) const {
  return isa<CursorType>(value.getType()) || value.getType().isInteger(1) ||
         tracked.contains(value);
}

void TaskProgram::collectSteps() {
  kernel.walk([&](scf::ForOp loop) {
    Value step = loop.getStep();
    bool isConstant = matchPattern(step, m_Constant());
    bool isDefined =
        isa<BlockArgument>(step) || step.getParentBlock() != loop->getBlock();
    if (matters(loop) && !isConstant && isDefined)
      steps[loop->getBlock()].push_back(step);
  });
}

void TaskProgram::collectInner() {
  for (auto [value, number] : values)
    for (Operation *op = value.getParentBlock()->getParentOp(); op != kernel;
         op = op->getParentOp())
      inner[op].push_back(number);
}

/// Follows cursors back from events.
void TaskProgram::collectPlaces() {
  places.resize(values.size());
  for (Operation *op : relevant) {
    if (auto cursor = dyn_cast<CursorOp>(op))
      cursors.push_back(cursor);
    if (!rules.isEvent(op))
      continue;
    SmallVector<std::pair<Value, unsigned>> todo;
    SmallVector<Value> inputs = rules.getInputs(op);
    for (auto [value, link] : llvm::zip(inputs, rules.getInputLinks(op)))
      todo.push_back({value, link});
    while (!todo.empty()) {
      auto [value, link] = todo.pop_back_val();
      if (!isa<CursorType>(value.getType()) ||
          !places[getNumber(value)].insert(link).second)
        continue;
      for (Value source : getSources(value))
        todo.push_back({source, link});
    }
  }
}

void TaskProgram::findStableReads() {
  // Most slices read no memory: skip the alias analysis.
  if (llvm::any_of(byNumber, [](Value value) {
        Operation *op = value.getDefiningOp();
        return op && op->getNumRegions() == 0 && !isMemoryEffectFree(op);
      }))
    stableReads.find(kernel, memory,
                     [&](Operation *op) { return relevant.contains(op); });
}

std::optional<Finding> TaskProgram::build(bool toExecute) {
  if (std::optional<Finding> obstacle = addTasks())
    return obstacle;
  std::optional<Finding> obstacle;
  kernel.walk([&](Operation *op) {
    if (obstacle || op == kernel)
      return;
    if (isa<SpecializeOp, RoleOp>(op))
      needControl(op);
    if (rules.isEvent(op))
      obstacle = addOperation(op);
    if (!obstacle && rules.isEventOfAny(op))
      addLinks(op);
  });
  if (obstacle)
    return obstacle;
  if (tasks.size() > 1)
    linkCountingLoops();
  findLinked();
  drain();
  needAssertions(/*withAll=*/toExecute);
  drain();
  if (toExecute) {
    for (Value offset : getWrittenOffsets(kernel, rules))
      need(offset);
    drain();
    needOrigins();
  }
  track();
  collectSteps();
  collectInner();
  collectPlaces();
  findStableReads();
  LDBG() << "slice of @" << kernel.getName() << ":";
  LLVM_DEBUG(print(llvm::dbgs()));
  return std::nullopt;
}

void TaskProgram::print(raw_ostream &os) const {
  for (unsigned number = 0; number < tasks.size(); ++number) {
    const Task &task = tasks[number];
    os << "task " << number << ": " << task.name << "\n";
    task.op->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (matters(op) && op != task.op && getTask(op) == number)
        printOperation(op, os);
    });
  }
}

void TaskProgram::printOperation(Operation *op, raw_ostream &os) const {
  os << "  " << op->getName();
  for (Value result : op->getResults())
    if (int64_t value = getNumber(result); value >= 0)
      os << " %" << value << (isTracked(result) ? " (tracked)" : "");
  os << (rules.isEvent(op) ? ", event" : "") << (isLinked(op) ? ", linked" : "")
     << (getEpoch(op) ? ", stable read" : "") << "\n";
}

int64_t TaskProgram::getNumber(Value value) const {
  auto it = values.find(value);
  return it == values.end() ? -1 : int64_t(it->second);
}

ArrayRef<Value> TaskProgram::getSteps(Block *block) const {
  auto it = steps.find(block);
  return it == steps.end() ? ArrayRef<Value>() : it->second;
}

ArrayRef<Operation *> TaskProgram::getCopiedReads(Value value) const {
  auto it = readsByPlace.find(value);
  return it == readsByPlace.end() ? ArrayRef<Operation *>() : it->second;
}

ArrayRef<unsigned> TaskProgram::getInnerValues(Operation *op) const {
  auto it = inner.find(op);
  return it == inner.end() ? ArrayRef<unsigned>() : it->second;
}

const llvm::SmallSet<unsigned, 4> &TaskProgram::getLinks(Operation *op) const {
  static const llvm::SmallSet<unsigned, 4> none;
  auto it = links.find(op);
  return it == links.end() ? none : it->second;
}
