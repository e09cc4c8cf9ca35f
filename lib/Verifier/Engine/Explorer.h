//===- Explorer.h - A search for counterexamples ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the events of a kernel for many small arguments and loaded values. What
// a task does follows from its scalars alone, so that the events of each are
// listed first, and then put in an order that the rules allows.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_EXPLORER_H
#define TILEWS_LIB_VERIFIER_ENGINE_EXPLORER_H

#include "Verifier/Engine/TaskProgram.h"

#include "tilews/Verifier/ScheduleVerdict.h"

#include <map>
#include <set>

namespace tilews::verifier {

struct Counterexample {
  Finding finding;
  std::map<std::string, ScheduleVerdict::Input> inputs;
  std::vector<ScheduleVerdict::Step> trace;
};

class Explorer {
public:
  Explorer(const TaskProgram &program, const Rules &rules);

  std::optional<Counterexample> run();

private:
  /// What arguments and loaded values are.
  struct Scenario {
    /// All integers, counted in tiles; random ones below zero.
    int64_t number;
    uint64_t seed;
  };
  struct Event {
    mlir::Operation *op;
    llvm::SmallVector<int64_t, 2> inputs;
  };
  struct Trace {
    std::vector<Event> events;
    /// It was too long, and has been cut off.
    bool isCut = false;
  };

  void findScales();
  std::optional<Counterexample> tryScenario(const Scenario &scenario);
  void list(mlir::Block &block, unsigned task, Trace &trace);
  void listFor(mlir::scf::ForOp loop, unsigned task, Trace &trace);
  void listWhile(mlir::scf::WhileOp loop, unsigned task, Trace &trace);
  void pass(mlir::ValueRange from, mlir::ValueRange to);
  void evaluate(mlir::Operation *op);
  /// A number for what has the given words, in order of appearance: pointers
  /// are others each time.
  uint64_t identify(llvm::ArrayRef<int64_t> words) {
    return identities
        .try_emplace({words.begin(), words.end()}, identities.size())
        .first->second;
  }
  int64_t choose(mlir::OpResult result, uint64_t identity);
  int64_t chooseInteger(mlir::Type type, uint64_t identity, int64_t scale);
  void note(mlir::OpResult result, int64_t value);
  llvm::SmallVector<int64_t> getCopiedPlace(CopyOp copy,
                                            llvm::ArrayRef<int64_t> indices);
  void note(const std::string &name, ScheduleVerdict::Input::Kind kind,
            mlir::Value of, llvm::ArrayRef<int64_t> place, int64_t value);
  int64_t get(mlir::Value value);
  std::optional<Counterexample> order(llvm::ArrayRef<Trace> traces);
  Counterexample
  describe(const Finding &finding,
           llvm::ArrayRef<std::pair<unsigned, const Event *>> past) const;

  const TaskProgram &program;
  const Rules &rules;
  Scenario scenario = {};
  std::vector<int64_t> values;
  std::vector<char> defined;
  /// Numbers beyond those that the kernel compares with.
  std::set<int64_t> limits;
  /// By how much extents and arguments are divided.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, int64_t> scales;
  std::map<std::string, ScheduleVerdict::Input> inputs;
  std::map<std::vector<int64_t>, uint64_t> identities;
  unsigned steps = 0;
  /// Whether a cursor was asked for that is not known.
  bool isUnknown = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_EXPLORER_H
