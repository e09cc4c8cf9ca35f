//===- ParseCAPI.cpp - The C interface of parsing with limits -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions by which MLIR's Python package parses. Each looks for text that
// would crash the parser, and reports it by a diagnostic with its place, as the
// parser does with an error. A file is read once, for the check and the parser.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Parse.h"
#include "tilews/Support/Bytecode.h"
#include "tilews/Support/Files.h"
#include "tilews/Support/ParserLimits.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilews;

/// Reports text that the parser cannot read.
static LogicalResult check(MLIRContext *context, StringRef text,
                           StringRef name = "-") {
  std::optional<ParserFault> fault = findParserFault(text);
  if (!fault)
    return success();
  StringRef before = text.take_front(fault->offset);
  size_t line = before.count('\n') + 1;
  size_t column = fault->offset - (before.rfind('\n') + 1) + 1;
  return emitError(FileLineColLoc::get(context, name, line, column),
                   fault->message);
}

/// Returns a text, or other bytecode, that the parser can read. Null after an
/// error.
static std::unique_ptr<llvm::MemoryBuffer>
prepare(MLIRContext *context, std::unique_ptr<llvm::MemoryBuffer> source) {
  StringRef text = source->getBuffer(), name = source->getBufferIdentifier();
  if (failed(check(context, text, name)))
    return nullptr;
  if (!isBytecode(text))
    return source;
  auto written = rewriteBytecode(text, context->getDialectRegistry());
  if (!written) {
    emitError(FileLineColLoc::get(context, name, 0, 0),
              toString(written.takeError()));
    return nullptr;
  }
  return std::move(*written);
}

/// Returns a module; null after an error.
static MlirModule parse(MLIRContext *context,
                        std::unique_ptr<llvm::MemoryBuffer> source) {
  source = prepare(context, std::move(source));
  if (!source)
    return {nullptr};
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(source), llvm::SMLoc());
  auto module = parseSourceFile<ModuleOp>(sources, context);
  return MlirModule{module.release().getAsOpaquePointer()};
}

MlirModule tilewsModuleCreateParse(MlirContext context, MlirStringRef text) {
  return parse(unwrap(context),
               llvm::MemoryBuffer::getMemBufferCopy(unwrap(text), "-"));
}

MlirModule tilewsModuleCreateParseFromFile(MlirContext context,
                                           MlirStringRef path) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = readInput(unwrap(path), &error);
  if (!file) {
    emitError(UnknownLoc::get(unwrap(context)), error);
    return {nullptr};
  }
  return parse(unwrap(context), std::move(file));
}

MlirOperation tilewsOperationCreateParse(MlirContext context,
                                         MlirStringRef text,
                                         MlirStringRef sourceName) {
  auto source = prepare(unwrap(context), llvm::MemoryBuffer::getMemBufferCopy(
                                             unwrap(text), unwrap(sourceName)));
  if (!source)
    return {nullptr};
  return mlirOperationCreateParse(context, wrap(source->getBuffer()),
                                  sourceName);
}

MlirAttribute tilewsAttributeParseGet(MlirContext context, MlirStringRef text) {
  if (failed(check(unwrap(context), unwrap(text))))
    return {nullptr};
  return mlirAttributeParseGet(context, text);
}

MlirType tilewsTypeParseGet(MlirContext context, MlirStringRef text) {
  if (failed(check(unwrap(context), unwrap(text))))
    return {nullptr};
  return mlirTypeParseGet(context, text);
}
