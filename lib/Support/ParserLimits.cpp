//===- ParserLimits.cpp - Text that upstream cannot parse -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's parser is recursive and has no limit: 2500 nested regions, 10000
// nested lists or 20000 minus signs in an affine expression overflow a stack of
// 8 MiB. It also crashes on `array<index: 1>`. docs/upstream has the reports.
//
// One pass over the characters finds these before the parser does. It skips
// strings and comments. A closing bracket closes all that its opening one
// encloses, so that a `<` which is no bracket costs nothing after it. The
// parser stops at the first bracket that does not match.
//
//===----------------------------------------------------------------------===//

#include "tilews/Support/ParserLimits.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tilews;

/// The nesting that is accepted: less than half of what overflows.
static constexpr size_t kMaxNesting = 1024;

namespace {
class TextScanner {
public:
  explicit TextScanner(StringRef text) : text(text) {}

  std::optional<ParserFault> scan() {
    while (next < text.size()) {
      if (std::optional<ParserFault> fault = step())
        return fault;
    }
    return std::nullopt;
  }

private:
  static bool isWord(char c) {
    return llvm::isAlnum(c) || llvm::StringRef("_$.!#@%^").contains(c);
  }

  /// Handles one token.
  std::optional<ParserFault> step() {
    char c = text[next];
    if (llvm::isSpace(c)) {
      ++next;
    } else if (c == '"') {
      skipString();
    } else if (text.substr(next).starts_with("//")) {
      next = std::min(text.find('\n', next), text.size());
    } else if (c == '-') {
      // An arrow, a negative number or a negated expression begins.
      return negate();
    } else if (isWord(c)) {
      return readWord();
    } else {
      return readSign(c);
    }
    return std::nullopt;
  }

  void skipString() {
    for (++next; next < text.size() && text[next] != '"' && text[next] != '\n';
         ++next)
      if (text[next] == '\\')
        ++next;
    ++next;
    endRun();
  }

  std::optional<ParserFault> negate() {
    bool arrow = text.substr(next).starts_with("->");
    next += arrow ? 2 : 1;
    if (arrow) {
      endRun();
      return std::nullopt;
    }
    return ++negations > kMaxNesting ? tooDeep(next - 1) : std::nullopt;
  }

  std::optional<ParserFault> readWord() {
    size_t start = next;
    while (next < text.size() && isWord(text[next]))
      ++next;
    StringRef word = text.slice(start, next);
    if (word == "index" && isArray && !brackets.empty() &&
        brackets.back() == '<')
      return ParserFault{start,
                         "the elements of an array attribute are i1, i8, i16, "
                         "i32, i64, f32 or f64, found index"};
    endRun();
    isArray = word == "array";
    return std::nullopt;
  }

  std::optional<ParserFault> readSign(char c) {
    bool wasArray = isArray;
    endRun();
    size_t place = next++;
    // The signs of comparisons in affine sets are no brackets.
    if ((c == '<' || c == '>') && text.substr(next).starts_with("=")) {
      ++next;
      return std::nullopt;
    }
    static constexpr StringLiteral opening = "([{<", closing = ")]}>";
    if (opening.contains(c)) {
      isArray = wasArray && c == '<';
      brackets.push_back(c);
      return brackets.size() > kMaxNesting ? tooDeep(place) : std::nullopt;
    }
    size_t kind = closing.find(c);
    if (kind == StringRef::npos)
      return std::nullopt;
    auto open = llvm::find(llvm::reverse(brackets), opening[kind]);
    if (open != brackets.rend())
      brackets.resize(brackets.rend() - open - 1);
    return std::nullopt;
  }

  /// Ends a sequence of minus signs and the words `array <`.
  void endRun() {
    negations = 0;
    isArray = false;
  }

  static std::optional<ParserFault> tooDeep(size_t place) {
    return ParserFault{place, "is nested too deeply: the limit is " +
                                  std::to_string(kMaxNesting) +
                                  " brackets or minus signs"};
  }

  StringRef text;
  size_t next = 0, negations = 0;
  /// Whether `array` or `array <` comes before.
  bool isArray = false;
  SmallVector<char> brackets;
};
} // namespace

std::optional<ParserFault> tilews::findParserFault(StringRef text) {
  if (text.starts_with("ML\xefR"))
    return std::nullopt;
  return TextScanner(text).scan();
}

LogicalResult tilews::checkForParser(const llvm::MemoryBuffer &file,
                                     StringRef splitMarker) {
  StringRef text = file.getBuffer();
  SmallVector<StringRef> parts;
  if (splitMarker.empty())
    parts.push_back(text);
  else
    text.split(parts, splitMarker);
  for (StringRef part : parts) {
    std::optional<ParserFault> fault = findParserFault(part);
    if (!fault)
      continue;
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(file),
                               llvm::SMLoc());
    auto place = llvm::SMLoc::getFromPointer(part.data() + fault->offset);
    sources.PrintMessage(place, llvm::SourceMgr::DK_Error, fault->message);
    return failure();
  }
  return success();
}
