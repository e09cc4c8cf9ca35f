//===- Passes.td - Passes on the tile dialect --------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SetTargetPass : Pass<"tile-set-target", "::mlir::gpu::GPUModuleOp"> {
  let summary = "choose the chip to compile for";
  let description = [{
    Makes `chip` the only target of the `gpu.module`, with the triple and the
    features tilews compiles with. Without `chip` the module keeps its own,
    which has to exist. An error if the kernels are lowered for another chip.

    ```mlir
    gpu.module @kernels { ... }
    ```

    becomes, with `chip=gfx942`,

    ```mlir
    gpu.module @kernels [#rocdl.target<chip = "gfx942">] { ... }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"",
                        "The chip's name, such as sm_90a or gfx942">];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect",
                           "::mlir::ROCDL::ROCDLDialect"];
}

def SplitKPass : Pass<"tile-split-k"> {
  let summary = "share the turns of loops that add up among blocks";
  let description = [{
    The turns of a loop with `tile.split_k = n` are shared out evenly among `n`
    blocks, each of which adds its part of the sum to memory: the launch grid
    grows by this factor along z, or a `tile.persistent` around the loop along
    its last extent. This pays where there are too few tiles for the processors
    and many turns. Blocks add in any order, so that results of floating point
    differ in rounding from launch to launch.

    All that the loop carries are sums that begin at zero: accumulators of
    matrix products, also under a guard, or what is added by `arith.addf` or
    `arith.addi`. Their results go into `tile.atomic_rmw <add>` to global memory
    and nowhere else, scaled by `arith.mulf` perhaps. What else the block does
    is done by each of the `n` blocks: it must not write to global memory. Turns
    must not depend on each other through memory, and nothing reads what is
    added to. A loop that is not split runs as it is, and a remark
    `tile-split-0001` says why.

    ```mlir
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
      ...
    } {tile.split_k = 4 : i32}
    tile.atomic_rmw <add> %r to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    ```

    becomes, in four times as many blocks,

    ```mlir
    %z = gpu.block_id z
    %share = arith.remui %z, %c4 : index
    %first = arith.muli %share, %turns_of_each : index
    %end = arith.addi %first, %turns_of_each : index
    %last = arith.minsi %end, %n : index
    %r = scf.for %k = %first to %last step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
      ...
    }
    tile.atomic_rmw <add> %r to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect"];
}

def StreamKPass : Pass<"tile-stream-k"> {
  let summary = "share the turns of all tiles evenly among blocks";
  let description = [{
    Where the number of tiles is no multiple of the number of blocks, some
    blocks have nothing to do in the end. Under a loop with `tile.stream_k` in a
    `tile.persistent` all turns of all tiles are one stream, of which each block
    of the launch takes an equal part: it begins and ends in the middle of
    tiles, adds its part of their sums to memory, and sums of the tiles between
    are its own. (Osama et al., "Stream-K", PPoPP 2023.) The persistent loop is
    lowered as `--tile-lower-persistent` does it.

    What the loop carries and what is done with its results is restricted as
    `--tile-split-k` says, and its bounds are the same in all tiles. A loop that
    is not split runs as it is, and a remark `tile-split-0001` says why.

    ```mlir
    tile.persistent (%x, %y) in (%nx, %ny) {
      %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
        ...
      } {tile.stream_k}
      tile.atomic_rmw <add> %r to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    }
    ```

    becomes, where the turns of the block's stream are `%first` up to `%end`,

    ```mlir
    %from = arith.divui %first, %n : index
    %to = arith.ceildivui %end, %n : index
    scf.for %tile = %from to %to step %c1 {
      %begin = arith.muli %tile, %n : index
      %a = arith.subi %first, %begin : index
      %k0 = arith.maxsi %a, %c0 : index
      %b = arith.subi %end, %begin : index
      %k1 = arith.minsi %b, %n : index
      %r = scf.for %k = %k0 to %k1 step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
        ...
      }
      tile.atomic_rmw <add> %r to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::scf::SCFDialect"];
}

def LowerPersistentPass : Pass<"tile-lower-persistent"> {
  let summary = "turn persistent loops into loops over a block's own tiles";
  let description = [{
    A `tile.persistent` becomes an `scf.for` that starts at the number of the
    block in the launch (x fastest) and steps by the number of blocks, up to the
    number of tiles. The tile's coordinates are computed from its number: x runs
    fastest, unless `rasterize` fills panels, as `--tile-rasterize-blocks`
    describes; a third coordinate runs slowest. Carried values and other
    attributes are kept. A block that owns no tile skips the loop.

    ```mlir
    tile.persistent (%x, %y) in (%nx, %ny) {
      "use"(%x, %y) : (index, index) -> ()
    }
    ```

    becomes, with the linear `%block` of `%blocks` in the launch,

    ```mlir
    %tiles = arith.muli %nx, %ny : index
    scf.for %t = %block to %tiles step %blocks {
      %x = arith.remui %t, %nx : index
      %y = arith.divui %t, %nx : index
      "use"(%x, %y) : (index, index) -> ()
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect",
                           "::mlir::scf::SCFDialect"];
}

def RasterizeBlocksPass : Pass<"tile-rasterize-blocks"> {
  let summary = "apply a kernel's rasterization to its block ids";
  let description = [{
    Renumbers the x and y block ids of a kernel with `tile.rasterize` and
    removes the attribute. Blocks are numbered as the hardware starts them, x
    fastest. `#tile.rasterize<row, panel = p>` fills panels of `p` rows one
    after the other; a panel is passed column by column, from left to right and
    in the next panel from right to left. With `col` rows and columns change
    places. The last panel has the lines that remain. In a kernel with
    `tile.cluster` clusters are numbered instead, so that their blocks stay
    neighbours. The map is a permutation of the grid.

    With two rows a panel, a grid of four by three blocks goes

    ```
    0 2 4 6
    1 3 5 7
    b a 9 8
    ```

    ```mlir
    gpu.func @k() kernel attributes {tile.rasterize = #tile.rasterize<row, panel = 2>} {
      %x = gpu.block_id x
    ```

    becomes, with `%x0`, `%y0` the hardware's ids and `%gx`, `%gy` the grid's
    extents,

    ```mlir
    gpu.func @k() kernel {
      %0 = arith.muli %y0, %gx : index
      %id = arith.addi %0, %x0 : index
      %tiles = arith.muli %c2, %gx : index
      %panel = arith.divui %id, %tiles : index
      %within = arith.remui %id, %tiles : index
      ...
      %x = arith.select %even, %forward, %backward : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::gpu::GPUDialect"];
}

def AnnotateInstructionsPass : Pass<"tile-annotate-instructions"> {
  let summary = "choose the instruction of each copy and matrix product";
  let description = [{
    Sets `tile.inst` on each operation that can become different instructions to
    the best one that the target, the kernel's threads, the operation's types
    and, for asynchronous copies, the known alignment of both sides allow. A
    `tile.inst` that is already there is kept, or refused with the reason if the
    operation cannot become it. A remark says why a better instruction was not
    taken (`tile-inst-0001` for matrix products, `tile-inst-0002` for copies).

    Runs on any operation that contains kernels.

    ```mlir
    %d = tile.gemm %a, %b, %c : ...
    ```

    becomes for `sm_90a`

    ```mlir
    %d = tile.gemm %a, %b, %c {tile.inst = #tile.inst<wgmma>} : ...
    ```
  }];
}

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
    otherwise.

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

def ChannelPreludesPass : Pass<"tile-channel-preludes"> {
  let summary = "let TMA copies outside of pipelined loops use channels too";
  let description = [{
    A kernel with pipelined loops may copy tiles outside of these as well: the
    queries of an attention kernel, say, once for each tile of the output. A
    buffer that only TMA copies of one block fill, and that only what follows in
    the same block reads, gets a channel with one slot: the copies can then be
    started by the role that does nothing else, and the readers wait right
    before the first of them.

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
    stay in front of the roles, where all threads make them.

    A kernel for a target without TMA keeps its one role. So does one none of
    whose copies can be done by TMA, or in which filling a channel needs what
    the rest of the kernel writes; a remark `tile-ws-00NN` says why. TMA copies
    that no channel waits for become other copies.

    `tile.role_registers = {math = 232, load = 40}` on the kernel becomes the
    registers of the roles, which then fill warpgroups. In a kernel that has
    roles already, written by hand, channels are checked: one with the producer
    `mixed` gets that of the copies that fill it, another one has to be right.

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
}

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
    go the same way in all of them. A copy for which this or something else is
    not known stays as it is, and the remark `tile-cluster-0002` says what. Runs
    behind `--tile-infer-layouts`: the shares are whole boxes of TMA, or cut
    from them by rows.

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

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD
