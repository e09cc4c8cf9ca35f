//===- Stubs.cpp - Symbols that the static archives ask for in vain -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Symbols that LLVM's static archives refer to and that a static build does not
// link. LLVMLTO, which lld needs, asks for the plugin of Polly. lld initializes
// every target that its LLVM was configured with, and only those for NVIDIA and
// AMD GPUs are linked; the others get functions that do nothing.
//
//===----------------------------------------------------------------------===//

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

// LLVMLTO, which lld needs, refers to a Polly that is linked in.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "none", [](llvm::PassBuilder &) {},
          nullptr};
}

// lld initializes every target that its LLVM was configured with; we link two.
#define NO_TARGET(NAME)                                                        \
  extern "C" void LLVMInitialize##NAME##TargetInfo() {}                        \
  extern "C" void LLVMInitialize##NAME##Target() {}                            \
  extern "C" void LLVMInitialize##NAME##TargetMC() {}                          \
  extern "C" void LLVMInitialize##NAME##AsmPrinter() {}                        \
  extern "C" void LLVMInitialize##NAME##AsmParser() {}

NO_TARGET(AArch64)
NO_TARGET(ARM)
NO_TARGET(AVR)
NO_TARGET(BPF)
NO_TARGET(Hexagon)
NO_TARGET(Lanai)
NO_TARGET(LoongArch)
NO_TARGET(M68k)
NO_TARGET(MSP430)
NO_TARGET(Mips)
NO_TARGET(PowerPC)
NO_TARGET(RISCV)
NO_TARGET(SPIRV)
NO_TARGET(Sparc)
NO_TARGET(SystemZ)
NO_TARGET(VE)
NO_TARGET(WebAssembly)
NO_TARGET(X86)
NO_TARGET(XCore)
NO_TARGET(Xtensa)
