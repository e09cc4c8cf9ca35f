//===- StateLayout.h - Allocation of the words of a state -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_STATELAYOUT_H
#define TILEWS_LIB_VERIFIER_ENGINE_STATELAYOUT_H

namespace tilews::verifier {

/// Hands out the words of a `State`. A state is one flat vector, which the
/// search copies, compares and hashes; each part of the rules reserves its own
/// words once, when the rules are made for a kernel.
///
/// Example: two tasks with 8 words each, then three slots with 6 words each:
///
///     StateLayout layout;
///     unsigned tasks = layout.reserve(2 * 8); // 0
///     unsigned slots = layout.reserve(3 * 6); // 16
///     State state(layout.getNumWords());      // 34 words
class StateLayout {
public:
  /// Reserves `count` words and returns the index of the first.
  unsigned reserve(unsigned count) {
    unsigned first = numWords;
    numWords += count;
    return first;
  }
  unsigned getNumWords() const { return numWords; }

private:
  unsigned numWords = 0;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_STATELAYOUT_H
