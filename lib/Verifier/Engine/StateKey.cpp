//===- StateKey.cpp - Canonical form of a state ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A key is a string of numbers: where the tasks are, the expressions of live
// values, peeled loops, remainders of induction variables, the words of the
// rules' state, and the path condition. Expressions are hash-consed, so a
// number stands for each.
//
// Before that the state is brought to a canonical form (symmetry reduction: Ip
// and Dill, "Better verification through symmetry", 1996). A link treats all of
// its slots alike, so the next slot of each link is renamed to slot 0, in the
// state and in the values that are places of the link. This holds unless a
// cursor of the link may yet begin, at slot 0. Numbers of slots in kernels with
// groups of copies are renamed likewise, in the path itself (SlotSymmetry).
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/StateKey.h"

#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

StateKey::StateKey(ProofContext &context, const PathValues &values,
                   const InductionVariables &inductions, bool joinsKnowledge)
    : context(context), values(values), inductions(inductions),
      joinsKnowledge(joinsKnowledge), liveness(context.program),
      liveFacts(context.table), symmetry(context.program, context.rules) {
  llvm::DenseSet<unsigned> joined;
  if (joinsKnowledge)
    joined.insert_range(context.rules.getKnowledge());
  unsigned numWords = context.rules.getInitial().size();
  for (unsigned word = 0; word < numWords; ++word)
    if (!joined.contains(word))
      words.push_back(word);
}

/// Whether an operation that makes a cursor of `link` may yet be executed.
bool StateKey::mayBegin(const Path &path, unsigned link) const {
  const TaskProgram &program = context.program;
  return llvm::any_of(program.getCursors(), [&](CursorOp op) {
    unsigned number = program.getNumber(op.getCursor());
    return program.getPlacesOf(number).contains(link) &&
           (!path.values[number] || op->getParentOfType<LoopLikeOpInterface>());
  });
}

/// Renumbers the places of each link from the next one on; returns the next
/// place of each.
SmallVector<int64_t> StateKey::rotateLinks(const Path &path,
                                           State &state) const {
  SmallVector<int64_t> bases;
  for (unsigned link = 0; link < context.rules.getNumLinks(); ++link) {
    // The carried values of a peeled loop are not renamed.
    bool isSymmetric = path.peeled.empty() && !mayBegin(path, link);
    bases.push_back(isSymmetric ? context.rules.getBase(state, link) : 0);
    context.rules.rotate(state, link, bases.back());
  }
  return bases;
}

/// Renumbers the slots of buffers from the first live one on, where no number
/// may yet start at a certain slot.
void StateKey::rotateSlots(Path &path, ArrayRef<unsigned> live,
                           const std::string &place) {
  int64_t period = symmetry.getPeriod();
  if (period == 0 || !path.peeled.empty() ||
      liveness.isAhead(path, place, symmetry.getStarts()) ||
      llvm::any_of(live, [&](unsigned number) {
        return path.values[number] && symmetry.isStep(number);
      }))
    return;
  ArrayRef<unsigned> slots = symmetry.getSlots();
  SmallVector<std::pair<unsigned, int64_t>> numbers;
  std::optional<int64_t> base;
  for (unsigned number : slots) {
    if (!path.values[number])
      continue;
    std::optional<int64_t> slot =
        context.table.getConstantValue(path.values[number]);
    if (!slot || *slot < 0 || *slot >= period)
      return;
    numbers.push_back({number, *slot});
    if (!base && llvm::is_contained(live, number))
      base = slot;
  }
  if (base.value_or(0) == 0)
    return;
  context.rules.rotateSlots(path.state, *base);
  for (auto [number, slot] : numbers)
    path.values[number] =
        context.table.getConstant((slot - *base + period) % period);
}

/// Appends the expressions of live values.
void StateKey::appendValues(const Path &path, ArrayRef<unsigned> live,
                            ArrayRef<int64_t> bases, std::string &key) const {
  for (unsigned number : live) {
    Expr value = path.values[number];
    appendTo(key, value != 0);
    if (!value)
      continue;
    std::optional<int64_t> place = context.table.getConstantValue(value);
    const auto &links = context.program.getPlacesOf(number);
    if (!place || links.empty()) {
      appendTo(key, value);
      continue;
    }
    for (unsigned link : links)
      appendTo(key, context.rules.rotateInput(*place, link, bases[link]));
  }
}

void StateKey::appendLoops(const Path &path, std::string &key) const {
  for (const auto &frames : path.tasks)
    for (const TaskFrame &frame : frames)
      if (frame.group >= 0) {
        appendTo(key, frame.done);
        appendTo(key, frame.end);
        appendTo(key, frame.hasRest);
      }
  for (const PeeledLoop &rest : path.peeled) {
    appendTo(key, reinterpret_cast<int64_t>(rest.loop));
    appendTo(key, rest.lower);
    for (Expr value : rest.carried)
      appendTo(key, value);
  }
}

/// What `value` is for `path`, unresolved: facts about arguments tell of atoms.
Expr StateKey::getExpression(const Path &path, Value value) {
  int64_t number = context.program.getNumber(value);
  if (number >= 0 && path.values[number])
    return path.values[number];
  Expr &atom = outside[value];
  if (!atom)
    atom = values.getOutside(value);
  return atom;
}

/// The expressions of live values, and where loops under way end.
SmallVector<Expr> StateKey::getExpressions(const Path &path,
                                           ArrayRef<unsigned> live) {
  SmallVector<Expr> found;
  for (unsigned number : live)
    found.push_back(getExpression(path, context.program.getValue(number)));
  for (const auto &frames : path.tasks)
    for (const TaskFrame &frame : frames)
      if (frame.end)
        found.push_back(frame.end);
  for (const PeeledLoop &rest : path.peeled) {
    found.push_back(rest.lower);
    llvm::append_range(found, rest.carried);
  }
  return found;
}

/// The variables that a condition may depend on from here on.
VariableSet StateKey::getVariables(const Path &path,
                                   ArrayRef<Expr> expressions) const {
  VariableSet variables;
  variables.insert(values.getThread());
  for (const auto &frames : path.tasks)
    for (const TaskFrame &frame : frames)
      if (frame.group >= 0)
        variables.insert(inductions.get(frame.group));
  for (Expr e : expressions) {
    auto own = context.table.getVariables(e);
    variables.insert(own.begin(), own.end());
  }
  return variables;
}

/// Forgets facts that say nothing about what `expressions` or loops under way
/// ask for.
void StateKey::dropFacts(Path &path, SmallVector<Expr> expressions) {
  auto addOperands = [&](Operation *op) {
    for (Value operand : op->getOperands())
      expressions.push_back(getExpression(path, operand));
  };
  for (const auto &frames : path.tasks)
    for (const TaskFrame &frame : frames)
      addOperands(frame.op);
  for (const PeeledLoop &rest : path.peeled)
    addOperands(rest.loop);
  liveFacts.keep(path.facts, expressions);
}

std::string StateKey::get(Path &path) {
  std::string key;
  appendTo(key, path.rolesBegun);
  for (const auto &frames : path.tasks) {
    appendTo(key, frames.size());
    for (const TaskFrame &frame : frames)
      appendTo(key, reinterpret_cast<int64_t>(frame.next));
  }
  const std::vector<unsigned> &live = liveness.get(path, key);
  rotateSlots(path, live, key);
  context.rules.reduce(path.state, path.rolesBegun);
  State state = path.state;
  if (!joinsKnowledge)
    context.rules.dropKnown(state);
  SmallVector<int64_t> bases = rotateLinks(path, state);
  appendValues(path, live, bases, key);
  appendLoops(path, key);
  for (auto [group, remainder] : path.remainders) {
    appendTo(key, group);
    appendTo(key, remainder);
  }
  for (unsigned word : words)
    appendTo(key, state[word]);
  SmallVector<Expr> expressions = getExpressions(path, live);
  path.facts.keepOnly(context.table, getVariables(path, expressions));
  dropFacts(path, std::move(expressions));
  path.facts.appendTo(key);
  return key;
}
