//===- Verify.cpp - Whether a schedule is right ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierRules.h"
#include "Verifier/Channels/ChannelRules.h"
#include "Verifier/Engine/Explorer.h"
#include "Verifier/Engine/Prover.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"
#include "tilews/Verifier/ScheduleVerdict.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

static ScheduleVerdict makeVerdict(ScheduleVerdict::Kind kind,
                                   const Finding &finding) {
  ScheduleVerdict verdict;
  verdict.kind = kind;
  verdict.op = finding.op;
  verdict.text = finding.text;
  verdict.other = finding.other;
  verdict.otherText = finding.otherText;
  return verdict;
}

namespace {
/// How an attempt at a proof went.
struct Attempt {
  /// The states it went through, and those of the attempts before.
  unsigned states = 0;
  /// What was in the way if these were too many.
  std::optional<Finding> exhausted = {};
};
} // namespace

/// What keeps from a proof, if anything, with an order of the tasks if there is
/// one. Few schedules need to relate counts, or to tell ways apart by what
/// tasks know on them. `waiting` is the task that had to wait in an order in
/// which none may.
static std::optional<Finding>
prove(const TaskProgram &program, const Rules &rules, ArrayRef<unsigned> order,
      Attempt &attempt, std::optional<unsigned> *waiting = nullptr) {
  std::optional<Finding> finding;
  ProverOptions options;
  options.mayWait = !waiting;
  options.order.assign(order.begin(), order.end());
  for (bool relatesCounts : {false, true}) {
    options.relatesCounts = relatesCounts;
    options.joinsKnowledge = !rules.getKnowledge().empty();
    std::optional<Prover> prover;
    std::optional<Finding> found;
    do {
      prover.emplace(program, rules, options);
      found = prover->run();
      attempt.states += prover->getNumStates();
    } while (std::exchange(options.joinsKnowledge, false) &&
             prover->hasLostKnowledge());
    if (!found)
      return std::nullopt;
    if (!relatesCounts) {
      finding = found;
      if (prover->isExhausted())
        attempt.exhausted = found;
      if (waiting)
        *waiting = prover->getWaiting();
    }
    if (found->isCertain || prover->isExhausted() || prover->getWaiting() ||
        !prover->hasCounts())
      break;
  }
  return finding;
}

/// A proof, or else a counterexample: what keeps from a proof need not happen.
/// If a unit has too many states the whole has, too.
static ScheduleVerdict check(const TaskProgram &program, const Rules &rules,
                             Attempt &attempt) {
  ScheduleVerdict verdict;
  std::optional<Finding> finding = attempt.exhausted;
  if (!finding)
    finding = prove(program, rules, /*order=*/{}, attempt);
  if (finding && finding->isCertain) {
    verdict = makeVerdict(ScheduleVerdict::Kind::Counterexample, *finding);
  } else if (finding) {
    if (auto found = Explorer(program, rules).run()) {
      verdict =
          makeVerdict(ScheduleVerdict::Kind::Counterexample, found->finding);
      verdict.inputs = std::move(found->inputs);
      verdict.trace = std::move(found->trace);
    } else {
      verdict = makeVerdict(ScheduleVerdict::Kind::Unsupported, *finding);
    }
  }
  return verdict;
}

/// Proves the units of a schedule one by one; false if one resists.
///
/// All are proved for one order of events, in which nobody ever waits and which
/// does not depend on the unit: of control flow only. In that order the whole
/// schedule runs to its end, too, and so it does in any other.
static bool proveUnits(gpu::GPUFuncOp kernel, Rules &rules, Attempt &attempt) {
  SmallVector<unsigned> order;
  unsigned unit = 0, proved = 0, moves = 0;
  bool isLean = true;
  while (proved < rules.getNumUnits()) {
    rules.select(unit, isLean);
    TaskProgram program(kernel, rules);
    if (rules.getLimit() || program.build())
      return false;
    for (unsigned task = order.size(); task < program.getTasks().size(); ++task)
      order.push_back(task);
    std::optional<unsigned> waiting;
    if (!prove(program, rules, order, attempt, &waiting)) {
      ++proved;
      unit = (unit + 1) % rules.getNumUnits();
      isLean = true;
      continue;
    }
    if (attempt.exhausted)
      return false;
    // Those that wait come behind those that they wait for.
    if (!waiting && isLean && rules.getNumUnits() > 1) {
      isLean = false;
      continue;
    }
    if (!waiting || ++moves > order.size())
      return false;
    llvm::erase(order, *waiting);
    order.push_back(*waiting);
    proved = 0; // In this order.
    isLean = true;
  }
  return true;
}

/// Checks a kernel in the form that `rules` is for.
static ScheduleVerdict check(gpu::GPUFuncOp kernel, Rules &rules) {
  ScheduleVerdict verdict;
  Attempt attempt;
  bool isProved = proveUnits(kernel, rules, attempt);
  rules.selectAll();
  if (!isProved) {
    if (std::optional<Finding> limit = rules.getLimit())
      return makeVerdict(ScheduleVerdict::Kind::Unsupported, *limit);
    TaskProgram program(kernel, rules);
    if (std::optional<Finding> obstacle = program.build())
      return makeVerdict(ScheduleVerdict::Kind::Unsupported, *obstacle);
    verdict = check(program, rules, attempt);
  }
  verdict.states = attempt.states;
  verdict.links = rules.getNumLinks();
  kernel.walk([&](Operation *op) { verdict.events += rules.isEvent(op); });
  return verdict;
}

/// What is wrong with the places of shared memory, if they are planned.
static std::optional<Finding> checkPlan(gpu::GPUFuncOp kernel) {
  if (!kernel->hasAttr(TileDialect::kSharedBytes))
    return std::nullopt;
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return std::nullopt;
  std::optional<PlanFault> fault = findPlanFault(kernel, *target);
  if (!fault)
    return std::nullopt;
  Finding finding{fault->op, fault->text};
  finding.other = fault->other;
  finding.otherText = "here";
  return finding;
}

ScheduleVerdict verifier::verifySchedule(gpu::GPUFuncOp kernel) {
  using Kind = ScheduleVerdict::Kind;
  if (std::optional<Finding> fault = checkPlan(kernel))
    return makeVerdict(Kind::Counterexample, *fault);
  BarrierRules barriers(kernel);
  if (barriers.getObstacle())
    return makeVerdict(Kind::Unsupported, *barriers.getObstacle());
  if (!barriers.isEmpty())
    return check(kernel, barriers);
  ChannelRules channels(kernel);
  if (!channels.getErrors().empty())
    return makeVerdict(Kind::Counterexample, channels.getErrors().front());
  if (channels.getObstacle())
    return makeVerdict(Kind::Unsupported, *channels.getObstacle());
  return channels.isEmpty() ? ScheduleVerdict() : check(kernel, channels);
}
