//===- PipelineBindings.cpp - The named pipelines in Python ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives Python the table of pipelines: _tilews.pipelines() returns a tuple
// (flag, summary, options) for each pipeline, and (name, type, summary) for
// each option. tilews.passes makes its functions of them, runs them on copies
// with _tilews._run_passes(), and moves the results to their modules with
// _tilews._replace_module().
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "tilews-c/Pipelines.h"

#include "mlir-c/Pass.h"
#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

static nb::str toPython(MlirStringRef text) {
  return nb::str(text.data, text.length);
}

static nb::list getPipelines() {
  nb::list pipelines;
  tilewsForEachPipeline(
      [](MlirStringRef flag, MlirStringRef summary, intptr_t numOptions,
         const TilewsPipelineOption *options, void *list) {
        nb::list found;
        for (intptr_t i = 0; i < numOptions; ++i)
          found.append(nb::make_tuple(toPython(options[i].name),
                                      toPython(options[i].type),
                                      toPython(options[i].summary)));
        static_cast<nb::list *>(list)->append(
            nb::make_tuple(toPython(flag), toPython(summary), found));
      },
      &pipelines);
  return pipelines;
}

static std::vector<std::string> runPasses(MlirPassManager manager,
                                          MlirOperation op) {
  return callOnValid(op, [&] { return mlirPassManagerRunOnOp(manager, op); });
}

void populatePipelines(nb::module_ &m) {
  m.def("pipelines", &getPipelines,
        "The named pipelines: flag, summary and options of each");
  m.def("_run_passes", &runPasses, nb::arg("manager"), nb::arg("operation"),
        "Runs passes on an operation without Python objects inside");
  m.def("_replace_module", &tilewsReplaceModule, nb::arg("module"),
        nb::arg("source"));
}
