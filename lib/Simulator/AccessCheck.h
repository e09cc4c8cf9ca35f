//===- AccessCheck.h - Happens-before checks of accesses --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_ACCESSCHECK_H
#define TILEWS_LIB_SIMULATOR_ACCESSCHECK_H

#include "Program.h"
#include "Shadow.h"

namespace tilews::sim {

struct Box;
class BlockState;

/// How an operation accesses memory.
struct AccessMode {
  bool writes = false;
  bool isAsyncProxy = false;
  std::optional<tile::AtomicKind> atomic = std::nullopt;
  /// The asynchronous operation that makes the access; null if it is made at
  /// once.
  std::shared_ptr<AsyncOp> op = nullptr;
};

/// Checks that accesses to the memory of a block are ordered.
///
/// Example: role @load stores to a buffer and commits; role @math waits and
/// loads. The wait joins the clock of @load into that of @math, so the load is
/// ordered after the store. Without the wait it is an error, even if the
/// simulator happened to execute the store first.
class AccessChecker {
public:
  explicit AccessChecker(BlockState &block) : block(block) {}

  /// Checks an access to a region of a memref and remembers it for later ones.
  mlir::LogicalResult check(Frame &frame, const Instruction &inst,
                            const MemRef &memref, const Box &box,
                            const AccessMode &mode);
  /// Checks the use of an operation's scratch memory: all threads write it,
  /// synchronize, and read it.
  mlir::LogicalResult useScratch(Frame &frame, const Instruction &inst);
  /// Returns the bytes of all shared buffers whose offset is planned.
  std::shared_ptr<Cells> getArena() { return arena; }

private:
  ShadowEvent makeEvent(unsigned agent, const Instruction &inst,
                        const AccessMode &mode, const void *buffer) const;
  Viewer getViewer(unsigned agent) const;
  bool isOwnMatmul(const Conflict &conflict, unsigned agent) const;
  /// Adds an access to the record of the operation that makes it.
  void note(Frame &frame, const Cells &cells, int64_t first, int64_t count,
            bool writes);
  /// Returns the bytes of a buffer; null if no agent writes it.
  Cells *getCells(const Buffer &buffer);
  mlir::LogicalResult fail(Frame &frame, const Instruction &inst,
                           const std::string &place, bool writes,
                           const Conflict &conflict);

  BlockState &block;
  Shadow shadow;
  std::shared_ptr<Cells> arena = std::make_shared<Cells>();
  /// Global memory that the kernel writes.
  llvm::DenseMap<const void *, std::unique_ptr<Cells>> global;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_ACCESSCHECK_H
