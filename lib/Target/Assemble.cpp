//===- Assemble.cpp - The last step to a binary ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the tools that make binaries: ptxas as a process of its own, with
// temporary files, and lld in this process. ptxas is looked for in PATH, then
// under CUDA_HOME and CUDA_PATH, then in the directories that the caller adds.
// Its verbose output is kept: it says how many registers a kernel uses and
// whether it spills. lld has global state, so one thread at a time links, and
// after a crash inside lld no further link is tried.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/Assemble.h"

#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>
#include <pthread.h>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace tilews;

namespace {
/// A temporary file, removed by the destructor.
class TemporaryFile {
public:
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  /// Creates the file with `content`.
  LogicalResult create(StringRef extension, StringRef content, Location loc) {
    SmallString<128> name;
    int descriptor;
    std::error_code error = llvm::sys::fs::createTemporaryFile(
        "tilews", extension, descriptor, name);
    if (error)
      return emitError(loc, "cannot create a temporary file: ")
             << error.message();
    path = name.str().str();
    remover.setFile(path);
    llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
    os << content;
    os.close();
    if (!os.has_error())
      return success();
    emitError(loc, "cannot write ") << path << ": " << os.error().message();
    os.clear_error();
    return failure();
  }

  const std::string &getPath() const { return path; }

  FailureOr<std::string> read(Location loc) const {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      return emitError(loc, "cannot read ")
             << path << ": " << buffer.getError().message();
    return (*buffer)->getBuffer().str();
  }

private:
  std::string path;
  llvm::FileRemover remover;
};
} // namespace

//===----------------------------------------------------------------------===//
// NVIDIA: ptxas
//===----------------------------------------------------------------------===//

std::optional<std::string>
tilews::findPtxas(ArrayRef<std::string> directories) {
  SmallVector<std::string> candidates;
  if (auto path = llvm::sys::Process::GetEnv("PATH"))
    for (StringRef directory : llvm::split(*path, llvm::sys::EnvPathSeparator))
      candidates.push_back(directory.str());
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto home = llvm::sys::Process::GetEnv(variable)) {
      SmallString<128> bin(*home);
      llvm::sys::path::append(bin, "bin");
      candidates.push_back(bin.str().str());
    }
  candidates.append(directories.begin(), directories.end());
  // An empty or a relative directory would be the current one, or in it: a
  // kernel's folder could bring a program that tilews executes.
  for (const std::string &directory : candidates)
    if (llvm::sys::path::is_absolute(directory))
      if (auto path = llvm::sys::findProgramByName("ptxas", {directory}))
        return *path;
  return std::nullopt;
}

FailureOr<std::string> tilews::assemblePtx(StringRef ptx, StringRef chip,
                                           ArrayRef<std::string> directories,
                                           Location loc, std::string &log) {
  std::optional<std::string> ptxas = findPtxas(directories);
  if (!ptxas)
    return emitError(loc,
                     "ptxas not found on PATH, in CUDA_HOME/bin or in "
                     "CUDA_PATH/bin; install the CUDA toolkit or the Python "
                     "package nvidia-cuda-nvcc, or emit PTX, which the driver "
                     "can compile");
  TemporaryFile input, output, report;
  if (failed(input.create("ptx", ptx, loc)) ||
      failed(output.create("cubin", "", loc)) ||
      failed(report.create("log", "", loc)))
    return failure();

  std::string arch = ("-arch=" + chip).str();
  SmallVector<StringRef> arguments = {*ptxas, "-v", "-O3",
                                      arch,   "-o", output.getPath()};
  // Keeps the table of lines; instructions are the same.
  if (ptx.contains("\t.loc\t"))
    arguments.push_back("-lineinfo");
  arguments.push_back(input.getPath());
  std::optional<StringRef> redirects[] = {
      StringRef(), StringRef(report.getPath()), StringRef(report.getPath())};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(*ptxas, arguments, std::nullopt,
                                         redirects, /*SecondsToWait=*/0,
                                         /*MemoryLimit=*/0, &message);
  FailureOr<std::string> text = report.read(loc);
  if (failed(text))
    return failure();
  log = std::move(*text);
  if (status != 0) {
    InFlightDiagnostic error = emitError(loc, "ptxas failed");
    if (!message.empty())
      error << ": " << message;
    for (StringRef line : llvm::split(log, '\n'))
      if (line.contains("error") || line.contains("fatal"))
        error << "\n" << line;
    error << "\n(" << *ptxas << ", for " << chip << ")";
    return failure();
  }
  return output.read(loc);
}

//===----------------------------------------------------------------------===//
// AMD: lld
//===----------------------------------------------------------------------===//

namespace {
/// lld has global state, and reports when that state is no longer usable.
struct Linker {
  std::mutex mutex;
  bool usable = true;
};
} // namespace

static Linker &getLinker() {
  static Linker linker;
  // A fork waits until no thread links, which takes milliseconds. Else the lock
  // would never be released in the new process.
  static const int isForkSafe =
      pthread_atfork([] { linker.mutex.lock(); }, [] { linker.mutex.unlock(); },
                     [] { linker.mutex.unlock(); });
  (void)isForkSafe;
  return linker;
}

FailureOr<std::string> tilews::linkCodeObject(StringRef object, Location loc) {
  Linker &linker = getLinker();
  std::lock_guard<std::mutex> lock(linker.mutex);
  if (!linker.usable)
    return emitError(loc, "lld crashed earlier in this process; start a new "
                          "process to link");
  TemporaryFile input, output;
  if (failed(input.create("o", object, loc)) ||
      failed(output.create("hsaco", "", loc)))
    return failure();

  const char *arguments[] = {"ld.lld", "-shared", "--no-undefined",
                             // Threads of lld are missing after a fork.
                             "--threads=1", "-o", output.getPath().c_str(),
                             input.getPath().c_str()};
  std::string messages, unused;
  llvm::raw_string_ostream os(messages), unusedOS(unused);
  lld::Result result =
      lld::lldMain(arguments, unusedOS, os, {{lld::Gnu, &lld::elf::link}});
  linker.usable = result.canRunAgain;
  if (result.retCode != 0)
    return emitError(loc, "linking the code object failed\n") << messages;
  return output.read(loc);
}
