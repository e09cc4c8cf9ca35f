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
// that is itself nested too deeply is dropped.
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
#include <csignal>
#include <cstdio>
#include <deque>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace tilews;
using llvm::StringRef;

/// The files in memory that stay open.
static constexpr size_t kMaxFiles = 64;

namespace {
class Filter {
public:
  Filter(int input, int output, const mlir::DialectRegistry &registry)
      : input(fdopen(input, "r")), output(fdopen(output, "w")),
        registry(registry) {}

  /// Copies messages until the input ends.
  void run() {
    std::string line;
    while (readLine(line)) {
      size_t length = 0;
      StringRef header(line);
      if (header.consume_front("Content-Length:") &&
          !header.trim().getAsInteger(10, length))
        copyBody(length);
      else if (!StringRef(line).trim().empty() &&
               !StringRef(line).starts_with("Content-Type"))
        // One line for each message: the style of tests.
        write(edit(line));
    }
    fclose(output);
  }

private:
  bool readLine(std::string &line) {
    line.clear();
    for (int c = getc(input); c != EOF; c = getc(input)) {
      line.push_back(static_cast<char>(c));
      if (c == '\n')
        return true;
    }
    return !line.empty();
  }

  /// Copies a message whose header has been read up to its length.
  void copyBody(size_t length) {
    std::string line, body;
    while (readLine(line) && !StringRef(line).trim().empty())
      ;
    for (int c; body.size() < length && (c = getc(input)) != EOF;)
      body.push_back(static_cast<char>(c));
    std::string edited = edit(body);
    if (!edited.empty())
      write("Content-Length: " + std::to_string(edited.size()) + "\r\n\r\n" +
            edited);
  }

  void write(StringRef text) {
    fwrite(text.data(), 1, text.size(), output);
    fflush(output);
  }

  /// Returns the message for the server; empty if it gets none.
  std::string edit(const std::string &message) {
    if (std::optional<ParserFault> fault = findParserFault(message)) {
      llvm::errs() << "a message " << fault->message << "\n";
      return "";
    }
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(message);
    if (!value) {
      consumeError(value.takeError());
      return message;
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
  std::deque<int> files;
  llvm::StringMap<std::string> texts;
};
} // namespace

bool tilews::filterLspInput(const mlir::DialectRegistry &registry) {
  int ends[2];
  int original = dup(STDIN_FILENO);
  if (original < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0)
    return false;
  close(ends[0]);
  // The server may end before its input does.
  std::signal(SIGPIPE, SIG_IGN);
  std::thread([original, output = ends[1], &registry] {
    Filter(original, output, registry).run();
  }).detach();
  return true;
}
