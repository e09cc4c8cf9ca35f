//===- AccessText.cpp - Accesses and matmuls in a model -------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An access has a duration: it begins at its operation, and ends as late as
// what comes after it permits. Two accesses that conflict may not overlap in
// any run. So no clocks are needed: accesses that nothing orders overlap in
// some run, and Spin tries all runs.
//
// The end of an access by many threads comes when the last of them has gone on.
// The process of a role is its first thread. What its last thread does waits in
// a queue, `late`, in program order: ends of accesses, fences, arrivals. A
// barrier of the threads empties it.
//
//===----------------------------------------------------------------------===//

#include "AccessText.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

SmallVector<std::string> AccessText::getPlaces(const ModelAccess &access,
                                               ThreadText &thread) const {
  const ModelBuffer &buffer = *access.buffer;
  SmallVector<std::string> versions;
  std::string factor =
      buffer.parts > 1 ? std::to_string(buffer.parts) + " * " : "";
  if (access.version) {
    std::string number = thread.get(access.version);
    if (auto cursor = dyn_cast<CursorType>(access.version.getType()))
      number += " % " + std::to_string(cursor.getDepth());
    bool isNumber = llvm::all_of(number, llvm::isDigit);
    versions.push_back(
        buffer.name + " + " + factor +
        (isNumber || factor.empty() ? number : "(" + number + ")"));
  } else {
    for (int64_t i = 0; i < buffer.versions; ++i)
      versions.push_back(buffer.name + " + " +
                         std::to_string(i * buffer.parts));
  }
  SmallVector<std::string> places;
  for (const std::string &version : versions)
    for (int64_t part : access.parts)
      places.push_back(part ? version + " + " + std::to_string(part) : version);
  return places;
}

void AccessText::finishAccesses(ThreadText &thread) const {
  if (!thread.getThread().isInOrder)
    return;
  thread.getOut().gap();
  thread.getOut().step("flush(" + thread.getThread().constant + ")");
}

void AccessText::synchronize(ThreadText &thread) const {
  ModelText &out = thread.getOut();
  out.gap();
  out.step("flush(" + thread.getThread().constant + ")");
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

void AccessText::startRead(const ModelAccess &access, StringRef place,
                           bool isByProxy, ThreadText &thread) const {
  ModelText &out = thread.getOut();
  out.step("check(is_readable(" + place + "))");
  if (isByProxy && reader.hasFences())
    out.step("check(!place[" + place + "].unfenced)");
  if (hasSharers(*access.buffer))
    out.step("check(sharers_readable_" + access.buffer->name + "(" + place +
             "))");
}

void AccessText::startFill(const ModelAccess &access, StringRef place,
                           bool isByProxy, ThreadText &thread) const {
  ModelText &out = thread.getOut();
  std::string cells = getCells(access, thread);
  out.step("check(is_fillable(" + place + ", " + cells + "))");
  if (isByProxy && reader.hasFences())
    out.step("check(!place[" + place + "].unfenced && !place[" + place +
             "].read)");
  takeBytes(*access.buffer, place, thread);
  out.step("begin_fill(" + place + ", " + cells + ")");
  if (!isByProxy && reader.hasFences())
    out.step("place[" + place + "].unfenced = true");
}

/// Adds that a part of the version that is read has contents. Where nothing has
/// been written to any version, as after a loop of no iterations, the kernel
/// reads what its memory has at the start, in any order of events.
void AccessText::checkContents(const ModelAccess &access,
                               ThreadText &thread) const {
  ModelAccess whole = access;
  whole.parts.clear();
  for (int64_t part = 0; part < access.buffer->parts; ++part)
    whole.parts.push_back(part);
  std::string filled;
  for (const std::string &place : getPlaces(whole, thread))
    filled += (filled.empty() ? "place[" : " || place[") + place + "].filled";
  thread.getOut().step("check(" + filled + " || !was_written_" +
                       access.buffer->name + ")");
}

LogicalResult AccessText::writeAccesses(Operation *op, ThreadText &thread) {
  ModelText &out = thread.getOut();
  SmallVector<ModelAccess> accesses = reader.getAccesses(op);
  auto matmul = dyn_cast<MatmulOpInterface>(op);
  bool isAsync = matmul && matmul.getAsync();
  if (accesses.empty() && !isAsync)
    return success();
  comment(op, thread);
  finishAccesses(thread);
  for (const ModelAccess &access : accesses) {
    if (access.version && !isa<CursorType>(access.version.getType()) &&
        !matchPattern(access.version, m_Constant())) {
      std::string number = thread.get(access.version);
      out.step("check(" + number + " >= 0 && " + number + " < " +
               Twine(access.buffer->versions) + ")");
    }
    if (access.reads && !reader.hasChannels())
      checkContents(access, thread);
    if (failed(checkAccess(op, access, thread)))
      return failure();
  }
  if (isAsync) {
    writeMatmul(op, accesses, thread);
    return success();
  }
  auto copy = dyn_cast<CopyOp>(op);
  if (copy && (hasInst(op, InstKind::Tma) || hasInst(op, InstKind::CpAsync)))
    return writeCopy(copy, accesses, thread);
  std::string queue = thread.getThread().constant;
  for (const ModelAccess &access : accesses)
    for (const std::string &place : getPlaces(access, thread)) {
      if (access.isAtomic) {
        out.step("check(is_updatable(" + place + "))");
        takeBytes(*access.buffer, place, thread);
        out.step("begin_update(" + queue + ", " + place + ")");
      } else if (access.writes) {
        out.step("check(is_writable(" + place + "))");
        takeBytes(*access.buffer, place, thread);
        checkStore(op, access, place, thread);
        out.step("begin_write(" + queue + ", " + place + ")");
      } else {
        beginRead(access, place, thread);
      }
      if (access.writes && reader.hasFences())
        out.step("place[" + place + "].unfenced = true");
    }
  return success();
}

/// A read that lasts until the accesses of the thread end.
void AccessText::beginRead(const ModelAccess &access, const std::string &place,
                           ThreadText &thread) {
  ModelText &out = thread.getOut();
  startRead(access, place, access.isByProxy, thread);
  out.step("begin_read(" + thread.getThread().constant + ", " + place + ")");
  if (!access.isByProxy && reader.hasFences())
    out.step("place[" + place + "].read = true");
}

/// An operation writes its scratch memory, synchronizes, and reads it.
void AccessText::writeScratch(Operation *op, ThreadText &thread) {
  ModelBuffer *scratch = reader.getScratch(op);
  ModelText &out = thread.getOut();
  comment(op, thread);
  if (!scratch) {
    synchronize(thread);
    return;
  }
  std::string queue = thread.getThread().constant, place = scratch->name;
  finishAccesses(thread);
  out.step("check(is_writable(" + place + "))");
  takeBytes(*scratch, place, thread);
  out.step("begin_write(" + queue + ", " + place + ")");
  synchronize(thread);
  out.step("check(is_readable(" + place + "))");
  out.step("begin_read(" + queue + ", " + place + ")");
}

//===----------------------------------------------------------------------===//
// Matmuls and barriers of threads
//===----------------------------------------------------------------------===//

void AccessText::writeMatmul(Operation *op, ArrayRef<ModelAccess> accesses,
                             ThreadText &thread) {
  ModelText &out = thread.getOut();
  std::string queue = thread.getThread().constant;
  out.step("issued[" + queue + "]++");
  for (const ModelAccess &access : accesses)
    for (const std::string &place : getPlaces(access, thread)) {
      if (access.isMetadata) {
        beginRead(access, place, thread);
        continue;
      }
      startRead(access, place, access.isByProxy, thread);
      out.step("begin_matmul(" + queue + ", " + place + ")");
    }
  Value result = op->getResult(0);
  if (reader.isNeeded(result))
    thread.define(result, "issued[" + queue + "]");
}

void AccessText::writeGemmWait(GemmWaitOp wait, ThreadText &thread) {
  if (!reader.hasMatmuls())
    return;
  ModelText &out = thread.getOut();
  comment(wait, thread);
  std::string queue = thread.getThread().constant;
  std::string pending = std::to_string(wait.getPending());
  for (Value fragment : wait.getFragments())
    if (reader.isInFlight(fragment))
      out.step("check(" + thread.get(fragment) + " <= issued[" + queue +
               "] - " + pending + ")");
  out.step("wait_for_matmuls(" + queue + ", " + pending + ")");
}

void AccessText::writeCommitGroup(Operation *op, ThreadText &thread) {
  if (!reader.hasCopies())
    return;
  comment(op, thread);
  thread.getOut().step("commit_group(" + thread.getThread().constant + ")");
}

/// Waits for groups of copies except the last `pending`, or for all copies.
void AccessText::writeGroupWait(Operation *op, std::optional<int64_t> pending,
                                ThreadText &thread) {
  if (!reader.hasCopies())
    return;
  ModelText &out = thread.getOut();
  out.gap();
  if (pending)
    out.step("wait_for_copies(" + thread.getThread().constant + ", " +
             Twine(*pending) + ")");
  else
    out.step("wait_for_all_copies(" + thread.getThread().constant + ")");
}

void AccessText::writeBarrier(Operation *op, ThreadText &thread) {
  ModelText &out = thread.getOut();
  comment(op, thread);
  auto barrier = dyn_cast<BarrierOp>(op);
  std::string queue = thread.getThread().constant;
  if (barrier && barrier.getDrainCopies()) {
    finishAccesses(thread);
    out.gap();
    if (reader.hasCopies())
      out.step("wait_for_all_copies(" + queue + ")");
    if (reader.hasStores())
      out.step("wait_for_stores(" + queue + ")");
    if (reader.hasMatmuls())
      out.step("wait_for_matmuls(" + queue + ", 0)");
  }
  if (barrier && barrier.getProxyFence() && reader.hasFences())
    out.step("fence_late(" + queue + ")");
  synchronize(thread);
  // Threads of a kernel after its roles are those of the roles.
  if (thread.hasRolesBehind())
    for (const Thread &other : reader.getThreads().drop_front())
      out.step("flush(" + other.constant + ")");
}

//===----------------------------------------------------------------------===//
// Memory that buffers share
//===----------------------------------------------------------------------===//

bool AccessText::hasSharers(const ModelBuffer &buffer) const {
  for (const ModelBuffer &other : reader.getBuffers())
    for (int64_t i = 0; i < buffer.versions; ++i)
      for (int64_t j = 0; j < other.versions; ++j)
        if (KernelReader::shareBytes(buffer, i, other, j))
          return true;
  return false;
}

/// Adds that a write takes the bytes from the buffers that share them.
void AccessText::takeBytes(const ModelBuffer &buffer, StringRef place,
                           ThreadText &thread) const {
  if (!hasSharers(buffer))
    return;
  ModelText &out = thread.getOut();
  out.step("check(sharers_idle_" + buffer.name + "(" + place + "))");
  out.step("take_bytes_" + buffer.name + "(" + place + ")");
}

/// Writes the macros about buffers that share bytes with `buffer`.
void AccessText::declareSharers(ModelText &out) const {
  for (const ModelBuffer &buffer : reader.getBuffers()) {
    if (!hasSharers(buffer))
      continue;
    std::string readable = "true", idle = "true", take;
    for (const ModelBuffer &other : reader.getBuffers())
      for (int64_t i = 0; i < buffer.versions; ++i)
        for (int64_t j = 0; j < other.versions; ++j) {
          if (!KernelReader::shareBytes(buffer, i, other, j))
            continue;
          std::string here = "(p) >= " + buffer.name + " + " +
                             std::to_string(i * buffer.parts) + " && (p) < " +
                             buffer.name + " + " +
                             std::to_string((i + 1) * buffer.parts);
          for (int64_t part = 0; part < other.parts; ++part) {
            std::string there =
                other.name + " + " + std::to_string(j * other.parts + part);
            readable +=
                " \\\n  && (!(" + here + ") || is_readable(" + there + "))";
            idle += " \\\n  && (!(" + here + ") || is_idle(" + there + "))";
            take += " \\\n  if :: " + here + " -> place[" + there +
                    "].filled = false :: else fi;";
          }
        }
    out.append("/* Memory that shares bytes with " + buffer.name + " */\n");
    out.append("#define sharers_readable_" + buffer.name + "(p) (" + readable +
               ")\n#define sharers_idle_" + buffer.name + "(p) (" + idle +
               ")\n#define take_bytes_" + buffer.name + "(p)" + take +
               " skip\n");
  }
}
