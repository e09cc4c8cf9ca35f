//===- Explorer.h - A search for counterexamples ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_EXPLORER_H
#define TILEWS_LIB_VERIFIER_ENGINE_EXPLORER_H

#include "Verifier/Engine/TaskProgram.h"

#include "tilews/Verifier/ScheduleVerdict.h"

#include <map>
#include <set>

namespace tilews::verifier {

/// A fault with the inputs for which it occurs, and the events that lead to it.
struct Counterexample {
  Finding finding;
  std::map<std::string, ScheduleVerdict::Input> inputs;
  std::vector<ScheduleVerdict::Step> trace;
};

/// Searches for a counterexample: runs the events of a kernel for many small
/// arguments and loaded values.
///
/// Example: @load fills a slot in each of n iterations, @math reads n - 1. The
/// scenario with n = 1 lists the events
///
///     @load: acquire 0, copy 0, commit 0
///     @math: (none)
///
/// and at the end slot 0 "is filled and never waited for".
class Explorer {
public:
  Explorer(const TaskProgram &program, const Rules &rules);

  std::optional<Counterexample> run();

private:
  /// A choice of all arguments and loaded values.
  struct Scenario {
    /// The value of all integers, in tiles; they are random if it is negative.
    int64_t number;
    uint64_t seed;
  };
  struct TraceEvent {
    mlir::Operation *op;
    llvm::SmallVector<int64_t, 2> inputs;
  };
  struct Trace {
    std::vector<TraceEvent> events;
    /// The trace was too long, and has been cut off.
    bool isCut = false;
  };

  void findScales();
  std::optional<Counterexample> tryScenario(const Scenario &scenario);
  void list(mlir::Block &block, unsigned task, Trace &trace);
  void listFor(mlir::scf::ForOp loop, unsigned task, Trace &trace);
  void listWhile(mlir::scf::WhileOp loop, unsigned task, Trace &trace);
  void pass(mlir::ValueRange from, mlir::ValueRange to);
  void evaluate(mlir::Operation *op);
  /// A number for the thing that the words identify, in order of first use.
  /// Words may be pointers, which differ between runs of the compiler.
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
           llvm::ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const;

  const TaskProgram &program;
  const Rules &rules;
  Scenario scenario = {};
  std::vector<int64_t> values;
  std::vector<char> defined;
  /// Numbers just beyond the constants that the kernel compares with.
  std::set<int64_t> limits;
  /// The least width that the kernel converts integers to, if below 32 bits.
  unsigned narrowest = 0;
  /// The tile sizes of extents (with their dimension) and arguments (-1).
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, int64_t> scales;
  std::map<std::string, ScheduleVerdict::Input> inputs;
  std::map<std::vector<int64_t>, uint64_t> identities;
  unsigned steps = 0;
  /// Whether the scenario used a cursor that the slice does not define.
  bool isUnknown = false;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_EXPLORER_H
