//===- BlockRunner.h - Runs of one block ------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_BLOCKRUNNER_H
#define TILEWS_LIB_SIMULATOR_BLOCKRUNNER_H

#include "Policy.h"
#include "Program.h"

namespace tilews::sim {

/// Runs single blocks, or clusters, of a launch under its timing policy.
///
/// Example: with the policy `worst` and 500 runs, `run(3)` runs block 3 up to
/// 500 times from the same memory, until a run fails.
class BlockRunner {
public:
  BlockRunner(const Launch &launch, const Program &program,
              llvm::ArrayRef<Datum> arguments, const Timing &timing)
      : launch(launch), program(program), arguments(arguments), timing(timing) {
  }

  /// Runs block, or cluster, number `index`. Returns the failure, if any.
  std::optional<Failure> run(int64_t index) const;

private:
  /// The end of a run: its failure, and whether the order of updates
  /// within the phases of its barriers did not matter.
  struct BlockRun {
    std::optional<Failure> failure;
    bool isRegular = true;
  };
  BlockRun runOnce(Int3 block, Policy &policy) const;
  Failure getDifference(Int3 block) const;
  std::optional<Failure> runAll(Int3 block) const;
  std::optional<Failure> runExhaustively(Int3 block) const;
  std::optional<Failure> explore(Int3 block, class PartialOrderSearch &search,
                                 Exploration &result) const;

  const Launch &launch;
  const Program &program;
  llvm::ArrayRef<Datum> arguments;
  const Timing &timing;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_BLOCKRUNNER_H
