//===- TargetCAPI.cpp - The C interface of the compilation ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets and compilations in C. `tilewsForEachTarget` lists the facts about
// each known chip. A compilation is a handle; its outputs and its manifest are
// sent to a callback as bytes. Errors are diagnostics of the context of the
// module, and the functions then return a failure or a null handle.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Target.h"
#include "tilews/Target/Assemble.h"
#include "tilews/Target/Compile.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace tilews;

static Compilation *get(TilewsCompilation compilation) {
  return static_cast<Compilation *>(compilation.ptr);
}

static MlirStringRef wrapString(StringRef string) {
  return mlirStringRefCreate(string.data(), string.size());
}

static std::vector<std::string> getStrings(intptr_t count,
                                           const MlirStringRef *strings) {
  std::vector<std::string> result;
  result.reserve(count);
  for (intptr_t i = 0; i < count; ++i)
    result.push_back(unwrap(strings[i]).str());
  return result;
}

static MlirLogicalResult pass(const FailureOr<std::string> &result,
                              MlirStringCallback callback, void *userData) {
  if (failed(result))
    return mlirLogicalResultFailure();
  callback(wrapString(*result), userData);
  return mlirLogicalResultSuccess();
}

void tilewsForEachTarget(MlirContext context,
                         void (*callback)(MlirStringRef, TilewsTargetInfo,
                                          void *),
                         void *userData) {
  Location loc = UnknownLoc::get(unwrap(context));
  for (StringRef chip : TargetInfo::getKnownChips()) {
    auto target = TargetInfo::get(chip, [&] { return emitError(loc); });
    if (succeeded(target))
      callback(wrapString(chip),
               {target->isNVIDIA(), target->warpSize, target->maxThreads,
                target->maxSharedBytes, target->hasCpAsync(), target->hasTma(),
                target->hasWgmma(), target->hasMfma(), target->hasWmma()},
               userData);
  }
}

void tilewsFindPtxas(intptr_t numDirectories, const MlirStringRef *directories,
                     MlirStringCallback callback, void *userData) {
  if (auto path = findPtxas(getStrings(numDirectories, directories)))
    callback(wrapString(*path), userData);
}

TilewsCompilation tilewsCompilationCreate(MlirModule module, MlirStringRef chip,
                                          unsigned indexBitwidth,
                                          MlirStringRef tilePasses,
                                          bool lineInfo,
                                          intptr_t numDirectories,
                                          const MlirStringRef *directories) {
  CompileOptions options{unwrap(chip).str(), indexBitwidth,
                         unwrap(tilePasses).str(), lineInfo,
                         getStrings(numDirectories, directories)};
  auto compilation = Compilation::create(unwrap(module), options);
  return {failed(compilation) ? nullptr : compilation->release()};
}

void tilewsCompilationDestroy(TilewsCompilation compilation) {
  delete get(compilation);
}

MlirStringRef tilewsCompilationGetChip(TilewsCompilation compilation) {
  return wrapString(get(compilation)->getTarget().chip);
}

MlirLogicalResult tilewsCompilationGet(TilewsCompilation compilation,
                                       TilewsOutput output,
                                       MlirStringCallback callback,
                                       void *userData) {
  static_assert(int(TilewsOutputBinary) == int(Output::Binary));
  return pass(get(compilation)->get(Output(output)), callback, userData);
}

MlirLogicalResult tilewsCompilationPrint(TilewsCompilation compilation,
                                         MlirStringRef phase,
                                         MlirStringCallback callback,
                                         void *userData) {
  return pass(get(compilation)->print(unwrap(phase)), callback, userData);
}

MlirLogicalResult tilewsCompilationGetManifest(TilewsCompilation compilation,
                                               MlirStringRef kernel,
                                               MlirStringCallback callback,
                                               void *userData) {
  return pass(get(compilation)->getManifest(unwrap(kernel)), callback,
              userData);
}

void tilewsCompilationForEachTime(TilewsCompilation compilation,
                                  void (*callback)(MlirStringRef, double,
                                                   void *),
                                  void *userData) {
  for (const StageTime &time : get(compilation)->getTimes())
    callback(wrapString(time.stage), time.milliseconds, userData);
}
