//===- SeparateCopies.cpp - Copies to LDS and other accesses --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's code generator for AMD waits for all copies to shared memory before a
// read that may alias one of them: `s_waitcnt vmcnt(0)` in each iteration of a
// pipeline, although the copies in flight fill other slots. It cannot know
// which slots. The schedule does: a read comes after a wait for the copies that
// it needs, and that wait is in the code already, with a barrier that no access
// crosses. So the copies get an alias scope, and other accesses of shared
// memory do not alias it.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/SeparateCopies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/MDBuilder.h"

using namespace llvm;

/// LLVM's address space of shared memory.
static constexpr unsigned kSharedSpace = 3;

static bool isCopy(const Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == Intrinsic::amdgcn_load_to_lds;
}

static bool accessesShared(const Instruction &instruction) {
  return instruction.mayReadOrWriteMemory() &&
         any_of(instruction.operands(), [](const Use &operand) {
           auto *type = dyn_cast<PointerType>(operand->getType());
           return type && type->getAddressSpace() == kSharedSpace;
         });
}

PreservedAnalyses tilews::SeparateCopiesPass::run(Function &function,
                                                  FunctionAnalysisManager &) {
  if (none_of(instructions(function), isCopy))
    return PreservedAnalyses::all();
  MDBuilder builder(function.getContext());
  MDNode *domain = builder.createAnonymousAliasScopeDomain("copies");
  MDNode *scope = builder.createAnonymousAliasScope(domain, "copies");
  MDNode *scopes = MDNode::get(function.getContext(), scope);
  for (Instruction &instruction : instructions(function)) {
    if (!accessesShared(instruction))
      continue;
    unsigned kind = isCopy(instruction) ? LLVMContext::MD_alias_scope
                                        : LLVMContext::MD_noalias;
    instruction.setMetadata(
        kind, MDNode::concatenate(instruction.getMetadata(kind), scopes));
  }
  return PreservedAnalyses::all();
}
