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
//===----------------------------------------------------------------------===//

#include "LspInput.h"

#include "tilews/Support/ParserLimits.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdio>
#include <thread>
#include <unistd.h>

using namespace tilews;
using llvm::StringRef;

namespace {
class Filter {
public:
  Filter(int input, int output)
      : input(fdopen(input, "r")), output(fdopen(output, "w")) {}

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
                    (*method == "textDocument/didChange" && change(*params)));
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
  llvm::StringMap<std::string> texts;
};
} // namespace

bool tilews::filterLspInput() {
  int ends[2];
  int original = dup(STDIN_FILENO);
  if (original < 0 || pipe(ends) != 0 || dup2(ends[0], STDIN_FILENO) < 0)
    return false;
  close(ends[0]);
  // The server may end before its input does.
  std::signal(SIGPIPE, SIG_IGN);
  std::thread([original, output = ends[1]] {
    Filter(original, output).run();
  }).detach();
  return true;
}
