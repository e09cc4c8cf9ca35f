//===- SiteInitialize.cpp - Dialects of new Python contexts ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR's Python package imports a module of this name and lets it fill every
// new Context. Types and attributes belong into the other module: binding them
// imports tilews.ir, which is still being imported while this one runs.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tilews.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

NB_MODULE(_site_initialize_0, m) {
  m.def("register_dialects", [](MlirDialectRegistry registry) {
    tilewsRegisterAllDialects(registry);
  });
  tilewsRegisterAllPasses();
  tilewsKeepSignalHandlers();
}
