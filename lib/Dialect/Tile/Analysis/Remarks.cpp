//===- Remarks.cpp - Remarks at operations --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A remark has the location of an operation and a text that names what it is
// about. The operation itself is not attached: a reader has its line, and
// printing it costs as much as printing the kernel. Errors attach it, since
// only one of them is reported.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Remarks.h"

using namespace mlir;
using namespace tilews;

InFlightDiagnostic tile::remarkAt(Operation *op, const Twine &text) {
  return emitRemark(op->getLoc(), text);
}
