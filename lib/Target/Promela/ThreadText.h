//===- ThreadText.h - The process of a thread -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_TARGET_PROMELA_THREADTEXT_H
#define TILEWS_LIB_TARGET_PROMELA_THREADTEXT_H

#include "ModelInputs.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <functional>

namespace tilews::promela {

class ThreadText;

/// Writes the statements of an event: the rules of channels, or of barriers.
class EventText {
public:
  virtual ~EventText() = default;
  virtual mlir::LogicalResult write(mlir::Operation *op,
                                    ThreadText &thread) = 0;
};

/// Writes the process of one thread: its control flow and scalars. A scalar of
/// the kernel is a variable of the same name. What a role takes from outside
/// is a parameter of its process.
class ThreadText {
public:
  ThreadText(KernelReader &reader, ModelInputs &inputs, EventText &events,
             const Thread &thread)
      : reader(reader), inputs(inputs), events(events), thread(thread) {}

  /// Writes the body. `enterRoles` is called at a tile.specialize.
  mlir::LogicalResult
  write(std::function<mlir::LogicalResult(ThreadText &)> enterRoles);

  ModelText &getOut() { return out; }
  const Thread &getThread() const { return thread; }
  KernelReader &getReader() { return reader; }
  /// Returns the expression of a value.
  std::string get(mlir::Value value);
  /// The names that come from outside.
  llvm::ArrayRef<std::string> getParameters() const { return parameters; }
  void addParameter(const std::string &name) { addOnce(parameters, name); }
  /// Takes what a role takes from outside, unless it is a variable here.
  void passOn(const std::string &name) {
    if (!isDeclared(name))
      addParameter(name);
  }
  /// Assigns a formula to the variable of a value.
  void define(mlir::Value value, const llvm::Twine &formula);
  /// Whether the roles have run already.
  bool hasRolesBehind() const { return areRolesBehind; }
  void setRolesBehind() { areRolesBehind = true; }
  /// The declarations and the statements.
  std::string take();

private:
  mlir::LogicalResult writeBlock(mlir::Block &block);
  mlir::LogicalResult writeLoop(mlir::scf::ForOp loop);
  mlir::LogicalResult writeWhile(mlir::scf::WhileOp loop);
  mlir::LogicalResult writeBranch(mlir::scf::IfOp branch);
  mlir::LogicalResult writeScalar(mlir::Operation *op);
  mlir::LogicalResult writeElement(mlir::Operation *op);
  mlir::FailureOr<std::string> getFormula(mlir::Operation *op);
  std::string getComparison(mlir::Operation *op);
  static void addOnce(std::vector<std::string> &list, const std::string &text) {
    if (!llvm::is_contained(list, text))
      list.push_back(text);
  }
  void declare(mlir::Value value);
  bool isDeclared(llvm::StringRef name) const;
  /// Assigns `values` to `names` at once.
  void assign(llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> pairs);

  KernelReader &reader;
  ModelInputs &inputs;
  EventText &events;
  const Thread &thread;
  ModelText out{1};
  std::function<mlir::LogicalResult(ThreadText &)> enterRoles;
  std::vector<std::string> declared, parameters;
  /// Results of loops, which are the variables that the loop carries.
  llvm::DenseMap<mlir::Value, mlir::Value> aliases;
  bool areRolesBehind = false;
};

} // namespace tilews::promela

#endif // TILEWS_LIB_TARGET_PROMELA_THREADTEXT_H
