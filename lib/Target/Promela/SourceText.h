//===- SourceText.h - Names and lines of the source -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_TARGET_PROMELA_SOURCETEXT_H
#define TILEWS_LIB_TARGET_PROMELA_SOURCETEXT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringSet.h"

namespace mlir {
class AsmParserState;
} // namespace mlir

namespace tilews::promela {

/// Words of the source text for a model: names of values, lines of operations.
///
/// Example: `%q` of `%q = tile.advance %p : !cursor` has the name "q", and the
/// comment of the operation is "24: %q = tile.advance %p : !cursor".
class SourceText {
public:
  explicit SourceText(const mlir::AsmParserState *state) : state(state) {}

  /// Returns a name for `value` that is an identifier of Promela, and that no
  /// other value of its role has, nor any outside of roles.
  std::string getName(mlir::Value value);
  /// Returns such a name in capitals.
  std::string getConstantName(mlir::Value value);
  /// Returns the word for `value` in the source.
  std::string findWord(mlir::Value value) const;
  /// Returns `wish`, or the first of `wish_2`, `wish_3`, ... that is free in
  /// `role`, or everywhere.
  std::string makeName(llvm::StringRef wish, mlir::Operation *role = nullptr);
  /// Returns such a name for a process that no field of a type has: Spin takes
  /// the name of a process for the process wherever it stands.
  std::string makeProcessName(llvm::StringRef wish);
  /// Returns the line on which `op` begins, with its number.
  std::string getComment(mlir::Operation *op) const;

private:
  const mlir::AsmParserState *state;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Operation *, llvm::StringSet<>> used;
};

} // namespace tilews::promela

#endif // TILEWS_LIB_TARGET_PROMELA_SOURCETEXT_H
