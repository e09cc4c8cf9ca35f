//===- ScheduleCAPI.cpp - C interface of the scheduling of kernels --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules made by hand, step by step: the C interface of the passes that plan
// loops, give buffers versions, split kernels into roles, and insert operations
// on channels. Each function checks its operands and reports what is wrong as a
// diagnostic at the operation, for example a loop without `tile.num_stages`.
// The IR is changed only after all checks.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Schedule.h"
#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Dialect/Tile/Transforms/Transforms.h"
#include "tilews/Dialect/Tile/Utils/Cursors.h"
#include "tilews/Dialect/Tile/Utils/Versions.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

static FailureOr<gpu::GPUFuncOp> getKernel(MlirOperation operation) {
  Operation *op = unwrap(operation);
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if (!kernel)
    return op->emitError("is not a kernel; expected a gpu.func, found '")
           << op->getName() << "'";
  if (!kernel.getBody().hasOneBlock())
    return op->emitError("has several blocks; expected structured control "
                         "flow");
  return kernel;
}

/// Returns the loop with `tile.num_stages` in a kernel; fails for other
/// operations.
static FailureOr<scf::ForOp> getLoop(MlirOperation operation) {
  Operation *op = unwrap(operation);
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return op->emitError("is not a loop that can be pipelined; expected an "
                         "scf.for, found '")
           << op->getName() << "'";
  if (!loop->hasAttr(TileDialect::kNumStages))
    return op->emitError("is not a pipelined loop; expected 'tile.num_stages' "
                         "on it");
  auto kernel = loop->getParentOfType<gpu::GPUFuncOp>();
  if (!kernel)
    return op->emitError("is not in a kernel; expected a gpu.func around it");
  return loop;
}

/// Returns loops of one kernel, inner ones first. Fails if the loops are in
/// several kernels or have channels.
static FailureOr<SmallVector<scf::ForOp>>
getLoops(ArrayRef<MlirOperation> operations) {
  llvm::SmallPtrSet<Operation *, 4> wanted;
  gpu::GPUFuncOp kernel;
  for (MlirOperation operation : operations) {
    FailureOr<scf::ForOp> loop = getLoop(operation);
    if (failed(loop))
      return failure();
    auto around = (*loop)->getParentOfType<gpu::GPUFuncOp>();
    if (kernel && kernel != around)
      return loop->emitError("is in the kernel @")
             << around.getName() << ", but another loop is in @"
             << kernel.getName();
    kernel = around;
    wanted.insert(*loop);
  }
  if (!kernel)
    return SmallVector<scf::ForOp>();
  SmallVector<scf::ForOp> loops;
  for (scf::ForOp loop : getLoopsToPipeline(kernel))
    if (wanted.erase(loop))
      loops.push_back(loop);
  if (!wanted.empty())
    return (*wanted.begin())
        ->emitError("has channels already: its buffers have their versions");
  return loops;
}

static LogicalResult isUsable(Value value, Operation *op, StringRef what) {
  DominanceInfo dominance;
  if (dominance.properlyDominates(value, op))
    return success();
  InFlightDiagnostic diag = op->emitError(what) << " is not known here";
  diag.attachNote(value.getLoc()) << "made here";
  return diag;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static bool hasChannels(gpu::GPUFuncOp kernel) {
  return kernel.walk([](ChannelOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

static LogicalResult split(gpu::GPUFuncOp kernel) {
  WalkResult roles =
      kernel.walk([](SpecializeOp) { return WalkResult::interrupt(); });
  if (roles.wasInterrupted())
    return kernel.emitError("has roles already");
  if (!hasChannels(kernel))
    return kernel.emitError("has no channels: give the buffers of a planned "
                            "loop versions first");
  return splitIntoRoles(kernel);
}

static LogicalResult rewrite(TilewsKernelRewrite rewrite,
                             gpu::GPUFuncOp kernel) {
  switch (rewrite) {
  case TilewsAnnotateInstructions:
    return annotateInstructions(kernel);
  case TilewsChannelPreludes:
    return channelPreludes(kernel);
  case TilewsSplitIntoRoles:
    return split(kernel);
  case TilewsKeepOneRole:
    return keepOneRole(kernel);
  case TilewsDeferGemmWaits:
    deferGemmWaits(kernel);
    return success();
  case TilewsPingPong:
    pingPong(kernel);
    return success();
  }
  llvm_unreachable("covered switch");
}

MlirLogicalResult tilewsRewriteKernel(TilewsKernelRewrite which,
                                      MlirOperation operation) {
  FailureOr<gpu::GPUFuncOp> kernel = getKernel(operation);
  return wrap(failed(kernel) ? failure() : rewrite(which, *kernel));
}

MlirLogicalResult tilewsCarryCursors(MlirOperation operation,
                                     intptr_t numCursors,
                                     const MlirValue *cursors) {
  FailureOr<gpu::GPUFuncOp> kernel = getKernel(operation);
  if (failed(kernel))
    return wrap(LogicalResult(failure()));
  IRRewriter rewriter(kernel->getContext());
  Cursors carried(rewriter);
  for (MlirValue wrapped : ArrayRef(cursors, numCursors)) {
    Value cursor = unwrap(wrapped);
    auto start = cursor.getDefiningOp<CursorOp>();
    if (!start || start->getBlock() != &kernel->getBody().front())
      return wrap(LogicalResult(
          emitError(cursor.getLoc())
          << "is not carried; expected the result of a 'tile.cursor' in the "
             "body of the kernel"));
    carried.add(cursor);
  }
  carried.carry(kernel->getBody());
  return wrap(LogicalResult(success()));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

MlirLogicalResult tilewsForEachOperationToSchedule(
    MlirOperation operation, TilewsOperationCallback callback, void *userData) {
  FailureOr<scf::ForOp> loop = getLoop(operation);
  if (failed(loop))
    return wrap(LogicalResult(failure()));
  for (Operation *op : getOperationsToSchedule(*loop))
    callback(wrap(op), userData);
  return wrap(LogicalResult(success()));
}

MlirLogicalResult tilewsPlanPipelines(intptr_t numLoops,
                                      const MlirOperation *operations) {
  auto loops = getLoops(ArrayRef(operations, numLoops));
  if (failed(loops) || failed(planPipelines(*loops)))
    return wrap(LogicalResult(failure()));
  // Remarks say why a loop has no plan.
  return wrap(
      LogicalResult(success(llvm::all_of(*loops, PipelinePlan::isAnnotated))));
}

MlirLogicalResult tilewsMultiVersionBuffers(intptr_t numLoops,
                                            const MlirOperation *operations,
                                            int64_t depth,
                                            TilewsOperationCallback callback,
                                            void *userData) {
  auto loops = getLoops(ArrayRef(operations, numLoops));
  if (failed(loops))
    return wrap(LogicalResult(failure()));
  for (scf::ForOp loop : *loops)
    if (!PipelinePlan::isAnnotated(loop))
      return wrap(LogicalResult(
          loop.emitError("is not planned: its operations have no stages")));
  auto channels =
      multiVersion(*loops, depth ? std::optional(depth) : std::nullopt);
  if (failed(channels))
    return wrap(LogicalResult(failure()));
  for (ChannelOp channel : *channels)
    callback(wrap(channel.getOperation()), userData);
  return wrap(LogicalResult(success()));
}

MlirLogicalResult tilewsExpandPipeline(MlirOperation operation) {
  FailureOr<scf::ForOp> loop = getLoop(operation);
  if (failed(loop))
    return wrap(LogicalResult(failure()));
  if (!isReadyToExpand(*loop))
    return wrap(LogicalResult(
        loop->emitError("cannot be expanded: expected a planned loop whose "
                        "buffers have channels, in no role")));
  IRRewriter rewriter(loop->getContext());
  return wrap(expandPipeline(rewriter, *loop));
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

MlirType tilewsGetVersionedType(MlirType buffer, int64_t versions,
                                MlirLocation location) {
  Location loc = unwrap(location);
  auto type = dyn_cast<MemRefType>(unwrap(buffer));
  if (!type || !isShared(type) || !isBufferType(type)) {
    emitError(loc) << "expected the type of a shared buffer, found "
                   << unwrap(buffer);
    return {nullptr};
  }
  auto emit = [&] { return emitError(loc); };
  if (!ChannelType::getChecked(emit, type.getContext(), versions))
    return {nullptr};
  FailureOr<MemRefType> result = getVersionedType(type, versions, emit);
  return failed(result) ? MlirType{nullptr} : wrap(Type(*result));
}

MlirType tilewsGetSlotType(MlirType versions, MlirLocation location) {
  auto type = dyn_cast<MemRefType>(unwrap(versions));
  if (type && isShared(type) && isBufferType(type) && type.getRank() > 0)
    return wrap(Type(SlotOp::getSlotType(type)));
  emitError(unwrap(location))
      << "expected the type of a shared buffer with versions, found "
      << unwrap(versions);
  return {nullptr};
}

MlirLogicalResult tilewsUseVersion(MlirOperation operation, MlirValue buffer,
                                   MlirValue versions, MlirValue cursor) {
  Operation *op = unwrap(operation);
  auto fail = [&](const Twine &text) {
    return wrap(LogicalResult(op->emitError(text)));
  };
  auto alloc = unwrap(buffer).getDefiningOp<AllocSharedOp>();
  if (!alloc)
    return fail("the buffer is not the result of a 'tile.alloc_shared'");
  auto type = dyn_cast<CursorType>(unwrap(cursor).getType());
  if (!type)
    return fail("expected a cursor, found a value of another type");
  FailureOr<MemRefType> expected =
      getVersionedType(alloc.getBuffer().getType(), type.getDepth(),
                       [&] { return op->emitError(); });
  if (failed(expected))
    return wrap(LogicalResult(failure()));
  if (unwrap(versions).getType() != *expected)
    return wrap(LogicalResult(op->emitError("expected versions of type ")
                              << *expected << ", found "
                              << unwrap(versions).getType()));
  if (failed(isUsable(unwrap(versions), op, "the buffer with the versions")) ||
      failed(isUsable(unwrap(cursor), op, "the cursor")))
    return wrap(LogicalResult(failure()));
  IRRewriter rewriter(op->getContext());
  useVersion(rewriter, op, alloc, unwrap(versions), unwrap(cursor));
  return wrap(LogicalResult(success()));
}
