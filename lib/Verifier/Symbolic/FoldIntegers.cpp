//===- FoldIntegers.cpp - Arithmetic on known integers --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small natural numbers, which slots, phases and trip counts are, are computed
// directly. Other operands become attributes, and the operation's own folder
// computes the result with the width and signedness of its type.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Symbolic/FoldIntegers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::verifier;

/// Folds operations on numbers that are not negative, without overflow.
static std::optional<int64_t> foldNaturals(Operation *op, ArrayRef<int64_t> v) {
  using namespace mlir::arith;
  if (isa<DivSIOp, DivUIOp, CeilDivSIOp, CeilDivUIOp, FloorDivSIOp, RemSIOp,
          RemUIOp>(op) &&
      v[1] == 0)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](AddIOp) { return v[0] + v[1]; })
      .Case([&](SubIOp) { return v[0] - v[1]; })
      .Case([&](MulIOp) { return v[0] * v[1]; })
      .Case<DivSIOp, DivUIOp, FloorDivSIOp>([&](auto) { return v[0] / v[1]; })
      .Case<CeilDivSIOp, CeilDivUIOp>(
          [&](auto) { return (v[0] + v[1] - 1) / v[1]; })
      .Case<RemSIOp, RemUIOp>([&](auto) { return v[0] % v[1]; })
      .Case([&](AndIOp) { return v[0] & v[1]; })
      .Case([&](OrIOp) { return v[0] | v[1]; })
      .Case([&](XOrIOp) { return v[0] ^ v[1]; })
      .Case<MinSIOp, MinUIOp>([&](auto) { return std::min(v[0], v[1]); })
      .Case<MaxSIOp, MaxUIOp>([&](auto) { return std::max(v[0], v[1]); })
      .Case([&](SelectOp) { return v[0] ? v[1] : v[2]; })
      .Case<IndexCastOp, IndexCastUIOp, ExtUIOp, TruncIOp>(
          [&](auto) { return v[0]; })
      .Case([&](CmpIOp cmp) {
        return applyCmpPredicate(cmp.getPredicate(), APInt(64, v[0]),
                                 APInt(64, v[1]));
      })
      .Default([](Operation *) { return std::nullopt; });
}

int64_t verifier::getNumber(const APInt &value) {
  return value.getBitWidth() == 1 ? value.getZExtValue() : value.getSExtValue();
}

static bool fits(Type type, int64_t value) {
  if (type.isInteger(1))
    return value == 0 || value == 1;
  return llvm::isIntN(type.isIndex() ? 64 : type.getIntOrFloatBitWidth(),
                      value);
}

std::optional<int64_t> verifier::foldIntegers(Operation *op,
                                              ArrayRef<int64_t> v) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !op->getResult(0).getType().isIntOrIndex())
    return std::nullopt;
  // The common case, without attributes. As a signed number, true is -1.
  bool areNatural =
      llvm::all_of(v, [](int64_t n) { return n >= 0 && n <= INT32_MAX; });
  bool ofTruths = llvm::any_of(op->getOperandTypes(),
                               [](Type type) { return type.isInteger(1); });
  using namespace arith;
  if (areNatural &&
      (!ofTruths || isa<AndIOp, OrIOp, XOrIOp, SelectOp, ExtUIOp>(op)))
    if (std::optional<int64_t> folded = foldNaturals(op, v);
        folded && fits(op->getResult(0).getType(), *folded))
      return folded;
  SmallVector<Attribute> operands;
  for (auto [number, type] : llvm::zip(v, op->getOperandTypes())) {
    if (!type.isIntOrIndex())
      return std::nullopt;
    operands.push_back(IntegerAttr::get(type, number));
  }
  SmallVector<OpFoldResult> results;
  if (failed(op->fold(operands, results)) || results.size() != 1)
    return std::nullopt;
  if (auto same = dyn_cast<Value>(results[0])) {
    auto it = llvm::find(op->getOperands(), same);
    return it == op->operand_end() ? std::nullopt
                                   : std::optional(v[it.getIndex()]);
  }
  auto folded = dyn_cast<IntegerAttr>(cast<Attribute>(results[0]));
  return folded ? std::optional(getNumber(folded.getValue())) : std::nullopt;
}
