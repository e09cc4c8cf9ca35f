//===- ThreadCode.cpp - The code of one thread ----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the input of the passes that run after the conversion to code of one
// thread. Upstream's patterns, which these passes use, take the types of that
// code for granted: a `memref.load` of a shared buffer, which becomes a plain
// pointer, would be read as a memref descriptor.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/ThreadCode.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;

static bool isOfThread(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    return !tile::isShared(memref);
  return !isa<TensorType>(type);
}

LogicalResult tilews::checkThreadCode(Operation *root) {
  WalkResult result = root->walk([](Operation *op) {
    bool fits = !isa_and_present<tile::TileDialect>(op->getDialect()) &&
                llvm::all_of(op->getOperandTypes(), isOfThread) &&
                llvm::all_of(op->getResultTypes(), isOfThread);
    if (fits)
      return WalkResult::advance();
    op->emitError("is not code of one thread; run --convert-tile-to-nvvm or "
                  "--convert-tile-to-rocdl before");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult tilews::checkIndexBitwidth(Operation *root, unsigned bits) {
  if (bits == 32 || bits == 64)
    return success();
  return root->emitError("index-bitwidth is 32 or 64, found ") << bits;
}
