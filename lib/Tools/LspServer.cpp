//===- LspServer.cpp - The language server --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tilews-lsp-server: upstream's MLIR language server with all dialects that
// tilews-opt reads. An editor then shows diagnostics of the verifiers while the
// user types, and finds definitions and uses of values in .mlir files. A filter
// of its input keeps away what would crash the parser.
//
//===----------------------------------------------------------------------===//

#include "LspInput.h"

#include "tilews-c/Tools.h"
#include "tilews/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/raw_ostream.h"

int tilewsLspServerMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  tilews::registerAllDialects(registry);
  if (!tilews::filterLspInput(registry)) {
    llvm::errs() << "error: cannot make a pipe for the input\n";
    return EXIT_FAILURE;
  }
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
