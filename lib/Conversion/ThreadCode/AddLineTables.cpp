//===- AddLineTables.cpp - Source lines of instructions -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The translation to LLVM IR takes lines from MLIR's locations, but only below
// a scope: an attribute of debug information in a fused location. This pass
// adds the scopes. A kernel becomes a subprogram at its own line. A location
// with a call site names the function that was inlined, which becomes a
// subprogram as well; each is made once:
//
//   loc(callsite("scaled"("k.py":6:9) at "k.py":13:9))
//     -> loc(callsite(fused<#scaled>["k.py":6:9] at "k.py":13:9))
//
// Below, a location is *placed* if it is rewritten so. Only lines are
// described: `.loc` directives on NVIDIA, where more would make code for
// debuggers, and DWARF's line table on AMD.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Passes.h"
#include "tilews/Support/TargetInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Path.h"

#define DEBUG_TYPE "tile-add-line-tables"

namespace tilews {
#define GEN_PASS_DEF_ADDLINETABLESPASS
#include "tilews/Conversion/Passes.h.inc"
} // namespace tilews

using namespace mlir;
using namespace tilews;

ALWAYS_ENABLED_STATISTIC(numKernels, "Functions that got lines");
ALWAYS_ENABLED_STATISTIC(numInlined, "Inlined functions that got lines");

/// Returns the place in a file that stands for a location: the innermost
/// function's, and the first of several. Null if there is none.
static FileLineColLoc getPlace(Location loc) {
  if (auto place = dyn_cast<FileLineColLoc>(loc))
    return place;
  if (auto name = dyn_cast<NameLoc>(loc))
    return getPlace(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return getPlace(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location each : fused.getLocations())
      if (FileLineColLoc place = getPlace(each))
        return place;
  return nullptr;
}

static LLVM::DIFileAttr getFile(FileLineColLoc place) {
  StringRef path = place.getFilename();
  return LLVM::DIFileAttr::get(place.getContext(),
                               llvm::sys::path::filename(path),
                               llvm::sys::path::parent_path(path));
}

namespace {
/// Places the locations of one module.
class LinePlacer {
public:
  LinePlacer(MLIRContext *context, LLVM::DIEmissionKind kind)
      : context(context), kind(kind) {}

  void place(LLVM::LLVMFuncOp function);

private:
  /// Returns the subprogram of a function that begins at `start`.
  LLVM::DISubprogramAttr makeSubprogram(StringRef name, FileLineColLoc start,
                                        unsigned line);
  /// Returns the subprogram of an inlined function, which `callee` names.
  LLVM::DISubprogramAttr getInlined(Location callee, FileLineColLoc place);
  /// Returns `loc` below `function`, or nothing if it has no place.
  std::optional<Location> place(Location loc, LLVM::DISubprogramAttr function);
  std::optional<Location> computePlaced(Location loc,
                                        LLVM::DISubprogramAttr function);

  MLIRContext *context;
  LLVM::DIEmissionKind kind;
  LLVM::DICompileUnitAttr unit;
  DenseMap<std::pair<StringAttr, LLVM::DIFileAttr>, LLVM::DISubprogramAttr>
      inlined;
  /// What `place` returned for the function that is placed now.
  DenseMap<Location, std::optional<Location>> placed;
};
} // namespace

LLVM::DISubprogramAttr LinePlacer::makeSubprogram(StringRef name,
                                                  FileLineColLoc start,
                                                  unsigned line) {
  LLVM::DIFileAttr file = getFile(start);
  // Debuggers know the language C; of Python's they know nothing.
  if (!unit)
    unit = LLVM::DICompileUnitAttr::get(
        DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
        file, StringAttr::get(context, "tilews"), /*isOptimized=*/true, kind,
        LLVM::DINameTableKind::None);
  auto type = LLVM::DISubroutineTypeAttr::get(
      context, llvm::dwarf::DW_CC_normal, ArrayRef<LLVM::DITypeAttr>());
  auto nameAttr = StringAttr::get(context, name);
  return LLVM::DISubprogramAttr::get(
      context, DistinctAttr::create(UnitAttr::get(context)), unit, file,
      nameAttr, /*linkageName=*/StringAttr(), file, line, line,
      LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized,
      type, /*retainedNodes=*/{}, /*annotations=*/{});
}

LLVM::DISubprogramAttr LinePlacer::getInlined(Location callee,
                                              FileLineColLoc place) {
  auto name = dyn_cast<NameLoc>(callee);
  auto text = name ? name.getName() : StringAttr::get(context, "inlined");
  LLVM::DISubprogramAttr &subprogram = inlined[{text, getFile(place)}];
  if (!subprogram) {
    // The line of its definition is not known.
    subprogram = makeSubprogram(text, place, /*line=*/0);
    ++numInlined;
    LDBG() << "inlined function " << text << " in " << place;
  }
  return subprogram;
}

std::optional<Location> LinePlacer::place(Location loc,
                                          LLVM::DISubprogramAttr function) {
  auto found = placed.find(loc);
  if (found != placed.end())
    return found->second;
  std::optional<Location> result = computePlaced(loc, function);
  placed.try_emplace(loc, result);
  return result;
}

std::optional<Location>
LinePlacer::computePlaced(Location loc, LLVM::DISubprogramAttr function) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return place(name.getChildLoc(), function);
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location each : fused.getLocations())
      if (std::optional<Location> first = place(each, function))
        return first;
    return std::nullopt;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    FileLineColLoc callee = getPlace(call.getCallee());
    std::optional<Location> caller = place(call.getCaller(), function);
    if (!callee || !caller)
      return caller;
    auto scope = getInlined(call.getCallee(), callee);
    return CallSiteLoc::get(FusedLoc::get(context, {callee}, scope), *caller);
  }
  auto place = dyn_cast<FileLineColLoc>(loc);
  if (!place)
    return std::nullopt;
  LLVM::DIFileAttr file = getFile(place);
  if (file == function.getFile())
    return place;
  // A scope has one file.
  auto scope = LLVM::DILexicalBlockFileAttr::get(function, file,
                                                 /*discriminator=*/0);
  return FusedLoc::get(context, {place}, scope);
}

void LinePlacer::place(LLVM::LLVMFuncOp function) {
  FileLineColLoc start = getPlace(function.getLoc());
  if (function.isExternal() || !start ||
      function.getLoc()->findInstanceOf<FusedLocWith<LLVM::DISubprogramAttr>>())
    return;
  LLVM::DISubprogramAttr subprogram =
      makeSubprogram(function.getName(), start, start.getLine());
  LDBG() << "function " << function.getName() << " at " << start;
  placed.clear();
  Location whole = FusedLoc::get(context, {start}, subprogram);
  function->setLoc(whole);
  function.getBody().walk([&](Operation *op) {
    std::optional<Location> loc = place(op->getLoc(), subprogram);
    // LLVM refuses calls without a place, and passes may make some.
    if (!loc && isa<CallOpInterface>(op))
      loc = start;
    op->setLoc(loc.value_or(UnknownLoc::get(context)));
  });
  ++numKernels;
}

namespace {
struct AddLineTablesPass
    : tilews::impl::AddLineTablesPassBase<AddLineTablesPass> {
  using Base::Base;

  void runOnOperation() override {
    FailureOr<TargetInfo> target = TargetInfo::get(getOperation());
    if (failed(target))
      return signalPassFailure();
    LinePlacer placer(&getContext(),
                      target->isNVIDIA()
                          ? LLVM::DIEmissionKind::DebugDirectivesOnly
                          : LLVM::DIEmissionKind::LineTablesOnly);
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      placer.place(function);
  }
};
} // namespace
