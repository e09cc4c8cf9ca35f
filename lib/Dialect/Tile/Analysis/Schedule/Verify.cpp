//===- Verify.cpp - Whether a schedule is right ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BarrierProtocol.h"
#include "ChannelProtocol.h"
#include "Explorer.h"
#include "Prover.h"

#include "tilews/Dialect/Tile/Analysis/ScheduleVerdict.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::tile::schedule;

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

/// A proof, or else a counterexample: what keeps from a proof need not happen.
static ScheduleVerdict check(const Program &program, const Protocol &protocol) {
  Prover prover(program, protocol);
  std::optional<Finding> finding = prover.run();
  ScheduleVerdict verdict;
  if (finding && finding->isCertain) {
    verdict = makeVerdict(ScheduleVerdict::Kind::Counterexample, *finding);
  } else if (finding) {
    if (auto found = Explorer(program, protocol).run()) {
      verdict =
          makeVerdict(ScheduleVerdict::Kind::Counterexample, found->finding);
      verdict.inputs = std::move(found->inputs);
      verdict.trace = std::move(found->trace);
    } else {
      verdict = makeVerdict(ScheduleVerdict::Kind::Unsupported, *finding);
    }
  }
  verdict.states = prover.getNumStates();
  return verdict;
}

/// Checks a kernel in the form that `protocol` is for.
static ScheduleVerdict check(gpu::GPUFuncOp kernel, const Protocol &protocol) {
  Program program(kernel, protocol);
  if (std::optional<Finding> obstacle = program.build())
    return makeVerdict(ScheduleVerdict::Kind::Unsupported, *obstacle);
  ScheduleVerdict verdict = check(program, protocol);
  verdict.links = protocol.getNumLinks();
  kernel.walk([&](Operation *op) { verdict.events += protocol.isEvent(op); });
  return verdict;
}

ScheduleVerdict tile::verifySchedule(gpu::GPUFuncOp kernel) {
  using Kind = ScheduleVerdict::Kind;
  BarrierProtocol barriers(kernel);
  if (barriers.getObstacle())
    return makeVerdict(Kind::Unsupported, *barriers.getObstacle());
  if (!barriers.isEmpty())
    return check(kernel, barriers);
  ChannelProtocol channels(kernel);
  if (!channels.getErrors().empty())
    return makeVerdict(Kind::Counterexample, channels.getErrors().front());
  if (channels.getObstacle())
    return makeVerdict(Kind::Unsupported, *channels.getObstacle());
  return channels.isEmpty() ? ScheduleVerdict() : check(kernel, channels);
}
