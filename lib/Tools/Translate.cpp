//===- Translate.cpp - The translation driver -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tools.h"
#include "tilews/Version.h"

#include "mlir/InitAllTranslations.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int tilewsTranslateMain(int argc, char **argv) {
  llvm::cl::AddExtraVersionPrinter(
      [](llvm::raw_ostream &os) { os << "tilews " TILEWS_VERSION "\n"; });
  mlir::registerAllTranslations();
  return mlir::asMainReturnCode(
      mlir::mlirTranslateMain(argc, argv, "tilews translation driver"));
}
