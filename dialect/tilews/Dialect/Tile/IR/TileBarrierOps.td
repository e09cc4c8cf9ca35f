//===- TileBarrierOps.td - Operations on barriers ----------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What channels become: barriers in shared memory, of which it is explicit who
// arrives, for which bytes, and who waits for which phase. Slots and phases are
// numbers.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEBARRIEROPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEBARRIEROPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// What a barrier can count, of arrivals and of bytes (PTX ISA, "mbarrier").
def Tile_BarrierCount : ConfinedAttr<I64Attr, [
    IntPositive, IntMaxValue<1048575>]>;

def Tile_MBarrierOp : Tile_Op<"mbarrier"> {
  let summary = "make barriers in shared memory";
  let description = [{
    Makes as many barriers as the type says, one a slot, and initializes them,
    which one thread of the block does. A barrier goes through phases. A phase
    completes, and the next one begins, when

    * `count` arrivals have been made in it (`tile.mbarrier_arrive`), and
    * all bytes have landed that it was told to expect.

    The parity of the first phase is 0, then 1 and 0 take turns. The phase
    before the first counts as complete.

    The barriers can be used after the next `tile.mbarrier_ready`. With a
    `tile.offset` they lie in the kernel's shared memory from that byte on, 8
    bytes each.

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
    Orders the initialization of barriers before all use of them, and lets the
    threads of the block meet. Stands outside of roles. With `cluster` the
    threads of all blocks of the cluster meet, and may use each other's barriers
    and shared memory from there on.

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
    Arrives at the barrier of a slot; what the arriving threads have done before
    is visible to those that wait for the phase. `by` says who arrives:

    | `by` | who | arrivals |
    |---|---|---|
    | `thread` | one thread of the role | 1 |
    | `warps` | each warp, once all its threads are here | the role's warps |
    | `threads` | each thread | the role's threads |
    | `copies` | each thread, as soon as the `cp_async` copies that it has started so far have landed; does not wait for them | the role's threads |

    Outside of roles the threads and warps are the block's. With `bytes` the
    thread first adds to the bytes that the phase expects. With `converged` the
    threads of each warp are known to be here together already, because they
    executed nothing on their own since they last were.

    With `peers` the same arrivals are made in other blocks of the cluster, too,
    at the barrier that lies where this one does: in all blocks that differ from
    this one along the dimensions of one of the entries only. What the threads
    have done before is then visible to those that wait there with `cluster`.

    ```mlir
    tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 32768 : i64} : !tile.mbarrier<4>
    tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>} : !tile.mbarrier<4>
    tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, peers = [#tile.cluster<x>]} : !tile.mbarrier<4>
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many arrivals it makes at each barrier.
    int64_t getNumArrivals();
    /// The blocks it arrives in: sets of dimensions of the cluster.
    ::llvm::SmallVector<::tilews::tile::ClusterDims> getPeerDims();
  }];
}

def Tile_MBarrierExpectOp : Tile_OneBarrierOp<"mbarrier_expect", "", (ins
    Tile_BarrierCount:$bytes)> {
  let summary = "expect bytes in a barrier's phase";
  let description = [{
    One thread of the role adds to the bytes that the present phase of the
    barrier expects. No arrival: it stands before an arrival of the same phase.

    ```mlir
    tile.mbarrier_expect %full[%slot] {bytes = 128 : i64} : !tile.mbarrier<4>
    ```
  }];
}

def Tile_MBarrierWaitOp : Tile_OneBarrierOp<"mbarrier_wait", "`,` $parity", (ins
    I32:$parity, UnitAttr:$cluster)> {
  let summary = "wait until a phase of a barrier is complete";
  let description = [{
    All threads of the role wait until the barrier's phase of parity `parity`, 0
    or 1, is complete: until the barrier is in a phase of the other parity. A
    wait with parity 1 returns at once while the first phase is under way. With
    `cluster` it shows what threads of other blocks of the cluster have done
    that arrived in the phase.

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
  let summary = "let the threads of all blocks of the cluster meet";
  let description = [{
    What the threads of the cluster have done before is visible to all of them
    after it. Stands outside of roles. A block that others copy to, or arrive in,
    must not end before them: shared memory ends with its block.

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
    What the threads that execute it have written to shared memory before by
    ordinary stores, or know to be written, is visible after it to the units
    that access shared memory on their own (wgmma, TMA).

    ```mlir
    tile.proxy_fence
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_CopyGroupWaitOp : Tile_Op<"copy_group_wait"> {
  let summary = "wait for groups of asynchronous copies";
  let description = [{
    Each thread waits until its copies in all groups but the last `pending` that
    were closed by `tile.commit_group` have landed. A `tile.barrier` makes them
    visible to the other threads.

    ```mlir
    tile.copy_group_wait {pending = 2 : i64}
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$pending);
  let assemblyFormat = "attr-dict";
}

#endif // TILEWS_DIALECT_TILE_IR_TILEBARRIEROPS_TD
