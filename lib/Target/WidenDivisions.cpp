//===- WidenDivisions.cpp - Divisions of 24-bit integers ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's code generator for AMD divides integers that fit 24 bits by floating
// point:
//
//   q = trunc(float(a) * rcp(float(b)))
//   q + 1 if the remainder a - q * b is b or more
//
// The reciprocal is rounded, so q can be too large by 1, and is not corrected:
// 0xfffffe / 0xffffff is 1 there. With 23 bits the quotient is exact enough.
// Signed numbers of 24 bits have no more.
//
// Here such numbers get 32 bits, for which the code generator has another form.
// A factor of both does not change the quotient, and is one of the remainder:
//
//   a / b  =  (a << 8) / (b << 8)          a % b  =  ((a << 8) % (b << 8)) >> 8
//
// Divisors that are constants have no reciprocals.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/WidenDivisions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/SimplifyQuery.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/KnownBits.h"

using namespace llvm;

/// The bits of numbers that the code generator divides wrongly.
static constexpr unsigned kWrongBits = 24;

/// Returns whether the code generator gives a wrong result for some operands.
static bool isDividedWrongly(const Instruction &instruction,
                             const SimplifyQuery &query) {
  unsigned opcode = instruction.getOpcode();
  if ((opcode != Instruction::UDiv && opcode != Instruction::URem) ||
      isa<Constant>(instruction.getOperand(1)))
    return false;
  unsigned bits = 0;
  for (const Value *operand : instruction.operand_values())
    bits =
        std::max(bits, computeKnownBits(operand, query).countMaxActiveBits());
  return bits == kWrongBits;
}

/// Divides numbers of 32 bits instead, whose lowest bits are zero.
static void widen(Instruction &division) {
  IRBuilder<> builder(&division);
  Type *type = division.getType();
  Type *wide = type->getWithNewBitWidth(32);
  auto widened = [&](Value *operand) {
    return builder.CreateShl(builder.CreateZExtOrTrunc(operand, wide),
                             32 - kWrongBits);
  };
  Value *lhs = widened(division.getOperand(0));
  Value *rhs = widened(division.getOperand(1));
  bool isQuotient = division.getOpcode() == Instruction::UDiv;
  Value *result = isQuotient ? builder.CreateUDiv(lhs, rhs)
                             : builder.CreateLShr(builder.CreateURem(lhs, rhs),
                                                  32 - kWrongBits);
  division.replaceAllUsesWith(builder.CreateZExtOrTrunc(result, type));
  division.eraseFromParent();
}

PreservedAnalyses
tilews::WidenDivisionsPass::run(Function &function,
                                FunctionAnalysisManager &analyses) {
  SimplifyQuery query(function.getDataLayout(),
                      &analyses.getResult<DominatorTreeAnalysis>(function),
                      &analyses.getResult<AssumptionAnalysis>(function));
  SmallVector<Instruction *> found;
  for (Instruction &each : instructions(function))
    if (isDividedWrongly(each, query.getWithInstruction(&each)))
      found.push_back(&each);
  if (found.empty())
    return PreservedAnalyses::all();
  for (Instruction *each : found)
    widen(*each);
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}
