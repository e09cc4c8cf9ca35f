//===- TilewsModule.cpp - The native part of the Python package -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The extension module _tilews. Each file of this folder fills it with the
// classes and functions of one area. All of them use the C interface of tilews
// and of MLIR only: the library is built once with MLIR's Python package, and
// C++ objects do not cross its boundary.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tilews.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

namespace nb = nanobind;

void populateBuildIds(nb::module_ &m);
void populateDisassembly(nb::module_ &m);
void populateLayouts(nb::module_ &m);
void populatePipelines(nb::module_ &m);
void populateSchedule(nb::module_ &m);
void populateSimulator(nb::module_ &m);
void populateTarget(nb::module_ &m);

NB_MODULE(_tilews, m) {
  m.doc() = "Attributes of the tile dialect and access to tilews' C interface";

  MlirStringRef version = tilewsGetVersion();
  m.attr("__version__") = nb::str(version.data, version.length);
  populatePipelines(m);
  populateSchedule(m);
  populateSimulator(m);
  populateLayouts(m);
  populateTarget(m);
  populateDisassembly(m);
  populateBuildIds(m);
}
