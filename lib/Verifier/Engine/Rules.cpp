//===- Rules.cpp - Questions that all rules ask ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions about single operations that the rules for channels and those for
// barriers have in common: which task runs an operation, whether its threads
// synchronize, and which branches are around it. They are answered from the IR,
// without a model of the kernel, so both models are built with them. The debug
// output of a step is the same for both, too.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/Rules.h"

#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "tile-verify-schedule"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

Outcome Rules::step(State &state, unsigned task, Operation *op,
                    ArrayRef<int64_t> inputs, Finding &finding) const {
  Outcome outcome = perform(state, task, op, inputs, finding);
  if (outcome != Outcome::Done) {
    LDBG() << "task " << task
           << (outcome == Outcome::Wrong ? " is refused " : " is blocked in ")
           << describe(op, inputs) << ": " << finding.text;
    LLVM_DEBUG(print(llvm::dbgs(), state));
  }
  return outcome;
}

unsigned verifier::getTask(Operation *op) {
  auto role = op->getParentOfType<RoleOp>();
  if (!role)
    return 0;
  unsigned task = 1;
  for (RoleOp other : cast<SpecializeOp>(role->getParentOp()).getRoles()) {
    if (other == role)
      break;
    ++task;
  }
  return task;
}

std::string verifier::describeAccess(bool writes, const Twine &memory) {
  return ((writes ? "writes " : "reads ") + memory).str();
}

std::string verifier::joinAccesses(ArrayRef<std::string> accesses) {
  llvm::SmallSetVector<StringRef, 4> named(accesses.begin(), accesses.end());
  return llvm::join(named, ", ");
}

Finding verifier::getSelectedBuffer(Operation *op, Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  Operation *selector =
      argument ? argument.getOwner()->getParentOp() : buffer.getDefiningOp();
  return {op,
          "the accessed shared buffer is one of several, which control flow "
          "selects: expected one buffer with versions, and a tile.slot of it",
          selector, "selected here"};
}

bool verifier::synchronizesInScratch(Operation *op) {
  if (!op->hasAttr(TileDialect::kOffset))
    return false;
  FailureOr<TargetInfo> target =
      TargetInfo::get(op->getParentOfType<gpu::GPUFuncOp>());
  return succeeded(target) && getScratchBytes(op, *target) > 0;
}

void Branches::add(Operation *op) {
  for (; op; op = op->getParentOp())
    if (isa<scf::IfOp>(op))
      branches.insert(op);
}

bool Branches::haveAllOf(Operation *op) const {
  for (; op; op = op->getParentOp())
    if (isa<scf::IfOp>(op) && !branches.contains(op))
      return false;
  return true;
}
