//===- ScenarioInputs.h - Inputs of counterexamples -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_SCENARIOINPUTS_H
#define TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_SCENARIOINPUTS_H

#include "Verifier/Counterexamples/UniformValues.h"
#include "Verifier/Engine/TaskProgram.h"

#include "tilews/Verifier/ScheduleVerdict.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <set>

namespace tilews::verifier {

/// Chooses the inputs of a kernel for a scenario: scalar arguments, extents and
/// elements of memory. Each input has one value, however many operations read
/// it, and all of them keep what the kernel's attributes promise.
///
///     scenario of 2 tiles:    n = 2, extent 0 of A = 32, mask[0] = 1
///
/// Memory that is read tile by tile has one number everywhere, so that a
/// condition on a tile is computed as the kernel does. A value that comes from
/// elsewhere, such as an exponential, is unknown: a scenario that depends on it
/// is no evidence of a fault.
class ScenarioInputs {
public:
  using InputMap = std::map<std::string, ScheduleVerdict::Input>;
  struct Scenario {
    /// The value of all integers, in tiles; they are random if it is negative.
    int64_t number = 0;
    uint64_t seed = 0;
  };

  explicit ScenarioInputs(const TaskProgram &program);

  /// Numbers just beyond the constants that the kernel compares with.
  const std::set<int64_t> &getLimits() const { return limits; }

  void begin(const Scenario &chosen);
  /// The value of an argument; nullopt for memory.
  std::optional<UniformValue> getOutside(mlir::Value value);
  /// The value of an element of a memory at these indices.
  std::optional<UniformValue> getElement(mlir::memref::LoadOp load,
                                         mlir::Value memory,
                                         llvm::ArrayRef<int64_t> place);
  /// The value of all elements of tiles of this type.
  std::optional<UniformValue> getFill(mlir::Type type) const;
  /// Notes that tiles are read from a memory, up to the element at `last`.
  void noteFill(mlir::Value memory, llvm::ArrayRef<int64_t> last);
  /// An extent, or a number of the block in its grid.
  std::optional<UniformValue> getResult(mlir::OpResult result);
  /// Notes that the scenario depends on a value that is unknown.
  void giveUp() { isPossible = false; }
  bool hasGivenUp() const { return !isPossible; }
  /// Whether the kernel may be run with these inputs. Adds extents that are
  /// large enough for the elements.
  bool finish();
  const InputMap &get() const { return inputs; }

private:
  using Dimension = ExtentPremises::Dimension;

  void findScale(mlir::Operation *op);
  uint64_t identify(llvm::ArrayRef<int64_t> words);
  int64_t chooseInteger(mlir::Type type, uint64_t identity, int64_t scale,
                        int64_t divisor = 1) const;
  std::optional<UniformValue> choose(mlir::Type type, uint64_t identity,
                                     int64_t scale = 1) const;
  int64_t getExtent(mlir::Operation *op, const ExtentPremises::Extent &extent);
  void note(const std::string &name, ScheduleVerdict::Input::Kind kind,
            mlir::Value of, llvm::ArrayRef<int64_t> place, int64_t value);
  void noteExtent(const ExtentPremises::Extent &extent, int64_t value);
  bool fitExtents(mlir::Value memory, llvm::ArrayRef<int64_t> place,
                  bool isFill);

  const TaskProgram &program;
  Scenario scenario;
  bool isPossible = true;
  std::set<int64_t> limits;
  /// The least width that the kernel converts integers to, if below 32 bits.
  unsigned narrowest = 0;
  /// The tile sizes of extents (with their dimension) and arguments (-1).
  llvm::DenseMap<Dimension, int64_t> scales;
  InputMap inputs;
  /// The extents that were chosen.
  std::map<const ExtentPremises::Extent *, int64_t> extents;
  /// Extents that elements need, and that nothing reads.
  llvm::MapVector<const ExtentPremises::Extent *, int64_t> unread;
  std::map<std::vector<int64_t>, uint64_t> identities;
  /// The last elements of tiles that were read.
  llvm::MapVector<mlir::Value, llvm::SmallVector<int64_t>> fills;
};

} // namespace tilews::verifier

#endif // TILEWS_LIB_VERIFIER_COUNTEREXAMPLES_SCENARIOINPUTS_H
