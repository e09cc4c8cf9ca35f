//===- Passes.td - Conversions out of the tile dialect -----*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_PASSES_TD
#define TILEWS_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

#endif // TILEWS_CONVERSION_PASSES_TD
