//===- Placeholder.cpp - A pass that does nothing -------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Transforms/Passes.h"

namespace tilews::tile {
#define GEN_PASS_DEF_PLACEHOLDERPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

namespace {
struct PlaceholderPass
    : tilews::tile::impl::PlaceholderPassBase<PlaceholderPass> {
  void runOnOperation() override {}
};
} // namespace
