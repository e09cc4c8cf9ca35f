//===- UndefinedLanesTest.cpp - Reads that get the flag undef -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Machine code as LLVM's register coalescer leaves it, and which operands the
// pass marks. The live intervals are valid afterwards, too:
//
//   undef %1.sub0 = COPY %0.sub1; %3 = V_ADD_U32 %1.sub1, %0.sub1     %1.sub1
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/UndefinedLanes.h"

#include "llvm/CodeGen/LiveIntervals.h"
#include "llvm/CodeGen/MIRParser/MIRParser.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/InitializePasses.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "gtest/gtest.h"

using namespace llvm;

namespace {
/// Collects `%register.part` for each operand with the flag, and whether the
/// live intervals are as if they were computed anew.
class Flags : public MachineFunctionPass {
public:
  static char ID;
  std::vector<std::string> &found;

  explicit Flags(std::vector<std::string> &found)
      : MachineFunctionPass(ID), found(found) {}

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<LiveIntervalsWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetRegisterInfo *registers =
        function.getSubtarget().getRegisterInfo();
    for (MachineBasicBlock &block : function)
      for (MachineInstr &instruction : block)
        for (MachineOperand &operand : instruction.operands())
          if (operand.isReg() && operand.isUse() && operand.isUndef())
            found.push_back(("%" + Twine(operand.getReg().virtRegIndex()) +
                             "." +
                             registers->getSubRegIndexName(operand.getSubReg()))
                                .str());
    EXPECT_TRUE(function.verify(this, "after the pass", &errs(),
                                /*AbortOnError=*/false));
    return false;
  }
};
} // namespace

char Flags::ID = 0;

/// The operands that the pass marks in the only block of a function.
static std::vector<std::string> mark(StringRef body) {
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  initializeCodeGen(*PassRegistry::getPassRegistry());
  Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  std::unique_ptr<TargetMachine> machine(
      TargetRegistry::lookupTarget(triple, error)
          ->createTargetMachine(triple, "gfx950", "", TargetOptions(), {}));
  std::string text = ("---\nname: f\ntracksRegLiveness: true\nbody: |\n"
                      "  bb.0:\n    liveins: $vgpr0_vgpr1\n" +
                      body + "...\n")
                         .str();
  LLVMContext context;
  std::unique_ptr<MIRParser> parser =
      createMIRParser(MemoryBuffer::getMemBuffer(text), context);
  std::unique_ptr<Module> module = parser->parseIRModule();
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  auto *info = new MachineModuleInfoWrapperPass(machine.get());
  if (parser->parseMachineFunctions(*module, info->getMMI())) {
    ADD_FAILURE() << "no machine code";
    return {};
  }
  std::vector<std::string> found;
  legacy::PassManager passes;
  passes.add(info);
  passes.add(tilews::createUndefinedLanesPass());
  passes.add(new Flags(found));
  passes.run(*module);
  return found;
}

TEST(UndefinedLanesTest, MarksAReadOfAPartWithoutAValue) {
  EXPECT_EQ(
      mark("    %0:vreg_64_align2 = COPY $vgpr0_vgpr1\n"
           "    undef %1.sub0:vreg_64_align2 = COPY %0.sub1\n"
           "    %2:vgpr_32 = V_ADD_U32_e32 %1.sub0, %0.sub1, implicit $exec\n"
           "    %3:vgpr_32 = V_ADD_U32_e32 %1.sub1, %0.sub1, implicit $exec\n"
           "    S_ENDPGM 0, implicit %2, implicit %3\n"),
      std::vector<std::string>{"%1.sub1"});
}

TEST(UndefinedLanesTest, LeavesReadsOfWhichAPartHasAValue) {
  EXPECT_EQ(mark("    %0:vreg_64_align2 = COPY $vgpr0_vgpr1\n"
                 "    undef %1.sub0:vreg_128_align2 = COPY %0.sub1\n"
                 "    %2:vreg_64_align2 = V_LSHRREV_B64_e64 24, "
                 "%1.sub0_sub1, implicit $exec\n"
                 "    %3:vreg_64_align2 = V_LSHRREV_B64_e64 24, "
                 "%1.sub2_sub3, implicit $exec\n"
                 "    S_ENDPGM 0, implicit %2, implicit %3\n"),
            std::vector<std::string>{"%1.sub2_sub3"});
}

TEST(UndefinedLanesTest, LeavesCodeWithoutSuchReads) {
  EXPECT_EQ(
      mark("    %0:vreg_64_align2 = COPY $vgpr0_vgpr1\n"
           "    undef %1.sub0:vreg_64_align2 = COPY %0.sub1\n"
           "    %1.sub1:vreg_64_align2 = COPY %0.sub0\n"
           "    %2:vgpr_32 = V_ADD_U32_e32 %1.sub1, %1.sub0, implicit $exec\n"
           "    S_ENDPGM 0, implicit %2\n"),
      std::vector<std::string>{});
}
