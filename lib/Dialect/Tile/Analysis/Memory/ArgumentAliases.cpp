//===- ArgumentAliases.cpp - Kernel arguments that overlap ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The analyses of a kernel ask `mayAlias`, which knows the pairs of
// `tile.may_alias` and takes the transitive closure of them: a hazard analysis
// needs one number for each set of arguments. The check of a launch is
// stricter. It excludes the given pairs only, so that with (0, 1) and (1, 2)
// the arguments 0 and 2 are still disjoint.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ArgumentAliases.h"

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

BlockArgument tile::getKernelArgument(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  bool ofKernel =
      argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return ofKernel ? argument : BlockArgument();
}

static FunctionOpInterface getKernel(BlockArgument argument) {
  return cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

unsigned tile::getAliasClass(BlockArgument argument) {
  FunctionOpInterface kernel = getKernel(argument);
  unsigned number = argument.getArgNumber();
  SmallVector<ArgumentPair> pairs =
      getArgumentPairs(kernel, TileDialect::kMayAlias);
  if (pairs.empty())
    return number;
  llvm::IntEqClasses classes(kernel.getNumArguments());
  unsigned leader = number;
  for (auto [a, b] : pairs)
    classes.join(a, b);
  for (unsigned other = 0; other < leader; ++other)
    if (classes.findLeader(other) == classes.findLeader(number))
      leader = other;
  return leader;
}

bool tile::mayAlias(BlockArgument a, BlockArgument b) {
  if (!a || !b || a == b)
    return true;
  return getKernel(a)->hasAttr(TileDialect::kMayAlias) &&
         getAliasClass(a) == getAliasClass(b);
}

/// Returns the name of an argument in messages.
static std::string getName(BlockArgument argument) {
  auto name = getKernel(argument).getArgAttrOfType<StringAttr>(
      argument.getArgNumber(), TileDialect::kName);
  return name ? "'" + name.str() + "'"
              : "argument " + std::to_string(argument.getArgNumber());
}

std::string tile::describeAlias(BlockArgument written, BlockArgument read) {
  if (!written || !read || written == read)
    return "";
  return ": " + getName(written) + " may overlap " + getName(read) +
         " (tile.may_alias)";
}

SmallVector<ArgumentPair> tile::findDisjointArguments(Operation *kernel) {
  auto function = cast<FunctionOpInterface>(kernel);
  unsigned count = function.getNumArguments();
  llvm::SmallBitVector written(count), accessed(count);
  kernel->walk([&](Operation *op) {
    for (const SharedAccess &access : getGlobalAccesses(op)) {
      BlockArgument argument = getKernelArgument(access.operand->get());
      for (unsigned i = 0; i < count; ++i) {
        if (argument && argument.getArgNumber() != i)
          continue;
        accessed.set(i);
        if (access.writes())
          written.set(i);
      }
    }
  });
  SmallVector<ArgumentPair> allowed =
      getArgumentPairs(function, TileDialect::kMayAlias);
  SmallVector<ArgumentPair> pairs;
  for (unsigned i : written.set_bits())
    for (unsigned j : accessed.set_bits())
      if (i != j && (!written[j] || i < j) &&
          isa<MemRefType>(function.getArgumentTypes()[i]) &&
          isa<MemRefType>(function.getArgumentTypes()[j]) &&
          !llvm::is_contained(allowed, ArgumentPair(i, j)) &&
          !llvm::is_contained(allowed, ArgumentPair(j, i)))
        pairs.push_back({i, j});
  return pairs;
}
