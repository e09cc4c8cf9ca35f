//===- Bytecode.cpp - Bytecode that may be damaged ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One changed byte may let MLIR's reader of bytecode abort, run without end, or
// write beyond its memory (docs/upstream/damaged-bytecode.md). So it reads
// unknown bytes in a child process only. The child prints what it has read,
// since the printer crashes on some of it, and writes it as new bytecode:
//
//   parent: bytes ---fork---> child: read, print, write
//   parent: read <---pipe---- new bytecode and 'M', or an error and 'E'
//
// The child is a fork, so that it has the dialects of its parent; a new process
// would load them in a tenth of a second. It has a context of its own, because
// the threads of the parent's are not there and may have held its locks. Other
// threads may have held other locks, such as that of MLIR's type ids. A child
// that waits for one uses no time of the processor, and another one is forked,
// a few times: the lock is free after microseconds. If the child ends without
// an answer, the bytes are damaged. The child does not verify: that makes
// diagnostics, which belong to the parent.
//
//===----------------------------------------------------------------------===//

#include "tilews/Support/Bytecode.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace mlir;
using llvm::Expected;
using llvm::MemoryBuffer;

/// What the child may take beyond a few times the size of the bytes. Bytecode
/// of a large kernel takes milliseconds.
static constexpr rlim_t kSeconds = 5;
static constexpr rlim_t kMemory = rlim_t(2) << 30;

/// Milliseconds without work after which a child counts as one that waits. On
/// a busy machine a process may get no processor for a while.
static constexpr int kPatience = 2000;
static constexpr int kAttempts = 3;

//===----------------------------------------------------------------------===//
// The child
//===----------------------------------------------------------------------===//

static void setLimit(__rlimit_resource kind, rlim_t limit) {
  rlimit limits;
  if (getrlimit(kind, &limits) != 0)
    return;
  limits.rlim_cur = std::min(limits.rlim_max, limit);
  setrlimit(kind, &limits);
}

/// Lets the process end silently at a crash, and at its limits.
static void prepareToCrash(size_t size) {
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGXCPU,
                     SIGTERM, SIGPIPE})
    std::signal(number, SIG_DFL);
  // An interrupt is the parent's, and its end is that of the child.
  std::signal(SIGINT, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_DUMPABLE, 0); // no core file
  // LLVM's fatal errors call `exit`, whose destructors wait for threads that
  // are in the parent only. Ours is the first that runs.
  (void)std::atexit([] { _exit(EXIT_FAILURE); });
  if (int nowhere = open("/dev/null", O_RDWR); nowhere >= 0)
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(nowhere, stream);
  setLimit(RLIMIT_CPU, kSeconds + (size >> 20));
  // The process has the memory of its parent.
  unsigned long long pages = 0;
  if (std::FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu", &pages) == 1)
      setLimit(RLIMIT_AS, pages * sysconf(_SC_PAGESIZE) + kMemory + 32 * size);
    std::fclose(file);
  }
}

/// Prints an operation to nowhere, in each form that it has.
static void print(Operation *op) {
  bool isValid = succeeded(verify(op));
  llvm::raw_null_ostream nowhere;
  op->print(nowhere, OpPrintingFlags().printGenericOpForm().enableDebugInfo());
  if (isValid)
    op->print(nowhere, OpPrintingFlags().assumeVerified());
}

/// Sends the answer, and ends the child: the destructors of what was damaged
/// may crash.
[[noreturn]] static void answer(int pipe, char kind, std::string text) {
  text += kind;
  StringRef rest = text;
  while (!rest.empty()) {
    ssize_t count = write(pipe, rest.data(), rest.size());
    if (count <= 0)
      break;
    rest = rest.drop_front(count);
  }
  _exit(rest.empty() ? EXIT_SUCCESS : EXIT_FAILURE);
}

/// An exception, as of a failed allocation, ends the child: Python's handlers
/// are the parent's.
[[noreturn]] static void
readAndAnswer(int pipe, StringRef bytes,
              const DialectRegistry &registry) noexcept {
  prepareToCrash(bytes.size());
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  // The parent refuses those that it does not know or allow.
  context.allowUnregisteredDialects();
  std::string errors;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    errors += (errors.empty() ? "" : "; ") + diagnostic.str();
  });
  FallbackAsmResourceMap resources;
  ParserConfig config(&context, /*verifyAfterParse=*/false, &resources);
  Block block;
  if (failed(readBytecodeFile({bytes, "bytecode"}, &block, config)))
    answer(pipe, 'E', errors);
  if (!llvm::hasSingleElement(block))
    answer(pipe, 'E', "the bytecode has no operation, or several");
  print(&block.front());
  std::string written;
  llvm::raw_string_ostream os(written);
  bool isWritten = succeeded(
      writeBytecodeToFile(&block.front(), os, BytecodeWriterConfig(resources)));
  answer(pipe, isWritten ? 'M' : 'E', isWritten ? written : errors);
}

//===----------------------------------------------------------------------===//
// The parent
//===----------------------------------------------------------------------===//

namespace {
/// How the child ended, and all that it sent.
struct Answer {
  std::string text;
  int status = 0;
  /// Whether it was stopped, because it waited for something.
  bool isStopped = false;
};
} // namespace

/// Returns the time of the processor that a process has used, in nanoseconds.
static int64_t getWork(pid_t process) {
  clockid_t clock;
  timespec time = {};
  if (clock_getcpuclockid(process, &clock) != 0 ||
      clock_gettime(clock, &time) != 0)
    return 0;
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

/// Reads until the child ends. One that works without end reaches its limit.
static Answer receive(pid_t child, int pipe) {
  using Clock = std::chrono::steady_clock;
  Answer received;
  std::vector<char> part(1 << 16);
  int64_t work = -1;
  Clock::time_point next = Clock::now();
  while (true) {
    if (auto now = Clock::now(); now >= next) {
      int64_t before = std::exchange(work, getWork(child));
      if ((received.isStopped = before == work))
        break;
      next = now + std::chrono::milliseconds(kPatience);
    }
    pollfd ready = {pipe, POLLIN, 0};
    int count = poll(&ready, 1, kPatience);
    if (count == 0 || (count < 0 && errno == EINTR))
      continue;
    ssize_t got = count < 0 ? -1 : read(pipe, part.data(), part.size());
    if (got > 0)
      received.text.append(part.data(), got);
    else if (got == 0 || errno != EINTR)
      break;
  }
  close(pipe);
  if (received.isStopped)
    kill(child, SIGKILL);
  while (waitpid(child, &received.status, 0) < 0 && errno == EINTR)
    ;
  return received;
}

static std::string describe(int status) {
  if (!WIFSIGNALED(status))
    return "gave up";
  int number = WTERMSIG(status);
  // The limit of the processor's time sends both.
  if (number == SIGXCPU || number == SIGKILL)
    return "does not end";
  return std::string("crashed (") + strsignal(number) + ")";
}

/// Starts a child that reads `bytes`, and returns its answer.
static Expected<Answer> ask(StringRef bytes, const DialectRegistry &registry) {
  int ends[2];
  auto fail = [](const char *what) {
    return llvm::createStringError("cannot start a process that reads "
                                   "bytecode: %s: %s",
                                   what, std::strerror(errno));
  };
  if (pipe2(ends, O_CLOEXEC) != 0)
    return fail("pipe");
  pid_t child = fork();
  if (child == 0)
    readAndAnswer(ends[1], bytes, registry);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return fail("fork");
  }
  return receive(child, ends[0]);
}

Expected<std::unique_ptr<MemoryBuffer>>
tilews::rewriteBytecode(StringRef bytes, const DialectRegistry &registry) {
  // The reader expects an alignment.
  auto aligned = MemoryBuffer::getMemBufferCopy(bytes);
  Expected<Answer> received = ask(aligned->getBuffer(), registry);
  for (int i = 1; i < kAttempts && received && received->isStopped; ++i)
    received = ask(aligned->getBuffer(), registry);
  if (!received)
    return received.takeError();
  if (received->isStopped)
    return llvm::createStringError(
        "cannot read bytecode: each of " + llvm::Twine(kAttempts) +
        " processes that read it waited for a lock, which another thread held; "
        "read it while the other threads are idle");
  StringRef text = received->text;
  if (WIFEXITED(received->status) &&
      WEXITSTATUS(received->status) == EXIT_SUCCESS) {
    if (text.consume_back("M"))
      return MemoryBuffer::getMemBufferCopy(text);
    if (text.consume_back("E"))
      return llvm::createStringError(text);
  }
  return llvm::createStringError("the bytecode is damaged: MLIR's reader " +
                                 describe(received->status) +
                                 "; write the file again");
}
