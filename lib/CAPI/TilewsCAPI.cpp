//===- TilewsCAPI.cpp - The C interface of tilews -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration and version. MLIR's Python package fills every new context
// through these functions, so that dialects and passes of tilews are known
// there and a file with tile operations can be parsed at once. Also what a
// library in a Python process needs: Ctrl-C has to stay Python's.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tilews.h"
#include "tilews/InitAll.h"
#include "tilews/Version.h"

#include "mlir/CAPI/IR.h"
#include "llvm/Support/Signals.h"
#include <array>
#include <csignal>

void tilewsRegisterAllDialects(MlirDialectRegistry registry) {
  tilews::registerAllDialects(*unwrap(registry));
}

void tilewsRegisterAllPasses() { tilews::registerAllPasses(); }

void tilewsKeepSignalHandlers() {
  std::array<struct sigaction, NSIG> handlers;
  for (int number = 1; number < NSIG; ++number)
    sigaction(number, nullptr, &handlers[number]);
  // LLVM registers its handlers once, with the first file to remove at signals.
  static constexpr llvm::StringLiteral file = "/dev/null/tilews";
  (void)llvm::sys::RemoveFileOnSignal(file);
  llvm::sys::DontRemoveFileOnSignal(file);
  for (int number = 1; number < NSIG; ++number)
    sigaction(number, &handlers[number], nullptr);
}

MlirStringRef tilewsGetVersion() {
  return mlirStringRefCreateFromCString(TILEWS_VERSION);
}
