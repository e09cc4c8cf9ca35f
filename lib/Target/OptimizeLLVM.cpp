//===- OptimizeLLVM.cpp - LLVM's optimizations for GPUs -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's usual pipeline for -O3, with a scalarizer before it and, after it,
// passes that avoid faults of assemblers and code generators (SplitPairs.cpp,
// WidenDivisions.cpp) and waits (SeparateCopies.cpp). One of its
// transformations is off, and its result is checked.
//
// SimplifyCFG must not sink code that predecessors of a block share into a new
// block. At the header of a loop it shares code of an iteration with code that
// is before the loop:
//
//   before   entry: if (inside) x = load a        loop: barrier, use x
//            latch: if (inside) x = load a        goto loop
//   after    sunk:  x = load a                    from entry, and from latch
//            loop:  barrier, use x                from entry, sunk and latch
//
// Lanes that load leave the natural loop {loop, latch}, and enter it again. If
// the unroller then peels an iteration of that loop, they wait at another copy
// of the barrier than the other lanes, forever.
//
// The check finds other faults of this kind: a convergent call, such as a
// barrier, that is divergent after the optimizations and was not before. Then
// the module is optimized again without unrolling, at -O1. What that gives is
// not checked.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/OptimizeLLVM.h"

#include "tilews/Target/LaneConvergence.h"
#include "tilews/Target/SeparateCopies.h"
#include "tilews/Target/SplitPairs.h"
#include "tilews/Target/WidenDivisions.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

using namespace mlir;
using namespace tilews;

/// Turns off the sinking, unless the command line asks for it: PassBuilder has
/// no parameter for it.
static void keepLoopHeaders() {
  static std::once_flag once;
  std::call_once(once, [] {
    constexpr StringLiteral name = "sink-common-insts";
    llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name);
    if (option && option->getNumOccurrences() == 0)
      option->addOccurrence(/*pos=*/0, name, "false");
  });
}

/// Whether `inst` is arithmetic that AMD's GPUs also have for pairs, such as
/// v_pk_mul_f32. There is none of it in a plain matmul.
static bool isPairable(const llvm::Instruction &inst) {
  const llvm::Type *type = inst.getType()->getScalarType();
  bool isHalf = type->isHalfTy() || type->isBFloatTy();
  if (inst.isBinaryOp() || inst.isUnaryOp())
    return isHalf || type->isFloatTy() || type->isIntegerTy(16);
  const auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&inst);
  if (!call || !(isHalf || type->isFloatTy()))
    return false;
  switch (call->getIntrinsicID()) {
  case llvm::Intrinsic::fma:
  case llvm::Intrinsic::fmuladd:
    return true;
  case llvm::Intrinsic::maxnum:
  case llvm::Intrinsic::minnum:
  case llvm::Intrinsic::maximum:
  case llvm::Intrinsic::minimum:
    return isHalf;
  default:
    return false;
  }
}

/// Whether the search for pairs of equal operations (SLP) can find some. For a
/// kernel with fragments of many registers it takes more time than all other
/// optimizations together.
static bool hasPairs(const llvm::Module &module) {
  return llvm::any_of(module, [](const llvm::Function &function) {
    return llvm::any_of(llvm::instructions(function), isPairable);
  });
}

namespace {

/// A pipeline of LLVM, with the analyses that belong to it.
class Optimizer {
public:
  /// `pairs`: whether to look for equal operations that can be done in pairs.
  Optimizer(llvm::TargetMachine &machine, bool unroll, bool pairs,
            const TargetInfo &target);

  void run(llvm::Module &module, llvm::OptimizationLevel level) {
    builder.buildPerModuleDefaultPipeline(level).run(module, moduleAnalyses);
  }

  /// Where a call is in the source, so that copies of it are one.
  using Place = std::pair<const llvm::Value *, const llvm::DILocation *>;
  /// Returns the convergent calls that lanes may make apart.
  DenseSet<Place> findDivergentCalls(llvm::Module &module);

private:
  static llvm::PipelineTuningOptions getTuning(bool unroll, bool pairs);

  unsigned numLanes;
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager callGraphAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassBuilder builder;
};

} // namespace

llvm::PipelineTuningOptions Optimizer::getTuning(bool unroll, bool pairs) {
  // Fragments are vectors from the start: there is nothing left to find in
  // loops, nor elsewhere but for AMD's packed arithmetic on pairs.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.LoopInterleaving = false;
  tuning.LoopUnrolling = unroll;
  tuning.SLPVectorization = pairs;
  return tuning;
}

Optimizer::Optimizer(llvm::TargetMachine &machine, bool unroll, bool pairs,
                     const TargetInfo &target)
    : numLanes(target.warpSize), builder(&machine, getTuning(unroll, pairs)) {
  keepLoopHeaders();
  // Fragments are long vectors, which code generators split badly. Pairs of
  // halves stay: there are instructions for them.
  builder.registerPipelineStartEPCallback([](llvm::ModulePassManager &passes,
                                             llvm::OptimizationLevel) {
    llvm::ScalarizerPassOptions options;
    options.ScalarizeMinBits = 32;
    passes.addPass(
        llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizerPass(options)));
  });
  builder.registerOptimizerLastEPCallback([isAMD = target.isAMD()](
                                              llvm::ModulePassManager &passes,
                                              llvm::OptimizationLevel,
                                              llvm::ThinOrFullLTOPhase) {
    if (isAMD) {
      passes.addPass(
          llvm::createModuleToFunctionPassAdaptor(WidenDivisionsPass()));
      passes.addPass(
          llvm::createModuleToFunctionPassAdaptor(SeparateCopiesPass()));
    } else {
      passes.addPass(llvm::createModuleToFunctionPassAdaptor(SplitPairsPass()));
    }
  });
  builder.registerModuleAnalyses(moduleAnalyses);
  builder.registerCGSCCAnalyses(callGraphAnalyses);
  builder.registerFunctionAnalyses(functionAnalyses);
  builder.registerLoopAnalyses(loopAnalyses);
  builder.crossRegisterProxies(loopAnalyses, functionAnalyses,
                               callGraphAnalyses, moduleAnalyses);
}

DenseSet<Optimizer::Place> Optimizer::findDivergentCalls(llvm::Module &module) {
  DenseSet<Place> places;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      for (llvm::CallBase *call :
           tilews::findDivergentCalls(function, functionAnalyses, numLanes))
        places.insert({call->getCalledOperand(), call->getDebugLoc().get()});
  return places;
}

void tilews::optimizeLLVM(std::unique_ptr<llvm::Module> &module,
                          llvm::TargetMachine &machine,
                          const TargetInfo &target, Location loc) {
  std::unique_ptr<llvm::Module> original = llvm::CloneModule(*module);
  bool pairs = target.isAMD() && hasPairs(*module);
  {
    Optimizer optimizer(machine, /*unroll=*/true, pairs, target);
    auto before = optimizer.findDivergentCalls(*module);
    optimizer.run(*module, llvm::OptimizationLevel::O3);
    auto after = optimizer.findDivergentCalls(*module);
    if (llvm::all_of(after, [&](auto place) { return before.contains(place); }))
      return;
  }
  emitRemark(loc, "tile-llvm-0001: the kernels are compiled with fewer "
                  "optimizations of LLVM: with all of them, lanes of a warp "
                  "reach a barrier or another convergent call apart");
  module = std::move(original);
  Optimizer(machine, /*unroll=*/false, pairs, target)
      .run(*module, llvm::OptimizationLevel::O1);
}
