//===- UndefinedLanes.cpp - Reads of registers without a value ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM 22.1 coalesces a copy of a register of which a part has no value, and
// forgets to mark reads of that part. The tracker of register pressure looks
// for the register among the live ones, where it is not, and writes after the
// end of a hash table (docs/upstream/undefined-lanes.md). This pass runs
// between the two. It follows live intervals, which are right:
//
//   412608  undef %a.sub0:vreg_64 = COPY %b.sub1    %a.sub1 has no value
//   412944  %c = V_ALIGNBIT_B32 %a.sub1, %b.sub1    this read gets the flag
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/UndefinedLanes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/PassRegistry.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace {
class UndefinedLanes : public MachineFunctionPass {
public:
  static char ID;
  UndefinedLanes() : MachineFunctionPass(ID) {}

  StringRef getPassName() const override { return "Undefined lanes"; }

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<LiveIntervalsWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override;

private:
  /// Whether an operand reads a part of a register, and none of it has a value.
  bool readsNothing(const MachineOperand &operand, SlotIndex index) const;

  LiveIntervals *intervals = nullptr;
  const TargetRegisterInfo *registers = nullptr;
};
} // namespace

char UndefinedLanes::ID = 0;

bool UndefinedLanes::readsNothing(const MachineOperand &operand,
                                  SlotIndex index) const {
  if (!operand.isReg() || !operand.isUse() || !operand.readsReg() ||
      !operand.getSubReg() || !operand.getReg().isVirtual() ||
      !intervals->hasInterval(operand.getReg()))
    return false;
  const LiveInterval &interval = intervals->getInterval(operand.getReg());
  LaneBitmask lanes = registers->getSubRegIndexLaneMask(operand.getSubReg());
  return interval.hasSubRanges() &&
         none_of(interval.subranges(), [&](const LiveInterval::SubRange &part) {
           return (part.LaneMask & lanes).any() && part.liveAt(index);
         });
}

bool UndefinedLanes::runOnMachineFunction(MachineFunction &function) {
  intervals = &getAnalysis<LiveIntervalsWrapperPass>().getLIS();
  registers = function.getSubtarget().getRegisterInfo();
  SetVector<Register> changed;
  for (MachineBasicBlock &block : function)
    for (MachineInstr &instruction : block) {
      if (instruction.isDebugInstr())
        continue;
      SlotIndex index = intervals->getInstructionIndex(instruction);
      for (MachineOperand &operand : instruction.operands())
        if (readsNothing(operand, index.getBaseIndex())) {
          operand.setIsUndef();
          changed.insert(operand.getReg());
        }
    }
  // A register need not live up to a read of nothing.
  for (Register reg : changed) {
    intervals->removeInterval(reg);
    intervals->createAndComputeVirtRegInterval(reg);
  }
  return !changed.empty();
}

Pass *tilews::createUndefinedLanesPass() { return new UndefinedLanes(); }

void tilews::registerUndefinedLanesPass() {
  static const PassInfo info("Undefined lanes", "tilews-undefined-lanes",
                             &UndefinedLanes::ID, createUndefinedLanesPass,
                             /*isCFGOnly=*/false, /*is_analysis=*/false);
  PassRegistry::getPassRegistry()->registerPass(info);
  static RegisterTargetPassConfigCallback callback(
      [](TargetMachine &machine, PassManagerBase &, TargetPassConfig *config) {
        if (machine.getTargetTriple().isAMDGCN())
          config->insertPass(&RegisterCoalescerID, &UndefinedLanes::ID);
      });
}
