//===- Verify.cpp - Verification of schedules -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy of a check, from cheap to expensive:
//
//   1. Faults and obstacles that the models find without a search.
//   2. Units (a channel or a group of barriers, with their buffers) are proved
//      one by one, in one order of the tasks in which none of them blocks.
//      A proof of a unit is first tried lean: without events that only add
//      branches.
//   3. The whole kernel is proved, with tasks that may block.
//   4. A counterexample is searched for small inputs (Explorer).
//
// Each proof tries coarse abstractions first: paths that differ in
// happens-before knowledge only are joined, and loop-carried numbers are not
// related. Each is refined if the proof fails.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierRules.h"
#include "Verifier/Channels/ChannelRules.h"
#include "Verifier/Engine/Explorer.h"
#include "Verifier/Engine/Prover.h"
#include "Verifier/GlobalOrder.h"

#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"
#include "tilews/Verifier/ScheduleVerdict.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

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
/// The attempts at a proof of one kernel so far.
struct Attempt {
  ProofEffort effort = {};
  /// The obstacle at which one of them had too many states.
  std::optional<Finding> exhausted = {};
};
} // namespace

/// Tries to prove the schedule; returns the obstacle, or nullopt. Tries coarse
/// abstractions first: paths that differ in happens-before knowledge only are
/// joined, loop-carried numbers are not related. Refines each if the proof
/// fails. With `waiting`, tasks run in the fixed `order` and must never block;
/// `*waiting` is then the task that did.
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
      attempt.effort += prover->getEffort();
      LDBG() << "attempt"
             << (options.joinsKnowledge ? ", joining knowledge" : "")
             << (relatesCounts ? ", relating counts" : "") << ": "
             << (found ? found->text : "proved");
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

/// Proves the whole kernel, or searches for a counterexample: an obstacle to a
/// proof need not be a fault. Skips the proof if one of a unit had too many
/// states.
static ScheduleVerdict check(const TaskProgram &program, const Rules &rules,
                             Attempt &attempt) {
  ScheduleVerdict verdict;
  std::optional<Finding> finding = attempt.exhausted;
  if (!finding)
    finding = prove(program, rules, /*order=*/{}, attempt);
  if (finding && finding->isCertain) {
    verdict = makeVerdict(ScheduleVerdict::Kind::Counterexample, *finding);
  } else if (finding) {
    TaskProgram asserting(program.getKernel(), rules);
    if (auto obstacle = asserting.build(/*withAllAssertions=*/true))
      return makeVerdict(ScheduleVerdict::Kind::Unsupported, *obstacle);
    if (auto found = Explorer(asserting, rules).run()) {
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

/// Proves the units of a schedule one by one; returns false if one proof fails.
///
/// All units are proved for one order of the tasks, in which no task ever
/// blocks, and which depends on control flow only, not on the unit. In that
/// order the whole schedule runs to its end, too. So it does in any other order
/// (docs/verifier-proof.md).
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
    LDBG() << "unit " << unit << (isLean ? ", lean" : "");
    if (!prove(program, rules, order, attempt, &waiting)) {
      ++proved;
      unit = (unit + 1) % rules.getNumUnits();
      isLean = true;
      continue;
    }
    if (attempt.exhausted)
      return false;
    if (!waiting && isLean && rules.getNumUnits() > 1) {
      isLean = false;
      continue;
    }
    if (!waiting || ++moves > order.size())
      return false;
    LDBG() << program.getTasks()[*waiting].name
           << " must wait: it comes after all other tasks";
    llvm::erase(order, *waiting);
    order.push_back(*waiting);
    proved = 0; // The proofs so far were for another order.
    isLean = true;
  }
  return true;
}

/// Checks a kernel by `rules`, those of the form that it is in.
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
  verdict.effort = attempt.effort;
  verdict.links = rules.getNumLinks();
  kernel.walk([&](Operation *op) { verdict.events += rules.isEvent(op); });
  return verdict;
}

/// Checks the plan of shared memory, if there is one; returns its fault.
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

/// Checks a kernel by the rules of its form.
static ScheduleVerdict checkForm(gpu::GPUFuncOp kernel) {
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

ScheduleVerdict verifier::verifySchedule(gpu::GPUFuncOp kernel) {
  using Kind = ScheduleVerdict::Kind;
  ScheduleVerdict verdict = checkForm(kernel);
  if (verdict.kind == Kind::Counterexample || verdict.kind == Kind::Unsupported)
    return verdict;
  if (std::optional<Finding> read = findUnfollowedRead(kernel)) {
    ScheduleVerdict refused = makeVerdict(Kind::Unsupported, *read);
    refused.effort = verdict.effort;
    return refused;
  }
  return verdict;
}
