//===- InitAll.cpp - Register everything tilews knows ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers the dialects, extensions, translations and passes that every tool
// and the Python module offer: all of upstream's, the tile dialect, its passes,
// the conversions and the pipelines. Passes are registered once per process, as
// upstream treats a second registration as an error.
//
//===----------------------------------------------------------------------===//

#include "tilews/InitAll.h"

#include "tilews/Conversion/Passes.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"
#include "tilews/Pipelines/Pipelines.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void tilews::registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<tile::TileDialect>();
}

void tilews::registerAllPasses() {
  // A tool or module may call this twice, but passes are registered once.
  static const bool registered = [] {
    mlir::registerAllPasses();
    tile::registerTilePasses();
    registerTilewsConversionPasses();
    registerPipelines();
    return true;
  }();
  (void)registered;
}
