//===- ModelInputs.h - The inputs of a model --------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_TARGET_PROMELA_MODELINPUTS_H
#define TILEWS_LIB_TARGET_PROMELA_MODELINPUTS_H

#include "KernelReader.h"
#include "ModelText.h"

#include "tilews/Target/Promela.h"

#include "llvm/ADT/MapVector.h"

namespace tilews::promela {

/// A value that a model chooses: an integer argument, an extent, the number of
/// a block, or the elements of an argument.
struct ModelInput {
  std::string name;
  /// What it is, for a comment.
  std::string meaning;
  /// An extent is a multiple of this, or `rest` more.
  int64_t unit = 1, rest = 0;
  int64_t least = 0, most = 0;
  /// The number of elements; 0 for a number.
  int64_t elements = 0;
};

/// The inputs that the events of a kernel depend on.
///
/// Example: the extents of `%A: memref<?x?xf16> {tile.symbols = ["M", "K"]}`
/// are the inputs M and K. If `memref.load %mask[%i]` decides a guard, the
/// input `mask` has as many elements as the bound permits, and each of them is
/// chosen when it is read first.
class ModelInputs {
public:
  ModelInputs(KernelReader &reader, const PromelaOptions &options);

  int64_t getBound() const { return bound; }
  /// Returns the input that `value` is: an argument of the kernel, an extent, a
  /// number of a block. Null for other values.
  const ModelInput *find(mlir::Value value);
  /// Returns the elements of an argument.
  const ModelInput &getElements(mlir::BlockArgument argument);
  /// The number of elements that an input has along a dimension.
  int64_t getElementsAlong(mlir::MemRefType type, unsigned dim) const;
  /// Fails with an error if an option names no input.
  mlir::LogicalResult check() const;
  /// Writes declarations, and the statements that choose values.
  void declare(ModelText &out) const;
  void choose(ModelText &out) const;
  /// The names of all inputs that are numbers.
  llvm::SmallVector<std::string> getNumbers() const;

private:
  const ModelInput *add(llvm::StringRef key, llvm::StringRef wish,
                        ModelInput input);
  const ModelInput *findExtent(mlir::BlockArgument argument, unsigned dim);
  const ModelInput *findBlock(mlir::Operation *op);
  std::string getExtentName(mlir::BlockArgument argument, unsigned dim);

  KernelReader &reader;
  const PromelaOptions &options;
  int64_t bound;
  llvm::MapVector<std::string, std::unique_ptr<ModelInput>,
                  std::map<std::string, unsigned>>
      inputs;
};

} // namespace tilews::promela

#endif // TILEWS_LIB_TARGET_PROMELA_MODELINPUTS_H
