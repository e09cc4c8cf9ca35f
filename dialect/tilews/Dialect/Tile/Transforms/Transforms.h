//===- Transforms.h - Transformations of tile operations --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The transformations of the passes as functions on a single operation, for the
// C interface, for Python schedules, and for passes that combine them. They
// emit the remarks and errors of the passes.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// Sets `tile.inst` of each operation of `kernel` that can become different
/// instructions to the best one. Fails with an error if an operation has a
/// `tile.inst` that it cannot use, or if the target is unknown.
mlir::LogicalResult annotateInstructions(mlir::gpu::GPUFuncOp kernel);

/// Replaces a persistent loop by an `scf.for` over the tiles of this block.
mlir::scf::ForOp lowerPersistent(mlir::RewriterBase &rewriter, PersistentOp op);

/// Distributes the iterations of a loop that only adds up over `n` blocks.
/// Fails with a remark, and changes nothing, if that is not possible.
mlir::LogicalResult splitK(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                           int64_t n);
/// Does the same for the loops of a kernel with `tile.split_k`, and removes the
/// attribute.
void splitLoops(mlir::gpu::GPUFuncOp kernel);

/// Distributes the iterations of a loop in a `tile.persistent`, those of all
/// tiles together, evenly over the blocks of the launch. Lowers the loop over
/// tiles. Fails with a remark if that is not possible.
mlir::LogicalResult streamK(mlir::RewriterBase &rewriter,
                            mlir::scf::ForOp loop);

/// Applies the kernel's `tile.rasterize` to its uses of the x and y block ids,
/// and removes the attribute.
void rasterizeBlocks(mlir::RewriterBase &rewriter, mlir::gpu::GPUFuncOp kernel);

/// Lets operations in `root` that compute with floating point of at most 8 bits
/// compute in f32, and round their results.
void widenSmallFloats(mlir::RewriterBase &rewriter, mlir::Operation *root);

/// Gives the operations of the kernel's loops with `tile.num_stages` a stage
/// and an order. A loop that cannot be pipelined stays as it is, with a remark.
/// Fails with an error if stages and orders that are there already break a
/// dependence.
mlir::LogicalResult planPipelines(mlir::gpu::GPUFuncOp kernel);
/// Does the same for some loops of a kernel, inner ones first. Other loops must
/// not need their buffers.
mlir::LogicalResult planPipelines(llvm::ArrayRef<mlir::scf::ForOp> loops);

/// Gives the buffers of planned loops of one kernel versions, and creates
/// channels of them, with `depth` slots or as many as the plans need. Inner
/// loops come first. The loops are replaced. Returns the channels. Fails with
/// an error, and changes nothing, if a plan breaks a dependence or needs more
/// than `depth` versions.
mlir::FailureOr<llvm::SmallVector<ChannelOp>>
multiVersion(llvm::ArrayRef<mlir::scf::ForOp> loops,
             std::optional<int64_t> depth);
/// Does the same for all planned loops of a kernel.
mlir::LogicalResult multiVersion(mlir::gpu::GPUFuncOp kernel);

/// Whether `loop` is planned, its buffers have channels, and it is in no role.
bool isReadyToExpand(mlir::scf::ForOp loop);
/// Expands such a loop into a software pipeline, which replaces it. Fails with
/// a remark, and changes nothing, if the loop cannot be pipelined. Fails with
/// an error if MLIR's pipeliner refuses the schedule.
mlir::LogicalResult expandPipeline(mlir::RewriterBase &rewriter,
                                   mlir::scf::ForOp loop);
/// Does the same for all such loops of a kernel, and forgets the plans of loops
/// that cannot be pipelined. Fails with an error if MLIR's pipeliner refuses a
/// schedule.
mlir::LogicalResult expandPipelines(mlir::gpu::GPUFuncOp kernel);

struct Refusal;
/// Emits the remark `tile-pipe-00NN` with the reason of `refusal`.
void emitPipelineRemark(const Refusal &refusal);

/// Gives a copy the best instruction other than TMA.
void replaceTma(CopyOp copy, const TargetInfo &target);

/// Gives a channel of one slot to each buffer that TMA copies fill outside of
/// pipelined loops, and that the same block then reads, in a kernel with other
/// channels. A buffer with which the kernel could not be split into roles stays
/// as it is. Fails with an error if the layout of such a buffer cannot have
/// versions.
mlir::LogicalResult channelPreludes(mlir::gpu::GPUFuncOp kernel);

/// Replaces `read`, a read of the destination of `copy`, by a read of its
/// source. `findCopyOf` finds the copy.
void readFromSource(mlir::RewriterBase &rewriter, mlir::Operation *read,
                    CopyOp copy);

/// Splits a kernel with channels into a role that fills them by TMA and one
/// that does the rest. `tile.threads` grows by the threads of the former. Fails
/// with a remark, and changes nothing, if that is not possible.
mlir::LogicalResult splitIntoRoles(mlir::gpu::GPUFuncOp kernel);
/// Lets all threads of a kernel without roles fill its channels: TMA copies
/// become others. Fails with an error if the target is unknown.
mlir::LogicalResult keepOneRole(mlir::gpu::GPUFuncOp kernel);
/// Splits the kernel into roles if possible, and keeps one role otherwise.
/// Returns whether it is split. If it has roles already, checks its channels
/// and returns false.
mlir::FailureOr<bool> specializeWarps(mlir::gpu::GPUFuncOp kernel);

/// Rotates the loops of roles in which a matmul depends on the result of
/// another one, so that the arithmetic between them overlaps with the matmuls
/// of the neighboring iteration.
void overlapProducts(mlir::gpu::GPUFuncOp kernel);

/// Makes two roles, which run alternate iterations, of each role that has a
/// loop with `tile.ping_pong`. A role for which that is not possible stays one,
/// with a remark.
void pingPong(mlir::gpu::GPUFuncOp kernel);

/// Replaces the stores at the end of an iteration of a role's loop over tiles
/// by stores to shared memory and TMA copies. Fails with an error if the target
/// is unknown.
mlir::LogicalResult stageStores(mlir::gpu::GPUFuncOp kernel);

/// Splits the copies of pipelined loops into loads at the start of an iteration
/// and stores at its end, on chips without asynchronous copies. What cannot be
/// split stays as it is, with a remark. Fails with an error if the target is
/// unknown.
mlir::LogicalResult stageCopies(mlir::gpu::GPUFuncOp kernel);

/// Splits the last iteration of pipelined loops off that load for their next
/// iteration, so that the loop needs no condition for that.
void peelPipelines(mlir::gpu::GPUFuncOp kernel);

/// Distributes the registers of a kernel over its roles by the need of their
/// fragments. `tile.threads` grows where warps are added to complete a
/// warpgroup.
void assignRegisters(mlir::gpu::GPUFuncOp kernel);

/// Lets the matmuls of roles run while the next iteration of their loop starts,
/// and releases what they read one iteration later.
void deferGemmWaits(mlir::gpu::GPUFuncOp kernel);

/// Makes TMA copies of a tile that blocks of the kernel's cluster share
/// multicast. Emits a remark for each TMA copy that is not.
void multicastCopies(mlir::gpu::GPUFuncOp kernel);

/// Replaces the channels of a kernel by barriers and its cursors by numbers.
/// Fails with an error, and changes nothing, if a channel is not used according
/// to its rules.
mlir::LogicalResult lowerChannels(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
