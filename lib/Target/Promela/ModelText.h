//===- ModelText.h - The text of a model ------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_TARGET_PROMELA_MODELTEXT_H
#define TILEWS_LIB_TARGET_PROMELA_MODELTEXT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/Twine.h"

#include <string>

namespace tilews::promela {

/// Lines of Promela, indented. Statements that follow each other are one step,
/// `atomic { ... }`, up to the next `gap`: there other processes may run.
class ModelText {
public:
  explicit ModelText(unsigned depth = 0) : depth(depth) {}

  /// Adds a statement to the present step.
  void step(const llvm::Twine &statement);
  /// Ends the present step.
  void gap();
  /// Adds a line that belongs to no step: control flow, declarations.
  void line(const llvm::Twine &text);
  void comment(const llvm::Twine &text);
  void open(const llvm::Twine &text) {
    line(text);
    ++depth;
  }
  void close(const llvm::Twine &text) {
    gap();
    --depth;
    line(text);
  }
  /// Adds text as it is.
  void append(llvm::StringRef more) {
    gap();
    text += more;
  }

  std::string take() {
    gap();
    return std::move(text);
  }

private:
  void put(const llvm::Twine &line);

  std::string text;
  unsigned depth;
  bool inStep = false;
};

} // namespace tilews::promela

#endif // TILEWS_LIB_TARGET_PROMELA_MODELTEXT_H
