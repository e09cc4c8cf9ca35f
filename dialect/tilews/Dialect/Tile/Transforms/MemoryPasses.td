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
  let summary = "give each fragment and each shared buffer a layout";
  let description = [{
    Gives every fragment a `#tile.fragment` and every shared buffer a
    `#tile.shared`. What the chosen instructions (`tile.inst`) demand, what the
    kernel's types already say and what `tile.layout` asks for is fixed. It becomes a candidate of all
    fragments it reaches along elementwise operations, loops, branches and
    changes of shape, and so does what accesses to memory and reductions would
    like best. Of the candidates those are chosen that cost least in all: in
    accesses to memory (sectors, bank conflicts), in reductions (within threads,
    warps or across them), in registers, and in conversions where two layouts
    meet, each counted more in a loop. A `tile.convert_layout` is inserted where
    the choice has two layouts meet.

    Constants, splats and iotas are made anew for each layout they are used in.
    Fragment operands of matrix products without a matrix instruction are put
    into shared memory first. A kernel without `tile.threads` gets 128. The
    fragments of a role are spread over its threads.

    Remarks tell of conversions that move elements between threads
    (`tile-layout-0001`), of bank conflicts (`tile-layout-0002`) and of accesses
    that are narrower than memory allows (`tile-layout-0003`). With `explain` a
    remark at each fragment says what its layout is chosen for.

    Runs on any operation that contains kernels.

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
                        "Say at each fragment what its layout is chosen for">];
  let dependentDialects = ["::tilews::tile::TileDialect"];
}

def PlanSharedMemoryPass : Pass<"tile-plan-shared-memory"> {
  let summary = "give every shared buffer its place in the block's memory";
  let description = [{
    All shared memory of a kernel is one arena. Each `tile.alloc_shared` and
    each operation that passes fragments through shared memory (`tile.reduce`
    over several warps, `tile.scan`, `tile.convert_layout`, `tile.reshape`) gets a
    byte offset in it, the kernel the size of the whole. What is not in use at the same time shares bytes: a
    buffer is in use from its first to its last access, and during the whole of
    a loop that accesses it, if it is allocated outside of the loop. Reductions
    do not share with anything while that costs little, which saves barriers.
    An offset is a multiple of 16, of the swizzle's period and of `alignment`.

    It is an error if the arena is larger than the target allows.

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
}

def InsertBarriersPass : Pass<"tile-insert-barriers"> {
  let summary = "put a barrier where a hazard between threads needs one";
  let description = [{
    Runs on planned shared memory. An operation that reads bytes which were
    written, or writes bytes which were read or written since the last barrier
    gets a barrier before it; around loops, through branches, and also where two
    buffers share bytes. Disjoint static regions of one buffer do not conflict,
    nor do atomic combinations of one kind. No barrier is left that the others
    make redundant. Global memory counts buffer by buffer: a kernel that reads
    what it has written, or writes what it has read, gets a barrier in between.
    Arguments that are written do not overlap others.

    A barrier waits for the asynchronous copies (`drain_copies`) if one of them
    is in conflict; copies that it does not wait for stay in flight. It fences
    (`proxy_fence`) if what was written is read by wgmma.

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
  let summary = "make barriers of channels and numbers of cursors";
  let description = [{
    Says what the transactions of channels are, on barriers in shared memory. A
    channel becomes two `tile.mbarrier`s with one barrier a slot: one says that
    the slot is full, the other that it is empty. They are ready
    (`tile.mbarrier_ready`) before the roles begin.

    | | becomes |
    |---|---|
    | `tile.acquire` | a wait for the phase before the cursor's on the empty barrier: the first ones find it complete |
    | `tile.commit` | for each kind of copy that fills the slot an arrival at the full barrier: of one thread, with the bytes to expect, for TMA copies; of each thread, when its copies have landed, for cp.async; of each thread for stores, behind a `tile.proxy_fence` if wgmma or TMA read the slot |
    | `tile.wait` | a wait for the cursor's phase on the full barrier; with a `tile.proxy_fence` behind it if wgmma or TMA read what cp.async wrote |
    | `tile.release` | an arrival of each warp at the empty barrier; behind a `tile.proxy_fence` if the role has stored to what TMA fills |

    A TMA copy `signals` the full barrier of its slot. Its bytes are expected by
    the commit, or by a `tile.mbarrier_expect` of its own where it runs under
    another condition than the commit. A role that does nothing but what one
    thread can do is `elected`, and arrives as one thread.

    A cursor becomes two i32, the slot and the parity of its phase, which
    control flow carries; `tile.advance` becomes arithmetic on them.

    Without roles the threads that fill a slot are those that read it: a
    `tile.wait` becomes a `tile.copy_group_wait` for their own copies and a
    `tile.barrier`; of the other transactions nothing is left.

    Runs on kernels with layouts, as their last pass: `--tile-insert-barriers`
    knows what channels order, and not what these barriers do. They lie where
    `--tile-plan-shared-memory` has placed the channel.

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
