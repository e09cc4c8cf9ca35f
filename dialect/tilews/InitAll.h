//===- InitAll.h - Register everything tilews knows -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One definition of what the tools and the Python package can parse and run:
// all of upstream MLIR, and tilews.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_INITALL_H
#define TILEWS_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tilews {

/// Adds all dialects, their extensions and their translations to LLVM IR.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers all passes and pipelines. May be called more than once.
void registerAllPasses();

} // namespace tilews

#endif // TILEWS_INITALL_H
