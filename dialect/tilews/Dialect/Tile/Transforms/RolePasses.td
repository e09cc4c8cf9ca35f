//===- RolePasses.td - Passes on kernels with roles --------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_ROLEPASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_ROLEPASSES_TD

include "mlir/Pass/PassBase.td"

def MulticastCopiesPass : Pass<"tile-multicast-copies"> {
  let summary = "let the blocks of a cluster fetch a tile that they share once";
  let description = [{
    In a kernel with `tile.cluster`, finds the TMA copies to slots of channels
    whose tile is the same in all blocks of the cluster that differ along some
    dimension: no index of the copy depends on the block's place in the cluster
    along it. Such a copy gets `multicast`: each of the n blocks fetches one n-th
    of the tile, and what it fetches lands in all of them, so that the tile
    crosses the second-level cache's bus once and not n times.

    What depends on a block's place is found by arithmetic on `gpu.block_id`,
    which is a multiple of the cluster's extent plus the place: quotients of
    multiples are the same in all blocks, remainders, sums and products keep the
    place in view, and so do the counters of persistent loops. Memory that the
    kernel does not write holds the same for all.

    The blocks then fill each other's slots, and wait for each other: all
    transactions of the kernel's channels have to be under loops and guards that
    go the same way in all of them, roles start once, and of a channel each
    transaction brings bytes from all blocks that release their slots to it. A
    copy for which this or something else is not known stays as it is, and the
    remark `tile-cluster-0002` says what. Runs behind `--tile-infer-layouts`:
    the shares are whole boxes of TMA, or cut from them by rows.

    ```mlir
    gpu.func @gemm(%A: memref<?x?xf16>, ...) kernel
        attributes {tile.cluster = array<i32: 2, 1, 1>, ...} {
      ...
      %y = gpu.block_id y
      %m = arith.muli %y, %c128 : index
      scf.for %k = ... {
        tile.copy %A[%m, %k] to %a {tile.inst = #tile.inst<tma>} : ...
    ```

    becomes

    ```mlir
        tile.copy %A[%m, %k] to %a {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>} : ...
    ```
  }];
}

def PingPongPass : Pass<"tile-ping-pong"> {
  let summary = "let two roles take the turns of a persistent loop alternately";
  let description = [{
    A role that computes one tile after the other leaves the tensor cores idle
    while it converts and stores its results. This pass makes two of it, each
    with all of its warps: `@math0` takes turns 0, 2, 4, ... of the loop with
    `tile.ping_pong`, `@math1` takes turns 1, 3, 5, ... The results of one are
    stored beside the products of the other.

    What fills the channels stays as it is, in the order of all turns. The
    channels become `alternating`: a role passes over the slots of the other's
    turns. Which slots these are it finds out as it does in its own turns: by
    the same loops and guards, of which nothing is left but what the cursors
    depend on. A channel of one slot and no buffers orders the roles: `@math0`
    commits it when it has started the last product of its turn, `@math1`
    releases it when it has done so. So the tensor cores work for one tile at a
    time, whose slots are waited for in order. If the last turn is one of
    `@math0`'s, `@math1` passes it on behind its loop.

    Each role has its own copy of the shared memory that it alone uses and
    writes. `tile.threads` grows by the threads of the new role.

    The loop stands in the body of a role, does all that the role does to memory
    and channels, and carries nothing that depends on what a turn computes from
    tiles; turns are independent, as those of `tile.persistent` are. Otherwise
    the role stays alone, as it does where two need more threads, registers or
    shared memory than there are, and a remark `tile-pp-00NN` says why.

    ```mlir
    tile.role @math warps(4) {
      %q0 = tile.cursor : !tile.cursor<4>
      %r = scf.for %t = %b to %tiles step %n iter_args(%q = %q0) -> (!tile.cursor<4>) {
        %s:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero, %p = %q) -> ... {
          tile.wait %ch[%p] : !tile.channel<4>
          %d = tile.gemm %as, %bs, %acc : ...
          tile.release %ch[%p] : !tile.channel<4>
          %p1 = tile.advance %p : !tile.cursor<4>
          scf.yield %d, %p1 : ...
        }
        tile.store %s#0 to %C[%m, %x] : ...
        scf.yield %s#1 : !tile.cursor<4>
      } {tile.ping_pong}
    }
    ```

    becomes

    ```mlir
    %turn = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    tile.role @math0 warps(4) {
      %q0 = tile.cursor : !tile.cursor<4>
      %o0 = tile.cursor : !tile.cursor<1>
      %r:3 = scf.for %t = %b to %tiles step %n
          iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!tile.cursor<4>, !tile.cursor<1>, i1) {
        %next:2 = scf.if %mine -> (!tile.cursor<4>, !tile.cursor<1>) {
          tile.acquire %turn[%o] : !tile.channel<1>
          %s:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero, %p = %q) -> ... {
            ...
          }
          tile.commit %turn[%o] : !tile.channel<1>
          %o1 = tile.advance %o : !tile.cursor<1>
          tile.store %s#0 to %C[%m, %x] : ...
          scf.yield %s#1, %o1 : ...
        } else {
          %s = scf.for %k = %c0 to %steps step %c1 iter_args(%p = %q) -> (!tile.cursor<4>) {
            %p1 = tile.advance %p : !tile.cursor<4>
            scf.yield %p1 : !tile.cursor<4>
          }
          scf.yield %s, %o : ...
        }
        %other = arith.xori %mine, %true : i1
        scf.yield %next#0, %next#1, %other : ...
      }
    }
    tile.role @math1 warps(4) {
      ...  // %mine begins as %false; tile.wait and tile.release of %turn
      scf.if %r#2 {
        tile.wait %turn[%r#1] : !tile.channel<1>
        tile.release %turn[%r#1] : !tile.channel<1>
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

def OverlapProductsPass : Pass<"tile-overlap-products"> {
  let summary = "do arithmetic on one product beside the other";
  let description = [{
    In a turn of an attention loop a wgmma makes scores, arithmetic makes weights
    of them, and a second wgmma multiplies these: one after the other. This pass
    rotates such a loop in a role. The second product, and all that follows from
    it, moves to the next turn: there the two products are started one behind
    the other, and the arithmetic on the first runs beside the second. What the
    late part uses of the early one is carried from turn to turn. The first
    turn's early part stands in front of the loop and the last turn's late part
    behind it, all in an `scf.if` for loops without turns.

    A loop stays as it is if it has an effect other than on channels, if the
    first product depends on the second of the turn before, or if the fragments
    of both parts do not fit the registers of a thread.

    ```mlir
    %o = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, ...) -> ... {
      %s = tile.gemm %q, %keys, %none {clear_accumulator, tile.inst = #tile.inst<wgmma>} : ...
      %p = math.exp2 %s : tensor<128x128xf32>
      %w = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xf16>
      %d = tile.gemm %w, %values, %acc {tile.inst = #tile.inst<wgmma>} : ...
      scf.yield %d, ...
    }
    ```

    becomes

    ```mlir
    %any = arith.cmpi slt, %c0, %n : index
    %o = scf.if %any -> ... {
      %w0 = ...
      %r:2 = scf.for %k = %c1 to %n step %c1 iter_args(%acc = %zero, ..., %w = %w0) -> ... {
        %s = tile.gemm %q, %keys, %none {async, clear_accumulator, ...} : ...
        %d = tile.gemm %w, %values, %acc {async, tile.inst = #tile.inst<wgmma>} : ...
        %scores = tile.gemm_wait %s {pending = 1 : i64} : tensor<128x128xf32>
        %p = math.exp2 %scores : tensor<128x128xf32>
        %next = arith.truncf %p : tensor<128x128xf32> to tensor<128x128xf16>
        %done:2 = tile.gemm_wait %d, %w : tensor<128x128xf32>, tensor<128x128xf16>
        scf.yield %done#0, ..., %next
      }
      %last = tile.gemm %r#1, %values, %r#0 {tile.inst = #tile.inst<wgmma>} : ...
      scf.yield %last
    } else {
      scf.yield %zero
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

def DeferGemmWaitsPass : Pass<"tile-defer-gemm-waits"> {
  let summary = "let matrix products run on while the next ones start";
  let description = [{
    A wgmma in a role whose result its loop only carries to the next turn, as
    the accumulator of the next product, becomes asynchronous: it is waited for
    when the product of the next turn has been started, so that the tensor cores
    never run dry. What it reads is released then, one turn late: the loop
    carries the cursor of the turn before, and whether there was one. Behind the
    loop the last product is waited for and its slots are released, before
    anything else uses the result.

    The product may stand in a guard. It stays as it is if it reads a fragment, or
    metadata, which is read from registers,
    if something else uses its result in the loop, or if a channel has too few
    slots to hold those of two turns.

    ```mlir
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %q = %q0) -> ... {
      tile.wait %ch[%q] : !tile.channel<4>
      %d = tile.gemm %a, %b, %acc {tile.inst = #tile.inst<wgmma>} : ...
      tile.release %ch[%q] : !tile.channel<4>
      %next = tile.advance %q : !tile.cursor<4>
      scf.yield %d, %next : ...
    }
    tile.store %r#0 to %C[%m, %x] : ...
    ```

    becomes

    ```mlir
    %none = tile.cursor : !tile.cursor<4>
    %r:4 = scf.for %k = %c0 to %n step %c1
        iter_args(%acc = %zero, %q = %q0, %last = %none, %any = %false) -> ... {
      tile.wait %ch[%q] : !tile.channel<4>
      %d = tile.gemm %a, %b, %acc {async, tile.inst = #tile.inst<wgmma>} : ...
      tile.gemm_wait {pending = 1 : i64}
      scf.if %any {
        tile.release %ch[%last] : !tile.channel<4>
      }
      %next = tile.advance %q : !tile.cursor<4>
      scf.yield %d, %next, %q, %true : ...
    }
    %done = tile.gemm_wait %r#0 : tensor<128x256xf32>
    scf.if %r#3 {
      tile.release %ch[%r#2] : !tile.channel<4>
    }
    tile.store %done to %C[%m, %x] : ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

def StageStoresPass : Pass<"tile-stage-stores"> {
  let summary = "let TMA store the results of a loop over tiles";
  let description = [{
    A role of a persistent kernel that stores a tile with its threads is held up
    while global memory takes the tiles of all blocks at once. This pass lets it
    write to shared memory, which is quick, and start a TMA copy from there,
    which goes on while the next tile is under way. Where there is no room for
    the whole tile, it is stored in two or more parts one after the other.

    That is done to a `tile.store` in a role's loop that waits for channels, or
    in a turn that it takes of one (`--tile-ping-pong`), if
    the kernel does not read what it stores and as many blocks as before, or four,
    fit a multiprocessor's shared memory. A store that TMA cannot do stays, with the
    remark `tile-inst-0003`.

    ```mlir
    tile.store %x to %C[%m, %n] : tensor<128x256xf16> to memref<?x?xf16>
    ```

    becomes

    ```mlir
    %left = tile.slice %x {axis = 1 : i64, index = 0 : i64} : ... -> tensor<128x128xf16>
    tile.store %left to %staged : tensor<128x128xf16> to memref<128x128xf16, ...>
    tile.copy %staged to %C[%m, %n] [128, 128] {tile.inst = #tile.inst<tma>} : ...
    %right = tile.slice %x {axis = 1 : i64, index = 1 : i64} : ... -> tensor<128x128xf16>
    tile.store %right to %staged : tensor<128x128xf16> to memref<128x128xf16, ...>
    %next = arith.addi %n, %c128 : index
    tile.copy %staged to %C[%m, %next] [128, 128] {tile.inst = #tile.inst<tma>} : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AssignRegistersPass : Pass<"tile-assign-registers"> {
  let summary = "share out the registers of a block by what its roles need";
  let description = [{
    All threads of a block start with as many registers, at most 168 with 9 to
    12 warps. Where the fragments of a role need more, this pass gives it more,
    which the other role then does without: it must do nothing but start TMA
    copies, and gets 24, or up to 40 in a nest of loops, if the needy roles can
    spare them. Registers move between whole warpgroups: such a role is filled
    up to four warps, and `tile.threads` grows by them.

    Nothing changes if all roles have enough, if a role has a number of
    registers already, or on a target without `setmaxnreg`.

    ```mlir
    tile.specialize {
      tile.role @math warps(8) { ... }
      tile.role @load warps(1) { ... }
    }
    ```

    becomes

    ```mlir
    tile.specialize {
      tile.role @math warps(8) registers(240) { ... }
      tile.role @load warps(4) registers(24) { ... }
    }
    ```
  }];
}

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_ROLEPASSES_TD
