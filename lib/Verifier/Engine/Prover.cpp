//===- Prover.cpp - Proofs of schedules -----------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A proof is a search through all paths that finds no obstacle. The search uses
// an abstraction of the program (which numbers stay constants, which
// loop-carried values have one name, which facts about induction variables are
// kept). Where a path shows that the abstraction does not fit, it is refined
// and the search is repeated. Refinements are finite in number: a value is
// widened once, classes are only split, and questions are only added.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

#include "Verifier/Engine/PathSearch.h"

#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

static constexpr unsigned kMaxSearches = 256;

Prover::Prover(const TaskProgram &program, const Rules &rules,
               ProofBudget &budget, ProverOptions chosen)
    : options(std::move(chosen)),
      context(program, rules, budget, options.joinsGuards,
              options.forgetsRepeats),
      values(context), inductions(context),
      conditions(context, inductions, values),
      predicates(context, values, options.takesPredicates),
      evaluator(context, inductions, values, conditions, predicates),
      guards(context, values, evaluator, options.isLean),
      carried(context, values, inductions, options.relatesCounts),
      peeling(context, values, conditions),
      loops(context, values, conditions, inductions, carried, peeling),
      machine(context, values, conditions, evaluator, guards, peeling,
              options.mayWait) {
  if (options.order.empty())
    for (unsigned task = 0; task < program.getTasks().size(); ++task)
      options.order.push_back(task);
}

std::optional<Finding> Prover::run() {
  StateKey key(context, values, inductions, options.joinsKnowledge);
  for (unsigned i = 0; i < kMaxSearches; ++i) {
    LDBG() << "search " << i << " begins";
    loops.begin();
    PathSearch search(context, values, machine, loops, peeling, key,
                      options.order, options.joinsKnowledge);
    bool proved = search.run();
    hasLost = search.hasLostKnowledge();
    if (!context.startsOver())
      return proved ? std::nullopt : context.getObstacle();
  }
  return Finding{context.program.getKernel(),
                 "no fixpoint was found for the values that loops carry"};
}
