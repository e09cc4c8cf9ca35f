//===- KernelReader.h - What a model has of a kernel ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_TARGET_PROMELA_KERNELREADER_H
#define TILEWS_LIB_TARGET_PROMELA_KERNELREADER_H

#include "SourceText.h"

#include "tilews/Dialect/Tile/Analysis/Memory/SharedBuffers.h"

namespace tilews::promela {

/// A process of the model that runs code of the kernel: its body, or a role.
struct Thread {
  mlir::Operation *op;
  mlir::Block *body;
  /// The name of the process, and that of its number.
  std::string name, constant;
  /// Whether its accesses are in program order, as those of one thread.
  bool isInOrder;
  /// Whether it has several warps, each of which waits on its own.
  bool hasWarps;
};

/// A buffer in shared memory, or the scratch memory of an operation. Each part
/// of each version is a place of the model: part p of version v is place
/// `first + v * parts + p`.
struct ModelBuffer {
  mlir::Operation *op;
  std::string name;
  int64_t versions = 1, parts = 1, first = 0;
  /// Where accesses cut a version, by dimension: 0, 8, 16 for two halves of 16
  /// rows.
  llvm::SmallVector<llvm::SmallVector<int64_t>> cuts = {};
  /// The extents of a version, and those of cells that copies with computed
  /// offsets fill; none if no copy has such offsets.
  llvm::SmallVector<int64_t> shape = {}, cells = {};
  /// What all stores distribute to threads; null if they differ.
  mlir::Type stored = {};
  /// Bytes of the arena, if memory is planned.
  int64_t offset = -1, versionBytes = 0;
  /// The channel that hands it on.
  tile::ChannelOp channel = {};

  int64_t getNumPlaces() const { return versions * parts; }
  bool isScratch() const { return !mlir::isa<tile::AllocSharedOp>(op); }
};

/// An access of an operation to places.
struct ModelAccess {
  ModelBuffer *buffer;
  /// The number of the version or a cursor; null for all versions.
  mlir::Value version;
  llvm::SmallVector<int64_t> parts;
  bool reads, writes, isAtomic;
  /// It is at an offset that is no constant: other parts, maybe, each time.
  bool isMoving;
  /// TMA or wgmma makes it, through the asynchronous proxy.
  bool isByProxy;
  /// Threads read the metadata of a sparse matmul when it starts.
  bool isMetadata;
  /// The region of a write to a version that has cells; none if its elements
  /// may be anywhere.
  llvm::SmallVector<mlir::OpFoldResult> offsets = {};
  llvm::SmallVector<int64_t> sizes = {};
};

/// Returns whether the region of an access is one of a version: no view lies
/// between that gives the bytes other coordinates.
bool isRegionOfVersion(const tile::SharedAccess &access,
                       const ModelBuffer &buffer);

/// The parts of a kernel that a model has: its threads, its buffers, and the
/// operations that the order of events depends on.
class KernelReader {
public:
  KernelReader(mlir::gpu::GPUFuncOp kernel, SourceText &source)
      : kernel(kernel), source(source) {}

  /// Reads the kernel; fails with an error at what has no model.
  mlir::LogicalResult read();

  mlir::gpu::GPUFuncOp getKernel() const { return kernel; }
  SourceText &getSource() const { return source; }
  /// Whether the kernel has channels; otherwise it has barriers.
  bool hasChannels() const { return withChannels; }
  bool hasRoles() const { return threads.size() > 1; }
  /// Whether ordinary writes and the asynchronous proxy have to be fenced.
  bool hasFences() const { return withFences; }
  /// Whether there are asynchronous matmuls, copies by cp.async that threads
  /// wait for, arrivals of such copies, copies by TMA to global memory.
  bool hasMatmuls() const { return withMatmuls; }
  bool hasCopies() const { return withCopies; }
  bool hasLandings() const { return withLandings; }
  bool hasStores() const { return withStores; }
  /// Whether threads store to different elements of one version.
  bool hasStoredCells() const { return withStoredCells; }
  llvm::ArrayRef<Thread> getThreads() const { return threads; }
  const Thread &getThread(mlir::Operation *op) const;
  const std::vector<ModelBuffer> &getBuffers() const { return buffers; }
  int64_t getNumPlaces() const { return numPlaces; }
  /// The slots of all barriers.
  int64_t getNumBarriers() const { return numBarriers; }
  llvm::SmallVector<ModelAccess> getAccesses(mlir::Operation *op);
  /// Whether `op` has scratch memory: its threads synchronize there.
  bool usesScratch(mlir::Operation *op) const {
    return scratchOps.contains(op);
  }
  /// Returns the scratch memory of `op`, if it is planned.
  ModelBuffer *getScratch(mlir::Operation *op);
  /// Returns whether two buffers have a byte in common, in these versions.
  static bool shareBytes(const ModelBuffer &a, int64_t versionA,
                         const ModelBuffer &b, int64_t versionB);

  /// Whether `op` is an event: a step of synchronization or an access.
  bool isEvent(mlir::Operation *op) const { return events.contains(op); }
  /// Whether `op` is an event, or events depend on it.
  bool isKept(mlir::Operation *op) const { return kept.contains(op); }
  bool isNeeded(mlir::Value value) const { return needed.contains(value); }
  /// Whether a fragment may be the result of an asynchronous matmul.
  bool isInFlight(mlir::Value value) const { return inFlight.contains(value); }

private:
  mlir::LogicalResult findForm();
  mlir::LogicalResult findThreads();
  mlir::LogicalResult findBuffers();
  void addBuffer(tile::AllocSharedOp alloc);
  bool isOfOneThread(const ModelBuffer &buffer);
  void addCuts(ModelBuffer &buffer, const tile::SharedAccess &access);
  mlir::LogicalResult setCells(ModelBuffer &buffer);
  mlir::LogicalResult findScratch();
  void findFences();
  mlir::LogicalResult findEvents();
  bool isStep(mlir::Operation *op);
  void findInFlight();
  void slice();
  void keep(mlir::Operation *op);
  ModelBuffer *findBuffer(mlir::Value buffer);

  mlir::gpu::GPUFuncOp kernel;
  SourceText &source;
  bool withChannels = false, withFences = false, isPlanned = false;
  bool withMatmuls = false, withCopies = false, withLandings = false,
       withStores = false, withStoredCells = false;
  llvm::SmallVector<Thread> threads;
  std::vector<ModelBuffer> buffers;
  int64_t numPlaces = 0, numBarriers = 0;
  llvm::DenseSet<mlir::Operation *> events, kept, scratchOps;
  /// The numbers of scratch memories in `buffers`.
  llvm::DenseMap<mlir::Operation *, size_t> scratchNumbers;
  llvm::DenseSet<mlir::Value> needed, inFlight;
  llvm::SmallVector<mlir::Value> pending;
};

} // namespace tilews::promela

#endif // TILEWS_LIB_TARGET_PROMELA_KERNELREADER_H
