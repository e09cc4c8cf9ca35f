//===- Explorer.cpp - A search for counterexamples ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounded testing. A scenario chooses all inputs (ScenarioInputs): first small
// numbers of tiles, so that traces are short, then numbers just beyond the
// constants that the kernel compares with, then random ones with fixed seeds.
// For each scenario the scalars of every task are executed, which lists
// its events with their inputs. The lists are then merged in one order: each
// task goes on until the rules block it. A broken rule, or a deadlock, is a
// counterexample.
//
// An assertion that fails stops the kernel, so a scenario counts only if the
// tasks deadlock before they come to it.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Counterexamples/Explorer.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Events of a task, and steps of all scenarios.
static constexpr size_t kMaxEvents = 2000;
static constexpr unsigned kMaxSteps = 300000;
/// Iterations of a loop that may never end.
static constexpr unsigned kMaxIterations = 100;
/// The last of the random scenarios of a quick search.
static constexpr uint64_t kMaxQuickSeed = 20;

Explorer::Explorer(const TaskProgram &program, const Rules &rules)
    : program(program), rules(rules), inputs(program) {
  program.getTasks().front().op->walk([&](Operation *op) {
    if (!rules.isEvent(op))
      return;
    if (auto region = findWrittenRegion(op))
      regions.insert({op, *region});
  });
  // Few iterations first: short traces are easy to read.
  for (int64_t number : {1, 2, 3, 4, 5, 6, 8, 11, 0})
    scenarios.push_back({number, 0});
  for (int64_t number : inputs.getLimits())
    scenarios.push_back({number, 0});
  for (uint64_t seed = 1; seed < 200; ++seed)
    scenarios.push_back({-1, seed});
}

std::optional<Counterexample> Explorer::run(bool isQuick) {
  for (; numTried < scenarios.size(); ++numTried) {
    const ScenarioInputs::Scenario &scenario = scenarios[numTried];
    if (scenario.seed > (isQuick ? kMaxQuickSeed : UINT64_MAX) ||
        (scenario.seed > 0 && steps >= kMaxSteps))
      break;
    if (auto found = tryScenario(scenario))
      return found;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// The value in this run; nullopt if it is unknown.
std::optional<UniformValue> Explorer::find(Value value) {
  int64_t number = program.getNumber(value);
  if (number >= 0 && defined[number])
    return values[number];
  // A cursor that the slice does not define is unknown, too.
  return inputs.getOutside(value);
}

/// The value that events or control flow depend on: without it, the scenario is
/// not valid.
int64_t Explorer::get(Value value) {
  std::optional<UniformValue> known = find(value);
  if (!known)
    inputs.giveUp();
  return known.value_or(0);
}

void Explorer::set(Value value, std::optional<UniformValue> known) {
  int64_t number = program.getNumber(value);
  if (number < 0)
    return;
  values[number] = known;
  defined[number] = true;
}

/// The values of all operands; nullopt if one is unknown.
std::optional<SmallVector<UniformValue>>
Explorer::findAll(ValueRange operands) {
  SmallVector<UniformValue> known;
  for (Value operand : operands) {
    std::optional<UniformValue> found = find(operand);
    if (!found)
      return std::nullopt;
    known.push_back(*found);
  }
  return known;
}

std::optional<SmallVector<int64_t>>
Explorer::findOffsets(ArrayRef<OpFoldResult> offsets) {
  SmallVector<int64_t> known;
  for (OpFoldResult offset : offsets) {
    auto value = dyn_cast<Value>(offset);
    std::optional<int64_t> found =
        value ? find(value) : getConstantIntValue(offset);
    if (!found)
      return std::nullopt;
    known.push_back(*found);
  }
  return known;
}

std::optional<UniformValue> Explorer::load(memref::LoadOp op) {
  auto place = findAll(op.getIndices());
  CopyOp copy = program.getCopyOf(op);
  if (place && copy)
    place = getCopiedPlace(copy, *place);
  if (!place)
    return std::nullopt;
  return inputs.getElement(op, copy ? copy.getSource() : op.getMemRef(),
                           *place);
}

/// The indices in the source of `copy` that it copies to `indices` of its
/// destination, or to the first element if there are no indices.
std::optional<SmallVector<int64_t>>
Explorer::getCopiedPlace(CopyOp copy, ArrayRef<int64_t> indices) {
  auto place = findOffsets(copy.getSourceRegion().offsets);
  if (place)
    for (auto [index, dim] : llvm::zip_equal(*place, getDestDims(copy)))
      if (dim && *dim < indices.size())
        index += indices[*dim];
  return place;
}

/// Notes the tile of an input that `op` reads. What lies outside of the input
/// would be read as zeros.
void Explorer::noteOrigin(Operation *op) {
  auto [memory, region] = getOriginRegion(op);
  auto last = findOffsets(region.offsets);
  if (!last || llvm::any_of(*last, [](int64_t index) { return index < 0; }))
    return inputs.giveUp();
  for (auto [index, size] : llvm::zip_equal(*last, region.sizes))
    index += size - 1;
  inputs.noteFill(memory, *last);
}

/// The value of a result, nullopt if it is unknown.
std::optional<UniformValue> Explorer::compute(OpResult result) {
  Operation *op = result.getOwner();
  if (auto constant = getUniformConstant(op))
    return constant;
  if (isa<CursorOp>(op))
    return 0;
  if (auto advance = dyn_cast<AdvanceOp>(op)) {
    int64_t depth = advance.getCursor().getType().getDepth();
    std::optional<int64_t> place = find(advance.getCursor());
    return place ? std::optional((*place + 1) % (2 * depth)) : std::nullopt;
  }
  // Also of cursors, which have no folder.
  if (auto choice = dyn_cast<arith::SelectOp>(op)) {
    std::optional<UniformValue> condition = find(choice.getCondition());
    return condition ? find(*condition ? choice.getTrueValue()
                                       : choice.getFalseValue())
                     : std::nullopt;
  }
  if (auto read = dyn_cast<memref::LoadOp>(op))
    if (auto element = load(read))
      return element;
  if (program.getFilledReads().contains(op))
    return inputs.getFill(result.getType());
  if (auto number = inputs.getResult(result))
    return number;
  auto operands = findAll(op->getOperands());
  return operands ? foldUniform(op, *operands) : std::nullopt;
}

void Explorer::evaluate(Operation *op) {
  if (program.getFilledReads().isOrigin(op))
    noteOrigin(op);
  for (OpResult result : op->getResults())
    if (program.getNumber(result) >= 0)
      set(result, compute(result));
}

//===----------------------------------------------------------------------===//
// Listing events
//===----------------------------------------------------------------------===//

void Explorer::pass(ValueRange from, ValueRange to) {
  SmallVector<std::optional<UniformValue>> passed;
  for (auto [source, dest] : llvm::zip(from, to))
    passed.push_back(program.getNumber(dest) >= 0 ? find(source)
                                                  : std::nullopt);
  for (auto [value, dest] : llvm::zip(passed, to))
    set(dest, value);
}

void Explorer::list(Block &block, unsigned task, Trace &trace) {
  for (Operation &op : block) {
    if (!program.matters(&op))
      continue;
    ++steps;
    trace.isCut |= trace.events.size() > kMaxEvents || steps > kMaxSteps ||
                   inputs.hasGivenUp();
    if (Value condition = getAsserted(&op))
      trace.hasTrapped |= !get(condition);
    if (trace.hasEnded())
      return;
    if (isa<SpecializeOp>(op)) {
      trace.events.push_back({&op, {}});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      mlir::Region &region = get(branch.getCondition())
                                 ? branch.getThenRegion()
                                 : branch.getElseRegion();
      if (region.empty())
        continue;
      list(region.front(), task, trace);
      pass(region.front().getTerminator()->getOperands(), op.getResults());
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      listFor(loop, task, trace);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      listWhile(loop, task, trace);
    } else {
      if (rules.isEvent(&op)) {
        TraceEvent event{&op, {}};
        for (Value input : rules.getInputs(&op))
          event.inputs.push_back(get(input));
        if (auto it = regions.find(&op); it != regions.end())
          event.written = findOffsets(it->second.getNumbers());
        trace.events.push_back(std::move(event));
      }
      evaluate(&op);
    }
  }
}

void Explorer::listFor(scf::ForOp loop, unsigned task, Trace &trace) {
  int64_t upper = get(loop.getUpperBound()), step = get(loop.getStep());
  int64_t iteration = get(loop.getLowerBound());
  // A carried value may matter after the loop only.
  pass(loop.getInitArgs(), loop.getResults());
  pass(loop.getInitArgs(), loop.getRegionIterArgs());
  if (iteration < upper && rules.hasFreshWrites(loop))
    trace.events.push_back({loop, {}});
  bool isNegative = iteration < 0 || upper < 0;
  // The first loop has undefined behavior, the second one may be very long.
  if (step <= 0)
    inputs.giveUp();
  trace.isCut |= step <= 0 || (loop.getUnsignedCmp() && isNegative);
  for (; iteration < upper && !trace.hasEnded(); iteration += step) {
    ++steps;
    set(loop.getInductionVar(), iteration);
    list(*loop.getBody(), task, trace);
    ValueRange next = loop.getBody()->getTerminator()->getOperands();
    pass(next, loop.getResults());
    pass(next, loop.getRegionIterArgs());
  }
}

void Explorer::listWhile(scf::WhileOp loop, unsigned task, Trace &trace) {
  pass(loop.getInits(), loop.getBeforeArguments());
  for (unsigned number = 0; !trace.hasEnded(); ++number) {
    list(*loop.getBeforeBody(), task, trace);
    scf::ConditionOp condition = loop.getConditionOp();
    // A loop that may never end gives no counterexample.
    trace.isCut |= ++steps > kMaxSteps || number >= kMaxIterations;
    if (!get(condition.getCondition()))
      break;
    pass(condition.getArgs(), loop.getAfterArguments());
    list(*loop.getAfterBody(), task, trace);
    pass(loop.getYieldOp().getOperands(), loop.getBeforeArguments());
  }
  pass(loop.getConditionOp().getArgs(), loop.getResults());
}

//===----------------------------------------------------------------------===//
// Ordering events
//===----------------------------------------------------------------------===//

/// Performs an event, or begins a loop.
static Outcome step(const Rules &rules, State &state, unsigned task,
                    Operation *op, ArrayRef<int64_t> inputs, Finding &finding) {
  if (!isa<scf::ForOp>(op))
    return rules.step(state, task, op, inputs, finding);
  rules.enterLoop(state, op);
  return Outcome::Done;
}

std::optional<Counterexample>
Explorer::tryScenario(const ScenarioInputs::Scenario &scenario) {
  inputs.begin(scenario);
  values.assign(program.getNumValues(), std::nullopt);
  defined.assign(program.getNumValues(), false);
  std::vector<Trace> traces;
  for (auto [i, task] : llvm::enumerate(program.getTasks())) {
    traces.emplace_back();
    list(*task.body, i, traces.back());
  }
  if (!inputs.finish())
    return std::nullopt;
  std::optional<Counterexample> found = order(traces);
  LDBG() << "scenario of " << scenario.number << " tiles, seed "
         << scenario.seed << ": "
         << (found ? found->finding.text : "no counterexample");
  return found;
}

/// Describes a deadlock by the findings of the blocked tasks. Returns an empty
/// finding if no task is blocked.
static Finding describeDeadlock(const TaskProgram &program,
                                ArrayRef<Finding> blocked) {
  Finding stuck;
  for (auto [task, finding] : llvm::enumerate(blocked)) {
    if (!finding.op)
      continue;
    const std::string &name = program.getTasks()[task].name;
    if (!stuck.op)
      stuck = {finding.op, name + " waits forever for " + finding.text};
    else
      stuck = {stuck.op, stuck.text, finding.op,
               name + " waits for " + finding.text};
  }
  return stuck;
}

std::optional<Counterexample> Explorer::order(ArrayRef<Trace> traces) {
  State state = rules.getInitial();
  SmallVector<size_t> next(traces.size(), 0);
  std::vector<std::pair<unsigned, const TraceEvent *>> past;
  SmallVector<Finding> blocked(traces.size());
  bool begun = false;
  bool mayTrap =
      llvm::any_of(traces, [](const Trace &trace) { return trace.hasTrapped; });
  auto hasEnded = [&](unsigned task) {
    return next[task] == traces[task].events.size();
  };
  for (bool made = true; made;) {
    made = false;
    for (unsigned task = 0; task < traces.size(); ++task) {
      blocked[task] = {};
      while (!hasEnded(task) && (task == 0 || begun)) {
        const TraceEvent &event = traces[task].events[next[task]];
        ++steps;
        if (isa<SpecializeOp>(event.op)) {
          bool allEnded = begun;
          for (unsigned role = 1; role < traces.size(); ++role)
            allEnded &= hasEnded(role) && !traces[role].hasEnded();
          made |= !begun;
          begun = true;
          if (!allEnded)
            break;
          ++next[task];
          made = true;
          continue;
        }
        Finding finding;
        Outcome outcome =
            step(rules, state, task, event.op, event.inputs, finding);
        if (outcome == Outcome::Blocked) {
          blocked[task] = finding;
          break;
        }
        if (!isa<scf::ForOp>(event.op))
          past.push_back({task, &event});
        if (outcome == Outcome::Wrong && !isEvidence(finding, past))
          return std::nullopt;
        // With a trap ahead, the fault need not come first.
        if (outcome == Outcome::Wrong)
          return mayTrap ? std::nullopt
                         : std::optional(describe(finding, past));
        ++next[task];
        made = true;
      }
    }
  }
  // Events that were cut off might have unblocked a task.
  for (auto [task, trace] : llvm::enumerate(traces))
    if (trace.isCut || (trace.hasTrapped && hasEnded(task)))
      return std::nullopt;
  Finding stuck = describeDeadlock(program, blocked);
  if (!stuck.op && rules.finish(state, stuck))
    return std::nullopt;
  return describe(stuck, past);
}

/// Whether the last event shows a fault, and not only that a rule is broken.
bool Explorer::isEvidence(
    const Finding &finding,
    ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const {
  return !finding.isSuspicion && (!finding.mayBeApart || overlapsEarlier(past));
}

/// Whether the last event writes to bytes that its task has written to, and
/// that writes cannot have ended since.
bool Explorer::overlapsEarlier(
    ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const {
  auto [task, last] = past.back();
  if (!last->written)
    return false;
  const WrittenRegion &region = regions.at(last->op);
  for (auto [other, event] : llvm::reverse(past.drop_back())) {
    if (other != task)
      continue;
    if (mayEndWrites(event->op))
      return false;
    if (event->written &&
        overlap(region, *last->written, regions.at(event->op), *event->written))
      return true;
  }
  return false;
}

Counterexample Explorer::describe(
    const Finding &finding,
    ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const {
  Counterexample result{finding, inputs.get(), {}};
  for (auto [i, step] : llvm::enumerate(past)) {
    auto [task, event] = step;
    result.trace.push_back({event->op, task,
                            std::to_string(i + 1) + ": " +
                                program.getTasks()[task].name + ": " +
                                rules.describe(event->op, event->inputs)});
  }
  return result;
}
