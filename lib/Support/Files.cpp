//===- Files.cpp - Reading and writing files ------------------------------===//
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
// Pipes and devices do not say how long they are. They are read in parts, up to
// a limit.
//
//===----------------------------------------------------------------------===//

#include "tilews/Support/Files.h"

#include "mlir/Support/FileUtilities.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>

using namespace llvm;

/// The bytes of a file that are read: far beyond any kernel.
static constexpr uint64_t kMaxBytes = uint64_t(1) << 29;

/// Reads to the end, but no more than one byte beyond the limit.
static Expected<SmallVector<char, 0>> readToEnd(sys::fs::file_t file) {
  SmallVector<char, 0> content;
  while (content.size() <= kMaxBytes) {
    size_t before = content.size();
    size_t room = std::max<size_t>(before, 1 << 16);
    content.resize_for_overwrite(
        std::min<size_t>(before + room, kMaxBytes + 1));
    Expected<size_t> count = sys::fs::readNativeFile(
        file, MutableArrayRef(content).drop_front(before));
    if (!count)
      return count.takeError();
    content.truncate(before + *count);
    if (*count == 0)
      break;
  }
  return content;
}

static Expected<std::unique_ptr<MemoryBuffer>> readPipe(StringRef path) {
  Expected<sys::fs::file_t> file = path == "-"
                                       ? sys::fs::getStdinHandle()
                                       : sys::fs::openNativeFileForRead(path);
  if (!file)
    return file.takeError();
  auto content = readToEnd(*file);
  if (path != "-")
    (void)sys::fs::closeFile(*file);
  if (!content)
    return content.takeError();
  return std::make_unique<SmallVectorMemoryBuffer>(
      std::move(*content), path == "-" ? "<stdin>" : path);
}

std::unique_ptr<MemoryBuffer> tilews::readInput(StringRef path,
                                                std::string *error) {
  auto refuse = [&](const Twine &reason) {
    *error = ("cannot open input file '" + path + "': " + reason).str();
    return nullptr;
  };
  sys::fs::file_status status;
  bool isKnown = path != "-" && !sys::fs::status(path, status);
  uint64_t size = 0;
  std::unique_ptr<MemoryBuffer> file;
  if (isKnown && sys::fs::is_regular_file(status)) {
    size = status.getSize();
    if (size <= kMaxBytes)
      file = mlir::openInputFile(path, error);
  } else if (path == "-" || (isKnown && !sys::fs::is_directory(status))) {
    auto content = readPipe(path);
    if (!content)
      return refuse(toString(content.takeError()));
    file = std::move(*content);
    size = file->getBufferSize();
  } else {
    return mlir::openInputFile(path, error);
  }
  if (size > kMaxBytes)
    return refuse("it has more than " + Twine(kMaxBytes >> 20) +
                  " MiB, or no end; give a file with one kernel");
  return file;
}

void tilews::ignoreFileSizeSignal() { (void)std::signal(SIGXFSZ, SIG_IGN); }

static Error write(raw_fd_ostream &os, StringRef path, StringRef content) {
  os << content;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error ? createFileError(path, error) : Error::success();
}

Error tilews::writeFile(StringRef path, StringRef content) {
  if (path == "-")
    return write(outs(), "the standard output", content);
  // Where a link leads nowhere, there is no old file.
  if (sys::fs::exists(path) ? !sys::fs::is_regular_file(path)
                            : sys::fs::is_symlink_file(path)) {
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
