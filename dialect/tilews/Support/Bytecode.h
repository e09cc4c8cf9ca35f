//===- Bytecode.h - Bytecode that may be damaged ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SUPPORT_BYTECODE_H
#define TILEWS_SUPPORT_BYTECODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilews {

/// Whether bytes are bytecode, judging by their beginning.
inline bool isBytecode(llvm::StringRef bytes) {
  return bytes.starts_with("ML\xefR");
}

/// Reads bytecode in another process, which writes it anew. What damaged
/// bytecode does to MLIR's reader happens there, and is an error here.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
rewriteBytecode(llvm::StringRef bytes, const mlir::DialectRegistry &registry);

} // namespace tilews

#endif // TILEWS_SUPPORT_BYTECODE_H
