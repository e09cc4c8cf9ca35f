//===- IntTuple.h - Nested tuples of integers -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shapes, strides and coordinates of hierarchical layouts: an integer or a
// tuple of such, written `8` or `((2,4),8)`. A coordinate may leave places
// open, written `_`.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LAYOUT_INTTUPLE_H
#define TILEWS_LAYOUT_INTTUPLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace tilews {

/// The tokens of a tuple, from MLIR's parser or from a text.
class TupleTokens {
public:
  virtual ~TupleTokens() = default;
  /// Consumes a punctuation character, or `_`, if it is the next token.
  virtual bool consume(char token) = 0;
  virtual std::optional<int64_t> consumeInteger() = 0;
  /// Returns the next token for a message, as in ", found 'x'".
  virtual std::string getFound() = 0;
};

class IntTuple {
public:
  IntTuple(int64_t value = 1) : value(value) {}
  explicit IntTuple(std::vector<IntTuple> parts)
      : isTuple(true), parts(std::move(parts)) {}
  /// Returns the open place `_`.
  static IntTuple open() {
    IntTuple result(0);
    result.isOpenPlace = true;
    return result;
  }
  /// Parses a whole text.
  static llvm::Expected<IntTuple> parse(llvm::StringRef text);
  /// Parses a tuple and leaves the tokens after it.
  static llvm::Expected<IntTuple> parse(TupleTokens &tokens);

  bool isLeaf() const { return !isTuple; }
  bool isOpen() const { return isOpenPlace; }
  int64_t getValue() const { return value; }
  llvm::ArrayRef<IntTuple> getParts() const { return parts; }
  /// Returns the number of parts, 1 for a leaf.
  size_t getRank() const { return isTuple ? parts.size() : 1; }
  /// Returns a part. The only part of a leaf is the leaf.
  const IntTuple &operator[](size_t i) const {
    return isTuple ? parts[i] : *this;
  }
  /// Returns the levels of nesting, 0 for a leaf.
  int64_t getDepth() const;
  llvm::SmallVector<int64_t> flatten() const;
  /// Returns a tuple that is nested like this one and has the given leaves.
  IntTuple nest(llvm::ArrayRef<int64_t> leaves) const;
  /// Returns whether both tuples are nested in the same way.
  bool isCongruentTo(const IntTuple &other) const;

  void print(llvm::raw_ostream &os) const;
  std::string str() const;

  friend bool operator==(const IntTuple &a, const IntTuple &b) {
    return a.isTuple == b.isTuple && a.isOpenPlace == b.isOpenPlace &&
           a.value == b.value && a.parts == b.parts;
  }

private:
  bool isTuple = false;
  bool isOpenPlace = false;
  int64_t value = 0; // of a leaf
  std::vector<IntTuple> parts;
};

/// Returns an error whose message is the concatenation of the pieces.
template <typename... Pieces>
llvm::Error makeLayoutError(const Pieces &...pieces) {
  std::string message;
  auto add = [&](const auto &piece) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(piece)>>)
      message += std::to_string(piece);
    else
      message += piece;
  };
  (add(pieces), ...);
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 llvm::Twine(message));
}

} // namespace tilews

#endif // TILEWS_LAYOUT_INTTUPLE_H
