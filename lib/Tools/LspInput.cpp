//===- LspInput.cpp - What the language server reads ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A filter between the editor and upstream's language server. A thread reads
// messages, and writes them to a pipe from which the server reads. It keeps the
// text of each open document, because editors send changes. A text that would
// crash the parser is replaced by one whose only error has the same place:
//
//   [[[[[[...    ->    "tile.is nested too deeply: ..."() : () -> ()
//
// The server then reports an unregistered operation of this name. A message
// that is itself nested too deeply is dropped, and one that is no JSON-RPC is
// answered with an error if it has an id.
//
// The server reads files of bytecode itself. It gets the URI of bytecode in
// memory that was written anew, or that of a file which does not exist, because
// its error has the name of the file:
//
//   file:///x.mlirbc   ->    file:///proc/self/fd/7
//                      or    file:///x.mlirbc: the bytecode is damaged: ...
//
//===----------------------------------------------------------------------===//

#include "LspInput.h"

#include "tilews/Support/Bytecode.h"
#include "tilews/Support/Files.h"
#include "tilews/Support/ParserLimits.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace tilews;
using llvm::StringRef;

/// The files in memory that stay open.
static constexpr size_t kMaxFiles = 64;

static bool readLine(std::FILE *input, std::string &line) {
  line.clear();
  for (int c = getc(input); c != EOF; c = getc(input)) {
    line.push_back(static_cast<char>(c));
    if (c == '\n')
      return true;
  }
  return !line.empty();
}

/// Sets the length that a line of a header gives, if it gives one.
static bool readLength(StringRef line, size_t &length) {
  return line.consume_front("Content-Length:") &&
         !line.trim().getAsInteger(10, length);
}

/// Reads the body of a message whose first line gave the length. The last of
/// several lengths counts. Appends the other lines of the header to `header`.
static std::string readBody(std::FILE *input, size_t length,
                            std::string &header) {
  std::string line, body;
  while (readLine(input, line)) {
    header += line;
    (void)readLength(line, length);
    if (StringRef(line).trim().empty())
      break;
  }
  for (int c; body.size() < length && (c = getc(input)) != EOF;)
    body.push_back(static_cast<char>(c));
  return body;
}

static std::string addHeader(const std::string &body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

namespace {
/// The standard output. A thread copies the messages of the server, which come
/// through a pipe, and the filter of the input adds its own: each as a whole.
class LspOutput {
public:
  /// Puts the pipe before the standard output. Fails if there is none.
  bool start() {
    int ends[2];
    original = dup(STDOUT_FILENO);
    if (original < 0 || pipe(ends) != 0 || dup2(ends[1], STDOUT_FILENO) < 0)
      return false;
    close(ends[1]);
    input = fdopen(ends[0], "r");
    copier = std::thread([this] { copy(); });
    return true;
  }
  /// Ends when the server has written its last message.
  void finish() {
    llvm::outs().flush();
    dup2(original, STDOUT_FILENO); // The pipe has no other writer.
    copier.join();
  }
  void write(StringRef message) {
    std::lock_guard<std::mutex> lock(mutex);
    while (!message.empty()) {
      ssize_t count = ::write(original, message.data(), message.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return;
      message = message.drop_front(count);
    }
  }

private:
  void copy() {
    std::string message;
    while (readLine(input, message)) {
      size_t length = 0;
      if (readLength(message, length)) {
        std::string body = readBody(input, length, message);
        message += body;
      }
      write(message);
    }
  }

  int original = -1;
  std::FILE *input = nullptr;
  std::thread copier;
  std::mutex mutex;
};

class Filter {
public:
  Filter(int input, int output, const mlir::DialectRegistry &registry,
         LspOutput &answers)
      : input(fdopen(input, "r")), output(fdopen(output, "w")),
        registry(registry), answers(answers) {}

  /// Copies messages until the input ends.
  void run() {
    std::string line;
    while (readLine(input, line)) {
      size_t length = 0;
      if (readLength(line, length))
        copyBody(readBody(input, length, line));
      else if (!StringRef(line).trim().empty() &&
               !StringRef(line).starts_with("Content-Type"))
        // One line for each message: the style of tests.
        write(edit(line, /*isWhole=*/false));
    }
    fclose(output);
  }

private:
  void copyBody(const std::string &body) {
    std::string edited = edit(body, /*isWhole=*/true);
    if (!edited.empty())
      write(addHeader(edited));
  }

  void write(StringRef text) {
    fwrite(text.data(), 1, text.size(), output);
    fflush(output);
  }

  /// Returns whether a value is a request, a notification, or a response.
  static bool isJsonRpc(const llvm::json::Value &message) {
    const llvm::json::Object *object = message.getAsObject();
    if (!object || object->getString("jsonrpc") != StringRef("2.0"))
      return false;
    bool isResponse =
        object->get("id") && (object->get("result") || object->get("error"));
    return object->getString("method") ||
           (!object->get("method") && isResponse);
  }

  /// Answers a message that is no JSON-RPC, at which the server would end. No
  /// answer is possible if it has no id.
  void refuse(const llvm::json::Value &message) {
    constexpr const char *reason =
        "a message is neither a request nor a response of JSON-RPC 2.0";
    llvm::errs() << reason << "\n";
    const llvm::json::Object *object = message.getAsObject();
    const llvm::json::Value *id = object ? object->get("id") : nullptr;
    if (!id)
      return;
    llvm::json::Object error{
        {"code", int(llvm::lsp::ErrorCode::InvalidRequest)},
        {"message", reason}};
    std::string text;
    llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object{
        {"jsonrpc", "2.0"}, {"id", *id}, {"error", std::move(error)}});
    answers.write(addHeader(text));
  }

  /// Returns the message for the server; empty if it gets none. Lines of the
  /// style of tests may be parts of messages, so that their form is not known.
  std::string edit(const std::string &message, bool isWhole) {
    if (std::optional<ParserFault> fault = findParserFault(message)) {
      llvm::errs() << "a message " << fault->message << "\n";
      return "";
    }
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(message);
    if (!value) {
      consumeError(value.takeError());
      return message;
    }
    if (isWhole && !isJsonRpc(*value)) {
      refuse(*value);
      return "";
    }
    llvm::json::Object *object = value->getAsObject();
    std::optional<StringRef> method;
    llvm::json::Object *params = nullptr;
    if (object) {
      method = object->getString("method");
      params = object->getObject("params");
    }
    bool changed = method && params &&
                   ((*method == "textDocument/didOpen" && open(*params)) ||
                    (*method == "textDocument/didChange" && change(*params)) ||
                    (*method == "mlir/convertFromBytecode" && read(*params)));
    if (!changed)
      return message;
    std::string text;
    llvm::raw_string_ostream(text) << *value;
    return text + '\n';
  }

  bool open(llvm::json::Object &params) {
    llvm::json::Object *document = params.getObject("textDocument");
    if (!document)
      return false;
    std::optional<StringRef> uri = document->getString("uri"),
                             text = document->getString("text");
    if (!uri || !text)
      return false;
    texts[*uri] = text->str();
    std::string replacement = replace(texts[*uri]);
    (*document)["text"] = replacement;
    return true;
  }

  bool change(llvm::json::Object &params) {
    llvm::json::Object *document = params.getObject("textDocument");
    llvm::json::Value *changes = params.get("contentChanges");
    std::optional<StringRef> uri =
        document ? document->getString("uri") : std::nullopt;
    llvm::json::Path::Root root;
    std::vector<llvm::lsp::TextDocumentContentChangeEvent> events;
    if (!uri || !changes || !fromJSON(*changes, events, root))
      return false;
    std::string &text = texts[*uri];
    for (const llvm::lsp::TextDocumentContentChangeEvent &event : events)
      if (failed(event.applyTo(text)))
        return false;
    *changes = llvm::json::Array{llvm::json::Object{{"text", replace(text)}}};
    return true;
  }

  /// Names a file that the server can read instead of the one that it should.
  bool read(llvm::json::Object &params) {
    llvm::json::Value *uri = params.get("uri");
    llvm::json::Path::Root root;
    llvm::lsp::URIForFile file;
    if (!uri || !fromJSON(*uri, file, root))
      return false;
    std::string path = file.file().str();
    if (llvm::Error error = copyToMemory(path))
      path = file.file().str() + ": " + toString(std::move(error));
    else
      path = "/proc/self/fd/" + std::to_string(files.back());
    auto replacement = llvm::lsp::URIForFile::fromFile(path);
    if (!replacement) {
      consumeError(replacement.takeError());
      return false;
    }
    *uri = replacement->uri().str();
    return true;
  }

  /// Adds a file in memory, with what is read instead of another one. The
  /// server reads it later. It never has this many requests before it.
  llvm::Error copyToMemory(StringRef path) {
    std::string error;
    std::unique_ptr<llvm::MemoryBuffer> content = readInput(path, &error);
    if (!content)
      return llvm::createStringError(error);
    if (std::optional<ParserFault> fault =
            findParserFault(content->getBuffer()))
      return llvm::createStringError(fault->message);
    if (isBytecode(content->getBuffer())) {
      auto written = rewriteBytecode(content->getBuffer(), registry);
      if (!written)
        return written.takeError();
      content = std::move(*written);
    }
    int file = memfd_create("bytecode", MFD_CLOEXEC);
    if (file < 0)
      return llvm::createStringError("cannot keep it in memory");
    llvm::raw_fd_ostream(file, /*shouldClose=*/false) << content->getBuffer();
    files.push_back(file);
    if (files.size() > kMaxFiles) {
      close(files.front());
      files.pop_front();
    }
    return llvm::Error::success();
  }

  /// Returns a text that the parser can read.
  static std::string replace(StringRef text) {
    std::optional<ParserFault> fault = findParserFault(text);
    if (!fault)
      return text.str();
    StringRef before = text.take_front(fault->offset);
    size_t column = before.size() - (before.rfind('\n') + 1);
    return std::string(before.count('\n'), '\n') + std::string(column, ' ') +
           "\"tile." + fault->message + "\"() : () -> ()\n";
  }

  std::FILE *input, *output;
  const mlir::DialectRegistry &registry;
  LspOutput &answers;
  std::deque<int> files;
  llvm::StringMap<std::string> texts;
};
} // namespace

bool tilews::filterLspInput(const mlir::DialectRegistry &registry) {
  // The thread of the filter lasts until the process has ended.
  static LspOutput &answers = *new LspOutput;
  int ends[2];
  int original = dup(STDIN_FILENO);
  if (original < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0 ||
      !answers.start())
    return false;
  close(ends[0]);
  (void)llvm::outs(); // Made before, so that it is destroyed after the call.
  (void)std::atexit([] { answers.finish(); });
  // The server may end before its input does.
  std::signal(SIGPIPE, SIG_IGN);
  std::thread([original, output = ends[1], &registry] {
    Filter(original, output, registry, answers).run();
  }).detach();
  return true;
}
