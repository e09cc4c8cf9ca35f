//===- Kernel.h - The interface of a kernel ---------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface between a kernel and its caller. A gpu.func has it as argument
// types and argument attributes. The llvm.func made from the kernel has it in
// the attribute `tile.arguments`. The functions below read both forms.
//
// Example: the argument `%A: memref<?x64xf16> {tile.name = "A"}` has two
// parameters in the compiled kernel: its base pointer, and its extent 0.
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
  /// The name for messages; empty if there is none.
  std::string name;
  /// Integers: whether a launch refuses negative numbers.
  bool isUnsigned = false;
  /// Memrefs: a divisor of each extent, 1 by default.
  llvm::SmallVector<int64_t> divisors;
  /// Memrefs: the name of each extent, empty if there is none. Extents with the
  /// same name are equal, also across arguments.
  llvm::SmallVector<std::string> symbols;
  /// Memrefs: the alignment of the base pointer in bytes.
  int64_t alignment = 16;
  /// Memrefs: the extents of the regions in which 32 bits hold each distance in
  /// bytes, 0 for a whole extent of the buffer; empty if there is no such
  /// limit.
  llvm::SmallVector<int64_t> reach;
};

enum class ParameterKind { Pointer, Extent, Stride, Scalar };

/// A parameter of the compiled kernel.
struct KernelParameter {
  ParameterKind kind;
  /// The index of its argument. For an extent or a stride also the dimension.
  unsigned argument;
  unsigned dimension = 0;
  /// The type of a scalar, the element type of a pointer, `index` otherwise.
  mlir::Type type;
};

/// Returns the arguments of a gpu.func, or of the llvm.func made from one.
/// Empty for an llvm.func without valid `tile.arguments`.
llvm::SmallVector<KernelArgument>
getKernelArguments(mlir::FunctionOpInterface kernel);

/// Sets `tile.arguments` of `llvmFunc` to the arguments of `gpuFunc`.
void setKernelArguments(mlir::Operation *llvmFunc,
                        mlir::FunctionOpInterface gpuFunc);

/// Returns the parameters in order. A memref becomes its base pointer, then
/// each dynamic extent, then each dynamic stride. A scalar becomes one
/// parameter.
llvm::SmallVector<KernelParameter>
getKernelParameters(llvm::ArrayRef<KernelArgument> arguments);

/// The part of a tensor map that ends at an index known only when the kernel
/// runs. TMA drops elements outside of a map, but the extents of a map are
/// fixed at launch. So the map has the dimension twice, with one stride: first
/// with extent `size`, along which the box lies, and once more as its outermost
/// dimension, which moves the whole window. For rows from `first` to `end` of a
/// box of `size` rows, let n be `end - first`. The box starts at `size - n` of
/// the window, so that all but n rows are outside. The window starts `size`
/// rows before row `end`, which is before the array if `end < size`. So the map
/// starts `size` rows before the array, where there may be no memory. TMA
/// accesses the start of a map if a box is completely outside of it. Such boxes
/// take another map, `isOutside`, which has one element: the array's first.
struct TensorMapWindow {
  int64_t dim, size;

  friend bool operator==(TensorMapWindow a, TensorMapWindow b) {
    return a.dim == b.dim && a.size == b.size;
  }
};

/// A description of a buffer for TMA. The launch encodes it in 128 bytes, which
/// are an extra parameter after those of the arguments.
struct TensorMap {
  /// The index of the memref argument.
  unsigned argument;
  /// The dimensions of the memref, and the elements of one transfer along each
  /// of them. The dimension that is contiguous in shared memory comes first.
  llvm::SmallVector<int64_t> dims, box;
  /// The swizzle of the box in shared memory.
  SwizzleMode swizzle;
  std::optional<TensorMapWindow> window = std::nullopt;
  /// Whether the map is for boxes of which no element lies in the array. Only
  /// maps with a window are.
  bool isOutside = false;

  friend bool operator==(const TensorMap &a, const TensorMap &b) {
    return a.argument == b.argument && a.dims == b.dims && a.box == b.box &&
           a.swizzle == b.swizzle && a.window == b.window &&
           a.isOutside == b.isOutside;
  }
};

/// Limits of TMA (PTX ISA, "Tensors").
constexpr int64_t kMaxTensorMapRank = 5;
constexpr int64_t kMaxBoxExtent = 256;

/// Returns the tensor maps in `tile.tensor_maps`, in the order of their
/// parameters. Empty if the attribute is absent or not valid.
llvm::SmallVector<TensorMap> getTensorMaps(mlir::FunctionOpInterface kernel);
void setTensorMaps(mlir::Operation *llvmFunc, llvm::ArrayRef<TensorMap> maps);

/// The indices of two memref arguments.
using ArgumentPair = std::pair<unsigned, unsigned>;

/// Returns the pairs in the attribute `name` of a kernel: `tile.may_alias` or
/// `tile.disjoint`. Empty if the attribute is absent or not valid.
llvm::SmallVector<ArgumentPair>
getArgumentPairs(mlir::FunctionOpInterface kernel, llvm::StringRef name);
void setArgumentPairs(mlir::Operation *kernel, llvm::StringRef name,
                      llvm::ArrayRef<ArgumentPair> pairs);

/// Returns the strides of a memref in elements, `ShapedType::kDynamic` for
/// those that are not constant. A dynamic stride of a row-major memref follows
/// from its extents and is no parameter.
llvm::SmallVector<int64_t> getArgumentStrides(mlir::MemRefType type);

/// Returns the number of symbols of `tile.grid`. The symbols are the dynamic
/// extents of memrefs and the values of integers, in the order of the
/// arguments.
unsigned countGridSymbols(mlir::FunctionOpInterface kernel);

/// Verifies an attribute of an argument: `tile.unsigned`, or one that belongs
/// on memrefs and is on one. `emitError` may be null.
mlir::LogicalResult verifyArgumentAttribute(
    mlir::Type type, mlir::NamedAttribute attr,
    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Verifies an element of `tile.arguments`. `emitError` may be null.
mlir::LogicalResult
verifyKernelArgument(mlir::Attribute attr,
                     llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Verifies `tile.tensor_maps` on `kernel`. `emitError` may be null.
mlir::LogicalResult
verifyTensorMaps(mlir::FunctionOpInterface kernel, mlir::Attribute attr,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// Verifies `tile.may_alias` or `tile.disjoint` on `kernel`. `emitError` may be
/// null.
mlir::LogicalResult
verifyArgumentPairs(mlir::FunctionOpInterface kernel, mlir::NamedAttribute attr,
                    llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_IR_KERNEL_H
