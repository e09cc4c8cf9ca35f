//===- ExtentPremises.cpp - Promises about extents ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dimensions are joined by their symbols. A joined extent is a multiple of all
// divisors that its dimensions promise, and a constant if one of the dimensions
// is static.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/ExtentPremises.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// A larger product of divisors is given up.
static constexpr int64_t kLargestDivisor = int64_t(1) << 20;

ExtentPremises::ExtentPremises(gpu::GPUFuncOp kernel) {
  llvm::StringMap<unsigned> bySymbol;
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      continue;
    unsigned number = argument.getArgNumber();
    auto symbols =
        kernel.getArgAttrOfType<ArrayAttr>(number, TileDialect::kSymbols);
    auto divisors = kernel.getArgAttrOfType<DenseI64ArrayAttr>(
        number, TileDialect::kDivisible);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      add(argument, dim,
          symbols ? cast<StringAttr>(symbols[dim]).getValue() : StringRef(),
          divisors ? divisors[dim] : 1, bySymbol);
  }
}

void ExtentPremises::add(BlockArgument argument, int64_t dim, StringRef symbol,
                         int64_t divisor, llvm::StringMap<unsigned> &bySymbol) {
  unsigned number = extents.size();
  if (!symbol.empty())
    number = bySymbol.try_emplace(symbol, number).first->second;
  if (number == extents.size())
    extents.emplace_back();
  Extent &extent = extents[number];
  extent.dimensions.push_back({argument, dim});
  if (int64_t common = std::lcm(extent.divisor, divisor);
      divisor > 0 && divisor <= kLargestDivisor && common <= kLargestDivisor)
    extent.divisor = common;
  auto type = cast<MemRefType>(argument.getType());
  if (!type.isDynamicDim(dim))
    extent.constant = type.getDimSize(dim);
  numbers[{argument, dim}] = number;
}

const ExtentPremises::Extent *ExtentPremises::find(Operation *op) const {
  auto dim = dyn_cast<memref::DimOp>(op);
  std::optional<int64_t> index = dim ? dim.getConstantIndex() : std::nullopt;
  if (!index)
    return nullptr;
  auto it = numbers.find({dim.getSource(), *index});
  return it == numbers.end() ? nullptr : &extents[it->second];
}
