//===- ParserLimits.h - Text that upstream cannot parse ---------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SUPPORT_PARSERLIMITS_H
#define TILEWS_SUPPORT_PARSERLIMITS_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace tilews {

/// A place of a text that would crash upstream's parser.
struct ParserFault {
  size_t offset;
  std::string message;
};

/// Finds the first such place. In bytecode, only affine maps and sets are
/// searched.
std::optional<ParserFault> findParserFault(llvm::StringRef text);

} // namespace tilews

#endif // TILEWS_SUPPORT_PARSERLIMITS_H
