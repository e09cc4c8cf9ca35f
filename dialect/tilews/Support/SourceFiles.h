//===- SourceFiles.h - What tools and Python give to the parser -*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SUPPORT_SOURCEFILES_H
#define TILEWS_SUPPORT_SOURCEFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilews {

/// Reads a file of MLIR, text or bytecode, for the parser; "-" is stdin. Prints
/// an error and returns null if there is no such file, or if its text or
/// bytecode would crash the parser. `splitMarker` separates texts that are
/// parsed one by one, unless it is empty.
std::unique_ptr<llvm::MemoryBuffer>
readSource(llvm::StringRef path, const mlir::DialectRegistry &registry,
           llvm::StringRef splitMarker = "");

} // namespace tilews

#endif // TILEWS_SUPPORT_SOURCEFILES_H
