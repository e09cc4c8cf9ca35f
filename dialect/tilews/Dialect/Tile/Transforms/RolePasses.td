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
  let summary = "fetch a tile that the blocks of a cluster share only once";
  let description = [{
    Finds TMA copies to slots of channels that fetch the same tile in several
    blocks of a cluster (`tile.cluster`). This is the case for the blocks along
    a dimension if no index of the copy depends on the position of the block
    along it. Such a copy gets `multicast`: each of the n blocks fetches one
    n-th of the tile, and the share is written to all of them. The tile then
    crosses the bus of the second-level cache once instead of n times.

    Dependence on the position is derived from `gpu.block_id`, which is a
    multiple of the extent of the cluster plus the position. Its quotient by a
    multiple of the extent is the same in all blocks of the cluster. Remainders,
    sums and products depend on the position if an operand does, and so do the
    induction variables of persistent loops. Memory that the kernel does not
    write has the same contents for all blocks.

    Multicast blocks fill each other's slots, and therefore wait for each other.
    All transactions of the channels must be in loops and guards that take the
    same path in all of these blocks. Roles must not be started repeatedly. Each
    transaction of a channel must receive bytes from all blocks that its slots
    are released to. Remark `tile-cluster-0002` gives the reason why a copy is
    not multicast.

    The pass runs after `--tile-infer-layouts`, because the shares of a tile are
    whole TMA boxes, or boxes cut by rows.

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
  let summary = "run alternate iterations of a persistent loop in two roles";
  let description = [{
    A role that computes one tile after the other leaves the tensor cores idle
    while it converts and stores its results. This pass splits the role in two,
    each with as many warps as the original: `@math0` runs iterations 0, 2, 4,
    ... of the loop with `tile.ping_pong`, and `@math1` runs iterations 1, 3, 5,
    ... One role stores results while the matmuls of the other one run.

    The producers of the channels stay as they are, and fill slots in the order
    of all iterations. The channels become `alternating`: in an iteration of the
    other role, a role advances its cursors past the slots of that iteration. It
    runs the same loops and guards, reduced to the operations that the cursors
    depend on. An additional channel with one slot and no buffers orders the
    roles: `@math0` commits it after it has started the last matmul of an
    iteration, `@math1` releases it after the same point. The matmuls of one
    tile therefore run at a time, and slots are waited for in order. If the last
    iteration belongs to `@math0`, `@math1` completes the last transaction of
    this channel after its loop.

    Each role has its own copy of the shared buffers that only the original role
    uses and writes. `tile.threads` grows by the threads of the new role.

    The loop must be in the body of a role, and contain all effects of the role
    on memory and channels. It must not carry values that an iteration computes
    from tiles. Its iterations must be independent, as those of
    `tile.persistent` are. Two roles must fit the limits for threads, registers
    and shared memory. A remark `tile-pp-00NN` gives the reason why a role is
    not split.

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
    %order = tile.channel() {producer = #tile.producer<simt>} -> !tile.channel<1>
    tile.role @math0 warps(4) {
      %q0 = tile.cursor : !tile.cursor<4>
      %o0 = tile.cursor : !tile.cursor<1>
      %r:3 = scf.for %t = %b to %tiles step %n
          iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!tile.cursor<4>, !tile.cursor<1>, i1) {
        %next:2 = scf.if %mine -> (!tile.cursor<4>, !tile.cursor<1>) {
          tile.acquire %order[%o] : !tile.channel<1>
          %s:2 = scf.for %k = %c0 to %steps step %c1 iter_args(%acc = %zero, %p = %q) -> ... {
            ...
          }
          tile.commit %order[%o] : !tile.channel<1>
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
      ...  // %mine starts as %false; tile.wait and tile.release of %order
      scf.if %r#2 {
        tile.wait %order[%r#1] : !tile.channel<1>
        tile.release %order[%r#1] : !tile.channel<1>
      }
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"
  ];
}

def OverlapProductsPass : Pass<"tile-overlap-products"> {
  let summary = "overlap the arithmetic on one matmul with another matmul";
  let description = [{
    In each iteration of an attention loop, a first wgmma computes scores,
    arithmetic turns them into weights, and a second wgmma multiplies the
    weights. Each step depends on the one before. This pass rotates such a loop
    in a role: the second matmul, and everything that depends on it, moves to
    the next iteration. There, both matmuls start one after the other, and the
    arithmetic on the result of the first one overlaps with the second one (Shah
    et al., "FlashAttention-3", section 3.2).

    The loop carries the values of the early part that the late part uses. The
    early part of the first iteration precedes the loop, and the late part of
    the last iteration follows it. An `scf.if` around all of it handles loops
    without iterations.

    A loop is not rotated if it has effects other than on channels, if the first
    matmul depends on the second one of the previous iteration, or if the
    fragments of both parts exceed the registers of a thread.

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
  let summary = "start the next matmul before waiting for the previous one";
  let description = [{
    Makes a wgmma in a role asynchronous if the loop only carries its result to
    the next iteration, as the accumulator of the next matmul. The loop waits
    for it after the matmul of the next iteration has started, so the
    tensor cores are never idle. The slots that it reads are therefore released
    one iteration later. For this, the loop carries the cursor of the previous
    iteration, and whether there was a previous iteration. After the loop, the
    kernel waits for the last matmul and releases its slots, before any other
    use of the result.

    The matmul may be under a guard. It stays synchronous if it reads a fragment
    or metadata from registers, if the loop has another use of its result, or if
    a channel has too few slots for two iterations.

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
  let summary = "store the results of a loop over tiles with TMA";
  let description = [{
    A role of a persistent kernel that stores a tile with its threads is stalled
    while all blocks write to global memory at the same time. This pass lets the
    role write the tile to shared memory, which is fast, and start a TMA copy
    from there. The copy runs while the role computes the next tile. If there is
    no room for the whole tile, the pass stores it in two or more parts.

    The pass rewrites a `tile.store` in the loop of a role that waits for
    channels, also in an iteration that `--tile-ping-pong` assigns to the role.
    The kernel must not read the memory that it stores to. The shared memory of
    a multiprocessor must still hold as many blocks as before, or four. Remark
    `tile-inst-0003` reports a store that TMA cannot do.

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
  let summary = "distribute the registers of a block by the needs of its roles";
  let description = [{
    All threads of a block start with the same number of registers: at most 168
    with 9 to 12 warps. If the fragments of a role need more, this pass shares
    out the registers of the block in proportion to the needs of the roles, up
    to 240 for each thread. A role that only starts TMA copies gets 24, or up to
    40 in a nest of loops if the other roles can spare them. Registers move
    between whole warpgroups: such a role is extended to four warps, and
    `tile.threads` grows by the added threads.

    Nothing changes if all roles have enough registers, if a role already has
    `registers`, if a role that computes is no number of whole warpgroups, if
    two roles only start copies, or if the target lacks `setmaxnreg`.

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
