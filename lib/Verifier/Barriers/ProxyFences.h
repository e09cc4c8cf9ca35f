//===- ProxyFences.h - What proxy fences order ------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_BARRIERS_PROXYFENCES_H
#define TILEWS_LIB_VERIFIER_BARRIERS_PROXYFENCES_H

#include "Verifier/Barriers/TaskKnowledge.h"

namespace tilews::verifier {

/// Makes writes of the generic proxy visible to the asynchronous one. TMA and
/// wgmma access shared memory through the asynchronous proxy. They see a store,
/// or a copy by cp.async, only if a `tile.proxy_fence` lies on the path of
/// happens-before from the write to the access (PTX ISA, "Causality order":
/// proxy-preserved base causality order).
///
/// Example: the fence has to come before the arrival.
///
///     step              @load sees place 0  slot's clock  @math sees place 0
///     @load stores to 0 no                  -             no
///     @load fences      yes                 -             no
///     @load arrives     yes                 yes           no
///     @math waits       yes                 yes           yes: wgmma is right
///
/// The fence may also be @math's own, after its wait.
///
/// Reads of the generic proxy are ordered before TMA loads in the same way.
/// Without a fence between @math's reads and its arrival, the next load may
/// write before they read: an arrival does not wait for the values of loads.
class ProxyFences {
public:
  ProxyFences(const BarrierModel &model, const TaskKnowledge &knowledge)
      : model(model), knowledge(knowledge) {}

  /// A write to `places` through the generic proxy, of row `writes`.
  void addWrite(State &state, unsigned writes, PlaceSet places) const;
  /// Threads of `task` read `places` through the generic proxy.
  void addRead(State &state, unsigned task, PlaceSet places) const;
  /// `task` executes a proxy fence, for all accesses ordered before it.
  void fence(State &state, unsigned task) const;
  /// The places among `places` of which the asynchronous proxy may not see the
  /// last writes, in steps of `task`.
  PlaceSet getUnfenced(const State &state, unsigned task,
                       PlaceSet places) const;
  /// The places among `places` that threads may still read when a TMA load
  /// writes there, as a step of `task`; with `ofPeers`, also threads of the
  /// other blocks that it writes to.
  PlaceSet getUnfencedReads(const State &state, unsigned task, PlaceSet places,
                            bool ofPeers) const;

private:
  const BarrierModel &model;
  const TaskKnowledge &knowledge;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_BARRIERS_PROXYFENCES_H
