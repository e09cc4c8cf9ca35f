//===- Transforms.h - Transformations of tile operations --------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the passes do, for use on a single operation.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
#define TILEWS_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tilews::tile {

/// Gives the operations of a kernel that can become different instructions the
/// best one each, in `tile.inst`, and checks those that have one.
mlir::LogicalResult annotateInstructions(mlir::gpu::GPUFuncOp kernel);

/// Replaces a persistent loop by an `scf.for` over the tiles of this block.
mlir::scf::ForOp lowerPersistent(mlir::RewriterBase &rewriter, PersistentOp op);

/// Lets `n` blocks share the turns of a loop that only adds up. Fails with a
/// remark, and changes nothing, where that cannot be.
mlir::LogicalResult splitK(mlir::RewriterBase &rewriter, mlir::scf::ForOp loop,
                           int64_t n);
/// The same for the loops of a kernel with `tile.split_k`, which is removed.
void splitLoops(mlir::gpu::GPUFuncOp kernel);

/// Lets the blocks of the launch share the turns of a loop in a
/// `tile.persistent` evenly, over all tiles; the loop over tiles is lowered.
/// Fails with a remark where that cannot be.
mlir::LogicalResult streamK(mlir::RewriterBase &rewriter,
                            mlir::scf::ForOp loop);

/// Applies the kernel's `tile.rasterize` to its uses of the x and y block ids
/// and removes the attribute; without it nothing changes.
void rasterizeBlocks(mlir::RewriterBase &rewriter, mlir::gpu::GPUFuncOp kernel);

/// Gives the operations of the kernel's loops with `tile.num_stages` a stage
/// and an order. Loops that cannot be pipelined stay as they are, with a
/// remark; it is an error if stages and orders that are there do not keep
/// dependences.
mlir::LogicalResult planPipelines(mlir::gpu::GPUFuncOp kernel);
/// The same for some loops of a kernel, inner ones first; their buffers must
/// not be needed by others.
mlir::LogicalResult planPipelines(llvm::ArrayRef<mlir::scf::ForOp> loops);

/// Gives the buffers of planned loops of one kernel, inner ones first, their
/// versions and makes channels of them, with `depth` slots or as many as the
/// plans need. The loops are replaced. Fails with an error, and changes
/// nothing, if a plan does not keep all dependences or needs more versions.
mlir::FailureOr<llvm::SmallVector<ChannelOp>>
multiVersion(llvm::ArrayRef<mlir::scf::ForOp> loops,
             std::optional<int64_t> depth);
/// The same for all planned loops of a kernel.
mlir::LogicalResult multiVersion(mlir::gpu::GPUFuncOp kernel);

/// Whether `loop` is planned, its buffers have channels, and all threads of the
/// kernel execute it.
bool isReadyToExpand(mlir::scf::ForOp loop);
/// Expands such a loop into a software pipeline, which replaces it. Fails with
/// a remark, and changes nothing, where that cannot be.
mlir::LogicalResult expandPipeline(mlir::RewriterBase &rewriter,
                                   mlir::scf::ForOp loop);
/// The same for all such loops of a kernel. Those that stay are no longer
/// planned.
void expandPipelines(mlir::gpu::GPUFuncOp kernel);

struct Refusal;
/// The remark `tile-pipe-00NN` that says why.
void emitPipelineRemark(const Refusal &refusal);

/// Lets a copy use the best instruction other than TMA.
void replaceTma(CopyOp copy, const TargetInfo &target);

/// Gives each buffer of a kernel with channels that TMA copies fill outside of
/// pipelined loops, in one block that then reads it, a channel of one slot,
/// unless the kernel could not be split into roles then. Fails with an error if
/// the layout of such a buffer cannot have versions.
mlir::LogicalResult channelPreludes(mlir::gpu::GPUFuncOp kernel);

/// Lets `read`, of shared memory, read what `copy` brought there from where it
/// brought it; `findCopyOf` says which copy that is.
void readFromSource(mlir::RewriterBase &rewriter, mlir::Operation *read,
                    CopyOp copy);

/// Splits a kernel with channels into a role that fills them by TMA and one
/// that does the rest; `tile.threads` grows by the former's. Fails with a
/// remark, and changes nothing, where that cannot be.
mlir::LogicalResult splitIntoRoles(mlir::gpu::GPUFuncOp kernel);
/// Lets all threads of a kernel without roles fill its channels: TMA copies
/// become others. Fails with an error if the target is not known.
mlir::LogicalResult keepOneRole(mlir::gpu::GPUFuncOp kernel);
/// The former where it can be, else the latter. False if the kernel keeps one
/// role, or has roles already, whose channels are then checked.
mlir::FailureOr<bool> specializeWarps(mlir::gpu::GPUFuncOp kernel);

/// Rotates the loops of roles in which a product is made of what follows from
/// another, so that arithmetic on one turn's runs beside the other's.
void overlapProducts(mlir::gpu::GPUFuncOp kernel);

/// Makes two roles, which take turns, of those that have a loop with
/// `tile.ping_pong`. Where that cannot be the role stays, with a remark.
void pingPong(mlir::gpu::GPUFuncOp kernel);

/// Lets the stores that end a turn of a role's loop over tiles go through
/// shared memory, from where TMA copies them on.
mlir::LogicalResult stageStores(mlir::gpu::GPUFuncOp kernel);

/// Shares out the registers of a kernel's roles by what their fragments need;
/// `tile.threads` grows where warps are added to make whole warpgroups.
void assignRegisters(mlir::gpu::GPUFuncOp kernel);

/// Lets the matrix products of roles run on while the next turn of their loop
/// starts, and releases what they read one turn late.
void deferGemmWaits(mlir::gpu::GPUFuncOp kernel);

/// Lets the blocks of the kernel's cluster do the TMA copies of a tile together
/// that they share; says in a remark which stay as they are and why.
void multicastCopies(mlir::gpu::GPUFuncOp kernel);

/// Replaces the channels of a kernel by barriers and its cursors by numbers.
/// Fails with an error, and changes nothing, if they cannot be what they say.
mlir::LogicalResult lowerChannels(mlir::gpu::GPUFuncOp kernel);

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_TRANSFORMS_H
