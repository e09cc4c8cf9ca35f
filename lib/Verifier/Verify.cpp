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
// Where a proof fails and a finer one may succeed, a quick search comes first:
// most faults show in a few runs, and fine proofs of wrong schedules take long.
//
// Each proof tries coarse abstractions first: guards whose conditions are taken
// together are decided as one, comparisons of remainders are decided anew where
// they repeat, paths that differ in happens-before knowledge only are joined,
// and loop-carried numbers are not related. Each is refined if the proof fails.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Barriers/BarrierRules.h"
#include "Verifier/Channels/ChannelRules.h"
#include "Verifier/Counterexamples/Explorer.h"
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

/// The steps of the first attempts at a kernel whose guards compare numbers: a
/// tenth of a second, and some tenths.
static constexpr size_t kStepsOfNumbers = 1000000;
static constexpr size_t kStepsOfPredicates = 4000000;

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
/// The check of one kernel by the rules of the form that it is in.
class KernelCheck {
public:
  KernelCheck(gpu::GPUFuncOp kernel, Rules &rules)
      : kernel(kernel), rules(rules), budget(kernel) {}

  ScheduleVerdict run();

private:
  /// The events that are proved together: of one unit, or all.
  struct Selection {
    std::optional<unsigned> unit = {};
    bool isLean = false;
  };

  void select(const Selection &selection);
  std::optional<Finding> prove(const TaskProgram &program,
                               const Selection &selection,
                               ArrayRef<unsigned> order = {},
                               std::optional<unsigned> *waiting = nullptr);
  std::optional<Finding> attempt(const TaskProgram &program,
                                 const Selection &selection,
                                 ProverOptions options,
                                 std::optional<unsigned> &waiting);
  bool hasSameGroups(unsigned proved);
  bool proveUnits();
  ScheduleVerdict checkWhole();
  bool findFault(bool isQuick);

  gpu::GPUFuncOp kernel;
  Rules &rules;
  ProofBudget budget;
  ProofEffort effort;
  /// The groups with parts of loops: of the last proof, and of all units.
  std::set<LoopGroups::GroupKey> uneven, unevenOfUnits;
  /// Whether guards compare numbers in the last proof.
  bool comparesNumbers = false;
  /// The obstacle at which the budget was spent.
  std::optional<Finding> exhausted;
  /// The search for a counterexample, why there is none, and what it has found.
  std::optional<TaskProgram> searched;
  std::optional<Finding> obstacle;
  std::optional<Explorer> explorer;
  std::optional<Counterexample> fault;
};
} // namespace

void KernelCheck::select(const Selection &selection) {
  if (selection.unit)
    rules.select(*selection.unit, selection.isLean);
  else
    rules.selectAll();
}

/// Goes on with the search for a counterexample: in a part of the scenarios, or
/// in all of them. Selects all events.
bool KernelCheck::findFault(bool isQuick) {
  rules.selectAll();
  if (!searched) {
    searched.emplace(kernel, rules);
    obstacle = searched->build(/*toExecute=*/true);
    if (!obstacle && !rules.getLimit())
      explorer.emplace(*searched, rules);
  }
  if (explorer && !fault)
    fault = explorer->run(isQuick);
  return fault.has_value();
}

/// Refines the coarsest abstraction that the failed attempt of `prover` has
/// made use of; false if there is none.
static bool refine(ProverOptions &options, const Prover &prover,
                   bool mayJoinKnowledge) {
  if (options.joinsGuards && prover.haveGuardsJoined()) {
    options.joinsGuards = false;
  } else if (options.forgetsRepeats && prover.haveForgottenRepeats()) {
    options.forgetsRepeats = false;
  } else if (prover.hasLostKnowledge()) {
    options.joinsKnowledge = false;
  } else if (!options.relatesCounts && prover.hasCounts()) {
    options.relatesCounts = true;
    options.joinsKnowledge = mayJoinKnowledge;
  } else {
    return false;
  }
  return true;
}

/// Tries to prove the schedule; returns the obstacle, or nullopt. Tries coarse
/// abstractions first, and refines them if the proof fails and a quick search
/// finds no fault.
std::optional<Finding> KernelCheck::attempt(const TaskProgram &program,
                                            const Selection &selection,
                                            ProverOptions options,
                                            std::optional<unsigned> &waiting) {
  std::optional<Finding> finding;
  for (;;) {
    Prover prover(program, rules, budget, options);
    std::optional<Finding> found = prover.run();
    effort += prover.getEffort();
    LDBG() << "attempt" << (options.joinsKnowledge ? ", joining knowledge" : "")
           << (options.relatesCounts ? ", relating counts" : "")
           << (options.takesPredicates ? ", with predicates" : "") << ": "
           << (found ? found->text : "proved");
    uneven = prover.getUneven();
    comparesNumbers = prover.hasComparisons();
    if (!found)
      return std::nullopt;
    if (!options.relatesCounts) {
      finding = found;
      waiting = prover.getWaiting();
    }
    // A guard of which too little is known may let a task wait as well.
    bool mustWait = prover.getWaiting() &&
                    !(options.joinsGuards && prover.haveGuardsJoined()) &&
                    !(options.forgetsRepeats && prover.haveForgottenRepeats());
    if (found->isCertain || prover.isExhausted() || mustWait ||
        !refine(options, prover, !rules.getKnowledge().empty()) ||
        findFault(/*isQuick=*/true))
      return finding;
    select(selection);
  }
}

/// The same with comparisons of guards as numbers, then as predicates if these
/// numbers are too hard. With `waiting`, tasks run in the fixed `order` and
/// must never block; `*waiting` is then the task that did.
std::optional<Finding> KernelCheck::prove(const TaskProgram &program,
                                          const Selection &selection,
                                          ArrayRef<unsigned> order,
                                          std::optional<unsigned> *waiting) {
  ProverOptions options;
  options.mayWait = !waiting;
  options.isLean = selection.isLean;
  options.order.assign(order.begin(), order.end());
  options.joinsKnowledge = !rules.getKnowledge().empty();
  std::optional<unsigned> ignored;
  std::optional<unsigned> &waits = waiting ? *waiting : ignored;
  budget.begin(kStepsOfNumbers);
  std::optional<Finding> finding = attempt(program, selection, options, waits);
  bool wasCutOff = budget.isSpent();
  if (!finding || fault || finding->isCertain || !comparesNumbers)
    return finding;
  if (!waits && findFault(/*isQuick=*/true))
    return finding;
  select(selection);
  options.takesPredicates = true;
  std::optional<unsigned> other;
  budget.begin(kStepsOfPredicates);
  if (!attempt(program, selection, options, other))
    return std::nullopt;
  options.takesPredicates = false;
  if (wasCutOff && !fault) {
    select(selection);
    budget.begin();
    finding = attempt(program, selection, options, waits);
  }
  if (budget.isSpent())
    exhausted = finding;
  return finding;
}

/// Says that a fault depends on offsets, if it does.
static Finding explainOffsets(Finding finding) {
  if (finding.mayBeApart)
    finding.text += ": the offsets of its writes may be equal";
  return finding;
}

/// Proves the whole kernel, or searches for a counterexample: an obstacle to a
/// proof need not be a fault. Skips the proof if there is a fault, or if the
/// budget is spent.
ScheduleVerdict KernelCheck::checkWhole() {
  using Kind = ScheduleVerdict::Kind;
  if (std::optional<Finding> limit = rules.getLimit())
    return makeVerdict(Kind::Unsupported, *limit);
  TaskProgram program(kernel, rules);
  if (std::optional<Finding> unclear = program.build())
    return makeVerdict(Kind::Unsupported, *unclear);
  std::optional<Finding> finding = exhausted;
  if (!finding && !fault)
    finding = prove(program, {});
  if (!finding && !fault)
    return {};
  if (finding && finding->isCertain)
    return makeVerdict(Kind::Counterexample, *finding);
  if (!findFault(/*isQuick=*/false))
    return makeVerdict(Kind::Unsupported,
                       obstacle ? *obstacle : explainOffsets(*finding));
  ScheduleVerdict verdict = makeVerdict(Kind::Counterexample, fault->finding);
  verdict.inputs = std::move(fault->inputs);
  verdict.trace = std::move(fault->trace);
  return verdict;
}

/// Whether parts of the same loops have run together in the last proof as in
/// those of the `proved` units before. Which of them do depends on facts, and a
/// unit does not have the facts from the guards of others.
bool KernelCheck::hasSameGroups(unsigned proved) {
  if (proved == 0)
    unevenOfUnits = uneven;
  return uneven == unevenOfUnits;
}

/// Proves the units of a schedule one by one; returns false if one proof fails.
///
/// All units are proved for one order of the tasks, in which no task ever
/// blocks, and which depends on control flow only, not on the unit. In that
/// order the whole schedule runs to its end, too. So it does in any other order
/// (docs/verifier-states.md).
bool KernelCheck::proveUnits() {
  SmallVector<unsigned> order;
  unsigned unit = 0, proved = 0, moves = 0;
  bool isLean = true;
  while (proved < rules.getNumUnits()) {
    select({unit, isLean});
    TaskProgram program(kernel, rules);
    if (rules.getLimit() || program.build())
      return false;
    for (unsigned task = order.size(); task < program.getTasks().size(); ++task)
      order.push_back(task);
    std::optional<unsigned> waiting;
    LDBG() << "unit " << unit << (isLean ? ", lean" : "");
    std::optional<Finding> finding =
        prove(program, {unit, isLean}, order, &waiting);
    if (!finding) {
      if (!hasSameGroups(proved))
        return false;
      ++proved;
      unit = (unit + 1) % rules.getNumUnits();
      isLean = true;
      continue;
    }
    if (exhausted || fault)
      return false;
    if (!waiting && isLean && rules.getNumUnits() > 1) {
      if (!finding->isCertain && findFault(/*isQuick=*/true))
        return false;
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

ScheduleVerdict KernelCheck::run() {
  bool isProved = proveUnits();
  rules.selectAll();
  ScheduleVerdict verdict = isProved ? ScheduleVerdict() : checkWhole();
  verdict.effort = effort;
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
    return KernelCheck(kernel, barriers).run();
  ChannelRules channels(kernel);
  if (!channels.getErrors().empty())
    return makeVerdict(Kind::Counterexample, channels.getErrors().front());
  if (channels.getObstacle())
    return makeVerdict(Kind::Unsupported, *channels.getObstacle());
  return channels.isEmpty() ? ScheduleVerdict()
                            : KernelCheck(kernel, channels).run();
}

ScheduleVerdict verifier::verifySchedule(gpu::GPUFuncOp kernel) {
  using Kind = ScheduleVerdict::Kind;
  ScheduleVerdict verdict = checkForm(kernel);
  if (verdict.kind == Kind::Counterexample || verdict.kind == Kind::Unsupported)
    return verdict;
  if (std::optional<Finding> access = findUnorderedAccess(kernel)) {
    ScheduleVerdict refused = makeVerdict(Kind::Unsupported, *access);
    refused.effort = verdict.effort;
    return refused;
  }
  return verdict;
}
