//===- TileBarrierOps.td - Operations on barriers ----------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lowered form of channels: barriers in shared memory. Each operation names
// the agents that arrive, the bytes that they expect, and the phase that they
// wait for. Slots and phases are i32 values.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEBARRIEROPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEBARRIEROPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// The arrivals, or the bytes, that a barrier can count (PTX ISA, "mbarrier").
def Tile_BarrierCount : ConfinedAttr<I64Attr, [
    IntPositive, IntMaxValue<1048575>]>;

def Tile_MBarrierOp : Tile_Op<"mbarrier"> {
  let summary = "make barriers in shared memory";
  let description = [{
    Makes as many barriers as the `depth` of the type, one for each slot. One
    thread of the block initializes them. A barrier passes through phases. A
    phase completes, and the next one starts, when

    * `count` arrivals have been made in it (`tile.mbarrier_arrive`), and
    * all bytes that it expects have been written.

    The first phase has parity 0; the parity alternates from phase to phase. The
    phase before the first one counts as complete.

    The barriers can be used after the next `tile.mbarrier_ready`. With
    `tile.offset`, they occupy the shared memory of the kernel from that byte
    on, with 8 bytes each.

    ```mlir
    %full = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<4>
    ```
  }];
  let arguments = (ins Tile_BarrierCount:$count);
  let results = (outs Res<Tile_MBarrierType, "", [MemAlloc]>:$barrier);
  let assemblyFormat = "attr-dict `:` qualified(type($barrier))";
}

def Tile_MBarrierReadyOp : Tile_Op<"mbarrier_ready"> {
  let summary = "let all threads use the barriers made so far";
  let description = [{
    Orders the initialization of the barriers before every use of them, and
    synchronizes the threads of the block. It must not be in a role. With
    `cluster`, it synchronizes the threads of all blocks of the cluster. After
    it, each block may use the barriers and the shared memory of the others.

    ```mlir
    tile.mbarrier_ready
    tile.mbarrier_ready {cluster}
    ```
  }];
  let arguments = (ins UnitAttr:$cluster);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

/// An operation on one of several barriers.
class Tile_OneBarrierOp<string opMnemonic, string format,
                        dag extraArguments = (ins)>
    : Tile_Op<opMnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let arguments = !con((ins Tile_MBarrierType:$barrier, I32:$slot),
                       extraArguments);
  let assemblyFormat = "$barrier `[` $slot `]` " # format # " " #
                       "attr-dict `:` qualified(type($barrier))";
}

def Tile_PeersAttr : TypedArrayAttrBase<Tile_ClusterDimsAttr,
    "array of #tile.cluster">;

def Tile_MBarrierArriveOp : Tile_OneBarrierOp<"mbarrier_arrive", "", (ins
    Tile_AgentsAttr:$by, OptionalAttr<Tile_BarrierCount>:$bytes,
    UnitAttr:$converged, OptionalAttr<Tile_PeersAttr>:$peers)> {
  let summary = "arrive at a barrier";
  let description = [{
    Arrives at the barrier of a slot. The writes of the arriving threads before
    it are visible to the threads that wait for the phase. `by` selects the
    arriving threads:

    | `by` | agent | arrivals |
    |---|---|---|
    | `thread` | one thread of the role | 1 |
    | `warps` | each warp, after all its threads have reached the operation | warps of the role |
    | `threads` | each thread | threads of the role |
    | `copies` | each thread, when the `cp_async` copies that it started so far have been written; the thread does not wait for them | threads of the role |

    Outside of roles, the threads and warps are those of the block. With
    `bytes`, the thread first adds to the bytes that the phase expects.
    `converged` asserts that the threads of each warp are already converged
    here, so the warp needs no synchronization before its arrival.

    With `peers`, the operation makes the same arrivals in other blocks of the
    cluster, at the barrier with the same address. Each entry selects the blocks
    that differ from this one only along its dimensions. The writes of the
    arriving threads are then visible to threads that wait with `cluster`.

    ```mlir
    tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 32768 : i64} : !tile.mbarrier<4>
    tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>} : !tile.mbarrier<4>
    tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, peers = [#tile.cluster<x>]} : !tile.mbarrier<4>
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of arrivals at each barrier.
    int64_t getNumArrivals();
    /// The other blocks with arrivals: each entry selects those that differ
    /// from this block only along its dimensions.
    ::llvm::SmallVector<::tilews::tile::ClusterDims> getPeerDims();
  }];
}

def Tile_MBarrierExpectOp : Tile_OneBarrierOp<"mbarrier_expect", "", (ins
    Tile_BarrierCount:$bytes)> {
  let summary = "expect bytes in a phase of a barrier";
  let description = [{
    One thread of the role adds to the bytes that the current phase of the
    barrier expects. The operation is no arrival: an arrival in the same phase
    must follow it.

    ```mlir
    tile.mbarrier_expect %full[%slot] {bytes = 128 : i64} : !tile.mbarrier<4>
    ```
  }];
}

def Tile_MBarrierWaitOp : Tile_OneBarrierOp<"mbarrier_wait", "`,` $parity", (ins
    I32:$parity, UnitAttr:$cluster)> {
  let summary = "wait until a phase of a barrier is complete";
  let description = [{
    All threads of the role wait until the phase of parity `parity` (0 or 1) is
    complete, that is, until the barrier is in a phase of the other parity. A
    wait for parity 1 therefore returns at once during the first phase. With
    `cluster`, the writes of threads of other blocks of the cluster that arrived
    in the phase are also visible after the wait.

    ```mlir
    tile.mbarrier_wait %full[%slot], %parity : !tile.mbarrier<4>
    tile.mbarrier_wait %empty[%slot], %parity {cluster} : !tile.mbarrier<4>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

def Tile_ClusterBarrierOp : Tile_Op<"cluster_barrier"> {
  let summary = "synchronize the threads of all blocks of the cluster";
  let description = [{
    Each thread waits until all threads of the cluster have arrived. Their
    writes before the barrier are visible to all of them after it. It must not be in a role. A block must not exit
    while other blocks copy to its shared memory, or arrive at its barriers: such a
    kernel ends with a `tile.cluster_barrier`.

    ```mlir
    tile.cluster_barrier
    ```
  }];
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

def Tile_ProxyFenceOp : Tile_Op<"proxy_fence"> {
  let summary = "order ordinary accesses before those of wgmma and TMA";
  let description = [{
    Orders ordinary accesses to shared memory before accesses by units that
    access shared memory on their own (wgmma, TMA): writes before all of theirs,
    and reads before their writes. It covers the accesses of the executing
    threads, and all accesses that happen-before the fence (PTX ISA, "Async
    proxy").

    ```mlir
    tile.proxy_fence
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_CopyGroupWaitOp : Tile_Op<"copy_group_wait"> {
  let summary = "wait for groups of asynchronous copies";
  let description = [{
    Each thread waits for its copies in all groups that `tile.commit_group`
    closed, except the last `pending` groups. A `tile.barrier` then makes the
    copies visible to the other threads.

    ```mlir
    tile.copy_group_wait {pending = 2 : i64}
    ```
  }];
  let arguments = (ins Tile_PendingCount<>:$pending);
  let assemblyFormat = "attr-dict";
}

#endif // TILEWS_DIALECT_TILE_IR_TILEBARRIEROPS_TD
