//===- KernelPasses.td - Passes on whole kernels -----------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_KERNELPASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_KERNELPASSES_TD

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
    Roles that are written by hand for a target that has none are an error.

    Before a kernel is scheduled this is a choice: TMA copies become others if
    there will be no role to start them. Afterwards it is a contract, which this
    pass checks when it runs again. Copies without `tile.inst` then get one that
    the schedule is right with: what fills a channel is what its producer says,
    and beside roles TMA is for copies that fill a channel.

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

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_KERNELPASSES_TD
