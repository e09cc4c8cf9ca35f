//===- Diagnostics.cpp - Diagnostics of a context, in Python --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives Python the collector of diagnostics. The collector keeps the context
// alive, because it detaches its handler from it at the end:
//
//   collector = _tilews.DiagnosticCollector(context)
//   ...; collector.detach(); print(collector.lines)
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"

#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

void populateDiagnostics(nb::module_ &m) {
  nb::class_<DiagnosticCollector>(
      m, "DiagnosticCollector",
      "Keeps what a context reports, as lines, until it is detached")
      .def(nb::init<MlirContext>(), nb::arg("context"), nb::keep_alive<1, 2>())
      .def("detach", &DiagnosticCollector::detach)
      .def_prop_ro("lines", &DiagnosticCollector::getLines);
}
