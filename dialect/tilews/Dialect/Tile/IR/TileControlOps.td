//===- TileControlOps.td - Loops over tiles, and debugging -*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILECONTROLOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILECONTROLOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def Tile_PersistentOp : Tile_Op<"persistent", [
    AttrSizedOperandSegments,
    AutomaticAllocationScope,
    SingleBlockImplicitTerminator<"::tilews::tile::YieldOp">,
    RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<LoopLikeOpInterface,
      ["getInitsMutable", "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    DeclareOpInterfaceMethods<RegionBranchOpInterface, ["getEntrySuccessorOperands"]>]> {
  let summary = "loop of a block over the output tiles that it owns";
  let description = [{
    Runs the body for tiles of a grid whose extents are the operands, x first.
    Tiles are distributed cyclically: block `b` of `n` takes the tiles numbered
    `b`, `b + n`, `b + 2n`, ... where blocks are counted over the whole launch.
    `rasterize` numbers the tiles in panels; without it, the first index runs
    fastest. `iter_args` are carried from each tile of a block to its next tile.

    ```mlir
    tile.persistent (%x, %y) in (%tiles_n, %tiles_m) {
      tile.store %zero to %C[%y, %x] : tensor<1x1xf32> to memref<?x?xf32>
    } {rasterize = #tile.rasterize<row, panel = 8>}
    ```
  }];
  let arguments = (ins Variadic<Index>:$extents, Variadic<AnyType>:$init_args,
                       OptionalAttr<Tile_RasterizeAttr>:$rasterize);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The coordinates of the tile, x first.
    ::mlir::Block::BlockArgListType getTileIndices() {
      return getBody().front().getArguments().take_front(getExtents().size());
    }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, ReturnLike, Terminator,
    HasParent<"::tilews::tile::PersistentOp">]> {
  let summary = "end of the body of a persistent loop";
  let description = [{
    Passes the carried values to the next tile of the block.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ /* nothing is carried */ }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Debugging
//===----------------------------------------------------------------------===//

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "print values from inside a kernel";
  let description = [{
    Prints `message` and the values. The first thread of each block prints a
    scalar once, and a fragment row by row, with coordinates.
    The attribute `tile.unsigned` has the positions of the values whose integers
    have no sign. On a GPU a line has up to eight elements of a row:

    ```
    block (2, 0, 0): x (0, 0:3)            1            2            3
    block (2, 0, 0): x (1, 0:3)            4            5            6
    ```

    The interpreter prints a fragment as one table. An AMD GPU writes the bits of
    the values to memory of the host, which prints the same tables.

    With `tile.block`, the last three values are the coordinates of the block, x
    first, as the kernel sees them. Otherwise they are the block ids of the GPU.
    A pass that gives the blocks other places adds them.

    ```mlir
    tile.print "row maximum" %m : tensor<128xf32>
    tile.print "rows" %n, %x, %y, %z : i32, index, index, index {tile.block}
    tile.print "bytes" %b : tensor<128xi8> {tile.unsigned = array<i64: 0>}
    ```
  }];
  let arguments = (ins StrAttr:$message, Variadic<AnyType>:$values);
  let extraClassDeclaration = [{
    /// What is printed: the values without the coordinates of the block.
    ::mlir::OperandRange getShown();
    /// The coordinates of the block; empty if the ids of the GPU are meant.
    ::mlir::OperandRange getBlock();
    /// Whether the integers of a value are printed without a sign.
    bool isUnsigned(unsigned place);
  }];
  let assemblyFormat = "$message ($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop the kernel unless a condition holds";
  let description = [{
    `condition` is an i1, or a fragment of i1 whose elements must all be true.

    A thread whose condition is false reports the failure to the host and traps,
    which ends the kernel. The report has the number of the assertion, which the
    launch manifest maps to `message`, the block and the element. On NVIDIA
    GPUs the thread also prints `message` and the block. The interpreter stops
    with an error. Without `block`, the coordinates are the block ids of the GPU.

    ```mlir
    tile.assert %ok, "index out of range" : i1
    tile.assert %ok, "index out of range" block(%x, %y, %z) : i1
    ```
  }];
  let arguments = (ins AnyTypeOf<[I1, Tile_BoolFragment]>:$condition,
                       StrAttr:$message, Variadic<Index>:$block);
  let assemblyFormat = [{
    $condition `,` $message (`block` `(` $block^ `)`)? attr-dict
    `:` type($condition)
  }];
  let hasVerifier = 1;
}

#endif // TILEWS_DIALECT_TILE_IR_TILECONTROLOPS_TD
