//===- Phases.h - The phases that a compilation can print -------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_PHASES_H
#define TILEWS_TARGET_PHASES_H

#include "mlir/IR/BuiltinOps.h"

#include <memory>
#include <string>

namespace mlir {
class PassInstrumentation;
} // namespace mlir

namespace tilews {

/// Returns the phases that a compilation can print: `tile` (as given),
/// `planned` (instructions chosen), `laid_out` (with layouts), `barriers`
/// (ready for conversion) and `target` (LLVM dialect).
llvm::ArrayRef<llvm::StringLiteral> getPhases();

/// Makes an instrumentation that prints `module` into `text` when the passes
/// reach `phase`: one of those between `tile` and `target`.
std::unique_ptr<mlir::PassInstrumentation>
createPhasePrinter(llvm::StringRef phase, mlir::ModuleOp module,
                   std::string &text);

} // namespace tilews

#endif // TILEWS_TARGET_PHASES_H
