//===- PipelinesCAPI.cpp - The C interface of the named pipelines ---------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the table of pipelines in lib/Pipelines/Pipelines.cpp. A pipeline is
// passed to the callback as "tilews-to-nvvm" with the options index-bitwidth,
// chip and one-role, for example.
//
// A pipeline that fails leaves half changed IR. So Python runs it on a copy of
// the module and, if it succeeds, moves the result to the module.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Pipelines.h"
#include "tilews/Pipelines/Pipelines.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace tilews;

static MlirStringRef wrapString(llvm::StringRef string) {
  return mlirStringRefCreate(string.data(), string.size());
}

void tilewsForEachPipeline(void (*callback)(MlirStringRef, MlirStringRef,
                                            intptr_t,
                                            const TilewsPipelineOption *,
                                            void *),
                           void *userData) {
  for (const PipelineInfo &info : getPipelines()) {
    std::vector<TilewsPipelineOption> options;
    options.reserve(info.options.size());
    for (const PipelineOption &option : info.options)
      options.push_back({wrapString(option.name), wrapString(option.type),
                         wrapString(option.summary)});
    callback(wrapString(info.flag), wrapString(info.summary), options.size(),
             options.data(), userData);
  }
}

void tilewsReplaceModule(MlirModule module, MlirOperation from) {
  mlir::ModuleOp target = unwrap(module);
  auto source = mlir::cast<mlir::ModuleOp>(unwrap(from));
  target->setAttrs(source->getAttrDictionary());
  mlir::Block *body = target.getBody();
  body->clear();
  body->getOperations().splice(body->end(), source.getBody()->getOperations());
}
