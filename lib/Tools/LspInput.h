//===- LspInput.h - What the language server reads --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TOOLS_LSPINPUT_H
#define TILEWS_TOOLS_LSPINPUT_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilews {

/// Puts a filter before the standard input of this process, which replaces
/// documents and files that would crash the parser, and answers what is no
/// JSON-RPC. Returns false if there is no pipe. The registry has to live as
/// long as the process.
bool filterLspInput(const mlir::DialectRegistry &registry);

} // namespace tilews

#endif // TILEWS_TOOLS_LSPINPUT_H
