//===- ScalarText.cpp - Scalars of a model --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scalar arithmetic as Promela, whose expressions are those of C on integers of
// 32 bits:
//
//   %x = arith.ceildivsi %m, %c64 : index     x = ceildiv(m, 64)
//   %q = tile.advance %p : !tile.cursor<2>    q = (p + 1) % 4
//   %b = arith.xori %p, %true : i1            b = (p ^ 1)
//
// A cursor is the number of a transaction modulo twice the number of slots.
// Elements of memory are the same for all who read them, so they are arrays.
// Variables have the values of signed integers, and narrow ones wrap around. A
// flag is 0 or 1, where a signed operation takes 1 for -1.
//
//===----------------------------------------------------------------------===//

#include "ThreadText.h"

#include "tilews/Dialect/Tile/Analysis/Memory/CopiedReads.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

/// Returns the operator or macro of a binary operation; empty for others.
static StringRef getOperator(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<arith::AddIOp>([](auto) { return "+"; })
      .Case<arith::SubIOp>([](auto) { return "-"; })
      .Case<arith::MulIOp>([](auto) { return "*"; })
      .Case<arith::DivSIOp, arith::DivUIOp>([](auto) { return "/"; })
      .Case<arith::RemSIOp, arith::RemUIOp>([](auto) { return "%"; })
      .Case<arith::AndIOp>([](auto) { return "&"; })
      .Case<arith::OrIOp>([](auto) { return "|"; })
      .Case<arith::XOrIOp>([](auto) { return "^"; })
      .Case<arith::ShLIOp>([](auto) { return "<<"; })
      .Case<arith::ShRSIOp, arith::ShRUIOp>([](auto) { return ">>"; })
      .Case<arith::FloorDivSIOp>([](auto) { return "floordiv"; })
      .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>(
          [](auto) { return "ceildiv"; })
      .Case<arith::MinSIOp, arith::MinUIOp>([](auto) { return "least"; })
      .Case<arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "most"; })
      .Default([](auto) { return ""; });
}

/// Returns `number` as a signed integer of a type that is narrower than int.
static std::string wrap(const std::string &number, Type type) {
  if (!type.isInteger() || type.isInteger(1) ||
      type.getIntOrFloatBitWidth() >= 32)
    return number;
  int64_t half = int64_t(1) << (type.getIntOrFloatBitWidth() - 1);
  return "wrap(" + number + ", " + std::to_string(half) + ")";
}

/// Returns `number`, a signed integer of `type`, without its sign.
static std::string dropSign(const std::string &number, Type type) {
  if (!type.isInteger() || type.isInteger(1) ||
      type.getIntOrFloatBitWidth() >= 32)
    return number;
  int64_t mask = (int64_t(1) << type.getIntOrFloatBitWidth()) - 1;
  return "(" + number + " & " + std::to_string(mask) + ")";
}

std::string ThreadText::getComparison(Operation *op) {
  auto compare = cast<arith::CmpIOp>(op);
  std::string a = get(compare.getLhs()), b = get(compare.getRhs());
  if (compare.getLhs().getType().isInteger(1)) {
    a = "-(" + a + ")";
    b = "-(" + b + ")";
  }
  using P = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case P::eq:
    return a + " == " + b;
  case P::ne:
    return a + " != " + b;
  case P::slt:
    return a + " < " + b;
  case P::sle:
    return a + " <= " + b;
  case P::sgt:
    return a + " > " + b;
  case P::sge:
    return a + " >= " + b;
  case P::ult:
    return "below(" + a + ", " + b + ")";
  case P::ule:
    return "!below(" + b + ", " + a + ")";
  case P::ugt:
    return "below(" + b + ", " + a + ")";
  case P::uge:
    return "!below(" + a + ", " + b + ")";
  }
  llvm_unreachable("covered switch");
}

/// Returns an affine expression of the operands in `names`.
static std::string toText(AffineExpr expr, unsigned numDims,
                          ArrayRef<std::string> names) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return names[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return names[numDims + symbol.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::to_string(constant.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::string a = toText(binary.getLHS(), numDims, names);
  std::string b = toText(binary.getRHS(), numDims, names);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return "(" + a + " + " + b + ")";
  case AffineExprKind::Mul:
    return "(" + a + " * " + b + ")";
  case AffineExprKind::Mod:
    // A macro: the text of a nest of remainders stays linear.
    return "floormod(" + a + ", " + b + ")";
  case AffineExprKind::FloorDiv:
    return "floordiv(" + a + ", " + b + ")";
  default:
    return "ceildiv(" + a + ", " + b + ")";
  }
}

/// Returns the right side of the assignment that `op` becomes; fails for
/// operations that it has no formula for.
FailureOr<std::string> ThreadText::getFormula(Operation *op) {
  SmallVector<std::string> names;
  for (Value operand : op->getOperands())
    names.push_back(get(operand));
  if (isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp, arith::MinUIOp,
          arith::MaxUIOp>(op))
    for (std::string &name : names)
      name = dropSign(name, op->getResult(0).getType());
  if (isa<arith::ShRUIOp>(op))
    names[0] = dropSign(names[0], op->getResult(0).getType());
  bool isFlag =
      op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1);
  if (StringRef symbol = getOperator(op); !symbol.empty()) {
    if (llvm::isAlpha(symbol.front()))
      return (symbol + "(" + names[0] + ", " + names[1] + ")").str();
    std::string text = (names[0] + " " + symbol + " " + names[1]).str();
    return isFlag ? "(" + text + ") & 1" : text;
  }
  if (isa<arith::CmpIOp>(op))
    return getComparison(op);
  if (isa<arith::SelectOp>(op))
    return "(" + names[0] + " -> " + names[1] + " : " + names[2] + ")";
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op) &&
      op->getOperand(0).getType().isInteger(1))
    return "-" + names[0];
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
    return dropSign(names[0], op->getOperand(0).getType());
  if (isa<arith::TruncIOp>(op) && isFlag)
    return names[0] + " & 1";
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return names[0];
  if (auto cursor = dyn_cast<AdvanceOp>(op))
    return "(" + names[0] + " + 1) % " +
           std::to_string(2 * cursor.getCursor().getType().getDepth());
  if (isa<CursorOp>(op))
    return std::string("0");
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return toText(apply.getAffineMap().getResult(0),
                  apply.getAffineMap().getNumDims(), names);
  return failure();
}

LogicalResult ThreadText::writeScalar(Operation *op) {
  APInt number;
  if (op->getNumResults() == 1 &&
      matchPattern(op->getResult(0), m_ConstantInt(&number))) {
    if (number.getSignificantBits() > 31)
      return op->emitError("is not exported to Promela: its integers have 32 "
                           "bits, found ")
             << number.getSExtValue();
    return success();
  }
  if (op->getNumResults() == 1 && inputs.find(op->getResult(0)))
    return success();
  if (isa<memref::LoadOp, LoadOp>(op))
    return writeElement(op);
  // A fragment that no asynchronous matmul makes has no variable.
  bool isNumber =
      op->getNumResults() == 1 && (op->getResult(0).getType().isIntOrIndex() ||
                                   isa<CursorType>(op->getResult(0).getType()));
  FailureOr<std::string> formula =
      isNumber ? getFormula(op) : FailureOr<std::string>(failure());
  if (failed(formula)) {
    if (llvm::none_of(op->getResults(), [&](Value result) {
          return reader.isNeeded(result) && !isa<TensorType>(result.getType());
        }))
      return success();
    return op->emitError("is not exported to Promela: events depend on its "
                         "value, which the model does not compute");
  }
  define(op->getResult(0), wrap(*formula, op->getResult(0).getType()));
  return success();
}

/// Reads an element of an argument, directly or through a copy in shared
/// memory.
LogicalResult ThreadText::writeElement(Operation *op) {
  gpu::GPUFuncOp kernel = reader.getKernel();
  MemoryAccesses memory(kernel);
  auto load = dyn_cast<memref::LoadOp>(op);
  auto decline = [&](StringRef why) {
    return op->emitError("is not exported to Promela: events depend on what it "
                         "reads, expected ")
           << why;
  };
  if (!load || !load.getType().isIntOrIndex())
    return decline("a memref.load of integers");
  Value source = load.getMemRef();
  SmallVector<std::string> indices;
  for (Value index : load.getIndices())
    indices.push_back(get(index));
  if (CopyOp copy = findCopyOf(op, kernel, memory)) {
    source = copy.getSource();
    TileRegion from = copy.getSourceRegion(), to = copy.getDestRegion();
    SmallVector<std::string> there;
    for (auto [dim, offset, number] :
         llvm::enumerate(from.offsets, getDestDims(copy))) {
      auto constant = dyn_cast<Attribute>(offset);
      std::string text =
          constant ? std::to_string(cast<IntegerAttr>(constant).getInt())
                   : get(cast<Value>(offset));
      there.push_back(number ? text + " + " + indices[*number] : text);
    }
    indices = std::move(there);
  }
  auto argument = dyn_cast<BlockArgument>(source);
  if (!argument || argument.getOwner() != &kernel.getBody().front())
    return decline("an argument of the kernel, or a copy of one");
  for (const MemoryAccess &access : memory.get(kernel))
    if (access.writes() && !access.shared &&
        (!access.argument || access.argument == argument))
      return decline("memory that the kernel does not write");
  const ModelInput &input = inputs.getElements(argument);
  auto type = cast<MemRefType>(argument.getType());
  std::string place = "0", inside;
  for (auto [dim, index] : llvm::enumerate(indices)) {
    std::string extent = std::to_string(inputs.getElementsAlong(type, dim));
    place = dim == 0 ? index : "(" + place + ") * " + extent + " + " + index;
    inside += (dim == 0 ? "" : " && ") + ("0 <= " + index) + " && " + index +
              " < " + extent;
  }
  declare(load.getResult());
  out.comment(reader.getSource().getComment(op));
  std::string name = reader.getSource().getName(load.getResult());
  out.step("element(" + input.name + ", " + (inside.empty() ? "true" : inside) +
           ", " + place + ", " + std::to_string(input.most) + ", " + name +
           ")");
  if (std::string value = wrap(name, load.getType()); value != name)
    out.step(name + " = " + value);
  return success();
}
