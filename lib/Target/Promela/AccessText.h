//===- AccessText.h - Accesses and matmuls in a model -----------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_TARGET_PROMELA_ACCESSTEXT_H
#define TILEWS_LIB_TARGET_PROMELA_ACCESSTEXT_H

#include "ThreadText.h"

namespace tilews::promela {

/// The statements of accesses to places and of matmuls, which channels and
/// barriers have in common.
class AccessText : public EventText {
public:
  explicit AccessText(KernelReader &reader) : reader(reader) {}

  /// Returns "AS + qs", or all places if the access names no version.
  llvm::SmallVector<std::string> getPlaces(const ModelAccess &access,
                                           ThreadText &thread) const;
  /// Closes what the thread has opened, after a gap, if program order orders
  /// its accesses.
  void finishAccesses(ThreadText &thread) const;
  /// Writes the macros about buffers that share bytes.
  void declareSharers(ModelText &out) const;
  /// Writes the processes and checks that belong to no thread.
  virtual llvm::StringRef getRules() const = 0;
  virtual void initialize(ModelText &out) = 0;
  virtual void writeAgents(ModelText &out) = 0;
  virtual void writeFinalChecks(ModelText &out) = 0;
  virtual void declareState(ModelText &out) = 0;
  /// Waits until the other threads have come here, too.
  void synchronize(ThreadText &thread) const;

protected:
  /// Writes what an access checks besides the places themselves.
  virtual mlir::LogicalResult checkAccess(mlir::Operation *op,
                                          const ModelAccess &access,
                                          ThreadText &thread) {
    return mlir::success();
  }
  /// An access whose end the thread does not wait for.
  virtual mlir::LogicalResult writeCopy(tile::CopyOp copy,
                                        llvm::ArrayRef<ModelAccess> accesses,
                                        ThreadText &thread) = 0;

  mlir::LogicalResult writeAccesses(mlir::Operation *op, ThreadText &thread);
  void writeMatmul(mlir::Operation *op, llvm::ArrayRef<ModelAccess> accesses,
                   ThreadText &thread);
  void writeGemmWait(tile::GemmWaitOp wait, ThreadText &thread);
  void writeBarrier(mlir::Operation *op, ThreadText &thread);
  void writeCommitGroup(mlir::Operation *op, ThreadText &thread);
  void writeGroupWait(mlir::Operation *op, std::optional<int64_t> pending,
                      ThreadText &thread);
  void writeScratch(mlir::Operation *op, ThreadText &thread);
  /// Adds the start of a copy to a place by a unit of its own.
  void startFill(const ModelAccess &access, llvm::StringRef place,
                 bool isByProxy, ThreadText &thread) const;
  /// Returns the set of cells that a copy fills; adds what computes it.
  std::string getCells(const ModelAccess &access, ThreadText &thread) const;
  /// Adds that the threads that store have stored the same elements, or others.
  void checkStore(mlir::Operation *op, const ModelAccess &access,
                  llvm::StringRef place, ThreadText &thread) const;
  void checkContents(const ModelAccess &access, ThreadText &thread) const;
  void beginRead(const ModelAccess &access, const std::string &place,
                 ThreadText &thread);
  void startRead(const ModelAccess &access, llvm::StringRef place,
                 bool isByProxy, ThreadText &thread) const;
  bool hasSharers(const ModelBuffer &buffer) const;
  void takeBytes(const ModelBuffer &buffer, llvm::StringRef place,
                 ThreadText &thread) const;
  void comment(mlir::Operation *op, ThreadText &thread) const {
    thread.getOut().comment(reader.getSource().getComment(op));
  }

  KernelReader &reader;
};

/// The rules of kernels with barriers.
std::unique_ptr<AccessText> makeBarrierText(KernelReader &reader);
/// The rules of kernels with channels.
std::unique_ptr<AccessText> makeChannelText(KernelReader &reader);

/// Return the macros of all models, and of those with barriers or channels.
std::string getPrelude(const KernelReader &reader);
llvm::StringRef getBarrierPrelude();
llvm::StringRef getChannelPrelude();
/// Returns the macros of `checkMemory`; empty before memory is planned.
llvm::StringRef getMemoryPrelude(const KernelReader &reader);
/// Writes that shared memory is aligned, within the bytes of the kernel, and
/// apart from barriers.
void checkMemory(const KernelReader &reader, ModelText &out);

} // namespace tilews::promela

#endif // TILEWS_LIB_TARGET_PROMELA_ACCESSTEXT_H
