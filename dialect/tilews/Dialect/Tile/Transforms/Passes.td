//===- Passes.td - Passes on the tile dialect --------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def InferLayoutsPass : Pass<"tile-infer-layouts"> {
  let summary = "give each fragment and each shared buffer a layout";
  let description = [{
    Gives every fragment a `#tile.fragment` and every shared buffer a
    `#tile.shared`. What the chosen instructions (`tile.inst`) demand and what
    the kernel's types already say is fixed; it spreads along elementwise
    operations, loops and branches, and through changes of shape. What nothing
    fixes gets a blocked layout as wide as the memory accesses allow. Where two
    demands meet, a `tile.convert_layout` is inserted.

    Constants, splats and iotas are made anew for each layout they are used in.
    Fragment operands of matrix products without a matrix instruction are put
    into shared memory first. A kernel without `tile.threads` gets 128.

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
  let dependentDialects = ["::tilews::tile::TileDialect"];
}

#endif // TILEWS_DIALECT_TILE_TRANSFORMS_PASSES_TD
