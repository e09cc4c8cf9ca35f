//===- ThreadText.cpp - The process of a thread ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Control flow becomes control flow, and carried values become variables:
//
//   %r = scf.for %k = %c0 to %n step %c1 iter_args(%q = %q0) { ... yield %qn }
//
//   k = 0; q = q0;
//   do
//   :: k < n -> ...; q = qn; k = k + 1
//   :: else -> break
//   od                                     from here on, %r is q
//
// Values that are yielded at once are assigned through copies where one of them
// would overwrite another.
//
//===----------------------------------------------------------------------===//

#include "ThreadText.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

LogicalResult
ThreadText::write(std::function<LogicalResult(ThreadText &)> enter) {
  enterRoles = std::move(enter);
  return writeBlock(*thread.body);
}

std::string ThreadText::take() {
  std::string head;
  for (const std::string &line : declared)
    head += "  " + line + ";\n";
  return head + out.take();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void ThreadText::declare(Value value) {
  std::string type = value.getType().isInteger(1)       ? "bool "
                     : isa<CursorType>(value.getType()) ? "byte "
                     : isa<TensorType>(value.getType()) ? "short "
                                                        : "int ";
  addOnce(declared, type + reader.getSource().getName(value));
}

bool ThreadText::isDeclared(StringRef name) const {
  return llvm::any_of(
      declared, [&](StringRef line) { return line.split(' ').second == name; });
}

std::string ThreadText::get(Value value) {
  while (Value carrier = aliases.lookup(value))
    value = carrier;
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return std::to_string(number.getBitWidth() == 1 ? number.getZExtValue()
                                                    : number.getSExtValue());
  // A fragment that no asynchronous matmul makes is finished.
  if (isa<TensorType>(value.getType()) && !reader.isInFlight(value))
    return "0";
  if (const ModelInput *input = inputs.find(value)) {
    addParameter(input->name);
    return input->name;
  }
  std::string name = reader.getSource().getName(value);
  Operation *owner = value.getParentBlock()->getParentOp();
  if (&reader.getThread(owner) != &thread)
    addParameter(name);
  return name;
}

void ThreadText::define(Value value, const Twine &formula) {
  declare(value);
  out.step(reader.getSource().getName(value) + " = " + formula);
}

void ThreadText::assign(ArrayRef<std::pair<Value, Value>> pairs) {
  SmallVector<std::pair<std::string, std::string>> last;
  llvm::StringSet<> overwritten;
  for (auto [from, as] : pairs) {
    std::string text = get(from), name = reader.getSource().getName(as);
    declare(as);
    if (name == text)
      continue;
    if (overwritten.contains(text) || llvm::any_of(pairs, [&](auto &other) {
          return reader.getSource().getName(other.second) == text;
        })) {
      addOnce(declared, "int next_" + name);
      out.step("next_" + name + " = " + text);
      last.push_back({name, "next_" + name});
      continue;
    }
    last.push_back({name, text});
    overwritten.insert(name);
  }
  for (auto &[name, text] : last)
    out.step(name + " = " + text);
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult ThreadText::writeBlock(Block &block) {
  for (Operation &op : block) {
    if (!reader.isKept(&op))
      continue;
    LogicalResult result = success();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      result = writeLoop(loop);
    else if (auto loop = dyn_cast<scf::WhileOp>(op))
      result = writeWhile(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      result = writeBranch(branch);
    else if (isa<SpecializeOp>(op))
      result = enterRoles(*this);
    else if (isa<AssertOp, cf::AssertOp>(op)) {
      out.comment(reader.getSource().getComment(&op));
      out.step("assume(" + get(op.getOperand(0)) + ")");
    } else if (reader.isEvent(&op)) {
      result = events.write(&op, *this);
      // A number that other events depend on may be read in shared memory.
      if (auto load = dyn_cast<memref::LoadOp>(op);
          load && succeeded(result) && reader.isNeeded(load))
        result = writeElement(load);
    } else
      result = writeScalar(&op);
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult ThreadText::writeLoop(scf::ForOp loop) {
  out.comment(reader.getSource().getComment(loop));
  std::string step = get(loop.getStep()), upper = get(loop.getUpperBound());
  std::optional<int64_t> number = getConstantIntValue(loop.getStep());
  if (!number || *number <= 0)
    out.step("assume(" + step + " > 0)");
  SmallVector<std::pair<Value, Value>> inits, yields;
  inits.push_back({loop.getLowerBound(), loop.getInductionVar()});
  for (auto [init, inside, result, yield] :
       llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                 loop.getResults(), loop.getYieldedValues())) {
    if (!reader.isNeeded(inside) && !reader.isNeeded(result))
      continue;
    inits.push_back({init, inside});
    yields.push_back({yield, inside});
    aliases[result] = inside;
  }
  assign(inits);
  std::string counter = reader.getSource().getName(loop.getInductionVar());
  // Without progress the loop has no end, and its runs do not count.
  std::string guard = !number || *number <= 0 ? "!infeasible && " : "";
  std::string test = loop.getUnsignedCmp()
                         ? "below(" + counter + ", " + upper + ")"
                         : counter + " < " + upper;
  out.line("do");
  out.open(":: " + guard + test + " ->");
  if (failed(writeBlock(*loop.getBody())))
    return failure();
  assign(yields);
  out.step(counter + " = " + counter + " + " + step);
  out.close(":: else -> break");
  out.line("od;");
  return success();
}

LogicalResult ThreadText::writeWhile(scf::WhileOp loop) {
  out.comment(reader.getSource().getComment(loop));
  SmallVector<std::pair<Value, Value>> inits, passed, yields;
  for (auto [init, inside, yield] :
       llvm::zip(loop.getInits(), loop.getBeforeArguments(),
                 loop.getYieldOp().getResults()))
    if (reader.isNeeded(inside)) {
      inits.push_back({init, inside});
      yields.push_back({yield, inside});
    }
  for (auto [value, inside, result] :
       llvm::zip(loop.getConditionOp().getArgs(), loop.getAfterArguments(),
                 loop.getResults()))
    if (reader.isNeeded(inside) || reader.isNeeded(result)) {
      passed.push_back({value, inside});
      aliases[result] = inside;
    }
  assign(inits);
  out.line("do");
  out.open(":: true ->");
  if (failed(writeBlock(*loop.getBeforeBody())))
    return failure();
  assign(passed);
  out.line("if");
  out.line(":: " + get(loop.getConditionOp().getCondition()) + " -> skip");
  out.line(":: else -> break");
  out.line("fi;");
  if (failed(writeBlock(*loop.getAfterBody())))
    return failure();
  assign(yields);
  out.close("od;");
  return success();
}

LogicalResult ThreadText::writeBranch(scf::IfOp branch) {
  out.gap();
  out.comment(reader.getSource().getComment(branch));
  auto writeSide = [&](mlir::Region &region) {
    if (region.empty()) {
      out.step("skip");
      return success();
    }
    if (failed(writeBlock(region.front())))
      return failure();
    SmallVector<std::pair<Value, Value>> yields;
    for (auto [yield, result] :
         llvm::zip(region.front().getTerminator()->getOperands(),
                   branch.getResults()))
      if (reader.isNeeded(result))
        yields.push_back({yield, result});
    assign(yields);
    out.step("skip");
    return success();
  };
  std::string condition = get(branch.getCondition());
  out.line("if");
  out.open(":: " + condition + " ->");
  if (failed(writeSide(branch.getThenRegion())))
    return failure();
  out.close(":: else ->");
  out.open("");
  if (failed(writeSide(branch.getElseRegion())))
    return failure();
  out.close("fi;");
  return success();
}
