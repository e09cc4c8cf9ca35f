//===- Files.h - Writing files ----------------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SUPPORT_FILES_H
#define TILEWS_SUPPORT_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tilews {

/// Writes a file; "-" is stdout. A failure or a signal leaves the old file.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content);

} // namespace tilews

#endif // TILEWS_SUPPORT_FILES_H
