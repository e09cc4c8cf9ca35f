//===- Explorer.h - A search for counterexamples ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_EXPLORER_H
#define TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_EXPLORER_H

#include "Verifier/Counterexamples/ScenarioInputs.h"
#include "Verifier/Counterexamples/WrittenRegions.h"

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

  /// Goes on with the search, for a part of the scenarios if it `isQuick`.
  std::optional<Counterexample> run(bool isQuick);

private:
  struct TraceEvent {
    mlir::Operation *op;
    llvm::SmallVector<int64_t, 2> inputs;
    /// The numbers of the region that it writes to; none if one is unknown.
    std::optional<llvm::SmallVector<int64_t>> written = {};
  };
  struct Trace {
    std::vector<TraceEvent> events;
    /// The trace was too long, and has been cut off.
    bool isCut = false;
    /// It ends at an assertion that fails, where the kernel stops.
    bool hasTrapped = false;
    bool hasEnded() const { return isCut || hasTrapped; }
  };

  std::optional<Counterexample>
  tryScenario(const ScenarioInputs::Scenario &scenario);
  void list(mlir::Block &block, unsigned task, Trace &trace);
  void listFor(mlir::scf::ForOp loop, unsigned task, Trace &trace);
  void listWhile(mlir::scf::WhileOp loop, unsigned task, Trace &trace);
  void pass(mlir::ValueRange from, mlir::ValueRange to);
  void evaluate(mlir::Operation *op);
  std::optional<UniformValue> compute(mlir::OpResult result);
  std::optional<UniformValue> load(mlir::memref::LoadOp op);
  std::optional<llvm::SmallVector<int64_t>>
  getCopiedPlace(CopyOp copy, llvm::ArrayRef<int64_t> indices);
  void noteOrigin(mlir::Operation *op);
  std::optional<llvm::SmallVector<UniformValue>>
  findAll(mlir::ValueRange operands);
  std::optional<llvm::SmallVector<int64_t>>
  findOffsets(llvm::ArrayRef<mlir::OpFoldResult> offsets);
  std::optional<UniformValue> find(mlir::Value value);
  int64_t get(mlir::Value value);
  void set(mlir::Value value, std::optional<UniformValue> known);
  std::optional<Counterexample> order(llvm::ArrayRef<Trace> traces);
  bool isEvidence(
      const Finding &finding,
      llvm::ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const;
  bool overlapsEarlier(
      llvm::ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const;
  Counterexample
  describe(const Finding &finding,
           llvm::ArrayRef<std::pair<unsigned, const TraceEvent *>> past) const;

  const TaskProgram &program;
  const Rules &rules;
  ScenarioInputs inputs;
  /// What events write to, if it is known where.
  llvm::DenseMap<mlir::Operation *, WrittenRegion> regions;
  /// The scenarios, and how many have been tried.
  std::vector<ScenarioInputs::Scenario> scenarios;
  size_t numTried = 0;
  /// The values in the slice, and which of them have been computed; they may
  /// be unknown then, too.
  std::vector<std::optional<UniformValue>> values;
  std::vector<char> defined;
  unsigned steps = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_EXPLORER_H
