//===- DeviceVariables.cpp - What a launch shares with kernels ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables of a module that kernels with prints and assertions have, and no
// others. A launch finds them by their names; where nobody does, the kernels
// work all the same: then 1000 lines are printed in all by an NVIDIA GPU and
// none by an AMD GPU, and no failure is reported.
//
// After a trap the memory of the GPU cannot be read. Therefore a failure is
// written to memory of the host, whose address the launch stores. One of the
// threads that fail writes it: the one whose compare-and-swap finds word 0
// empty. Word 0 alone is a report already, should the trap of another thread
// end the kernel before word 1 is written.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/DeviceVariables.h"

#include "tilews/Conversion/Common/Emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;

/// Memory that all threads of the GPU share.
static constexpr unsigned kGlobalSpace = 1;
/// How many lines a launch prints unless it is told otherwise.
static constexpr int32_t kMostLines = 1000;

std::string tilews::escapeFormat(StringRef text) {
  std::string escaped;
  for (char c : text)
    escaped += c == '%' ? std::string("%%") : std::string(1, c);
  return escaped;
}

SmallVector<Value> tilews::getBlockCoordinates(ImplicitLocOpBuilder &b,
                                               const TargetLowering &target,
                                               ValueRange named) {
  SmallVector<Value> coordinates;
  for (Value coordinate : named)
    coordinates.push_back(
        coordinate.getType() == b.getI32Type()
            ? coordinate
            : arith::TruncIOp::create(b, b.getI32Type(), coordinate));
  if (!coordinates.empty())
    return coordinates;
  for (auto dim : {gpu::Dimension::x, gpu::Dimension::y, gpu::Dimension::z})
    coordinates.push_back(target.getBlockId(b, dim));
  return coordinates;
}

ModuleVariables::ModuleVariables(gpu::GPUModuleOp module)
    : module(module), symbols(module) {
  for (auto variable : module.getOps<LLVM::GlobalOp>()) {
    Attribute value = variable.getValueOrNull();
    if (variable.getConstant() && value)
      strings.try_emplace(value, variable);
  }
  auto take = [&](StringRef name, StringRef list,
                  SmallVectorImpl<Attribute> &found) {
    if (auto variable = symbols.lookup<LLVM::GlobalOp>(name))
      if (auto known = variable->getAttrOfType<ArrayAttr>(list))
        found.append(known.begin(), known.end());
  };
  take(kFailureVariable, kAssertions, assertions);
  take(kRecordsVariable, kPrints, prints);
}

LLVM::GlobalOp ModuleVariables::getVariable(StringRef name, Type type,
                                            Attribute initial) {
  if (auto known = symbols.lookup<LLVM::GlobalOp>(name))
    return known;
  OpBuilder global = OpBuilder::atBlockBegin(module.getBody());
  auto variable = LLVM::GlobalOp::create(
      global, module.getLoc(), type, /*isConstant=*/false,
      LLVM::Linkage::External, name, initial, /*alignment=*/8, kGlobalSpace);
  // The launch may have written it.
  variable.setExternallyInitialized(true);
  // No other module replaces it: code on AMD needs no table of addresses.
  variable.setVisibility_(LLVM::Visibility::Protected);
  symbols.insert(variable);
  return variable;
}

LLVM::GlobalOp ModuleVariables::getPrinted() {
  Builder b(module.getContext());
  return getVariable(kPrintedVariable,
                     LLVM::LLVMArrayType::get(b.getI32Type(), 2),
                     b.getI32TensorAttr({0, kMostLines}));
}

LLVM::GlobalOp ModuleVariables::getFailure() {
  Builder b(module.getContext());
  return getVariable(kFailureVariable, b.getI64Type(), b.getI64IntegerAttr(0));
}

LLVM::GlobalOp ModuleVariables::getRecords() {
  Builder b(module.getContext());
  return getVariable(kRecordsVariable, b.getI64Type(), b.getI64IntegerAttr(0));
}

LLVM::GlobalOp ModuleVariables::getString(Location loc, StringRef text) {
  OpBuilder global = OpBuilder::atBlockBegin(module.getBody());
  StringAttr value = global.getStringAttr(text.str() + '\0');
  LLVM::GlobalOp &string = strings[value];
  if (!string) {
    auto type = LLVM::LLVMArrayType::get(global.getI8Type(), value.size());
    string =
        LLVM::GlobalOp::create(global, loc, type, /*isConstant=*/true,
                               LLVM::Linkage::Internal, "tile_format", value);
    symbols.insert(string);
  }
  return string;
}

LLVM::LLVMFuncOp ModuleVariables::getFunction(StringRef name,
                                              LLVM::LLVMFunctionType type) {
  if (auto known = symbols.lookup<LLVM::LLVMFuncOp>(name))
    return known;
  OpBuilder global = OpBuilder::atBlockBegin(module.getBody());
  auto function = LLVM::LLVMFuncOp::create(global, module.getLoc(), name, type);
  symbols.insert(function);
  return function;
}

int64_t ModuleVariables::addAssertion(StringRef message,
                                      std::optional<ArrayRef<int64_t>> shape) {
  Builder b(module.getContext());
  SmallVector<NamedAttribute> assertion = {
      b.getNamedAttr("message", b.getStringAttr(message))};
  if (shape)
    assertion.push_back(
        b.getNamedAttr("shape", b.getDenseI64ArrayAttr(*shape)));
  assertions.push_back(b.getDictionaryAttr(assertion));
  return assertions.size() - 1;
}

int64_t ModuleVariables::addPrint(DictionaryAttr print) {
  prints.push_back(print);
  return prints.size() - 1;
}

void ModuleVariables::finish() {
  Builder b(module.getContext());
  if (!assertions.empty())
    getFailure()->setAttr(kAssertions, b.getArrayAttr(assertions));
  if (!prints.empty())
    getRecords()->setAttr(kPrints, b.getArrayAttr(prints));
}

std::pair<Value, Value> tilews::countPrintedLine(ImplicitLocOpBuilder &b,
                                                 ModuleVariables &variables) {
  Value counter = LLVM::AddressOfOp::create(b, variables.getPrinted());
  Value one = LLVM::ConstantOp::create(b, b.getI32IntegerAttr(1));
  Value number = LLVM::AtomicRMWOp::create(
      b, LLVM::AtomicBinOp::add, counter, one, LLVM::AtomicOrdering::monotonic);
  Value place = LLVM::GEPOp::create(b, counter.getType(), b.getI32Type(),
                                    counter, ArrayRef<LLVM::GEPArg>{1});
  Value limit = LLVM::LoadOp::create(b, b.getI32Type(), place);
  return {number, limit};
}

/// Returns `value | number << shift`; either may be null for 0.
static Value addBits(ImplicitLocOpBuilder &b, Value value, Value number,
                     unsigned shift) {
  if (number.getType() != b.getI64Type())
    number = arith::ExtUIOp::create(b, b.getI64Type(), number);
  Value by = arith::ConstantOp::create(b, b.getI64IntegerAttr(shift));
  Value shifted = arith::ShLIOp::create(b, number, by);
  return arith::OrIOp::create(b, value, shifted);
}

void tilews::reportFailure(ImplicitLocOpBuilder &b,
                           const TargetLowering &target, int64_t assertion,
                           ArrayRef<Value> block, Value element) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
  };
  Value variable = LLVM::AddressOfOp::create(b, target.variables.getFailure());
  Value address = LLVM::LoadOp::create(b, b.getI64Type(), variable);
  Value zero = constant(0);
  Value isRead =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, address, zero);
  createGuarded(b, isRead, [&] {
    auto pointerType = LLVM::LLVMPointerType::get(b.getContext(), kGlobalSpace);
    Value first = LLVM::IntToPtrOp::create(b, pointerType, address);
    // Numbers that do not fit stand for an assertion that is not known.
    Value word = constant((assertion & 0xffff) | INT64_MIN);
    word = addBits(b, word, block[0], 16);
    word = addBits(b, word, block[1], 47);
    Value swap = LLVM::AtomicCmpXchgOp::create(b, first, zero, word,
                                               LLVM::AtomicOrdering::monotonic,
                                               LLVM::AtomicOrdering::monotonic);
    Value isFirst = LLVM::ExtractValueOp::create(b, swap, ArrayRef<int64_t>{1});
    createGuarded(b, isFirst, [&] {
      Value rest = zero;
      if (element)
        rest = arith::AddIOp::create(b, element, constant(1));
      rest = addBits(b, rest, block[2], 48);
      Value second = LLVM::GEPOp::create(b, pointerType, b.getI64Type(), first,
                                         ArrayRef<LLVM::GEPArg>{1});
      LLVM::StoreOp::create(b, rest, second, /*alignment=*/8,
                            /*isVolatile=*/true);
    });
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst);
  });
}
