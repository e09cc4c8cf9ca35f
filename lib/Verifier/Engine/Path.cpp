//===- Path.cpp - A path through all tasks of a kernel --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries on a path, and its printed form:
//
//     role @load: tile.commit
//     role @math: tile.wait
//     %2 = i0 + 1
//     facts: n - i0 in [1, ]
//     state: 0 1 0
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Path.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

Operation *Path::getLoopAhead(const TaskProgram &program, unsigned task) const {
  if (tasks[task].empty())
    return nullptr;
  Operation *next = tasks[task].back().next;
  bool isLoop = llvm::isa_and_nonnull<scf::ForOp, scf::WhileOp>(next);
  return isLoop && program.matters(next) ? next : nullptr;
}

const PeeledLoop *Path::findPeeled(Operation *loop) const {
  const PeeledLoop *it = llvm::find_if(
      peeled, [&](const PeeledLoop &other) { return other.loop == loop; });
  return it != peeled.end() ? it : nullptr;
}

void Path::forgetPeeled(Operation *loop) {
  llvm::erase_if(peeled,
                 [&](const PeeledLoop &other) { return other.loop == loop; });
}

std::vector<Operation *> Path::getPlaces() const {
  std::vector<Operation *> places;
  for (const auto &frames : tasks)
    places.push_back(frames.empty() ? nullptr : frames.back().next);
  return places;
}

bool Path::hasPeeled() const {
  return !peeled.empty() || llvm::any_of(tasks, [](const auto &frames) {
    return llvm::any_of(frames, [](const TaskFrame &frame) {
      return frame.group == TaskFrame::kPeeled;
    });
  });
}

void Path::print(const TaskProgram &program, const Rules &rules,
                 const ExpressionTable &table, raw_ostream &os) const {
  for (auto [task, frames] : llvm::zip(program.getTasks(), tasks)) {
    os << task.name << ": ";
    if (frames.empty())
      os << "not running";
    else if (frames.back().next)
      os << frames.back().next->getName();
    else
      os << "at its end";
    os << "\n";
  }
  for (auto [number, value] : llvm::enumerate(values)) {
    if (!value)
      continue;
    os << "%" << number << " = ";
    table.print(value, os);
    os << "\n";
  }
  os << "facts: ";
  facts.print(table, os);
  os << "\nstate: ";
  rules.print(os, state);
  os << "\n";
}
