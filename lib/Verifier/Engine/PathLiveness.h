//===- PathLiveness.h - Values that a path may still use --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_ENGINE_PATHLIVENESS_H
#define TILEWS_LIB_VERIFIER_ENGINE_PATHLIVENESS_H

#include "Verifier/Engine/Path.h"

#include <unordered_map>

namespace tilews::verifier {

/// The values that the tasks of a path may still use from where they are:
///
///     %a = ...
///     for i                     // task here: %a is live, as is %b, which the
///       use(%a)                 // next iteration may use; %c is not
///       %c = use(%b)
///       use(%c)                 // <- the next operation is after this one
class PathLiveness {
public:
  explicit PathLiveness(const TaskProgram &program) : program(program) {}

  /// The numbers of the live values, ascending. They depend on `place` alone,
  /// which is where the tasks of `path` are.
  const std::vector<unsigned> &get(const Path &path, const std::string &place);
  /// Whether a task of `path` may still execute one of `ops`.
  bool isAhead(const Path &path, const std::string &place,
               llvm::ArrayRef<mlir::Operation *> ops);

private:
  const TaskProgram &program;
  std::unordered_map<std::string, bool> aheadByPlace;
  std::unordered_map<std::string, std::vector<unsigned>> liveByPlace;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_ENGINE_PATHLIVENESS_H
