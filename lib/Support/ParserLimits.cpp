//===- ParserLimits.cpp - Text that upstream cannot parse -----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's parser and printer are recursive and have no limit: 2500 nested
// regions, 10000 nested lists or 20000 operators of an affine expression
// overflow a stack of 8 MiB. The parser also crashes on `array<index: 1>`, and
// takes minutes for an integer of 100,000 digits. The parser and the folders of
// affine expressions divide -2^63 by -1, which ends the process.
// docs/upstream has the reports.
//
// One pass over the characters finds these before the parser does. It skips
// strings and comments. A closing bracket closes all that its opening one
// encloses, so that a `<` which is no bracket costs nothing after it. The
// parser stops at the first bracket that does not match.
//
// An operator nests what is before it, up to the last comma. An alias nests as
// deeply as what it stands for, and is as long:
//
//   #a = [0, 1]          depth 1 + 1, 5 tokens
//   #b = [#a, [#a]]      depth 1 + 2 + 2, 16 tokens
//
// The divisor of an affine expression has to be a positive number, in the text
// and so after all folding: a symbol may be replaced by any number. Bytecode
// has maps and sets as text, which is scanned alone.
//
//===----------------------------------------------------------------------===//

#include "tilews/Support/ParserLimits.h"
#include "tilews/Support/Bytecode.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace tilews;
using llvm::SmallVector, llvm::StringRef, llvm::StringLiteral;

/// The nesting that is accepted: less than half of what overflows.
static constexpr size_t kMaxNesting = 1024;
/// The tokens that an alias may stand for. Each doubles the last one's in a
/// text that takes years to print.
static constexpr size_t kMaxTokens = 10'000'000;
/// The digits of an integer that are accepted. Upstream takes quadratic time
/// for them: minutes for 100,000 in an integer of 400,000 bits.
static constexpr size_t kMaxDigits = 5000;

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
  /// A bracket that is open, and the operators after it, or after its last
  /// comma.
  struct Level {
    char bracket;
    size_t operators = 0;
  };

  /// How deeply an alias is nested, and how long it is.
  struct Alias {
    size_t depth = 0, tokens = 0;
  };

  static bool isWord(char c) {
    return llvm::isAlnum(c) || llvm::StringRef("_$.!#@%^").contains(c);
  }

  /// The digits of the integer that a word begins with.
  static size_t countDigits(StringRef word) {
    if (word.consume_front("0x"))
      return word.take_while(llvm::isHexDigit).size();
    return word.take_while(llvm::isDigit).size();
  }

  /// Handles one token.
  std::optional<ParserFault> step() {
    char c = text[next];
    StringRef rest = text.substr(next);
    if (llvm::isSpace(c)) {
      endLine(c);
      ++next;
      return std::nullopt;
    }
    if (rest.starts_with("//")) {
      next = std::min(text.find('\n', next), text.size());
      return std::nullopt;
    }
    bool arrow = rest.starts_with("->");
    if (isLineStart && c != ':' && !arrow)
      endDefinition();
    isLineStart = false;
    ++defined.tokens;
    if (c == '"') {
      skipString();
    } else if (arrow) {
      next += 2;
      isArray = false;
    } else if (isWord(c)) {
      return readWord();
    } else {
      return readSign(c);
    }
    return std::nullopt;
  }

  /// Regions and dictionaries have no affine expressions: what was an operator
  /// there has ended with the line.
  void endLine(char c) {
    if (c != '\n')
      return;
    isLineStart = true;
    if (levels.back().bracket == '{' || levels.size() == 1)
      endOperators();
  }

  void skipString() {
    size_t start = ++next;
    for (; next < text.size() && text[next] != '"' && text[next] != '\n';
         ++next)
      if (text[next] == '\\')
        ++next;
    isArray = false;
    beginOperation(text.slice(start, next++));
  }

  /// Begins to count the operands of an operation that divides by a basis.
  void beginOperation(StringRef name) {
    if (name == "affine.delinearize_index")
      numOperands = 0;
  }

  /// A value is an operand, unless a colon was before it. An operation that
  /// divides by a basis has one, the dividend.
  std::optional<ParserFault> countOperand(size_t start) {
    if (!numOperands || ++*numOperands == 1)
      return std::nullopt;
    return ParserFault{start, "the basis of affine.delinearize_index is "
                              "numbers; use arith.floordivsi and arith.remsi "
                              "for other divisors"};
  }

  std::optional<ParserFault> readWord() {
    size_t start = next;
    while (next < text.size() && isWord(text[next]))
      ++next;
    StringRef word = text.slice(start, next);
    if (word == "index" && isArray && levels.back().bracket == '<')
      return ParserFault{start,
                         "the elements of an array attribute are i1, i8, i16, "
                         "i32, i64, f32 or f64, found index"};
    if (countDigits(word) > kMaxDigits)
      return ParserFault{start, "an integer has more than " +
                                    std::to_string(kMaxDigits) + " digits"};
    isArray = word == "array";
    if (word == "floordiv" || word == "ceildiv" || word == "mod") {
      if (std::optional<ParserFault> fault = checkDivisor())
        return fault;
      return addOperator(start);
    }
    if (word.starts_with("#") || word.starts_with("!"))
      return readAlias(word, start);
    if (word.starts_with("%"))
      return countOperand(start);
    beginOperation(word);
    return std::nullopt;
  }

  /// Checks what follows a word that divides. Such a word that is the name of
  /// an attribute has no operand.
  std::optional<ParserFault> checkDivisor() const {
    StringRef rest = text.substr(next).ltrim();
    while (rest.consume_front("//"))
      rest = rest.drop_until([](char c) { return c == '\n'; }).ltrim();
    StringRef divisor = rest.take_while(isWord);
    if (divisor.empty() && !rest.starts_with("-") && !rest.starts_with("("))
      return std::nullopt;
    StringRef digits = divisor;
    digits.consume_front("0x");
    bool isNumber = !divisor.empty() && llvm::isDigit(divisor.front());
    if (isNumber && digits.find_first_not_of('0') != StringRef::npos)
      return std::nullopt;
    return ParserFault{
        text.size() - rest.size(),
        "an affine expression is divided by a positive number only; use "
        "arith.floordivsi, arith.ceildivsi or arith.remsi for other divisors"};
  }

  /// An alias begins to be defined, or is used.
  std::optional<ParserFault> readAlias(StringRef word, size_t start) {
    StringRef rest = text.substr(next).ltrim();
    if (levels.size() == 1 && rest.starts_with("=")) {
      endDefinition();
      name = word;
      next = text.size() - rest.size() + 1;
      return std::nullopt;
    }
    auto used = aliases.find(word);
    if (used == aliases.end())
      return std::nullopt;
    defined.tokens += used->second.tokens;
    if (!name.empty() && defined.tokens > kMaxTokens)
      return ParserFault{start, "an alias stands for more than " +
                                    std::to_string(kMaxTokens) + " tokens"};
    return reach(depth + used->second.depth, start);
  }

  /// Ends the definition of an alias, if there is one.
  void endDefinition() {
    if (levels.size() != 1 || (!name.empty() && defined.tokens == 0))
      return;
    if (!name.empty())
      aliases[name] = {defined.depth + 1, defined.tokens};
    name = {};
    defined = {};
  }

  std::optional<ParserFault> readSign(char c) {
    bool wasArray = isArray;
    isArray = false;
    size_t place = next++;
    // The signs of comparisons in affine sets are no brackets.
    if ((c == '<' || c == '>') && text.substr(next).starts_with("=")) {
      ++next;
      endOperators();
      return std::nullopt;
    }
    if (c == ',' || c == ':' || c == '=')
      endOperators();
    if (c == ':')
      numOperands.reset();
    if (c == '+' || c == '-' || c == '*')
      return addOperator(place);
    static constexpr StringLiteral opening = "([{<", closing = ")]}>";
    if (opening.contains(c)) {
      isArray = wasArray && c == '<';
      levels.push_back({c});
      return reach(++depth, place);
    }
    if (size_t kind = closing.find(c); kind != StringRef::npos)
      close(opening[kind]);
    return std::nullopt;
  }

  void close(char bracket) {
    auto isOpen = [&](const Level &level) { return level.bracket == bracket; };
    auto open = llvm::find_if(llvm::reverse(levels), isOpen);
    if (open == levels.rend())
      return;
    size_t left = levels.rend() - open - 1;
    for (; levels.size() > left; levels.pop_back())
      depth -= 1 + levels.back().operators;
  }

  std::optional<ParserFault> addOperator(size_t place) {
    ++levels.back().operators;
    return reach(++depth, place);
  }

  void endOperators() {
    depth -= levels.back().operators;
    levels.back().operators = 0;
  }

  std::optional<ParserFault> reach(size_t nesting, size_t place) {
    defined.depth = std::max(defined.depth, nesting);
    if (nesting <= kMaxNesting)
      return std::nullopt;
    return ParserFault{place, "is nested too deeply: the limit is " +
                                  std::to_string(kMaxNesting) +
                                  " brackets, operators or aliases"};
  }

  StringRef text;
  size_t next = 0;
  /// Whether `array` or `array <` comes before.
  bool isArray = false;
  bool isLineStart = true;
  /// The operands so far of an operation that divides by a basis.
  std::optional<unsigned> numOperands;
  /// The first level is that of the text.
  SmallVector<Level> levels = {{'\0'}};
  /// The brackets and operators around `next`.
  size_t depth = 0;
  llvm::StringMap<Alias> aliases;
  /// The alias that is being defined, if its name is not empty.
  StringRef name;
  Alias defined;
};
} // namespace

/// Scans the affine maps and sets in bytecode, each a text that ends with a
/// zero.
static std::optional<ParserFault> scanBytecode(StringRef bytes) {
  for (StringRef kind : {"affine_map<", "affine_set<"}) {
    size_t start = bytes.find(kind);
    while (start != StringRef::npos) {
      size_t end = std::min(bytes.find('\0', start), bytes.size());
      StringRef text = bytes.slice(start, end);
      if (std::optional<ParserFault> fault = TextScanner(text).scan())
        return ParserFault{start + fault->offset, fault->message};
      start = bytes.find(kind, end);
    }
  }
  return std::nullopt;
}

std::optional<ParserFault> tilews::findParserFault(StringRef text) {
  if (isBytecode(text))
    return scanBytecode(text);
  return TextScanner(text).scan();
}
