//===- Kernel.h - The interface of a kernel ---------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a caller of a kernel has to know of its arguments. A gpu.func says it
// with types and argument attributes, the llvm.func it becomes with the
// attribute `tile.arguments`; everybody reads both through this header.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_KERNEL_H
#define TILEWS_DIALECT_TILE_IR_KERNEL_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace tilews::tile {

/// An argument as the kernel's author wrote it.
struct KernelArgument {
  /// A memref, or an integer, index or floating point scalar.
  mlir::Type type;
  /// Empty if unknown.
  std::string name;
  /// Memrefs: a divisor of each extent; ones if nothing is known.
  llvm::SmallVector<int64_t> divisors;
  /// Memrefs: the name of each extent, empty where it has none. Extents of one
  /// name are equal, also across arguments.
  llvm::SmallVector<std::string> symbols;
  /// Memrefs: the alignment of the base pointer in bytes.
  int64_t alignment = 16;
};

enum class ParameterKind { Pointer, Extent, Stride, Scalar };

/// A parameter of the compiled kernel.
struct KernelParameter {
  ParameterKind kind;
  /// The argument it comes from, and of an extent or a stride the dimension.
  unsigned argument;
  unsigned dimension = 0;
  /// Of a scalar its type, of a pointer the element type, else `index`.
  mlir::Type type;
};

/// The arguments of a gpu.func, or of the llvm.func made from one. Empty for an
/// llvm.func without (valid) `tile.arguments`.
llvm::SmallVector<KernelArgument>
getKernelArguments(mlir::FunctionOpInterface kernel);

/// Records on `llvmFunc` the arguments of the kernel it is made from.
void setKernelArguments(mlir::Operation *llvmFunc,
                        mlir::FunctionOpInterface gpuFunc);

/// The parameters in order: a memref is its base pointer, then each dynamic
/// extent, then each dynamic stride; a scalar is itself.
llvm::SmallVector<KernelParameter>
getKernelParameters(llvm::ArrayRef<KernelArgument> arguments);

/// How TMA sees a buffer: an extra parameter of 128 bytes behind the others,
/// which the launch encodes.
struct TensorMap {
  /// The memref argument.
  unsigned argument;
  /// The memref's dimensions, and the elements of one transfer along each: the
  /// fastest in shared memory first.
  llvm::SmallVector<int64_t> dims, box;
  /// The swizzle of the box in shared memory.
  SwizzleMode swizzle;

  friend bool operator==(const TensorMap &a, const TensorMap &b) {
    return a.argument == b.argument && a.dims == b.dims && a.box == b.box &&
           a.swizzle == b.swizzle;
  }
};

/// TMA's limits (PTX ISA, "Tensors").
constexpr int64_t kMaxTensorMapRank = 5;
constexpr int64_t kMaxBoxExtent = 256;

/// The tensor maps in `tile.tensor_maps`, in the order of their parameters.
/// Empty if it is absent or not valid.
llvm::SmallVector<TensorMap> getTensorMaps(mlir::FunctionOpInterface kernel);
void setTensorMaps(mlir::Operation *llvmFunc, llvm::ArrayRef<TensorMap> maps);

/// The strides of a memref in elements, `ShapedType::kDynamic` where only the
/// launch knows. A dynamic stride of a row-major memref follows from its
/// extents and is no parameter.
llvm::SmallVector<int64_t> getArgumentStrides(mlir::MemRefType type);

/// Number of symbols of `tile.grid`: argument by argument, the dynamic extents
/// of a memref and the value of an integer.
unsigned countGridSymbols(mlir::FunctionOpInterface kernel);

/// Verifies an attribute of a memref argument. `emitError` may be null.
mlir::LogicalResult verifyArgumentAttribute(
    mlir::MemRefType memref, mlir::NamedAttribute attr,
    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Verifies an element of `tile.arguments`. `emitError` may be null.
mlir::LogicalResult
verifyKernelArgument(mlir::Attribute attr,
                     llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Verifies `tile.tensor_maps` on `kernel`. `emitError` may be null.
mlir::LogicalResult
verifyTensorMaps(mlir::FunctionOpInterface kernel, mlir::Attribute attr,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_KERNEL_H
