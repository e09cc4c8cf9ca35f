//===- IntTuple.cpp - Nested tuples of integers ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nested tuples: flattening, printing and parsing. `nest` is the inverse of
// `flatten` for a given nesting: ((2,4),8) flattens to 2, 4, 8, and nesting 1,
// 2, 8 like it gives ((1,2),8). The parser works on tokens that its caller
// supplies, so MLIR's attribute parser and plain text share it. Nesting is
// limited, because all functions recurse over it.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/IntTuple.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace tilews;
using llvm::ArrayRef;
using llvm::Expected;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;

/// The deepest nesting: more than any layout has, and safe for functions that
/// recurse over tuples.
static constexpr int64_t maxDepth = 32;

int64_t IntTuple::getDepth() const {
  int64_t depth = 0;
  for (const IntTuple &part : parts)
    depth = std::max(depth, part.getDepth());
  return isTuple ? depth + 1 : 0;
}

static void append(const IntTuple &tuple, SmallVectorImpl<int64_t> &leaves) {
  if (tuple.isLeaf())
    leaves.push_back(tuple.getValue());
  for (const IntTuple &part : tuple.getParts())
    append(part, leaves);
}

SmallVector<int64_t> IntTuple::flatten() const {
  SmallVector<int64_t> leaves;
  append(*this, leaves);
  return leaves;
}

static IntTuple nestFrom(const IntTuple &profile, ArrayRef<int64_t> &leaves) {
  if (profile.isLeaf()) {
    int64_t leaf = leaves.front();
    leaves = leaves.drop_front();
    return leaf;
  }
  std::vector<IntTuple> parts;
  for (const IntTuple &part : profile.getParts())
    parts.push_back(nestFrom(part, leaves));
  return IntTuple(std::move(parts));
}

IntTuple IntTuple::nest(ArrayRef<int64_t> leaves) const {
  return nestFrom(*this, leaves);
}

bool IntTuple::isCongruentTo(const IntTuple &other) const {
  return isTuple == other.isTuple && parts.size() == other.parts.size() &&
         llvm::all_of(llvm::zip(parts, other.parts), [](auto pair) {
           return std::get<0>(pair).isCongruentTo(std::get<1>(pair));
         });
}

void IntTuple::print(llvm::raw_ostream &os) const {
  if (isOpenPlace) {
    os << '_';
  } else if (!isTuple) {
    os << value;
  } else {
    os << '(';
    llvm::interleave(
        parts, [&](const IntTuple &part) { part.print(os); },
        [&] { os << ','; });
    os << ')';
  }
}

std::string IntTuple::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return text;
}

static Expected<IntTuple> parseNested(TupleTokens &tokens, int64_t depth) {
  if (depth > maxDepth)
    return makeLayoutError("a tuple is nested more than ", maxDepth, " deep");
  if (tokens.consume('_'))
    return IntTuple::open();
  if (!tokens.consume('(')) {
    if (std::optional<int64_t> value = tokens.consumeInteger())
      return IntTuple(*value);
    return makeLayoutError("expected an integer or '('", tokens.getFound());
  }
  std::vector<IntTuple> parts;
  if (tokens.consume(')'))
    return IntTuple(std::move(parts));
  do {
    Expected<IntTuple> part = parseNested(tokens, depth + 1);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
  } while (tokens.consume(','));
  if (!tokens.consume(')'))
    return makeLayoutError("expected ',' or ')'", tokens.getFound());
  return IntTuple(std::move(parts));
}

Expected<IntTuple> IntTuple::parse(TupleTokens &tokens) {
  return parseNested(tokens, 0);
}

namespace {
class TextTokens : public TupleTokens {
public:
  explicit TextTokens(StringRef text) : text(text) {}
  bool consume(char token) override {
    text = text.ltrim();
    return text.consume_front(StringRef(&token, 1));
  }
  std::optional<int64_t> consumeInteger() override {
    text = text.ltrim();
    int64_t value;
    if (text.consumeInteger(10, value))
      return std::nullopt;
    return value;
  }
  bool isAtEnd() const { return text.trim().empty(); }
  std::string getFound() override {
    return isAtEnd() ? ", found the end of the text"
                     : ", found '" + text.trim().str() + "'";
  }

private:
  StringRef text;
};
} // namespace

Expected<IntTuple> IntTuple::parse(StringRef text) {
  TextTokens tokens(text);
  Expected<IntTuple> tuple = parse(tokens);
  if (tuple && !tokens.isAtEnd())
    return makeLayoutError("expected the end of the text", tokens.getFound());
  return tuple;
}
