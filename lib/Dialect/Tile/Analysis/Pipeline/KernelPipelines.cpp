//===- KernelPipelines.cpp - The pipelines of a kernel --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loops of a kernel depend on each other through the buffers that they use.
// A buffer that is piped in a loop has several versions, so that code outside
// of the loop would not know which one to access. All loops are planned; if a
// plan pipes a buffer that other code needs, that buffer is forbidden, and all
// loops are planned again. The set of forbidden buffers only grows, so that
// this ends. The one use outside of a loop that is allowed is a read after the
// only loop that pipes the buffer, if that loop runs once: it reads the last
// version.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Pipeline/KernelPipelines.h"
#include "tilews/Dialect/Tile/Analysis/BriefPrinter.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// The most stages of a loop. The prologue has a copy of the body for each
/// stage but the last.
static constexpr int64_t kMaxStages = 64;

/// Returns the reason why a loop cannot be pipelined whatever its body has, if
/// any.
static MaybeRefusal checkLoop(scf::ForOp loop) {
  int64_t stages =
      loop->getAttrOfType<IntegerAttr>(TileDialect::kNumStages).getInt();
  if (stages > kMaxStages)
    return Refusal{loop, 13,
                   "the loop has " + std::to_string(stages) +
                       " stages, expected at most " +
                       std::to_string(kMaxStages)};
  if (!loop->getParentOfType<gpu::GPUFuncOp>().getBody().hasOneBlock())
    return Refusal{
        loop, 13,
        "the kernel has several blocks; expected structured control flow"};
  for (Operation *op = loop->getParentOp(); !isa<gpu::GPUFuncOp>(op);
       op = op->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op))
      return Refusal{loop, 13,
                     ("the loop lies in a '" + op->getName().getStringRef() +
                      "'; expected 'scf.for', 'scf.if' and 'scf.while' only")
                         .str()};
  // In a kernel with roles, only operations in roles may use channels.
  if (!loop->getParentOfType<gpu::GPUFuncOp>().getOps<SpecializeOp>().empty())
    return Refusal{loop, 13,
                   "the kernel has roles written by hand; expected a kernel "
                   "without tile.specialize"};
  return std::nullopt;
}

static bool hasParentLoop(Operation *op) {
  return op->getParentOfType<LoopLikeOpInterface>() != nullptr;
}

/// Returns whether every execution of `op` comes after one of `loop`.
static bool isAfter(Operation *op, scf::ForOp loop) {
  Operation *ancestor = loop->getBlock()->findAncestorOpInBlock(*op);
  return ancestor && loop->isBeforeInBlock(ancestor);
}

/// Returns whether a loop, not counting inner loops, waits for channels.
static bool hasChannels(scf::ForOp loop) {
  WalkResult result = loop->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != loop && isa<scf::ForOp>(op))
      return WalkResult::skip();
    return isa<WaitOp, AcquireOp>(op) ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  return result.wasInterrupted();
}

SmallVector<scf::ForOp> tile::getLoopsToPipeline(gpu::GPUFuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) {
    if (loop->hasAttr(TileDialect::kNumStages) && !hasChannels(loop))
      loops.push_back(loop);
  });
  return loops;
}

KernelPipelines::KernelPipelines(gpu::GPUFuncOp kernel,
                                 ArrayRef<scf::ForOp> loops)
    : memory(kernel) {
  ForbiddenBuffers forbidden;
  do {
    plan(loops, forbidden);
  } while (forbid(kernel, forbidden));
}

LogicalResult KernelPipelines::emitErrors() const {
  for (const Refusal &error : errors)
    error.op->emitError("the pipeline it is in cannot be kept: ")
        << error.reason;
  return success(errors.empty());
}

void KernelPipelines::plan(ArrayRef<scf::ForOp> loops,
                           const ForbiddenBuffers &forbidden) {
  plans.clear();
  errors.clear();
  refusals.clear();
  for (scf::ForOp loop : loops) {
    bool annotated = PipelinePlan::isAnnotated(loop);
    SmallVector<Refusal> &refused = annotated ? errors : refusals;
    if (MaybeRefusal refusal = checkLoop(loop)) {
      refused.push_back(*refusal);
      continue;
    }
    auto refuse = [&](const Refusal &r) { refused.push_back(r); };
    size_t before = errors.size();
    PipelinePlan plan =
        annotated ? PipelinePlan::read(loop, memory, forbidden, refuse)
                  : PipelinePlan::compute(loop, memory, forbidden, refuse);
    if (!plan.getBuffers().empty())
      plans.push_back(std::move(plan));
    else if (!annotated)
      refused.push_back(
          {loop, 2,
           "no operation in the loop fills shared memory ahead of time"});
    else if (errors.size() == before)
      refusals.push_back({loop, 16,
                          "no operation that only fills shared memory has an "
                          "earlier stage than all readers of that memory"});
  }
}

/// Forbids the buffers that are used outside of the loops that pipe them. Reads
/// after the only such loop are allowed if that loop runs once. Returns whether
/// there are new ones.
bool KernelPipelines::forbid(gpu::GPUFuncOp kernel,
                             ForbiddenBuffers &forbidden) const {
  llvm::MapVector<Operation *, SmallVector<scf::ForOp>> loops;
  for (const PipelinePlan &plan : plans)
    for (const PipedBuffer &buffer : plan.getBuffers())
      loops[buffer.alloc].push_back(plan.getLoop());
  bool found = false;
  for (const MemoryAccess &access : memory.get(kernel))
    for (AllocSharedOp alloc : access.roots) {
      auto it = loops.find(alloc);
      if (it == loops.end() || llvm::any_of(it->second, [&](scf::ForOp loop) {
            return loop->isAncestor(access.op);
          }))
        continue;
      scf::ForOp first = it->second.front();
      bool readsLast = it->second.size() == 1 && !access.writes() &&
                       !hasParentLoop(first) && isAfter(access.op, first);
      if (!readsLast)
        found |= forbidden
                     .insert({alloc,
                              {access.op, 12,
                               "the buffer is also used outside of the loop"}})
                     .second;
    }
  return found;
}

void KernelPipelines::print(raw_ostream &os) const {
  for (const PipelinePlan &plan : plans)
    plan.print(os);
  for (ArrayRef<Refusal> refused : {ArrayRef(errors), ArrayRef(refusals)})
    for (const Refusal &refusal : refused)
      BriefPrinter(refusal.op, os)
          << "not pipelined (" << refusal.id << "): " << refusal.op << ": "
          << refusal.reason << "\n";
}
