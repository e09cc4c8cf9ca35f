//===- SchedulePasses.td - Passes that make schedules ------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD

include "mlir/Pass/PassBase.td"

def PlanPipelinePass : Pass<"tile-plan-pipeline"> {
  let summary = "decide which operations of a loop run ahead of the others";
  let description = [{
    Gives the operations of each loop with `tile.num_stages` a `tile.stage` and a
    `tile.order`; nothing moves. Turn `t` of the pipelined loop will run what
    the operations of stage `s` do in turn `t - s`, in ascending order.

    Operations that fill shared memory from global memory, by a copy or through
    fragments, are in stage 0: they *produce*. A buffer is refilled right after
    its last reader; if all refills come at the end of a turn, they move to the
    beginning of the next one, one stage nearer. Operations that have effects or
    compute fragments are in the last stage: they *consume*, in their own order.
    Scalars, and what producers need, have no stage: they are computed wherever
    they are needed. Only scalars that are read from shared memory which
    producers fill are in stage 0 themselves. An `scf.if` around producers is a
    guard: its operations are planned like those around it.

    What producers read must not be written in the loop, nor may they need what
    consumers compute. Each turn has to overwrite all it reads of a buffer that
    producers fill, under the same guard, and nothing else may write to it. The
    buffer is not used outside of such loops, but for reads after a loop that is
    the only one to fill it and is in no other loop. What cannot run ahead stays
    with the consumers, and a remark says why.

    Stages and orders that are there already, on each operation of a loop that is
    not a scalar computation, are kept if they keep all dependences, an error
    otherwise. If nothing runs ahead in such a plan, it is removed, with a remark;
    so are stages that belong to no loop with `tile.num_stages`.

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
  let summary = "give the buffers of planned loops versions and channels";
  let description = [{
    Makes channels of what `--tile-plan-pipeline` planned. A buffer that producers
    fill for consumers gets a leading dimension, with as many versions as are in
    use at the same time; a layout in its type is extended. Buffers that are read
    from the same first to the same last operation share a `tile.channel`. A
    buffer that several loops fill has the versions that the most demanding one
    needs.

    Each turn of a loop then first produces and next consumes: the guards and
    scalars that both need are there twice, and so are carried values. Producers
    fill a slot between `tile.acquire` and `tile.commit`, consumers read it between
    `tile.wait` and `tile.release`. The cursors are advanced where that happens and
    carried through all `scf.for`, `scf.if` and `scf.while` around: slots and phases
    count transactions. Reads behind a loop take the last slot that was consumed.

    The result runs as it stands, one operation after the other. Stages and orders
    are kept, also on the new operations.

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
  let summary = "let TMA copies outside of pipelined loops use channels too";
  let description = [{
    A kernel with pipelined loops may copy tiles outside of these as well: the
    queries of an attention kernel, say, once for each tile of the output. A
    buffer that only TMA copies of one block fill, and that only what follows in
    the same block reads, gets a channel with one slot: the copies can then be
    started by the role that does nothing else, and the readers wait right
    before the first of them.

    A copy stays as it is where that role could not start it: if what it brings
    decides what the role does (a mask that guards are read from, say), or if a
    guard or a bound around it follows from what the rest computes. If the
    kernel will have no roles, all copies do.

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
  let summary = "give the producers of channels warps of their own";
  let description = [{
    Takes a kernel whose channels are filled and read by the same threads, as
    `--tile-multi-version` leaves it, and splits it in two roles that run at the
    same time: `@load` acquires slots, fills them and commits; `@math`, with all
    the threads that the kernel had, does everything else. A role computes for
    itself what both need: scalars, loops, guards, and what these read. The
    load role has one warp if all its copies are TMA copies, otherwise four.

    Effects on shared memory that the load role reads (a table of indices, say)
    stay in front of the roles, where all threads make them. Where they cannot,
    because each tile of a persistent loop brings a mask of its own, say, both
    roles read from global memory what a copy brings to the shared buffer: if
    the copy alone writes it, all of it, and nothing writes what is copied.

    With `one-role` every kernel keeps its one role, which a software pipeline
    fills (`--tile-expand-pipeline`): to compare the two, or where threads are
    better used for more blocks. A kernel for a target without TMA does so, too. So does one none of
    whose copies can be done by TMA, or in which filling a channel needs what
    the rest of the kernel writes; a remark `tile-ws-00NN` says why. TMA copies
    that no channel waits for become other copies.

    `tile.role_registers = {math = 232, load = 40}` on the kernel becomes the
    registers of the roles, which then fill warpgroups. In a kernel that has
    roles already, written by hand, TMA copies that fill no slot become other
    copies, too, and channels are checked: one with the producer `mixed` gets
    that of the copies that fill it, another one has to be right.

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
           "Let all threads fill the channels, also where roles can be made">
  ];
}

def ExpandPipelinePass : Pass<"tile-expand-pipeline"> {
  let summary = "overlap the turns of loops in kernels without roles";
  let description = [{
    Expands loops with channels, as `--tile-multi-version` makes them, by their
    stages and orders: in front of the loop the early stages of the first turns,
    in the loop all stages, each of another turn. There is no code behind the
    loop: its last turns skip what would belong to turns that do not exist, and
    so do the first ones if the loop may be short. Any number of turns, none
    included, is possible.

    A `tile.commit_group` closes the group of asynchronous copies behind each
    commit, in every turn, also in those whose copies are skipped or whose guard
    does not hold. So each `tile.wait` gets a constant number of groups, `pending`,
    that may still be under way. Loops in roles stay as they are. A loop that
    cannot be expanded, for which there is a remark, is no longer planned: it
    fills and reads its slots turn by turn.

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
        ... the copy of turn %k1 ...
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
  let summary = "prove that schedules are right, or show how they fail";
  let description = [{
    Checks the protocol of each kernel's channels, or of the barriers they have
    become, for all arguments: that roles never wait for each other for ever,
    that every slot is filled, completed, read and released once and in turn,
    that every access lies in a transaction, and, in kernels without roles, that
    waits permit few enough pending copies; of barriers, that arrivals, bytes
    and phases are right, and that accesses are ordered by them.
    `docs/verifier.md` says how. The IR stays as it is.

    A schedule that is right is passed over in silence, or with `report` with
    the remark `tile-verify-0002`. One that is wrong is an error, whose notes
    are the arguments and the last events that lead to the fault; with
    `counterexample` a file gets all of them, from which `tilews-sim --replay`
    runs the kernel up to the fault. Of one for which neither is found the
    remark `tile-verify-0001` says what is in the way.

    ```mlir
    tile.role @math warps(4) {
      %q = tile.cursor : !tile.cursor<2>
      tile.wait %ch[%q] : !tile.channel<2>
      %a = tile.slot %as[%q] : ...
      tile.release %ch[%q] : !tile.channel<2>
      %x = tile.load %a : ...
    }
    ```

    is an error: `reads slot 0 of a channel outside of a transaction`.
  }];
  let options = [Option<"report", "report", "bool", /*default=*/"false",
                        "Say of each kernel that is proved what was checked">,
                 Option<"counterexample", "counterexample", "std::string",
                        /*default=*/"",
                        "File for the first counterexample (JSON)">];
}

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
