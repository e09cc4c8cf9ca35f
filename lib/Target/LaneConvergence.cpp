//===- LaneConvergence.cpp - Calls that lanes must make together ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call is divergent if a branch decides whether it runs, and lanes of one
// warp may take different sides of that branch. A call depends on the branches
// on which it is control dependent (Ferrante et al., The program dependence
// graph and its use in optimization, 1987). For each edge from a branch to a
// successor these are the blocks on a path in the tree of post-dominators, from
// the successor up to the immediate post-dominator of the branch. Branches in
// such blocks pass this on to the blocks that depend on them.
//
// LLVM's uniformity analysis finds the branches. Its own targets describe the
// threads of a block, of which roles take different sides. Here it is told
// about the lanes of a warp, which agree on tid.x / 32 and on tid.x < 64.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/LaneConvergence.h"

#include "llvm/ADT/GenericUniformityImpl.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/TargetTransformInfoImpl.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace {

/// Tells LLVM's uniformity analysis which values the lanes of a warp share.
class LaneInfo final : public TargetTransformInfoImplBase {
public:
  LaneInfo(const DataLayout &layout, unsigned numLanes)
      : TargetTransformInfoImplBase(layout), numLanes(numLanes) {}

  bool hasBranchDivergence(const Function *) const override { return true; }

  InstructionUniformity
  getInstructionUniformity(const Value *value) const override {
    if (isAlike(value))
      return InstructionUniformity::AlwaysUniform;
    return isDifferent(value) ? InstructionUniformity::NeverUniform
                              : InstructionUniformity::Default;
  }

private:
  bool isAlike(const Value *value) const;
  static bool isDifferent(const Value *value);

  unsigned numLanes;
};

} // namespace

/// Returns whether a value is the index of a thread in x, whose lowest digits
/// are the number of the lane.
static bool isThreadIndex(const Value *value) {
  while (auto *cast = dyn_cast<CastInst>(value))
    value = cast->getOperand(0);
  auto *call = dyn_cast<IntrinsicInst>(value);
  return call &&
         (call->getIntrinsicID() == Intrinsic::nvvm_read_ptx_sreg_tid_x ||
          call->getIntrinsicID() == Intrinsic::amdgcn_workitem_id_x);
}

/// Returns whether all lanes have the same value although operands differ.
bool LaneInfo::isAlike(const Value *value) const {
  const Value *thread;
  const APInt *constant;
  CmpPredicate predicate;
  if (match(value, m_LShr(m_Value(thread), m_APInt(constant))))
    return isThreadIndex(thread) && constant->uge(Log2_32(numLanes));
  if (match(value, m_UDiv(m_Value(thread), m_APInt(constant))))
    return isThreadIndex(thread) && constant->urem(numLanes) == 0;
  if (match(value, m_And(m_Value(thread), m_APInt(constant))))
    return isThreadIndex(thread) &&
           constant->countr_zero() >= Log2_32(numLanes);
  if (match(value, m_ICmp(predicate, m_Value(thread), m_APInt(constant)))) {
    if (!isThreadIndex(thread) || !ICmpInst::isRelational(predicate))
      return false;
    // tid.x <= 31 is tid.x < 32.
    bool isNext = ICmpInst::isGT(predicate) || ICmpInst::isLE(predicate);
    return (*constant + isNext).urem(numLanes) == 0;
  }
  auto *call = dyn_cast<IntrinsicInst>(value);
  if (!call)
    return false;
  switch (call->getIntrinsicID()) {
  case Intrinsic::nvvm_shfl_sync_idx_i32:
  case Intrinsic::nvvm_vote_all_sync:
  case Intrinsic::nvvm_vote_any_sync:
  case Intrinsic::nvvm_vote_ballot_sync:
  case Intrinsic::amdgcn_ballot:
  case Intrinsic::amdgcn_readfirstlane:
  case Intrinsic::amdgcn_readlane:
    return true;
  default:
    return false;
  }
}

/// Returns whether lanes have different values although operands are alike.
bool LaneInfo::isDifferent(const Value *value) {
  if (isa<AtomicRMWInst, AtomicCmpXchgInst>(value) || isThreadIndex(value))
    return true;
  auto *call = dyn_cast<IntrinsicInst>(value);
  if (!call)
    return false;
  switch (call->getIntrinsicID()) {
  case Intrinsic::nvvm_read_ptx_sreg_laneid:
  case Intrinsic::amdgcn_mbcnt_lo:
  case Intrinsic::amdgcn_mbcnt_hi:
    return true;
  default:
    return false;
  }
}

/// Returns whether lanes must make a call together. LLVM says so of operations
/// on mbarriers, too, which are those of one thread.
static bool needsAllLanes(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  return call.isConvergent() &&
         !(callee && callee->getName().starts_with("llvm.nvvm.mbarrier."));
}

SmallVector<CallBase *> tilews::findDivergentCalls(
    Function &function, FunctionAnalysisManager &analyses, unsigned numLanes) {
  TargetTransformInfo info(std::make_unique<LaneInfo>(
      function.getParent()->getDataLayout(), numLanes));
  UniformityInfo uniformity(analyses.getResult<DominatorTreeAnalysis>(function),
                            analyses.getResult<CycleAnalysis>(function), &info);
  uniformity.compute();
  auto &postDominators =
      analyses.getResult<PostDominatorTreeAnalysis>(function);

  SmallPtrSet<BasicBlock *, 16> divergent;
  SmallVector<BasicBlock *> branches;
  auto markDependents = [&](BasicBlock &branch) {
    const DomTreeNode *node = postDominators.getNode(&branch);
    const DomTreeNode *end = node ? node->getIDom() : nullptr;
    for (BasicBlock *successor : successors(&branch))
      for (const DomTreeNode *at = postDominators.getNode(successor);
           at && at != end && at->getBlock(); at = at->getIDom())
        if (divergent.insert(at->getBlock()).second)
          branches.push_back(at->getBlock());
  };
  for (BasicBlock &block : function)
    if (uniformity.hasDivergentTerminator(block))
      markDependents(block);
  while (!branches.empty())
    if (BasicBlock *block = branches.pop_back_val();
        block->getTerminator()->getNumSuccessors() > 1)
      markDependents(*block);

  SmallVector<CallBase *> calls;
  for (BasicBlock &block : function)
    if (divergent.contains(&block))
      for (Instruction &each : block)
        if (auto *call = dyn_cast<CallBase>(&each);
            call && needsAllLanes(*call))
          calls.push_back(call);
  return calls;
}
