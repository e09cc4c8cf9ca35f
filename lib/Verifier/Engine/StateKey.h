//===- StateKey.h - Canonical form of a state -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_STATEKEY_H
#define TILEWS_LIB_VERIFIER_ENGINE_STATEKEY_H

#include "Verifier/Engine/PathLiveness.h"
#include "Verifier/Engine/PathValues.h"
#include "Verifier/Engine/SlotSymmetry.h"
#include "Verifier/Loops/InductionVariables.h"
#include "Verifier/Symbolic/LiveFacts.h"

namespace tilews::verifier {

/// Makes keys of states: paths with equal keys have the same future. Two paths
/// at the end of an iteration that differ only in
///
///     a dead value:            %t = 3        and  %t = 5
///     which slot is the next:  slot 0 of 2   and  slot 1 of 2
///     facts nobody asks for:   not mask[i-1] and  mask[i-1]
///
/// have one key.
class StateKey {
public:
  /// With `joinsKnowledge` the key leaves out the happens-before knowledge of
  /// tasks.
  StateKey(ProofContext &context, const PathValues &values,
           const InductionVariables &inductions, bool joinsKnowledge);

  /// Returns the key of `path`. Drops facts about dead values first, and all
  /// else that no later step depends on. May renumber the slots of `path`.
  std::string get(Path &path);

private:
  void rotateSlots(Path &path, llvm::ArrayRef<unsigned> live,
                   const std::string &place);
  void appendValues(const Path &path, llvm::ArrayRef<unsigned> live,
                    llvm::ArrayRef<int64_t> bases, std::string &key) const;
  void appendLoops(const Path &path, std::string &key) const;
  Expr getExpression(const Path &path, mlir::Value value);
  llvm::SmallVector<Expr> getExpressions(const Path &path,
                                         llvm::ArrayRef<unsigned> live);
  VariableSet getVariables(const Path &path,
                           llvm::ArrayRef<Expr> expressions) const;
  void dropFacts(Path &path, llvm::SmallVector<Expr> expressions);
  bool mayBegin(const Path &path, unsigned link) const;
  llvm::SmallVector<int64_t> rotateLinks(const Path &path, State &state) const;

  ProofContext &context;
  const PathValues &values;
  const InductionVariables &inductions;
  bool joinsKnowledge;
  PathLiveness liveness;
  LiveFacts liveFacts;
  /// The atoms of values that the slice does not compute.
  llvm::DenseMap<mlir::Value, Expr> outside;
  SlotSymmetry symmetry;
  /// The words of the rules' state that belong to the key.
  llvm::SmallVector<unsigned> words;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_STATEKEY_H
