//===- MemoryPasses.td - Passes on memory and layouts ------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_MEMORYPASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_MEMORYPASSES_TD

include "mlir/Pass/PassBase.td"

def InferLayoutsPass : Pass<"tile-infer-layouts"> {
  let summary = "choose a layout for each fragment and each shared buffer";
  let description = [{
    Gives every fragment a `#tile.fragment` and every shared buffer a
    `#tile.shared`. Layouts are fixed by the requirements of instructions
    (`tile.inst`), by types that already have a layout, and by `tile.layout`. A
    fixed layout becomes a candidate for all fragments that it reaches along
    elementwise operations, loops, branches and shape changes. Memory accesses
    and reductions add the layouts that they prefer as candidates.

    The pass chooses the candidates with the lowest total cost. The cost model
    counts sectors and bank conflicts of memory accesses, reductions (within
    threads, within warps and across warps), registers, and conversions between
    layouts. Costs in loops weigh more. A `tile.convert_layout` is inserted
    where an operation needs a fragment in another layout than its own.

    Constants, splats and iotas are duplicated for each layout that uses them.
    Fragment operands of matmuls without a matrix instruction are stored to
    shared memory first. A kernel without `tile.threads` gets 128. The fragments
    of a role are distributed over its threads.

    Remarks report conversions that move elements between threads
    (`tile-layout-0001`), bank conflicts (`tile-layout-0002`), and accesses that
    are narrower than memory permits (`tile-layout-0003`). With `explain`, a
    remark at each fragment gives the reason for its layout. The pass runs on
    any operation that contains kernels.

    ```mlir
    %a = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %x = tile.load %X : memref<128xf32> -> tensor<128xf32>
    ```

    becomes

    ```mlir
    %a = tile.alloc_shared
       : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    %x = tile.load %X
       : memref<128xf32> -> tensor<128xf32, #tile.fragment<thread = (128):(1*d0), value = ():()>>
    ```
  }];
  let options = [Option<"explain", "explain", "bool", /*default=*/"false",
                        "Emit a remark with the reason for each layout of a fragment">];
  let dependentDialects = ["::tilews::tile::TileDialect"];
}

def PlanSharedMemoryPass : Pass<"tile-plan-shared-memory"> {
  let summary = "assign shared buffers to offsets in the memory of the block";
  let description = [{
    All shared memory of a kernel is one arena. This pass assigns a byte offset
    in it to each `tile.alloc_shared`, and to each operation that passes
    fragments through shared memory (`tile.reduce` over several warps,
    `tile.scan`, `tile.convert_layout`, `tile.reshape`, `tile.flip`). The kernel
    gets the size of the arena.

    Buffers that are not live at the same time share bytes. A buffer is live
    from its first to its last access. If it is allocated outside of a loop that
    accesses it, it is live during the whole loop. The scratch memory of
    reductions shares no bytes as long as this costs little memory, because this
    saves barriers. Offsets are multiples of 16, of the period of the swizzle,
    and of `alignment`.

    It is an error if the arena exceeds the shared memory of the target. A
    software pipeline with fewer slots may fit, though. With `retry`, a kernel of
    which `--tile-save-kernels` has kept a copy is planned again: the passes in
    `retry` run on the copy, with as many slots as should fit, then with fewer,
    last without pipelines. Remark `tile-pipe-0018` says so at each loop; other
    remarks of these passes are dropped.

    ```mlir
    gpu.func @k() kernel {
      %a = tile.alloc_shared : memref<64x64xf32, #gpu.address_space<workgroup>>
    ```

    becomes

    ```mlir
    gpu.func @k() kernel attributes {tile.shared_bytes = 16384 : i64} {
      %a = tile.alloc_shared {tile.offset = 0 : i64} : memref<64x64xf32, #gpu.address_space<workgroup>>
    ```
  }];
  let options = [Option<"retry", "retry", "std::string", /*default=*/"",
                        "The passes on a saved kernel that lead to this one">];
}

def InsertBarriersPass : Pass<"tile-insert-barriers"> {
  let summary = "insert a barrier where a hazard between threads requires one";
  let description = [{
    Needs planned shared memory. An operation gets a barrier before it if it
    reads bytes that were written since the last barrier, or writes bytes that
    were read or written since then. The analysis follows loops and branches,
    and includes buffers that share bytes. Disjoint static regions of one buffer
    do not conflict, and neither do atomic operations of the same kind. Regions
    whose offset grows with a loop by at least their size do not conflict in
    different iterations: a loop that fills a buffer row by row has one barrier
    before it and one after it. Barriers that the others make redundant are
    removed. Global memory is analyzed by
    whole buffers: a kernel that reads what it has written, or writes what it
    has read, gets a barrier in between. Arguments that `tile.may_alias`
    connects count as one buffer.

    A barrier waits for asynchronous copies (`drain_copies`) if one of them
    takes part in the hazard; other copies stay in flight. It contains a proxy
    fence (`proxy_fence`) if wgmma reads what was written.

    ```mlir
    tile.copy %A[%m, %k] to %as {tile.inst = #tile.inst<cp_async>} : ...
    %d = tile.gemm %as, %bs, %c {tile.inst = #tile.inst<wgmma>} : ...
    ```

    becomes

    ```mlir
    tile.copy %A[%m, %k] to %as {tile.inst = #tile.inst<cp_async>} : ...
    tile.barrier {drain_copies, proxy_fence}
    %d = tile.gemm %as, %bs, %c {tile.inst = #tile.inst<wgmma>} : ...
    ```
  }];
}

def LowerChannelsPass : Pass<"tile-lower-channels"> {
  let summary = "lower channels to barriers, and cursors to numbers";
  let description = [{
    Replaces each channel by two `tile.mbarrier`s with one barrier for each
    slot. The *full* barrier of a slot completes when the slot is filled; the
    *empty* barrier completes when all consumers have released it. A
    `tile.mbarrier_ready` precedes the roles.

    | | becomes |
    |---|---|
    | `tile.acquire` | a wait on the empty barrier for the phase before that of the cursor; the first waits find it complete |
    | `tile.commit` | an arrival at the full barrier for each kind of copy that fills the slot. TMA: one thread arrives, with the bytes to expect. cp.async: each thread arrives when its copies have been written. Stores: each thread arrives, after a `tile.proxy_fence` if wgmma or TMA read the slot |
    | `tile.wait` | a wait on the full barrier for the phase of the cursor, followed by a `tile.proxy_fence` if wgmma or TMA read what cp.async wrote |
    | `tile.release` | an arrival of each warp at the empty barrier, after a `tile.proxy_fence` if its threads have read or stored to a slot that TMA fills: an arrival alone does not order ordinary accesses before the writes of TMA. One fence serves several arrivals that follow it |

    A TMA copy `signals` the full barrier of its slot. The commit expects its
    bytes. If the copy runs under another condition than the commit, a
    `tile.mbarrier_expect` next to the copy expects them. A role that one thread
    can execute becomes `elected`, and arrives as one thread.

    A cursor becomes two i32 that control flow carries: the slot, and the parity
    of its phase. `tile.advance` becomes arithmetic on them.

    In a kernel without roles, the threads that fill a slot also read it. A
    `tile.wait` then becomes a `tile.copy_group_wait` for the copies of each
    thread, followed by a `tile.barrier`. The other transactions are erased.

    The pass runs on kernels with layouts, after all other passes on them:
    `--tile-insert-barriers` uses the order that channels impose, and does not
    analyze `tile.mbarrier`s. The barriers are at the offset that
    `--tile-plan-shared-memory` assigned to the channel.

    ```mlir
    %ch = tile.channel(%as) {producer = #tile.producer<tma>, tile.offset = 65536 : i64} : ... -> !tile.channel<4>
    tile.specialize {
      tile.role @math warps(8) {
        %q0 = tile.cursor : !tile.cursor<4>
        %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %q = %q0) -> ... {
          tile.wait %ch[%q] : !tile.channel<4>
          %a = tile.slot %as[%q] : ...
          %d = tile.gemm %a, %b, %acc {tile.inst = #tile.inst<wgmma>} : ...
          tile.release %ch[%q] : !tile.channel<4>
          %q1 = tile.advance %q : !tile.cursor<4>
          scf.yield %d, %q1 : ...
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<4>
        %r = scf.for %k = %c0 to %n step %c64 iter_args(%p = %p0) -> ... {
          tile.acquire %ch[%p] : !tile.channel<4>
          %a = tile.slot %as[%p] : ...
          tile.copy %A[%m, %k] to %a {tile.inst = #tile.inst<tma>} : ...
          tile.commit %ch[%p] : !tile.channel<4>
          %p1 = tile.advance %p : !tile.cursor<4>
          scf.yield %p1 : !tile.cursor<4>
        }
      }
    }
    ```

    becomes

    ```mlir
    %full = tile.mbarrier {count = 1 : i64, tile.offset = 65536 : i64} : !tile.mbarrier<4>
    %empty = tile.mbarrier {count = 8 : i64, tile.offset = 65568 : i64} : !tile.mbarrier<4>
    tile.mbarrier_ready
    tile.specialize {
      tile.role @math warps(8) {
        %r:3 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %slot = %zero_i32, %phase = %zero_i32) -> ... {
          tile.mbarrier_wait %full[%slot], %phase : !tile.mbarrier<4>
          %a = tile.slot %as[%slot] : ..., i32 -> ...
          %d = tile.gemm %a, %b, %acc {tile.inst = #tile.inst<wgmma>} : ...
          tile.mbarrier_arrive %empty[%slot] {by = #tile.agents<warps>, converged} : !tile.mbarrier<4>
          %slot1, %phase1 = ... // arith operations
          scf.yield %d, %slot1, %phase1 : ...
        }
      }
      tile.role @load warps(1) elected {
        %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%slot = %zero_i32, %phase = %zero_i32) -> ... {
          %before = arith.xori %phase, %one_i32 : i32
          tile.mbarrier_wait %empty[%slot], %before : !tile.mbarrier<4>
          %a = tile.slot %as[%slot] : ..., i32 -> ...
          tile.copy %A[%m, %k] to %a signals(%full[%slot]) {tile.inst = #tile.inst<tma>} : ...
          tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 16384 : i64} : !tile.mbarrier<4>
          %slot1, %phase1 = ... // arith operations
          scf.yield %slot1, %phase1 : i32, i32
        }
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_MEMORYPASSES_TD
