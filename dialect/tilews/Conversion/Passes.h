//===- Passes.h - Conversions out of the tile dialect -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_PASSES_H
#define TILEWS_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace tilews {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tilews/Conversion/Passes.h.inc"

} // namespace tilews

#endif // TILEWS_CONVERSION_PASSES_H
