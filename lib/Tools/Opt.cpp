//===- Opt.cpp - The pass driver ------------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tilews-opt is upstream's MlirOptMain with all dialects and passes registered.
// Input that would crash upstream's parser is refused before.
//
// A build with assertions also has `--debug-only=TYPE,...`: libLLVM defines
// that option only where it was itself built with assertions, which Debian's
// was not, while the debug output of our own passes needs no more than our own
// build.
//
// `--mlir-pass-statistics` has the same problem: libMLIR prints statistics, and
// passes keep them, only if both were built with assertions. So our passes
// count with LLVM's ALWAYS_ENABLED_STATISTIC, and `--tilews-statistics` prints
// the numbers, in every build.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tools.h"
#include "tilews/InitAll.h"
#include "tilews/Support/Files.h"
#include "tilews/Support/SourceFiles.h"
#include "tilews/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/ManagedStatic.h"
#include "llvm/Support/MemoryBuffer.h"
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

namespace {
/// Prints the statistics when LLVM shuts down, which `MlirOptMain` does before
/// it returns. Managed objects are destroyed in the reverse order of their
/// construction: the list of statistics has to be constructed before this.
struct StatisticsPrinter {
  ~StatisticsPrinter() { llvm::PrintStatistics(llvm::errs()); }
};
} // namespace
static llvm::ManagedStatic<StatisticsPrinter> statisticsPrinter;

/// Registers `--tilews-statistics`. LLVM records a statistic only if it is
/// enabled before the first count, so this happens while options are parsed.
static void registerStatistics() {
  static llvm::cl::opt<bool> print(
      "tilews-statistics",
      llvm::cl::desc("Print how often the passes of tilews did what"));
  print.setCallback([](const bool &value) {
    if (!value)
      return;
    llvm::EnableStatistics(/*DoPrintOnExit=*/false);
    (void)llvm::GetStatistics(); // constructs the list
    *statisticsPrinter;
  });
}

/// What `MlirOptMain` does with a file, if its parser can read it.
static mlir::LogicalResult run(llvm::StringRef input, llvm::StringRef output,
                               mlir::DialectRegistry &registry,
                               const mlir::MlirOptMainConfig &config) {
  std::unique_ptr<llvm::MemoryBuffer> from =
      tilews::readSource(input, registry, config.inputSplitMarker());
  if (!from)
    return mlir::failure();
  // A failure leaves the file as it was. What is printed comes in parts.
  std::string content;
  llvm::raw_string_ostream os(content);
  bool isPrinted = output == "-";
  mlir::LogicalResult result = mlir::MlirOptMain(
      isPrinted ? static_cast<llvm::raw_ostream &>(llvm::outs()) : os,
      std::move(from), registry, config);
  if (failed(result) && !isPrinted)
    return mlir::failure();
  if (llvm::Error failure = tilews::writeFile(output, content)) {
    llvm::errs() << "error: cannot write " << toString(std::move(failure))
                 << "\n";
    return mlir::failure();
  }
  return result;
}

int tilewsOptMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "tilews " TILEWS_VERSION "\n"; });
  mlir::DialectRegistry registry;
  tilews::registerAllDialects(registry);
  tilews::registerAllPasses();
#ifndef NDEBUG
  registerDebugOnly();
#endif
  registerStatistics();
  llvm::InitLLVM init(argc, argv);
  tilews::ignoreFileSizeSignal();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "tilews pass driver\n", registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  return mlir::asMainReturnCode(run(input, output, registry, config));
}
