//===- ProverStates.cpp - Which states have been seen ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Prover.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Whether `value` may still be used.
bool Prover::isLive(const Path &path, Value value) const {
  SmallVector<Operation *> users(value.getUsers());
  llvm::append_range(users, program.getCopiedReads(value));
  for (const auto &frames : path.tasks)
    for (Operation *user : users) {
      const Frame *inner = nullptr;
      for (const Frame &frame : frames) {
        if (!frame.op->isProperAncestor(user))
          continue;
        inner = &frame;
        // Another turn may use it again.
        if (frame.group != -1 &&
            !frame.op->isAncestor(value.getParentBlock()->getParentOp()))
          return true;
      }
      if (!inner || !inner->next)
        continue;
      // What a frame further in executes has got its operands.
      Operation *at = inner->next->getBlock()->findAncestorOpInBlock(*user);
      bool isUsed =
          at == inner->next && (inner != &frames.back() ||
                                (isa<SpecializeOp>(at) && path.rolesBegun));
      if (at && !isUsed && !at->isBeforeInBlock(inner->next))
        return true;
    }
  return false;
}

/// The variables that do not come from values.
VariableSet Prover::getCounters(const Path &path) const {
  VariableSet counters;
  counters.insert(getThreadVariable());
  for (const auto &frames : path.tasks)
    for (const Frame &frame : frames)
      if (frame.group >= 0)
        counters.insert(groups[frame.group].counter);
  return counters;
}

/// The numbers of the values that may still be used where the tasks of `path`
/// are, which `place` tells.
const std::vector<unsigned> &Prover::getLive(const Path &path,
                                             const std::string &place) {
  auto [it, isNew] = liveByPlace.try_emplace(place);
  if (isNew)
    for (unsigned number = 0; number < path.values.size(); ++number)
      if (isLive(path, program.getValue(number)))
        it->second.push_back(number);
  return it->second;
}

/// Whether an operation that always makes the same cursor of `link` may yet be
/// executed: then it makes a difference where slots begin.
bool Prover::mayBegin(const Path &path, unsigned link) const {
  return llvm::any_of(program.getCursors(), [&](CursorOp op) {
    unsigned number = program.getNumber(op.getCursor());
    return program.getPlacesOf(number).contains(link) &&
           (!path.values[number] || op->getParentOfType<LoopLikeOpInterface>());
  });
}

/// What tells `path` from others, but for where the slots of channels begin,
/// and what is known if that is joined.
std::string Prover::getKey(Path &path) {
  std::string key;
  auto append = [&](int64_t value) { appendTo(key, value); };
  append(path.rolesBegun);
  for (const auto &frames : path.tasks) {
    append(frames.size());
    for (const Frame &frame : frames)
      append(reinterpret_cast<int64_t>(frame.next));
  }
  const std::vector<unsigned> &live = getLive(path, key);
  State state = path.state;
  rules.reduce(state, path.rolesBegun);
  if (!joins)
    rules.dropKnown(state);
  SmallVector<int64_t> bases;
  for (unsigned link = 0; link < rules.getNumLinks(); ++link) {
    // What rests of a loop is not counted from there.
    bool isSame = path.rests.empty() && !mayBegin(path, link);
    bases.push_back(isSame ? rules.getBase(state, link) : 0);
    rules.rotate(state, link, bases.back());
  }
  VariableSet variables = getCounters(path);
  auto noteVariables = [&](Expr value) {
    auto own = table.getVariables(value);
    variables.insert(own.begin(), own.end());
  };
  for (unsigned number : live) {
    Expr value = path.values[number];
    append(value != 0);
    if (!value)
      continue;
    noteVariables(value);
    std::optional<int64_t> place = table.getConstantValue(value);
    const auto &links = program.getPlacesOf(number);
    if (!place || links.empty()) {
      append(value);
      continue;
    }
    for (unsigned link : links)
      append(rules.rotateInput(*place, link, bases[link]));
  }
  for (const Rest &rest : path.rests) {
    append(reinterpret_cast<int64_t>(rest.loop));
    append(rest.lower);
    llvm::for_each(rest.carried, append);
    noteVariables(rest.lower);
    llvm::for_each(rest.carried, noteVariables);
  }
  for (auto [group, remainder] : path.remainders) {
    append(group);
    append(remainder);
  }
  for (unsigned word : exactWords)
    append(state[word]);
  // What is known of values that are gone is no longer asked.
  path.facts.keepOnly(table, variables);
  path.facts.appendTo(key);
  return key;
}

/// Ends a path that others stand for which have been where it is. If what is
/// known is joined the path goes on later: more may come before.
Prover::Progress Prover::visit(Path &path) {
  if (++numStates > kMaxStates)
    return Progress::Made;
  auto [it, isNew] = seen.try_emplace(getKey(path), seen.size());
  if (!joins)
    return isNew ? Progress::Made : Progress::Ended;
  if (isNew)
    visits.emplace_back();
  Visit &visit = visits[it->second];
  if (!isNew && !join(path.state, visit.known))
    return Progress::Ended;
  if (isNew)
    for (unsigned word : rules.getKnowledge())
      visit.known.push_back(path.state[word]);
  if (!visit.path)
    open.push_back(it->second);
  visit.path = std::move(path);
  return Progress::Ended;
}

/// Leaves what is known in `state` and was `known` before. False if that is no
/// less than before.
bool Prover::join(State &state, State &known) {
  bool isLess = false, isReal = true;
  for (auto [before, word] : llvm::zip(known, rules.getKnowledge())) {
    int64_t both = before & state[word];
    isLess |= both != before;
    isReal &= both == state[word];
    before = state[word] = both;
  }
  hasLost |= isLess && !isReal;
  return isLess;
}
