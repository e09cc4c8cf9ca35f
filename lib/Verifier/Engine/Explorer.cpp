//===- Explorer.cpp - A search for counterexamples ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bounded testing. A scenario chooses all arguments and loaded values: first
// small numbers of tiles, so that traces are short, then numbers just beyond
// the constants that the kernel compares with, then random ones with fixed
// seeds. For each scenario the scalars of every task are executed, which lists
// its events with their inputs. The lists are then merged in one order: each
// task goes on until the rules block it. A broken rule, or a deadlock, is a
// counterexample.
//
// A choice is named by the operation and its operands, as in a proof, so two
// roles that load mask[3] get one value.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Explorer.h"

#include "Verifier/Symbolic/FoldIntegers.h"

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
/// Kernels have no special case for more iterations than this.
static constexpr int64_t kLargestLimit = 100;

Explorer::Explorer(const TaskProgram &program, const Rules &rules)
    : program(program), rules(rules) {
  findScales();
}

std::optional<Counterexample> Explorer::run() {
  // Few iterations first: short traces are easy to read.
  for (int64_t number : {1, 2, 3, 4, 5, 6, 8, 11, 0})
    if (auto found = tryScenario({number, 0}))
      return found;
  for (int64_t number : limits)
    if (auto found = tryScenario({number, 0}))
      return found;
  for (uint64_t seed = 1; seed < 200 && steps < kMaxSteps; ++seed)
    if (auto found = tryScenario({-1, seed}))
      return found;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static std::optional<std::pair<Value, int64_t>> getExtent(Value value) {
  if (auto dim = value.getDefiningOp<memref::DimOp>())
    if (std::optional<int64_t> index = dim.getConstantIndex())
      return std::pair(dim.getSource(), *index);
  if (isa<BlockArgument>(value))
    return std::pair(value, int64_t(-1));
  return std::nullopt;
}

/// Finds the tile size of each extent and argument, by which they are divided;
/// scenarios choose a number of tiles.
void Explorer::findScales() {
  gpu::GPUFuncOp(program.getKernel()).walk([&](Operation *op) {
    IntegerAttr limit;
    if (isa<arith::CmpIOp, arith::MinSIOp, arith::MaxSIOp>(op) &&
        matchPattern(op->getOperand(1), m_Constant(&limit)) &&
        limit.getInt() > 0 && limit.getInt() < kLargestLimit)
      limits.insert(limit.getInt() + 2);
    if (isa<arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
      if (Type type = op->getResult(0).getType();
          type.isInteger() && type.getIntOrFloatBitWidth() < 32)
        narrowest =
            std::min(narrowest ? narrowest : 32u, type.getIntOrFloatBitWidth());
    if (!isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::DivSIOp,
             arith::DivUIOp, arith::FloorDivSIOp>(op))
      return;
    IntegerAttr divisor;
    auto extent = getExtent(op->getOperand(0));
    if (!extent || !matchPattern(op->getOperand(1), m_Constant(&divisor)))
      return;
    int64_t &scale = scales[*extent];
    scale = std::max(scale, divisor.getInt());
  });
}

/// Spreads the bits of a number (Steele et al., "Fast splittable pseudorandom
/// number generators").
static uint64_t mix(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

int64_t Explorer::chooseInteger(Type type, uint64_t identity, int64_t scale) {
  uint64_t random = mix(mix(identity) + scenario.seed);
  if (type.isInteger(1))
    return scenario.number >= 0 ? 1 : random >> 7 & 1;
  if (!type.isIntOrIndex())
    return random;
  static constexpr int64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 7, 9};
  if (scenario.number >= 0)
    return scale * scenario.number;
  // Half of the random numbers are such that narrow arithmetic wraps around.
  bool wraps = random >> 10 & 1;
  if (unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
      wraps && width < 32)
    return llvm::SignExtend64(random >> 11, width);
  if (wraps && narrowest)
    return int64_t(1) << narrowest;
  return scale * kNumbers[random >> 7 & 7];
}

static std::string getName(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "";
  auto kernel = dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  auto name = kernel ? kernel.getArgAttrOfType<StringAttr>(number, "tile.name")
                     : StringAttr();
  return name ? name.str() : "argument " + std::to_string(number);
}

int64_t Explorer::get(Value value) {
  int64_t number = program.getNumber(value);
  if (number >= 0 && defined[number])
    return values[number];
  // The slice does not define this cursor, so the scenario is not valid.
  if (isa<CursorType>(value.getType())) {
    isUnknown = true;
    return 0;
  }
  uint64_t identity =
      identify({reinterpret_cast<int64_t>(value.getAsOpaquePointer())});
  int64_t scale = 1;
  if (auto it = scales.find({value, -1}); it != scales.end())
    scale = it->second;
  int64_t chosen = chooseInteger(value.getType(), identity, scale);
  if (value.getType().isIntOrIndex() && isa<BlockArgument>(value))
    note(getName(value), ScheduleVerdict::Input::Kind::Scalar, value, {},
         chosen);
  return chosen;
}

/// Chooses the result of an operation that is not computed from integers.
int64_t Explorer::choose(OpResult result, uint64_t identity) {
  Operation *op = result.getOwner();
  if (isa<gpu::BlockIdOp>(op))
    return 0;
  if (isa<gpu::GridDimOp>(op))
    return 1;
  int64_t scale = 1;
  if (auto extent = getExtent(result))
    if (auto it = scales.find(*extent); it != scales.end())
      scale = it->second;
  int64_t value = chooseInteger(result.getType(), identity, scale);
  if (result.getType().isIntOrIndex())
    note(result, value);
  return value;
}

/// Adds a choice to the inputs of the counterexample.
void Explorer::note(OpResult result, int64_t value) {
  using Kind = ScheduleVerdict::Input::Kind;
  if (auto extent = getExtent(result))
    return note("extent " + std::to_string(extent->second) + " of " +
                    getName(extent->first),
                Kind::Extent, extent->first, {extent->second}, value);
  auto load = dyn_cast<memref::LoadOp>(result.getOwner());
  if (!load)
    return note("'" + result.getOwner()->getName().getStringRef().str() + "'",
                Kind::Other, {}, {}, value);
  SmallVector<int64_t> indices;
  for (Value index : load.getIndices())
    indices.push_back(get(index));
  Value memory = load.getMemRef();
  if (CopyOp copy = program.getCopyOf(load)) {
    memory = copy.getSource();
    indices = getCopiedPlace(copy, indices);
  }
  std::string name = getName(memory) + "[";
  llvm::raw_string_ostream os(name);
  llvm::interleaveComma(indices, os);
  os << "]";
  note(name, Kind::Element, memory, indices, value);
}

/// The indices in the source of `copy` that it copies to `indices` of its
/// destination, or to the first element if there are no indices.
SmallVector<int64_t> Explorer::getCopiedPlace(CopyOp copy,
                                              ArrayRef<int64_t> indices) {
  SmallVector<int64_t> place;
  for (auto [offset, dim] :
       llvm::zip_equal(copy.getSourceRegion().offsets, getDestDims(copy))) {
    auto value = dyn_cast<Value>(offset);
    place.push_back(value ? get(value) : *getConstantIntValue(offset));
    if (dim && *dim < indices.size())
      place.back() += indices[*dim];
  }
  return place;
}

void Explorer::note(const std::string &name, ScheduleVerdict::Input::Kind kind,
                    Value of, ArrayRef<int64_t> place, int64_t value) {
  ScheduleVerdict::Input input;
  auto argument = dyn_cast_if_present<BlockArgument>(of);
  if (argument && argument.getOwner()->getParentOp() == program.getKernel()) {
    input.kind = kind;
    input.argument = argument.getArgNumber();
  }
  llvm::append_range(input.place, place);
  input.value = value;
  inputs.try_emplace(name, std::move(input));
}

void Explorer::evaluate(Operation *op) {
  if (llvm::none_of(op->getResults(), [&](Value result) {
        return program.getNumber(result) >= 0;
      }))
    return;
  auto set = [&](Value result, int64_t value) {
    int64_t number = program.getNumber(result);
    if (number < 0)
      return;
    values[number] = value;
    defined[number] = true;
  };
  IntegerAttr constant;
  if (matchPattern(op, m_Constant(&constant))) {
    const APInt &value = constant.getValue();
    set(op->getResult(0),
        value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue());
    return;
  }
  SmallVector<int64_t> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  if (isa<CursorOp>(op))
    return set(op->getResult(0), 0);
  if (auto advance = dyn_cast<AdvanceOp>(op))
    return set(op->getResult(0),
               (operands[0] + 1) %
                   (2 * advance.getCursor().getType().getDepth()));
  bool areIntegers = llvm::all_of(
      op->getOperandTypes(), [](Type type) { return type.isIntOrIndex(); });
  if (areIntegers)
    if (std::optional<int64_t> folded = foldIntegers(op, operands))
      return set(op->getResult(0), *folded);
  if (isa<ConvertLayoutOp>(op))
    return set(op->getResult(0), operands[0]);
  // A select of cursors has no folder.
  if (isa<arith::SelectOp>(op) && op->getOperand(0).getType().isInteger(1))
    return set(op->getResult(0), operands[operands[0] ? 1 : 2]);
  for (OpResult result : op->getResults()) {
    Identity identity = getIdentity(result);
    SmallVector<int64_t> words = identity.words;
    for (OpFoldResult operand : identity.operands) {
      auto value = dyn_cast<Value>(operand);
      words.push_back(value ? get(value) : *getConstantIntValue(operand));
    }
    if (CopyOp copy = program.getCopyOf(op))
      llvm::append_range(words, getCopiedPlace(copy, {}));
    // Two reads of the same place get the same value, as if nothing wrote there
    // in between; an example of that kind is valid, too.
    set(result, choose(result, identify(words)));
  }
}

//===----------------------------------------------------------------------===//
// Listing events
//===----------------------------------------------------------------------===//

void Explorer::pass(ValueRange from, ValueRange to) {
  SmallVector<int64_t> passed;
  for (auto [source, dest] : llvm::zip(from, to))
    passed.push_back(program.getNumber(dest) >= 0 ? get(source) : 0);
  for (auto [value, dest] : llvm::zip(passed, to))
    if (int64_t number = program.getNumber(dest); number >= 0) {
      values[number] = value;
      defined[number] = true;
    }
}

void Explorer::list(Block &block, unsigned task, Trace &trace) {
  for (Operation &op : block) {
    if (!program.matters(&op))
      continue;
    ++steps;
    if (trace.isCut || trace.events.size() > kMaxEvents || steps > kMaxSteps) {
      trace.isCut = true;
      return;
    }
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
        trace.events.push_back(std::move(event));
      }
      evaluate(&op);
    }
  }
}

void Explorer::listFor(scf::ForOp loop, unsigned task, Trace &trace) {
  int64_t upper = get(loop.getUpperBound()), step = get(loop.getStep());
  int64_t iteration = get(loop.getLowerBound());
  int64_t number = program.getNumber(loop.getInductionVar());
  // A carried value may matter after the loop only.
  pass(loop.getInitArgs(), loop.getResults());
  pass(loop.getInitArgs(), loop.getRegionIterArgs());
  bool isNegative = iteration < 0 || upper < 0;
  trace.isCut |= step <= 0 || (loop.getUnsignedCmp() && isNegative);
  for (; iteration < upper && !trace.isCut; iteration += step) {
    ++steps;
    values[number] = iteration;
    defined[number] = true;
    list(*loop.getBody(), task, trace);
    ValueRange next = loop.getBody()->getTerminator()->getOperands();
    pass(next, loop.getResults());
    pass(next, loop.getRegionIterArgs());
  }
}

void Explorer::listWhile(scf::WhileOp loop, unsigned task, Trace &trace) {
  pass(loop.getInits(), loop.getBeforeArguments());
  while (!trace.isCut) {
    list(*loop.getBeforeBody(), task, trace);
    scf::ConditionOp condition = loop.getConditionOp();
    // A loop that may never end gives no counterexample.
    trace.isCut |= ++steps > kMaxSteps;
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

std::optional<Counterexample> Explorer::tryScenario(const Scenario &chosen) {
  scenario = chosen;
  values.assign(program.getNumValues(), 0);
  defined.assign(program.getNumValues(), false);
  inputs.clear();
  identities.clear();
  std::vector<Trace> traces;
  isUnknown = false;
  for (auto [i, task] : llvm::enumerate(program.getTasks())) {
    traces.emplace_back();
    list(*task.body, i, traces.back());
  }
  if (isUnknown)
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
            allEnded &= hasEnded(role) && !traces[role].isCut;
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
            rules.step(state, task, event.op, event.inputs, finding);
        if (outcome == Outcome::Blocked) {
          blocked[task] = finding;
          break;
        }
        past.push_back({task, &event});
        if (outcome == Outcome::Wrong)
          return describe(finding, past);
        ++next[task];
        made = true;
      }
    }
  }
  // Events that were cut off might have unblocked a task.
  if (llvm::any_of(traces, [](const Trace &trace) { return trace.isCut; }))
    return std::nullopt;
  Finding stuck = describeDeadlock(program, blocked);
  if (!stuck.op && rules.finish(state, stuck))
    return std::nullopt;
  return describe(stuck, past);
}

Counterexample Explorer::describe(
    const Finding &finding,
    ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const {
  Counterexample result{finding, inputs, {}};
  for (auto [i, step] : llvm::enumerate(past)) {
    auto [task, event] = step;
    result.trace.push_back({event->op, task,
                            std::to_string(i + 1) + ": " +
                                program.getTasks()[task].name + ": " +
                                rules.describe(event->op, event->inputs)});
  }
  return result;
}
