//===- Phases.cpp - The phases that a compilation can print ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A phase is a form of the IR between two passes of the default pipeline. Its
// first or last pass tells that it is reached: `planned` ends what
// tile-annotate-instructions does, `laid_out` is what tile-lower-channels gets,
// and `barriers` what the conversion gets. `tile` and `target` are the ends of
// the pipeline, which need no instrumentation.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/Phases.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilews;

ArrayRef<StringLiteral> tilews::getPhases() {
  static constexpr StringLiteral phases[] = {"tile", "planned", "laid_out",
                                             "barriers", "target"};
  return phases;
}

namespace {
/// Prints the module when it reaches a phase.
class PhasePrinter : public PassInstrumentation {
public:
  PhasePrinter(StringRef phase, ModuleOp module, std::string &text)
      : phase(phase), module(module), text(text) {}

  void runBeforePass(Pass *pass, Operation *) override {
    StringRef name = pass->getArgument();
    if ((phase == "laid_out" && name == "tile-lower-channels") ||
        (phase == "barriers" && name.starts_with("convert-tile-to-")))
      print();
  }
  void runAfterPass(Pass *pass, Operation *) override {
    if (phase == "planned" &&
        pass->getArgument() == "tile-annotate-instructions")
      print();
  }

private:
  void print() {
    text.clear();
    llvm::raw_string_ostream(text) << module;
  }

  StringRef phase;
  ModuleOp module;
  std::string &text;
};
} // namespace

std::unique_ptr<PassInstrumentation>
tilews::createPhasePrinter(StringRef phase, ModuleOp module,
                           std::string &text) {
  return std::make_unique<PhasePrinter>(phase, module, text);
}
