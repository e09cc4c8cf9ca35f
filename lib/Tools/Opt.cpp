//===- Opt.cpp - The pass driver ------------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tools.h"
#include "tilews/InitAll.h"
#include "tilews/Version.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int tilewsOptMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "tilews " TILEWS_VERSION "\n"; });
  mlir::DialectRegistry registry;
  tilews::registerAllDialects(registry);
  tilews::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "tilews pass driver\n", registry));
}
