//===- TileAsmOps.cpp - Inline assembly -----------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The verifier of inline assembly is strict, because LLVM stops the process, or
// allocates wrong registers, where a template and its constraints do not fit:
//
//   "=f,f,~{cc}" for (f32) -> f32   one result, one input, a clobber
//   "=&r,0"      for (i32) -> i32   the input is in the register of the result
//
// A definition is a function on scalars, made of elementwise operations, so
// that it can be applied to whole fragments.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

bool tile::isAsmType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (element != type && !isFragmentType(type))
    return false;
  return element.isInteger(16) || element.isInteger(32) ||
         element.isInteger(64) || element.isF16() || element.isBF16() ||
         element.isF32() || element.isF64();
}

//===----------------------------------------------------------------------===//
// Templates and constraints
//===----------------------------------------------------------------------===//

static StringRef getVendorName(Vendor vendor) {
  return vendor == Vendor::NVIDIA ? "nvidia" : "amd";
}

/// Returns the vendor that a key of the variants names, or whose chip it names.
static std::optional<Vendor> getVendor(StringRef key) {
  if (key == "nvidia" || key == "amd")
    return key == "amd" ? Vendor::AMD : Vendor::NVIDIA;
  if (!llvm::is_contained(TargetInfo::getKnownChips(), key))
    return std::nullopt;
  return key.starts_with("gfx") ? Vendor::AMD : Vendor::NVIDIA;
}

/// Returns whether the registers of a constraint hold an element.
static bool fitsRegister(Vendor vendor, StringRef constraint, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  if (vendor == Vendor::AMD)
    return constraint == "v";
  if (constraint == "h")
    return bits == 16;
  if (constraint == "r" || constraint == "f")
    return bits == 32;
  return (constraint == "l" || constraint == "d") && bits == 64;
}

static StringRef listRegisters(Vendor vendor) {
  if (vendor == Vendor::AMD)
    return "'v'";
  return "'h' for 16 bits, 'r' or 'f' for 32, 'l' or 'd' for 64";
}

namespace {
/// Checks one template of an operation.
class TemplateCheck {
public:
  TemplateCheck(AsmOp op, StringRef key, AssemblyAttr assembly)
      : op(op), key(key), assembly(assembly), vendor(*getVendor(key)) {
    if (!assembly.getConstraints().empty())
      assembly.getConstraints().split(items, ',');
  }

  LogicalResult run() {
    size_t results = op.getNumResults(), inputs = op.getInputs().size();
    size_t outputs = 0, operands = 0;
    for (auto [number, item] : llvm::enumerate(items)) {
      if (item.starts_with("~"))
        continue;
      ++(item.starts_with("=") ? outputs : operands);
      if (number >= outputs + operands || (item.starts_with("=") && operands))
        return error() << "constraints list results first, then inputs, then "
                          "clobbers, found '"
                       << assembly.getConstraints() << "'";
    }
    if (outputs != results || operands != inputs)
      return error() << "expected constraints of " << results
                     << " results ('=...') and " << inputs << " inputs, found "
                     << outputs << " and " << operands << " in '"
                     << assembly.getConstraints() << "'";
    for (size_t i = 0; i < outputs + operands; ++i)
      if (failed(checkOperand(i)))
        return failure();
    for (StringRef item : ArrayRef(items).drop_front(outputs + operands))
      if (!item.starts_with("~{") || !item.ends_with("}") || item.size() == 3)
        return error() << "a clobber is '~{register}', found '" << item << "'";
    return checkText(outputs + operands);
  }

private:
  InFlightDiagnostic error() {
    return op.emitOpError("template for '") << key << "': ";
  }

  /// Returns the elements of result or input number `i`.
  Type getElement(size_t i) {
    size_t results = op.getNumResults();
    Value value =
        i < results ? Value(op.getResult(i)) : op.getInputs()[i - results];
    return getElementTypeOrSelf(value.getType());
  }

  LogicalResult checkOperand(size_t i) {
    StringRef name = items[i];
    if (name.consume_front("="))
      name.consume_front("&");
    Type element = getElement(i);
    size_t tied;
    if (i >= op.getNumResults() && !name.getAsInteger(10, tied)) {
      if (tied >= op.getNumResults())
        return error() << "constraint '" << items[i] << "' names result "
                       << tied << ", but there are " << op.getNumResults();
      if (getElement(tied).getIntOrFloatBitWidth() !=
          element.getIntOrFloatBitWidth())
        return error() << "an input of " << element
                       << " shares the register of a result of "
                       << getElement(tied);
      return success();
    }
    if (!fitsRegister(vendor, name, element))
      return error() << "no register '" << items[i] << "' for " << element
                     << "; expected " << listRegisters(vendor);
    return success();
  }

  /// Checks the placeholders of the template.
  LogicalResult checkText(size_t operands) {
    StringRef text = assembly.getText();
    for (size_t at = text.find('$'); at != StringRef::npos;
         at = text.find('$')) {
      text = text.drop_front(at + 1);
      if (text.consume_front("$"))
        continue;
      size_t number;
      StringRef digits = text.take_while(llvm::isDigit);
      if (digits.getAsInteger(10, number))
        return error() << "'$' begins the number of an operand ('$0'); write "
                          "'$$' for a dollar sign";
      if (number >= operands)
        return error() << "found '$" << number << "', but there are "
                       << operands << " results and inputs";
      text = text.drop_front(digits.size());
    }
    return success();
  }

  AsmOp op;
  StringRef key;
  AssemblyAttr assembly;
  Vendor vendor;
  SmallVector<StringRef> items;
};
} // namespace

LogicalResult AsmOp::verify() {
  if (getPure() && getNumResults() == 0)
    return emitOpError("is pure and has no results, so it does nothing");
  if (getVariants().empty() && !getDefinition())
    return emitOpError("expected a template, or a definition");
  for (NamedAttribute variant : getVariants()) {
    StringRef key = variant.getName().getValue();
    if (!getVendor(key))
      return emitOpError("expected templates for 'nvidia', 'amd' or a chip, "
                         "found one for '")
             << key << "'";
    auto assembly = dyn_cast<AssemblyAttr>(variant.getValue());
    if (!assembly)
      return emitOpError("expected #tile.assembly for '")
             << key << "', found " << variant.getValue();
    if (failed(TemplateCheck(*this, key, assembly).run()))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Definitions
//===----------------------------------------------------------------------===//

/// Checks that an operation of a definition can be applied to fragments.
static LogicalResult checkDefining(AsmOp op, Operation &inner) {
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  bool isElementwise = OpTrait::hasElementwiseMappableTraits(&inner) ||
                       isa<arith::ConstantOp, func::ReturnOp>(inner);
  if (isElementwise && llvm::all_of(inner.getOperandTypes(), isScalar) &&
      llvm::all_of(inner.getResultTypes(), isScalar))
    return success();
  InFlightDiagnostic diag = op.emitOpError("is defined by ")
                            << op.getDefinitionAttr()
                            << ", which may only compute with scalars, "
                               "element by element";
  diag.attachNote(inner.getLoc()) << "found '" << inner.getName() << "'";
  return diag;
}

LogicalResult AsmOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!getDefinition())
    return success();
  auto function =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getDefinitionAttr());
  if (!function || !llvm::hasSingleElement(function.getBody()))
    return emitOpError("is defined by ")
           << getDefinitionAttr()
           << ", expected a func.func of one block in the same module";
  auto getElements = [](TypeRange types) {
    return llvm::map_to_vector(
        types, [](Type type) { return getElementTypeOrSelf(type); });
  };
  auto type =
      FunctionType::get(getContext(), getElements(getInputs().getTypes()),
                        getElements(getResultTypes()));
  if (function.getFunctionType() != type)
    return emitOpError("expected a definition of type ")
           << type << ", found " << function.getFunctionType();
  for (Operation &inner : function.getBody().front())
    if (failed(checkDefining(*this, inner)))
      return failure();
  return success();
}

Operation *AsmOp::lookupDefinition() {
  return getDefinition()
             ? SymbolTable::lookupNearestSymbolFrom(*this, getDefinitionAttr())
             : nullptr;
}

//===----------------------------------------------------------------------===//
// Effects and targets
//===----------------------------------------------------------------------===//

void AsmOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (!getPure())
    effects.emplace_back(MemoryEffects::Write::get());
}

Speculation::Speculatability AsmOp::getSpeculatability() {
  return getPure() ? Speculation::Speculatable : Speculation::NotSpeculatable;
}

AssemblyAttr AsmOp::getVariant(const TargetInfo &target) {
  if (auto assembly = getVariants().getAs<AssemblyAttr>(target.chip))
    return assembly;
  return getVariants().getAs<AssemblyAttr>(getVendorName(target.vendor));
}

InFlightDiagnostic AsmOp::emitMissing(const TargetInfo &target) {
  InFlightDiagnostic diag = emitOpError("has no template for '")
                            << target.chip << "', only for ";
  llvm::interleaveComma(getVariants(), diag, [&](NamedAttribute variant) {
    diag << "'" << variant.getName().getValue() << "'";
  });
  diag << "; add one, or a definition (in Python, python=)";
  return diag;
}
