//===- Files.cpp - Writing files ------------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the content to a temporary file in the same folder, which then gets
// the name. So a reader finds the old content or the new one, also after a
// signal or on a full disk. Devices, pipes and stdout are written directly.
//
//===----------------------------------------------------------------------===//

#include "tilews/Support/Files.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

static Error write(raw_fd_ostream &os, StringRef path, StringRef content) {
  os << content;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error ? createFileError(path, error) : Error::success();
}

Error tilews::writeFile(StringRef path, StringRef content) {
  if (path == "-")
    return write(outs(), path, content);
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path)) {
    std::error_code error;
    raw_fd_ostream os(path, error);
    return error ? createFileError(path, error) : write(os, path, content);
  }
  // A symbolic link stays one.
  SmallString<128> target;
  if (sys::fs::real_path(path, target))
    target = path;
  unsigned mode = sys::fs::all_read | sys::fs::all_write;
  if (auto permissions = sys::fs::getPermissions(target))
    mode = *permissions;
  auto file = sys::fs::TempFile::create(target + ".%%%%%%", mode);
  if (!file)
    return createFileError(path, file.takeError());
  raw_fd_ostream os(file->FD, /*shouldClose=*/false);
  if (Error error = write(os, path, content))
    return joinErrors(std::move(error), file->discard());
  if (Error error = file->keep(target))
    return createFileError(path, std::move(error));
  return Error::success();
}
