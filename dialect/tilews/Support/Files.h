//===- Files.h - Reading and writing files ----------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SUPPORT_FILES_H
#define TILEWS_SUPPORT_FILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace tilews {

/// Reads a file; "-" is stdin. Returns null and an error for a folder, and for
/// one that has too many bytes or no end, such as /dev/zero.
std::unique_ptr<llvm::MemoryBuffer> readInput(llvm::StringRef path,
                                              std::string *error);

/// Lets a file beyond the limit of the process be an error, like a full disk.
/// By default it ends the process. LLVM's handlers of signals, which its first
/// temporary file registers, do so too: they have to be registered before.
void ignoreFileSizeSignal();

/// Writes a file; "-" is stdout. A failure or a signal leaves the old file.
llvm::Error writeFile(llvm::StringRef path, llvm::StringRef content);

} // namespace tilews

#endif // TILEWS_SUPPORT_FILES_H
