//===- SplitPairs.cpp - Pairs of 16-bit integers, one by one --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ptxas 13.0.88 miscompiles `add.s16x2` with a constant. If it computes the sum
// again for a second use of the low half, it loses the constant:
//
//   PTX          add.s16x2 %r1, %r0, 65537     65537 is the pair (1, 1)
//   first use    VIADD.16x2 R4, R0, 0x10001
//   second use   VIADD.16x2 R0, R0, 0x0        0x1 by ptxas 13.5.37
//
// LLVM emits such instructions for sm_90 and later: sums, minima and maxima of
// two integers of 16 bits. This pass splits them into scalars, for all versions
// of ptxas, because drivers have assemblers of their own. Pairs of halves have
// other instructions, and stay; LLVM's Scalarizer would split them, too.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/SplitPairs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

/// Returns whether PTX may have an instruction for this operation on pairs.
static bool isOnPairs(const Instruction &instruction) {
  auto type = dyn_cast<FixedVectorType>(instruction.getType());
  return type && type->getElementType()->isIntegerTy(16) &&
         (instruction.getOpcode() == Instruction::Add ||
          isa<MinMaxIntrinsic>(instruction));
}

/// Computes each element of a sum, minimum or maximum by itself.
static void split(Instruction &instruction) {
  IRBuilder<> builder(&instruction);
  Value *lhs = instruction.getOperand(0), *rhs = instruction.getOperand(1);
  auto type = cast<FixedVectorType>(instruction.getType());
  Value *result = PoisonValue::get(type);
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    Value *a = builder.CreateExtractElement(lhs, i);
    Value *b = builder.CreateExtractElement(rhs, i);
    auto minMax = dyn_cast<MinMaxIntrinsic>(&instruction);
    Value *element =
        minMax ? builder.CreateBinaryIntrinsic(minMax->getIntrinsicID(), a, b)
               : builder.CreateAdd(a, b);
    result = builder.CreateInsertElement(result, element, i);
  }
  instruction.replaceAllUsesWith(result);
  instruction.eraseFromParent();
}

PreservedAnalyses tilews::SplitPairsPass::run(Function &function,
                                              FunctionAnalysisManager &) {
  bool changed = false;
  for (Instruction &each : make_early_inc_range(instructions(function))) {
    if (!isOnPairs(each))
      continue;
    split(each);
    changed = true;
  }
  if (!changed)
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}
