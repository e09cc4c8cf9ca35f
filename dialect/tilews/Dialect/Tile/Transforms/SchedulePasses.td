//===- SchedulePasses.td - Passes that make schedules ------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD

include "mlir/Pass/PassBase.td"

def SaveKernelsPass : Pass<"tile-save-kernels"> {
  let summary = "keep copies of kernels from before their schedules are planned";
  let description = [{
    Keeps a copy of each kernel until the passes on its module have ended. With
    it, `--tile-verify-schedule` plans the schedule of a kernel again if the
    first one is wrong. Kernels with roles, channels, barriers, stages or
    asynchronous matmuls are left out: their schedules are written by hand. The
    IR does not change.

    ```sh
    tilews-opt gemm.mlir --pass-pipeline='builtin.module(gpu.module(
        tile-annotate-instructions,tile-save-kernels,tilews-schedule,
        tile-verify-schedule{retry=tilews-schedule}))'
    ```
  }];
}

def PlanPipelinePass : Pass<"tile-plan-pipeline"> {
  let summary = "assign operations of a loop to stages of a software pipeline";
  let description = [{
    Gives the operations of each loop with `tile.num_stages` a `tile.stage` and
    a `tile.order`; no operation moves. Iteration `t` of the pipelined loop will
    execute the operations of stage `s` for iteration `t - s` of the original
    loop, in ascending order.

    Stages are assigned as follows:

    * *Producers* are operations that fill shared memory from global memory, by
      a copy or through fragments, and those that store what such copies read:
      computed indices of rows. They are in stage 0. A buffer is refilled
      right after its last reader. If all refills would be at the end of an
      iteration, they move to the start of the next one, one stage closer to
      their consumers.
    * *Consumers* are operations that have effects or compute fragments. They
      are in the last stage, in program order.
    * Scalars, and operations that producers depend on, have no stage: each
      stage that needs them computes them. Scalars read from shared memory that
      producers fill are in stage 0.
    * An `scf.if` around producers is a guard. Its operations are planned like
      those outside of it.

    The loop must not write memory that producers read, and producers must not
    depend on consumers. Each iteration must overwrite everything that it reads
    of a buffer that producers fill, under the same guard. No other operation
    may write to the buffer, and it must not be used outside of such loops. Reads
    after a loop are allowed if only this loop fills the buffer, and it is not
    nested in another loop. Operations that cannot run ahead stay with the
    consumers, and a remark `tile-pipe-00NN` gives the reason.

    On AMD GPUs, copies pass through registers, which hold the next tile while
    this one is used. So loops get two stages, or more if direct copies (gfx950)
    fill all buffers. They get fewer if slots do not fit into shared memory, or
    would leave a compute unit with fewer blocks and less than two waves on each
    of its vector units. Stages by hand are kept if their slots fit. Remark
    `tile-pipe-0018` names the sizes.

    Existing stages and orders are kept if each operation of the loop that is
    not a scalar computation has them. It is an error if they violate a
    dependence. If nothing runs ahead in such a plan, a remark is emitted and
    the plan is removed. Stages outside of loops with `tile.num_stages` are
    removed, too (`tile-pipe-0017`).

    ```mlir
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
      tile.copy %A[%m, %k] to %As : ...
      tile.copy %B[%n, %k] to %Bs : ...
      %d = tile.gemm %As, %Bs, %c : ...
      scf.yield %d : tensor<128x128xf32>
    } {tile.num_stages = 3 : i32}
    ```

    becomes

    ```mlir
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
      tile.copy %A[%m, %k] to %As {tile.order = 0 : i32, tile.stage = 0 : i32} : ...
      tile.copy %B[%n, %k] to %Bs {tile.order = 1 : i32, tile.stage = 0 : i32} : ...
      %d = tile.gemm %As, %Bs, %c {tile.order = 2 : i32, tile.stage = 2 : i32} : ...
      scf.yield %d : tensor<128x128xf32>
    } {tile.num_stages = 3 : i32}
    ```
  }];
}

def MultiVersionPass : Pass<"tile-multi-version"> {
  let summary = "give the buffers of pipelined loops versions and channels";
  let description = [{
    Creates channels according to the plan of `--tile-plan-pipeline`. Each
    buffer that producers fill for consumers gets a leading dimension, whose
    extent is the number of versions in use at the same time. A layout in its
    type is extended. Buffers with the same first and last reader share a
    `tile.channel`. A buffer that several loops fill gets the largest number of
    versions that one of them needs.

    Each iteration then first runs the producers and next the consumers. Guards,
    scalars and carried values that both need are duplicated. Producers fill a
    slot between `tile.acquire` and `tile.commit`; consumers read it between
    `tile.wait` and `tile.release`. The cursors advance with each transaction,
    and all enclosing `scf.for`, `scf.if` and `scf.while` carry them. Slots and
    phases therefore count transactions, not iterations. Reads after a loop use
    the last slot that was consumed.

    The result is a correct kernel even if it is executed sequentially. Stages
    and orders are kept, and new operations have them, too.

    ```mlir
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A[%m, %k] to %As {tile.order = 0 : i32, tile.stage = 0 : i32} : ...
      "use"(%As) {tile.order = 1 : i32, tile.stage = 2 : i32} : (memref<64x64xf16, ...>) -> ()
    } {tile.num_stages = 3 : i32}
    ```

    becomes

    ```mlir
    %As3 = tile.alloc_shared : memref<3x64x64xf16, ...>
    %ch = tile.channel(%As3) {producer = #tile.producer<simt>} : memref<3x64x64xf16, ...> -> !tile.channel<3>
    %p0 = tile.cursor : !tile.cursor<3>
    %q0 = tile.cursor : !tile.cursor<3>
    %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %q0) -> (!tile.cursor<3>, !tile.cursor<3>) {
      tile.acquire %ch[%p] : !tile.channel<3>
      %a = tile.slot %As3[%p] : memref<3x64x64xf16, ...> -> memref<64x64xf16, ...>
      tile.copy %A[%m, %k] to %a : ...
      tile.commit %ch[%p] : !tile.channel<3>
      %p1 = tile.advance %p : !tile.cursor<3>
      tile.wait %ch[%q] : !tile.channel<3>
      %b = tile.slot %As3[%q] : memref<3x64x64xf16, ...> -> memref<64x64xf16, ...>
      "use"(%b) : (memref<64x64xf16, ...>) -> ()
      tile.release %ch[%q] : !tile.channel<3>
      %q1 = tile.advance %q : !tile.cursor<3>
      scf.yield %p1, %q1 : !tile.cursor<3>, !tile.cursor<3>
    } {tile.num_stages = 3 : i32}
    ```
  }];
}

def ChannelPreludesPass : Pass<"tile-channel-preludes"> {
  let summary = "give TMA copies outside of pipelined loops channels";
  let description = [{
    A kernel with pipelined loops may also copy tiles outside of them. For
    example, an attention kernel copies the queries once for each tile of the
    output. This pass gives such a buffer a channel with one slot if only TMA
    copies of one block fill it, and only later operations of the same block
    read it. The role that starts TMA copies can then start these, too, and the
    readers wait right before the first read.

    A copy is left alone if that role could not start it: data such as a mask
    decide what the role does, or an enclosing guard or loop bound depends on
    results of the other role. So are copies that may write the same elements,
    since nothing would order them, and all copies of a kernel without roles.

    ```mlir
    tile.copy %Q[%m, 0] to %qs {tile.inst = #tile.inst<tma>} : ...
    %r = scf.for ... {
      %s = tile.gemm %qs, %k, %zero : ...
    }
    ```

    becomes

    ```mlir
    tile.acquire %ch[%p] : !tile.channel<1>
    %a = tile.slot %qs[%p] : ...
    tile.copy %Q[%m, 0] to %a {tile.inst = #tile.inst<tma>} : ...
    tile.commit %ch[%p] : !tile.channel<1>
    %p1 = tile.advance %p : !tile.cursor<1>
    tile.wait %ch[%q] : !tile.channel<1>
    %b = tile.slot %qs[%q] : ...
    %r = scf.for ... {
      %s = tile.gemm %b, %k, %zero : ...
    }
    tile.release %ch[%q] : !tile.channel<1>
    %q1 = tile.advance %q : !tile.cursor<1>
    ```
  }];
}

def SpecializeWarpsPass : Pass<"tile-specialize-warps"> {
  let summary = "move the producers of channels to warps of their own";
  let description = [{
    Splits a kernel whose threads both fill and read its channels, as made by
    `--tile-multi-version`, into two concurrent roles. `@load` acquires slots,
    fills them and commits. `@math`, with all threads of the original kernel,
    does everything else. Loops, guards, scalars, and the reads that these
    depend on are duplicated in both roles. The load role has one warp if all
    its copies are TMA copies, otherwise four.

    Effects on shared memory that the load role reads, such as a table of
    indices, stay before the roles, and all threads perform them. In a loop,
    those that fill buffers which nothing else reads, such as computed indices
    of rows, go to the load role. This is not
    possible if each tile of a persistent loop loads a mask of its own. Both
    roles then read the mask from global memory instead of the shared buffer.
    For this, one copy must be the only writer of the buffer and fill all of it,
    and nothing may write its source.

    The kernel keeps a single role if the target has no TMA, if none of its
    copies can be done by TMA, or if filling a channel depends on memory that
    the rest of the kernel writes. A remark `tile-ws-00NN` gives the reason.
    `one-role` forces a single role, for comparisons or if the threads are
    better used for more blocks. `--tile-expand-pipeline` then pipelines the
    single role. TMA copies that no channel waits for become other copies.

    `tile.role_registers = {math = 232, load = 40}` on the kernel becomes the
    `registers` of the roles, which are then extended to whole warpgroups. If a
    kernel already has roles, TMA copies that fill no slot become other copies,
    too, and channels are checked. A channel with the producer `mixed` gets the
    producer of the copies that fill it; any other producer must match them.

    ```mlir
    %as = tile.alloc_shared : memref<4x128x64xf16, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : ... -> !tile.channel<4>
    %p0 = tile.cursor : !tile.cursor<4>
    %q0 = tile.cursor : !tile.cursor<4>
    %r:3 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %p = %p0, %q = %q0) -> ... {
      tile.acquire %ch[%p] : !tile.channel<4>
      %a = tile.slot %as[%p] : ...
      tile.copy %A[%m, %k] to %a {tile.inst = #tile.inst<tma>} : ...
      tile.commit %ch[%p] : !tile.channel<4>
      %p1 = tile.advance %p : !tile.cursor<4>
      tile.wait %ch[%q] : !tile.channel<4>
      %b = tile.slot %as[%q] : ...
      %d = tile.gemm %b, %bs, %acc : ...
      tile.release %ch[%q] : !tile.channel<4>
      %q1 = tile.advance %q : !tile.cursor<4>
      scf.yield %d, %p1, %q1 : ...
    }
    tile.store %r#0 to %C[%m, %x] : ...
    ```

    becomes

    ```mlir
    %as = tile.alloc_shared : memref<4x128x64xf16, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : ... -> !tile.channel<4>
    tile.specialize {
      tile.role @math warps(8) {
        %q0 = tile.cursor : !tile.cursor<4>
        %r:2 = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero, %q = %q0) -> ... {
          tile.wait %ch[%q] : !tile.channel<4>
          %b = tile.slot %as[%q] : ...
          %d = tile.gemm %b, %bs, %acc : ...
          tile.release %ch[%q] : !tile.channel<4>
          %q1 = tile.advance %q : !tile.cursor<4>
          scf.yield %d, %q1 : ...
        }
        tile.store %r#0 to %C[%m, %x] : ...
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
  }];
  let options = [
    Option<"oneRole", "one-role", "bool", /*default=*/"false",
           "Make no roles: all threads fill the channels">
  ];
}

def StageCopiesPass : Pass<"tile-stage-copies"> {
  let summary = "split copies of pipelined loops into loads and later stores";
  let description = [{
    Chips without asynchronous copies (AMD) move a tile from global memory to
    registers, and from there to shared memory. So do copies of gfx950 that are
    not `cp_async`. This pass works on such copies from global memory to a slot,
    in loops that `--tile-expand-pipeline` will expand. It splits each one: a `tile.load` at the start of an
    iteration of the pipeline, and a `tile.store` between the acquire and the
    commit of its slot. Where the copies of a loop would start an iteration,
    their acquires, stores and commits move to its end. So consumers run between
    the load of the next tile and its store. Loads from global memory of which a
    computed tile is stored to a slot move to the start as well.

    A guard around copies becomes two: one around the loads, which yields their
    fragments and the conditions of inner guards, and one around the rest.
    Conditions that are read from memory are read once.

    A copy is left as it is if the registers of a thread do not suffice for its
    fragment beside the other ones, or if its place or guard depends on shared
    memory that the loop writes. Remark `tile-pipe-0019` gives the reason. The
    kernel is right in either case.

    ```mlir
    tile.wait %ch[%q] {tile.order = 0 : i32, tile.stage = 1 : i32} : ...
    tile.acquire %ch[%p] {tile.order = 1 : i32, tile.stage = 0 : i32} : ...
    tile.copy %A[%m, %k] to %a {tile.order = 2 : i32, tile.stage = 0 : i32} : ...
    tile.commit %ch[%p] {tile.order = 3 : i32, tile.stage = 0 : i32} : ...
    %d = tile.gemm %b, %w, %c {tile.order = 4 : i32, tile.stage = 1 : i32} : ...
    ```

    becomes

    ```mlir
    tile.wait %ch[%q] {tile.order = 0 : i32, tile.stage = 1 : i32} : ...
    %f = tile.load %A[%m, %k] {tile.order = 1 : i32, tile.stage = 0 : i32} : ...
    tile.acquire %ch[%p] {tile.order = 3 : i32, tile.stage = 0 : i32} : ...
    tile.store %f to %a {tile.order = 4 : i32, tile.stage = 0 : i32} : ...
    tile.commit %ch[%p] {tile.order = 5 : i32, tile.stage = 0 : i32} : ...
    %d = tile.gemm %b, %w, %c {tile.order = 2 : i32, tile.stage = 1 : i32} : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def ExpandPipelinePass : Pass<"tile-expand-pipeline"> {
  let summary = "overlap the iterations of loops in kernels without roles";
  let description = [{
    Expands loops with channels, as made by `--tile-multi-version`, by their
    stages and orders. The early stages of the first iterations precede the
    loop. Each iteration of the new loop executes all stages, each for a
    different original iteration. There is no code after the loop: its last
    iterations skip the stages of iterations that do not exist. The first ones
    do the same if the loop may be short. The loop may have any number of
    iterations, including none.

    A `tile.commit_group` closes the group of asynchronous copies after each
    commit. It is executed in every iteration, even if the copies are skipped or
    their guard is false. Therefore the number of groups that may be in flight
    at a `tile.wait` is a constant, its `pending`. Loops in roles stay as they
    are. If a loop cannot be expanded, a remark `tile-pipe-00NN` gives the
    reason and the plan is removed: the loop fills and reads its slots in the
    same iteration.

    ```mlir
    scf.for %k = %c0 to %n step %c1 iter_args(%p = %p0, %q = %q0) -> (!c, !c) {
      tile.acquire %ch[%p] {tile.stage = 0, tile.order = 1} : ...
      %a = tile.slot %As[%p] : ...
      tile.copy %A[%m, %k] to %a {tile.stage = 0, tile.order = 2} : ...
      tile.commit %ch[%p] {tile.stage = 0, tile.order = 3} : ...
      %p1 = tile.advance %p {tile.stage = 0, tile.order = 4} : !c
      tile.wait %ch[%q] {tile.stage = 1, tile.order = 0} : ...
      %b = tile.slot %As[%q] : ...
      "use"(%b) {tile.stage = 1, tile.order = 5} : ...
      tile.release %ch[%q] {tile.stage = 1, tile.order = 6} : ...
      %q1 = tile.advance %q {tile.stage = 1, tile.order = 7} : !c
      scf.yield %p1, %q1 : !c, !c
    } {tile.num_stages = 2 : i32}
    ```

    becomes, after `--canonicalize`,

    ```mlir
    %some = arith.cmpi slt, %c0, %n : index
    %p1 = scf.if %some -> (!c) {
      tile.acquire %ch[%p0] : ...
      %a = tile.slot %As[%p0] : ...
      tile.copy %A[%m, %c0] to %a : ...
      tile.commit %ch[%p0] : ...
      %0 = tile.advance %p0 : !c
      scf.yield %0 : !c
    } else {
      scf.yield %p0 : !c
    }
    tile.commit_group
    scf.for %k = %c0 to %n step %c1 iter_args(%p = %p1, %q = %q0) -> (!c, !c) {
      %more = arith.cmpi slt, %k, %last : index
      tile.wait %ch[%q] {pending = 0 : i64} : ...
      %p2 = scf.if %more -> (!c) {
        %k1 = arith.addi %k, %c1 : index
        ... the copy of iteration %k1 ...
      } else {
        scf.yield %p : !c
      }
      tile.commit_group
      %b = tile.slot %As[%q] : ...
      "use"(%b) : ...
      tile.release %ch[%q] : ...
      %q1 = tile.advance %q : !c
      scf.yield %p2, %q1 : !c, !c
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def VerifySchedulePass : Pass<"tile-verify-schedule"> {
  let summary = "prove that schedules are correct, or show how they fail";
  let description = [{
    Checks the channels of each kernel, or the barriers that they became, for
    all arguments. It proves that

    * roles never wait for each other forever,
    * every slot is filled, completed, read and released once, in the order of
      its transactions,
    * every access to a slot is inside of a transaction,
    * the waits of kernels without roles permit few enough pending copies, and
    * the arrivals, bytes and phases of barriers are correct, and order all
      accesses.

    `docs/verifier.md` describes the method. The IR changes only if `retry` has
    an effect.

    A wrong schedule that tilews planned is no reason to refuse a kernel. With
    `retry`, a kernel of which `--tile-save-kernels` has kept a copy is restored.
    It gets a `tile.schedule_limit`, and the passes in `retry` run on it again:
    first with fewer channels, then with one role, last without pipelines, until
    the schedule is not wrong. Remark `tile-verify-0004` gives the limit and the
    fault of the first plan; other remarks of these passes are dropped.

    Without that, a wrong schedule is an error. Its notes are the arguments and the last
    events before the fault. With `counterexample`, all events are written to a
    file, and `tilews-sim --replay` executes the kernel up to the fault. A
    correct schedule causes no output; with `report`, remark `tile-verify-0002`
    lists what was checked. If neither a proof nor a fault is found, remark
    `tile-verify-0001` gives the reason.

    ```mlir
    tile.role @math warps(4) {
      %q = tile.cursor : !tile.cursor<2>
      tile.wait %ch[%q] : !tile.channel<2>
      %a = tile.slot %as[%q] : ...
      tile.release %ch[%q] : !tile.channel<2>
      %x = tile.load %a : ...
    }
    ```

    is an error: `reads slot 0 of a channel outside of a transaction`. The
    corrected role reads the slot before it releases it:

    ```mlir
    tile.role @math warps(4) {
      %q = tile.cursor : !tile.cursor<2>
      tile.wait %ch[%q] : !tile.channel<2>
      %a = tile.slot %as[%q] : ...
      %x = tile.load %a : ...
      tile.release %ch[%q] : !tile.channel<2>
    }
    ```
  }];
  let options = [Option<"report", "report", "bool", /*default=*/"false",
                        "Emit a remark for each kernel that is proved correct">,
                 Option<"counterexample", "counterexample", "std::string",
                        /*default=*/"",
                        "File for the first counterexample (JSON)">,
                 Option<"retry", "retry", "std::string", /*default=*/"",
                        "The passes on a saved kernel that lead to this one">];
}

def PeelPipelinesPass : Pass<"tile-peel-pipelines"> {
  let summary = "split the last iteration of pipelined loops off";
  let description = [{
    Runs after the schedule was proved, on pipelines of `--tile-expand-pipeline`
    with loads of `--tile-stage-copies` (AMD). Such a loop loads for its next
    iteration under the condition that there is one. The condition holds in all
    iterations but the last, which is split off. The loop then has no branch, and
    LLVM keeps loads above the matmuls. A loop around such a loop stays as it is.
    If direct copies (gfx950) are n iterations ahead, the last n are a loop.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %last = arith.subi %n, %c1 : index
      %exists = arith.cmpi slt, %i, %last : index
      %f = scf.if %exists -> (tensor<64x64xf16>) { /* load */ } else { /* zeros */ }
      // ...
      scf.if %exists { /* store %f */ }
    }
    ```

    becomes

    ```mlir
    %any = arith.cmpi slt, %c0, %n : index
    %last = arith.subi %n, %c1 : index
    scf.for %i = %c0 to %last step %c1 {
      %f = tile.load %A[%m, %k] : memref<?x?xf16> -> tensor<64x64xf16>
      // ...
      tile.store %f to %slot : tensor<64x64xf16> to memref<64x64xf16, #smem>
    }
    scf.if %any {
      // ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
