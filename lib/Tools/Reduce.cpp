//===- Reduce.cpp - Makes a failing kernel smaller ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's reducer with our dialects and passes, and the pass
// `--reduce-kernel`: greedy delta debugging (Zeller, "Yesterday, my program
// worked. Today, it does not. Why?", 1999). A sweep tries the edits of `kEdits`
// at one operation after the other, outer ones first. An edit stays if the
// module verifies and the test still finds it interesting. Sweeps are repeated
// until no edit stays. Examples of edits:
//
//   %d = tile.gemm %a, %b, %c   -> %d is replaced by %c (forwardOperand)
//   scf.for ... { body }        -> body, once (enterLoop)
//
// Upstream's `--reduction-tree` is not enough: it erases operations together
// with their uses. A kernel is a chain of values, so that hardly anything of it
// would be left.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tools.h"
#include "tilews/InitAll.h"
#include "tilews/Support/Bytecode.h"
#include "tilews/Support/Files.h"
#include "tilews/Support/SourceFiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Reducer/Tester.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace mlir;

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

static bool erase(IRRewriter &rewriter, Operation *op) {
  if (!op->use_empty())
    return false;
  rewriter.eraseOp(op);
  return true;
}

/// Replaces the results of a loop by its initial values.
static bool skipLoop(IRRewriter &rewriter, Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (loop)
    rewriter.replaceOp(loop, loop.getInitArgs());
  return loop != nullptr;
}

/// Replaces a loop by its first iteration.
static bool enterLoop(IRRewriter &rewriter, Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop)
    return false;
  SmallVector<Value> arguments = {loop.getLowerBound()};
  llvm::append_range(arguments, loop.getInitArgs());
  Operation *yield = loop.getBody()->getTerminator();
  SmallVector<Value> results(yield->getOperands());
  // A carried value that is yielded is an argument of the block.
  for (Value &result : results)
    if (auto argument = dyn_cast<BlockArgument>(result);
        argument && argument.getOwner() == loop.getBody())
      result = arguments[argument.getArgNumber()];
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(loop.getBody(), loop, arguments);
  rewriter.replaceOp(loop, results);
  return true;
}

/// Replaces `op` by the operations of one of its regions, and its results by
/// the yielded values.
static bool inlineRegion(IRRewriter &rewriter, Operation *op, Region &region) {
  if (!region.hasOneBlock() || region.getNumArguments() != 0)
    return false;
  Operation *yield = region.front().getTerminator();
  SmallVector<Value> results(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&region.front(), op);
  rewriter.replaceOp(op, results);
  return true;
}

static bool takeThen(IRRewriter &rewriter, Operation *op) {
  auto branch = dyn_cast<scf::IfOp>(op);
  return branch && inlineRegion(rewriter, op, branch.getThenRegion());
}

static bool takeElse(IRRewriter &rewriter, Operation *op) {
  auto branch = dyn_cast<scf::IfOp>(op);
  return branch && inlineRegion(rewriter, op, branch.getElseRegion());
}

/// Replaces a result by an operand of the same type.
static bool forwardOperand(IRRewriter &rewriter, Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      rewriter.replaceOp(op, operand);
      return true;
    }
  return false;
}

/// Replaces results that are numbers or fragments by zero.
static bool makeZero(IRRewriter &rewriter, Operation *op) {
  if (op->getNumResults() == 0 || op->hasTrait<OpTrait::ConstantLike>())
    return false;
  SmallVector<Value> zeros;
  for (Type type : op->getResultTypes()) {
    TypedAttr zero = rewriter.getZeroAttr(type);
    if (!zero)
      return false;
    zeros.push_back(arith::ConstantOp::create(rewriter, op->getLoc(), zero));
  }
  rewriter.replaceOp(op, zeros);
  return true;
}

using Edit = bool (*)(IRRewriter &, Operation *);
/// All edits. Those that remove most come first.
static constexpr Edit kEdits[] = {erase,    skipLoop,       enterLoop, takeThen,
                                  takeElse, forwardOperand, makeZero};

//===----------------------------------------------------------------------===//
// The reduction
//===----------------------------------------------------------------------===//

/// Returns the operations of the kernels, outer ones before inner ones.
static SmallVector<Operation *> getOperations(ModuleOp module) {
  SmallVector<Operation *> found;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getParentOfType<gpu::GPUFuncOp>() &&
        !op->hasTrait<OpTrait::IsTerminator>())
      found.push_back(op);
  });
  return found;
}

namespace {
struct ReduceKernelPass
    : PassWrapper<ReduceKernelPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReduceKernelPass)

  ReduceKernelPass() = default;
  ReduceKernelPass(const ReduceKernelPass &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "reduce-kernel"; }
  StringRef getDescription() const override {
    return "Make kernels smaller, operation by operation, while they stay "
           "interesting";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect>();
  }

  void runOnOperation() override {
    if (!llvm::sys::fs::can_execute(test)) {
      getOperation().emitError("cannot execute the test '")
          << test << "': expected the path of a program";
      return signalPassFailure();
    }
    Tester tester(test, testArguments);
    if (!isInteresting(tester, getOperation())) {
      getOperation().emitError("is not interesting: '")
          << test << "' exits with 0 for it";
      return signalPassFailure();
    }
    while (sweep(tester))
      ;
  }

private:
  static bool isInteresting(const Tester &tester, ModuleOp module) {
    return tester.isInteresting(module).first == Tester::Interestingness::True;
  }

  /// Tries every edit at every operation. Returns whether one was kept.
  bool sweep(const Tester &tester) {
    ModuleOp module = getOperation();
    bool changed = false;
    for (size_t index = 0; index < getOperations(module).size();) {
      bool kept = llvm::any_of(kEdits, [&](Edit edit) {
        return tryEdit(tester, module, index, edit);
      });
      changed |= kept;
      if (!kept)
        ++index;
    }
    return changed;
  }

  bool tryEdit(const Tester &tester, ModuleOp module, size_t index, Edit edit) {
    OwningOpRef<ModuleOp> copy = module.clone();
    Operation *op = getOperations(*copy)[index];
    IRRewriter rewriter(op);
    // An edit may make the IR invalid.
    ScopedDiagnosticHandler silence(&getContext(), [](Diagnostic &) {});
    if (!edit(rewriter, op) || failed(verify(*copy)) ||
        !isInteresting(tester, *copy))
      return false;
    module.getBodyRegion().takeBody(copy->getBodyRegion());
    return true;
  }

  Option<std::string> test{
      *this, "test",
      llvm::cl::desc("A program that exits with 1 if the file it is given is "
                     "interesting, else with 0")};
  ListOption<std::string> testArguments{
      *this, "test-arg", llvm::cl::desc("Its arguments before the file")};
};
} // namespace

/// Lets the standard input start again, with `content`.
static bool replaceStandardInput(StringRef content) {
  std::FILE *file = std::tmpfile();
  bool written =
      file &&
      std::fwrite(content.data(), 1, content.size(), file) == content.size() &&
      std::fseek(file, 0, SEEK_SET) == 0;
  return written && dup2(fileno(file), STDIN_FILENO) >= 0;
}

/// Checks the files of the command line. Upstream reads them itself: those that
/// cannot be read a second time, and bytecode, become the standard input.
static LogicalResult checkFiles(MutableArrayRef<char *> arguments,
                                const DialectRegistry &registry) {
  static char standardInput[] = "-";
  bool isOutput = false;
  for (char *&argument : arguments) {
    StringRef path = argument;
    bool isInput = path == "-" || llvm::sys::fs::exists(path);
    if (isOutput || !isInput || llvm::sys::fs::is_directory(path)) {
      isOutput = path == "-o" || path == "--o";
      continue;
    }
    std::unique_ptr<llvm::MemoryBuffer> file =
        tilews::readSource(path, registry);
    if (!file)
      return failure();
    if (llvm::sys::fs::is_regular_file(path) &&
        !tilews::isBytecode(file->getBuffer()))
      continue;
    argument = standardInput;
    if (!replaceStandardInput(file->getBuffer())) {
      llvm::errs() << "cannot keep the standard input in a temporary file: "
                   << std::strerror(errno) << "\n";
      return failure();
    }
  }
  return success();
}

/// The arguments, with `-o FILE` for `-o=FILE`.
static SmallVector<char *> splitOutput(ArrayRef<char *> arguments) {
  static char option[] = "-o";
  SmallVector<char *> split;
  for (char *argument : arguments) {
    StringRef text = argument;
    if (text.starts_with("-o=") || text.starts_with("--o=")) {
      split.push_back(option);
      split.push_back(argument + text.find('=') + 1);
    } else {
      split.push_back(argument);
    }
  }
  return split;
}

/// Finds the argument that names the output; null for stdout.
static char **findOutput(MutableArrayRef<char *> arguments) {
  for (size_t i = 0; i + 1 < arguments.size(); ++i)
    if (StringRef(arguments[i]) == "-o" || StringRef(arguments[i]) == "--o")
      return &arguments[i + 1];
  return nullptr;
}

/// Runs upstream's tool, which deletes its output if it fails. So that the old
/// file is left, it writes another one, in the same folder.
static LogicalResult reduce(MutableArrayRef<char *> arguments,
                            MLIRContext &context) {
  char **output = findOutput(arguments);
  auto run = [&] {
    return mlirReduceMain(arguments.size(), arguments.data(), context);
  };
  // Upstream does not say why it fails.
  StringRef path = output ? *output : "-";
  StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder)) {
    llvm::errs() << "error: cannot write '" << path << "': there is no folder '"
                 << folder << "'; make it first\n";
    return failure();
  }
  if (llvm::sys::fs::is_directory(path)) {
    llvm::errs() << "error: cannot write '" << path << "': it is a folder\n";
    return failure();
  }
  if (!llvm::sys::fs::is_regular_file(path))
    return run();
  SmallString<128> written;
  llvm::sys::fs::createUniquePath(path + ".%%%%%%", written,
                                  /*MakeAbsolute=*/false);
  *output = const_cast<char *>(written.c_str());
  if (failed(run()))
    return failure();
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> content =
      tilews::readInput(written, &error);
  llvm::FileRemover remove(written);
  if (!content) {
    llvm::errs() << error << "\n";
    return failure();
  }
  if (llvm::Error failed = tilews::writeFile(path, content->getBuffer())) {
    llvm::errs() << "error: cannot write " << toString(std::move(failed))
                 << "\n";
    return failure();
  }
  return success();
}

/// Upstream's tester ends the process if it cannot write a temporary file.
[[noreturn]] static void endAtFatalError(void *, const char *reason, bool) {
  llvm::errs() << "error: " << StringRef(reason).rtrim()
               << "; is the disk full, or TMPDIR no folder?\n";
  llvm::sys::RunInterruptHandlers(); // removes what was written
  _exit(EXIT_FAILURE);
}

int tilewsReduceMain(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(*argv);
  tilews::ignoreFileSizeSignal();
  llvm::install_fatal_error_handler(endAtFatalError);
  SmallVector<char *> arguments = splitOutput(ArrayRef(argv, argc));
  DialectRegistry registry;
  tilews::registerAllDialects(registry);
  if (failed(checkFiles(MutableArrayRef(arguments).drop_front(), registry)))
    return EXIT_FAILURE;
  tilews::registerAllPasses();
  PassRegistration<ReduceKernelPass>();
  MLIRContext context(registry);
  return failed(reduce(arguments, context));
}
