//===- DeviceVariables.h - What a launch shares with kernels ----*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_COMMON_DEVICEVARIABLES_H
#define TILEWS_CONVERSION_COMMON_DEVICEVARIABLES_H

#include "tilews/Conversion/Common/TargetLowering.h"

#include "mlir/IR/SymbolTable.h"

namespace tilews {

/// Two i32 in the memory of the GPU: the number of lines that were printed
/// since the launch, and their limit.
inline constexpr llvm::StringLiteral kPrintedVariable = "__tilews_printed";
/// The address of a `FailureReport` that the host can read, as an i64; 0 if
/// nobody reads it. The attribute `kAssertions` on the variable has a
/// dictionary for each assertion: `message`, and `shape` for fragments.
inline constexpr llvm::StringLiteral kFailureVariable = "__tilews_failure";
inline constexpr llvm::StringLiteral kAssertions = "assertions";

/// The address of memory that the host reads after a run, as an i64; 0 if no
/// host does. AMD's GPUs print there (PrintRecords.cpp). The attribute
/// `kPrints` on the variable has a dictionary for each print: `message`, and
/// `values` with a dictionary for each: `type`, `unsigned`, and `shape` for
/// fragments.
inline constexpr llvm::StringLiteral kRecordsVariable = "__tilews_records";
inline constexpr llvm::StringLiteral kPrints = "prints";

/// Escapes a text for a format of printf.
std::string escapeFormat(llvm::StringRef text);

/// Returns the coordinates of the block, three i32: those that an operation
/// names, of the width of an index, or else its ids.
llvm::SmallVector<mlir::Value>
getBlockCoordinates(mlir::ImplicitLocOpBuilder &b, const TargetLowering &target,
                    mlir::ValueRange named);

/// Returns the converted values of a print: what it shows, and the coordinates
/// of the block.
inline mlir::ValueRange getShown(tile::PrintOp op,
                                 tile::PrintOp::Adaptor adaptor) {
  return adaptor.getValues().take_front(op.getShown().size());
}
inline mlir::ValueRange getBlock(tile::PrintOp op,
                                 tile::PrintOp::Adaptor adaptor) {
  return adaptor.getValues().drop_front(op.getShown().size());
}

/// What prints and assertions of all kernels share in their module. Each symbol
/// is made when it is first needed. Symbols are kept here because a module
/// finds them by reading all that it has.
class ModuleVariables {
public:
  /// Takes what earlier conversions of the module have made.
  explicit ModuleVariables(mlir::gpu::GPUModuleOp module);

  mlir::LLVM::GlobalOp getPrinted();
  mlir::LLVM::GlobalOp getFailure();
  mlir::LLVM::GlobalOp getRecords();
  /// Returns a constant with the characters of `text` and a 0.
  mlir::LLVM::GlobalOp getString(mlir::Location loc, llvm::StringRef text);
  /// Returns the declaration of a function that the device has.
  mlir::LLVM::LLVMFuncOp getFunction(llvm::StringRef name,
                                     mlir::LLVM::LLVMFunctionType type);
  /// Adds an assertion to the list. Returns its number.
  int64_t addAssertion(llvm::StringRef message,
                       std::optional<llvm::ArrayRef<int64_t>> shape);
  /// Adds a print whose values the host formats. Returns its number.
  int64_t addPrint(mlir::DictionaryAttr print);
  /// Writes the lists of assertions and prints to the module.
  void finish();

private:
  mlir::LLVM::GlobalOp getVariable(llvm::StringRef name, mlir::Type type,
                                   mlir::Attribute initial);

  mlir::gpu::GPUModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::Attribute, mlir::LLVM::GlobalOp> strings;
  llvm::SmallVector<mlir::Attribute> assertions, prints;
};

/// Counts a line that is about to be printed. Returns the number of lines
/// before it, and their limit.
std::pair<mlir::Value, mlir::Value>
countPrintedLine(mlir::ImplicitLocOpBuilder &b, ModuleVariables &variables);

/// Reports that an assertion failed in a block, three i32, at an element of its
/// fragment, an i64 of row major order; null for a scalar. The first report
/// since the launch stays:
///
///   word 0: 1 in bit 63, the block's y in 16 bits and x in 31, the number of
///           the assertion in 16 bits
///   word 1: the block's z in 16 bits, and in 48 bits the element plus 1
void reportFailure(mlir::ImplicitLocOpBuilder &b, const TargetLowering &target,
                   int64_t assertion, llvm::ArrayRef<mlir::Value> block,
                   mlir::Value element);

} // namespace tilews

#endif // TILEWS_CONVERSION_COMMON_DEVICEVARIABLES_H
