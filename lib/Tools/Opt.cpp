//===- Opt.cpp - The pass driver ------------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tilews-opt is upstream's MlirOptMain with all dialects and passes registered.
// A build with assertions also has `--debug-only=TYPE,...`: libLLVM defines that
// option only where it was itself built with assertions, which Debian's was not,
// while the debug output of our own passes needs no more than our own build.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tools.h"
#include "tilews/InitAll.h"
#include "tilews/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/raw_ostream.h"

#ifndef NDEBUG
/// Registers `--debug-only`, unless libLLVM has it already.
static void registerDebugOnly() {
  if (llvm::cl::getRegisteredOptions().contains("debug-only"))
    return;
  static llvm::cl::list<std::string> types(
      "debug-only", llvm::cl::CommaSeparated, llvm::cl::value_desc("types"),
      llvm::cl::desc("Print the debug output of passes and analyses with "
                     "these DEBUG_TYPEs, such as tile-plan-pipeline"));
  types.setCallback([](const std::string &) {
    llvm::DebugFlag = true;
    llvm::SmallVector<const char *> names;
    for (const std::string &type : types)
      names.push_back(type.c_str());
    llvm::setCurrentDebugTypes(names.data(), names.size());
  });
}
#endif

int tilewsOptMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "tilews " TILEWS_VERSION "\n"; });
  mlir::DialectRegistry registry;
  tilews::registerAllDialects(registry);
  tilews::registerAllPasses();
#ifndef NDEBUG
  registerDebugOnly();
#endif
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tilews pass driver\n", registry));
}
