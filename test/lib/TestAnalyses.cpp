//===- TestAnalyses.cpp - Passes that print analyses ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each pass prints, for every kernel of a module, what one analysis finds. The
// text goes to standard output before the IR; with `-o /dev/null` it is all
// there is:
//
//   tilews-opt kernel.mlir --test-tile-roles -o /dev/null
//
// The passes are registered when the program starts. They run on the module, so
// that the kernels are printed in order.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"
#include "tilews/Dialect/Tile/Analysis/Divisibility.h"
#include "tilews/Dialect/Tile/Analysis/IndexSigns.h"
#include "tilews/Dialect/Tile/Analysis/Layout/BufferLayouts.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutInference.h"
#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccesses.h"
#include "tilews/Dialect/Tile/Analysis/Memory/MemoryPlan.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Dialect/Tile/Analysis/Roles/ChannelSignals.h"
#include "tilews/Dialect/Tile/Analysis/Roles/RoleAssignment.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Analyses
//===----------------------------------------------------------------------===//

/// Calls `fn` for each integer of a kernel: results of operations and arguments
/// of regions.
static void forEachInteger(gpu::GPUFuncOp kernel,
                           llvm::function_ref<void(Value)> fn) {
  auto visit = [&](Value value) {
    if (value.getType().isIntOrIndex())
      fn(value);
  };
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), visit);
    for (mlir::Region &region : op->getRegions())
      llvm::for_each(region.getArguments(), visit);
  });
}

/// Prints the divisor of each integer, and how wide each copy can move.
static LogicalResult printDivisibility(gpu::GPUFuncOp kernel, raw_ostream &os) {
  Divisibility divisibility;
  forEachInteger(kernel, [&](Value value) { divisibility.getDivisor(value); });
  divisibility.print(os);
  BriefPrinter printer(kernel, os);
  kernel.walk([&](CopyOp copy) {
    printer << copy << " moves " << getCopyVectorElements(copy, divisibility)
            << " elements at a time\n";
  });
  return success();
}

/// Prints which integers may be negative.
static LogicalResult printIndexSigns(gpu::GPUFuncOp kernel, raw_ostream &os) {
  IndexSigns signs;
  forEachInteger(kernel, [&](Value value) { signs.isNonNegative(value); });
  signs.print(os);
  return success();
}

/// Prints the accesses to buffers. If shared memory is planned, also those to
/// its bytes.
static LogicalResult printAccesses(gpu::GPUFuncOp kernel, raw_ostream &os) {
  MemoryAccesses accesses(kernel);
  accesses.print(os);
  accesses.getBuffers().print(os);
  if (!kernel->hasAttr(TileDialect::kSharedBytes))
    return success();
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  FailureOr<ArenaAccesses> arena = ArenaAccesses::get(kernel, *target);
  if (failed(arena))
    return failure();
  BriefPrinter printer(kernel, os);
  os << "arena:\n";
  kernel.walk([&](Operation *op) {
    if (arena->get(op).empty())
      return;
    printer << op << "\n";
    for (const ArenaAccess &access : arena->get(op)) {
      os << "  ";
      access.print(os);
      os << "\n";
    }
  });
  return success();
}

/// Prints the live intervals of buffers, and a packing of all shared memory.
static LogicalResult printLiveness(gpu::GPUFuncOp kernel, raw_ostream &os) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  SharedBuffers buffers(kernel);
  SharedLiveness(kernel, buffers).print(os);
  SmallVector<MemoryUse> uses = getMemoryUses(kernel, *target);
  auto items =
      llvm::map_to_vector(uses, [](const MemoryUse &use) { return use.item; });
  int64_t bytes = pack(items);
  for (auto [use, item] : llvm::zip_equal(uses, items))
    use.item = item;
  printMemoryUses(uses, os);
  os << "arena of " << bytes << " bytes\n";
  return success();
}

/// Prints the plans of loops with `tile.num_stages`, and the needs of their
/// statements.
static LogicalResult printPipelines(gpu::GPUFuncOp kernel, raw_ostream &os) {
  SmallVector<scf::ForOp> loops = getLoopsToPipeline(kernel);
  KernelPipelines pipelines(kernel, loops);
  pipelines.print(os);
  for (const PipelinePlan &plan : pipelines.getPlans()) {
    os << "statements:\n";
    plan.getStatements().print(os);
  }
  return success();
}

/// Prints which role executes which operation, or why there are no roles. In a
/// kernel that has roles it prints the signals of its channels.
static LogicalResult printRoles(gpu::GPUFuncOp kernel, raw_ostream &os) {
  if (!kernel.getOps<SpecializeOp>().empty()) {
    FailureOr<ChannelSignalMap> signals = ChannelSignalMap::get(kernel);
    if (failed(signals))
      return failure();
    signals->print(os);
    return success();
  }
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  RoleAssignment roles(kernel);
  if (MaybeRefusal refusal = roles.run(*target))
    BriefPrinter(kernel, os)
        << llvm::formatv("no roles: tile-ws-{0:d4} at ", refusal->id).str()
        << refusal->op->getName() << ": " << refusal->reason << "\n";
  else
    roles.print(os);
  return success();
}

/// Prints the constraints, candidates, costs and choices of layouts.
static LogicalResult printLayouts(gpu::GPUFuncOp kernel, raw_ostream &os) {
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  FailureOr<FragmentGraph> graph = FragmentGraph::get(kernel, *target);
  if (failed(graph))
    return failure();
  graph->print(os);
  Divisibility divisibility;
  LayoutCandidates(*graph, *target, divisibility).print(os);
  LayoutInference inference(kernel, *target);
  if (failed(inference.run()))
    return failure();
  os << "costs:\n";
  inference.getCosts().print(os);
  os << "choices:\n";
  inference.print(os);
  BufferLayouts buffers(kernel, *target, inference);
  if (failed(buffers.run()))
    return failure();
  buffers.print(os);
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

namespace {
/// What a pass prints of a kernel.
struct AnalysisTest {
  StringLiteral argument, description;
  LogicalResult (*print)(gpu::GPUFuncOp kernel, raw_ostream &os);
};

/// Runs one of the tests on all kernels of a module.
class AnalysisTestPass : public PassWrapper<AnalysisTestPass, OperationPass<>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AnalysisTestPass)

  explicit AnalysisTestPass(const AnalysisTest &test) : test(&test) {}

  StringRef getArgument() const final { return test->argument; }
  StringRef getDescription() const final { return test->description; }

  void runOnOperation() final {
    getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      llvm::outs() << "kernel @" << kernel.getName() << "\n";
      if (failed(test->print(kernel, llvm::outs())))
        signalPassFailure();
    });
    llvm::outs().flush();
    markAllAnalysesPreserved();
  }

private:
  const AnalysisTest *test;
};
} // namespace

static const AnalysisTest kTests[] = {
    {"test-tile-divisibility", "Print the divisors of integers",
     printDivisibility},
    {"test-tile-index-signs", "Print which integers may be negative",
     printIndexSigns},
    {"test-tile-accesses", "Print accesses to memory", printAccesses},
    {"test-tile-liveness", "Print live intervals of shared memory",
     printLiveness},
    {"test-tile-pipeline-plan", "Print the plans of pipelined loops",
     printPipelines},
    {"test-tile-roles", "Print the roles of operations", printRoles},
    {"test-tile-layout-candidates", "Print candidates and choices of layouts",
     printLayouts}};

[[maybe_unused]] static const bool kRegistered = [] {
  for (const AnalysisTest &test : kTests)
    registerPass([&test] { return std::make_unique<AnalysisTestPass>(test); });
  return true;
}();
