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
    features that tilews compiles with. Without `chip`, the module keeps its own
    target, and it is an error if it has none. It is also an error if the
    kernels have already been lowered for another chip, or if the difference of
    a loop's constant bounds overflows, as from -2^63 to 3.

    ```mlir
    gpu.module @kernels { ... }
    ```

    becomes, with `chip=gfx942`,

    ```mlir
    gpu.module @kernels [#rocdl.target<chip = "gfx942">] { ... }
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"",
                        "Name of the chip, such as sm_90a or gfx942">];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect",
                           "::mlir::ROCDL::ROCDLDialect"];
}

def SplitKPass : Pass<"tile-split-k"> {
  let summary = "share the iterations of a summation loop among blocks";
  let description = [{
    Distributes the iterations of a loop with `tile.split_k = n` evenly over `n`
    blocks. Each block adds its part of the sum to global memory. The launch
    grid grows by the factor `n` along z; in a `tile.persistent`, the last
    extent grows instead. This helps if there are fewer tiles than
    multiprocessors, and the loop has many iterations. The order of the
    additions is not fixed, so floating-point results differ in rounding
    from launch to launch.

    The loop may only carry sums that start at zero: accumulators of matmuls,
    also under a guard, or sums by `arith.addf` or `arith.addi`. Each result,
    possibly scaled by `arith.mulf`, is used only by `tile.atomic_rmw <add>` to
    global memory. All other code of the kernel runs in each of the `n` blocks,
    and must not write to global memory. Iterations must not depend on each
    other through memory, and the kernel must not read the memory that it adds
    to. Remark `tile-split-0001` gives the reason why a loop is not split.

    ```mlir
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
      ...
    } {tile.split_k = 4 : i32}
    tile.atomic_rmw <add> %r to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    ```

    becomes, in a grid with four times as many blocks,

    ```mlir
    %z = gpu.block_id z
    %share = arith.remui %z, %c4 : index
    %first = arith.muli %share, %share_size : index
    %end = arith.addi %first, %share_size : index
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
  let summary = "share the iterations of all tiles evenly among blocks";
  let description = [{
    If the number of tiles is not a multiple of the number of blocks, some
    blocks are idle at the end of the launch. This pass treats the iterations of
    a loop with `tile.stream_k` in a `tile.persistent` as one stream: all
    iterations of the first tile, then those of the second tile, and so on. Each
    block of the launch takes an equal part of the stream, which may start and
    end in the middle of a tile. Each block adds its part of the sum of each
    tile to global memory (Osama et al., "Stream-K", PPoPP 2023). The persistent
    loop is lowered as in `--tile-lower-persistent`.

    The values that the loop carries, and the uses of its results, are
    restricted as in `--tile-split-k`. Its bounds must be the same in all tiles.
    Remark `tile-split-0001` gives the reason why a loop is not split.

    ```mlir
    tile.persistent (%x, %y) in (%nx, %ny) {
      %r = scf.for %k = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x128xf32>) {
        ...
      } {tile.stream_k}
      tile.atomic_rmw <add> %r to %C[%m, %n] : tensor<128x128xf32> to memref<?x?xf32>
    }
    ```

    becomes, for a block whose part of the stream starts at iteration `%first`
    and ends before `%end`,

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
  let summary = "lower persistent loops to loops over the tiles of each block";
  let description = [{
    Rewrites each `tile.persistent` to an `scf.for` over tile numbers. The loop
    starts at the number of the block in the launch (x fastest), steps by the
    number of blocks, and ends at the number of tiles. It computes the
    coordinates of a tile from its number. x runs fastest, unless `rasterize`
    orders the tiles in panels as in `--tile-rasterize-blocks`; a third
    coordinate runs slowest. Carried values and other attributes are kept. A
    block that owns no tile skips the loop.

    ```mlir
    tile.persistent (%x, %y) in (%nx, %ny) {
      "use"(%x, %y) : (index, index) -> ()
    }
    ```

    becomes, with the linear number `%block` of `%blocks` blocks in the launch,

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
  let summary = "apply the rasterization of a kernel to its block ids";
  let description = [{
    Renumbers the x and y block ids of a kernel with `tile.rasterize`, and
    removes the attribute. Blocks that run at the same time then share operands
    in the second-level cache.

    Blocks are numbered in the order in which the hardware starts them, x
    fastest. `#tile.rasterize<row, panel = p>` fills panels of `p` rows one
    after the other. It passes a panel column by column, from left to right, and
    the next panel from right to left. `col` exchanges rows and columns. The
    last panel has the remaining rows. In a kernel with `tile.cluster`, clusters
    are numbered instead of blocks, so the blocks of a cluster stay
    neighbours. The new numbering is a permutation of the grid.

    With `panel = 2`, the blocks of a grid of four by three visit the tiles in
    this order (hexadecimal):

    ```
    0 2 4 6
    1 3 5 7
    b a 9 8
    ```

    ```mlir
    gpu.func @k() kernel attributes {tile.rasterize = #tile.rasterize<row, panel = 2>} {
      %x = gpu.block_id x
    ```

    becomes, with the ids `%x0` and `%y0` of the hardware, and the extents `%gx`
    and `%gy` of the grid,

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

def WidenSmallFloatsPass : Pass<"tile-widen-small-floats"> {
  let summary = "compute with fp8 and smaller types in f32";
  let description = [{
    Extends the operands of operations of `arith` and `math`, of `tile.reduce`
    and of `tile.scan` from floating point of at most 8 bits to f32, and rounds
    their results. GPUs only convert these types. Operations that move elements
    stay as they are.

    ```mlir
    %m = tile.reduce <max> %x {axis = 0 : i64} : tensor<64xf8E4M3FN> -> tensor<f8E4M3FN>
    ```

    becomes

    ```mlir
    %0 = arith.extf %x fastmath<contract> : tensor<64xf8E4M3FN> to tensor<64xf32>
    %1 = tile.reduce <max> %0 {axis = 0 : i64} : tensor<64xf32> -> tensor<f32>
    %m = arith.truncf %1 fastmath<contract> : tensor<f32> to tensor<f8E4M3FN>
    ```

    A sum in its place is rounded without `contract`, so that no later
    folder drops the rounding. The pass runs on any operation.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AnnotateInstructionsPass : Pass<"tile-annotate-instructions"> {
  let summary = "choose the instruction of each copy and matmul";
  let description = [{
    Sets `tile.inst` on each operation that can become different instructions.
    The choice is the best instruction that the target, the threads of the
    kernel, and the types of the operation permit. For asynchronous copies, it
    also depends on the alignment that can be inferred for both sides. An
    existing `tile.inst` is kept; it is an error if the operation cannot become
    that instruction. Roles written by hand are an error on a target without
    roles. Inline assembly without a template for the target is replaced by its
    definition.

    Before a kernel is scheduled, `tile.inst` is a preference: TMA copies become
    other copies if no role will start them. After scheduling it is a contract,
    which this pass checks when it runs again. Copies without `tile.inst` then
    get one that suits the schedule. A copy that fills a channel becomes the
    instruction of the channel's producer. In a kernel with roles, only copies
    that fill a channel may use TMA.

    Remarks give the reason why a better instruction was not chosen:
    `tile-inst-0001` for matmuls, `tile-inst-0002` for copies. A loop whose copies
    fill a shared buffer row by row, with few of the threads, gets the remark
    `tile-inst-0004`: one copy can do that. The pass runs on any operation that
    contains kernels.

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
