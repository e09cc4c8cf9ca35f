//===- PipelineBindings.cpp - The named pipelines in Python ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives Python the table of pipelines: _tilews.pipelines() returns a tuple
// (flag, summary, options) for each pipeline, and (name, type, summary) for
// each option. tilews.passes makes its functions of them, and moves the results
// of pipelines to their modules with _tilews._replace_module().
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Pipelines.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"

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

void populatePipelines(nb::module_ &m) {
  m.def("pipelines", &getPipelines,
        "The named pipelines: flag, summary and options of each");
  m.def("_replace_module", &tilewsReplaceModule, nb::arg("module"),
        nb::arg("source"));
}
