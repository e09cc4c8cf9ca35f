//===- IntTuple.cpp - Nested tuples of integers ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

/// Nobody writes layouts this deep; the limit keeps recursion off the stack's
/// end.
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

/// Reads a tuple off the front of `text`.
static Expected<IntTuple> parseFront(StringRef &text, int64_t depth) {
  text = text.ltrim();
  if (depth > maxDepth)
    return makeLayoutError("a tuple is nested more than ", maxDepth, " deep");
  if (text.consume_front("_"))
    return IntTuple::open();
  if (!text.consume_front("(")) {
    int64_t value;
    StringRef before = text;
    if (text.consumeInteger(10, value))
      return makeLayoutError("expected an integer or '(', found ",
                             before.empty() ? "the end of the text"
                                            : "'" + before.str() + "'");
    return IntTuple(value);
  }
  std::vector<IntTuple> parts;
  do {
    Expected<IntTuple> part = parseFront(text, depth + 1);
    if (!part)
      return part.takeError();
    parts.push_back(std::move(*part));
    text = text.ltrim();
  } while (text.consume_front(","));
  if (!text.consume_front(")"))
    return makeLayoutError("expected ',' or ')', found ",
                           text.empty() ? "the end of the text"
                                        : "'" + text.str() + "'");
  return IntTuple(std::move(parts));
}

Expected<IntTuple> IntTuple::parse(StringRef text) {
  Expected<IntTuple> tuple = parseFront(text, 0);
  if (tuple && !text.trim().empty())
    return makeLayoutError("expected the end of the text, found '",
                           text.trim().str(), "'");
  return tuple;
}
