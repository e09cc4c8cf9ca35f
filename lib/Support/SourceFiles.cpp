//===- SourceFiles.cpp - What tools give to the parser --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's tools read files by themselves. Ours give them what they can read:
// text is scanned for what would crash the parser, and bytecode is replaced by
// what a child process made of it. A file may have several parts, each text or
// bytecode.
//
//===----------------------------------------------------------------------===//

#include "tilews/Support/SourceFiles.h"
#include "tilews/Support/Bytecode.h"
#include "tilews/Support/Files.h"
#include "tilews/Support/ParserLimits.h"

#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using llvm::MemoryBuffer;
using llvm::SmallVector;
using llvm::StringRef;

/// Prints an error if the parser would crash on a part of a file.
static bool check(const MemoryBuffer &file, StringRef part) {
  std::optional<tilews::ParserFault> fault = tilews::findParserFault(part);
  if (!fault)
    return true;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(MemoryBuffer::getMemBuffer(file), llvm::SMLoc());
  auto place = llvm::SMLoc::getFromPointer(part.data() + fault->offset);
  sources.PrintMessage(place, llvm::SourceMgr::DK_Error, fault->message);
  return false;
}

std::unique_ptr<MemoryBuffer>
tilews::readSource(StringRef path, const mlir::DialectRegistry &registry,
                   StringRef splitMarker) {
  std::string error;
  std::unique_ptr<MemoryBuffer> file = readInput(path, &error);
  if (!file) {
    llvm::errs() << "error: " << error << "\n";
    return nullptr;
  }
  SmallVector<StringRef> parts = {file->getBuffer()};
  if (!splitMarker.empty()) {
    parts.clear();
    file->getBuffer().split(parts, splitMarker);
  }
  // The parts of the file, with other bytecode.
  SmallVector<std::unique_ptr<MemoryBuffer>> written;
  for (StringRef &part : parts) {
    if (!check(*file, part))
      return nullptr;
    if (!isBytecode(part))
      continue;
    auto bytecode = rewriteBytecode(part, registry);
    if (!bytecode) {
      llvm::errs() << file->getBufferIdentifier()
                   << ": error: " << toString(bytecode.takeError()) << "\n";
      return nullptr;
    }
    part = (*bytecode)->getBuffer();
    written.push_back(std::move(*bytecode));
  }
  if (written.empty())
    return file;
  return MemoryBuffer::getMemBufferCopy(llvm::join(parts, splitMarker),
                                        file->getBufferIdentifier());
}
