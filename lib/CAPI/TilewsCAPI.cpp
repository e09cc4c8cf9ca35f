//===- TilewsCAPI.cpp - The C interface of tilews -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registration and version. MLIR's Python package fills every new context
// through these functions, so that dialects and passes of tilews are known
// there and a file with tile operations can be parsed at once.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tilews.h"
#include "tilews/InitAll.h"
#include "tilews/Version.h"

#include "mlir/CAPI/IR.h"

void tilewsRegisterAllDialects(MlirDialectRegistry registry) {
  tilews::registerAllDialects(*unwrap(registry));
}

void tilewsRegisterAllPasses() { tilews::registerAllPasses(); }

MlirStringRef tilewsGetVersion() {
  return mlirStringRefCreateFromCString(TILEWS_VERSION);
}
