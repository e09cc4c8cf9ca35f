//===- TileMemoryOps.td - Operations on memory -------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEMEMORYOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEMEMORYOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_AllocSharedOp : Tile_Op<"alloc_shared", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "allocate a buffer in shared memory";
  let description = [{
    Allocates a buffer that all threads of the block share. The buffer lives
    until the end of the enclosing region. Its contents are undefined until they
    are written. A `#tile.shared` layout in the type is kept; otherwise
    `--tile-infer-layouts` assigns one. `alignment` is in bytes.

    ```mlir
    %a = tile.alloc_shared : memref<128x64xf16, #gpu.address_space<workgroup>>
    %b = tile.alloc_shared {alignment = 1024 : i64}
       : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins
    ConfinedAttr<OptionalAttr<I64Attr>, [IntPositive]>:$alignment);
  let results = (outs Tile_SharedBuffer:$buffer);
  let assemblyFormat = "attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Tile_ViewOp : Tile_Op<"view", [Pure, ViewLikeOpInterface]> {
  let summary = "the same bytes of shared memory under another type";
  let description = [{
    Reinterprets a shared memory buffer with another shape or element type of
    the same size in bytes. Both types number their elements in row-major order.
    If the layout of the buffer is not linear, the layout of the view must place
    the same bytes.

    ```mlir
    %v = tile.view %a : memref<128x64xf16, #gpu.address_space<workgroup>>
                     to memref<64x64xf32, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Tile_SharedBuffer:$source);
  let results = (outs Tile_SharedBuffer:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getSource(); }
    ::mlir::Value getViewDest() { return getResult(); }
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_SubviewOp : Tile_Op<"subview", [Pure, ViewLikeOpInterface,
    InferTypeOpAdaptor]> {
  let summary = "a part of a shared memory buffer";
  let description = [{
    Returns a view of the box with these offsets and sizes; dimensions of size one
    are dropped. Each offset is a multiple of the size: an offset that is a value
    has size one. If it is outside of the buffer, the program is wrong.

    The elements have the places that they have in the buffer. If the buffer has
    a layout, the parts of these sizes must all have one layout, and start at
    multiples of the span of the swizzle.

    ```mlir
    %a = tile.subview %S[%i, 0, 32] [1, 64, 32]
      : memref<4x64x64xf16, #gpu.address_space<workgroup>>
     to memref<64x32xf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Tile_SharedBuffer:$source, Variadic<Index>:$offsets,
                       DenseI64ArrayAttr:$static_offsets,
                       DenseI64ArrayAttr:$sizes);
  let results = (outs Tile_SharedBuffer:$result);
  let assemblyFormat = [{
    $source `` custom<Region>($offsets, $static_offsets, $sizes) attr-dict
    `:` type($source) `to` type($result)
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getSource(); }
    ::mlir::Value getViewDest() { return getResult(); }
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_CopyOp : Tile_AccessOp<"copy", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Tile_InstructionOpInterface>,
    DeclareOpInterfaceMethods<Tile_LayoutOpInterface, ["checkSharedLayout"]>]> {
  let summary = "copy a region of one buffer to a region of another";
  let description = [{
    Copies between global and shared memory, or within one of them. A region
    consists of the offsets of its first element and, in a second pair of
    brackets, its static sizes. It has at most 524288 elements. Offsets default
    to zero. Sizes default to those of the other side: they are the innermost
    dimensions, preceded by ones. At least one side must have sizes, or a static
    shape without offsets. The sizes of both sides must be equal after sizes of
    one are dropped.

    Source elements outside the source buffer read as zero. Destination elements
    outside the destination buffer are not written. An offset may be negative.
    Both element types must be equal, and the regions must not overlap.

    After `--tile-lower-channels`, a TMA copy to shared memory `signals` the
    barrier of a slot: the barrier counts all bytes of the copy, including those
    of elements outside the source buffer.

    With `at(0 = %rows)`, the elements along dimension 0 of the source have the
    indices of a vector in memory: row i of the region is row `%rows[i]`, added
    to the offset. The vector has the size of the region along that dimension.
    Rows outside the source, also by a negative index, read as zero.

    With `limit(0 = %end)`, the source ends at index `%end` of dimension 0, if it
    does not end before: what follows reads as zero. If the offset of the region
    along that dimension is negative, all of the region reads as zero. From
    shared to global memory, the destination ends at the limit: what follows is
    not written.

    With `multicast`, the blocks of the cluster that differ only along these
    dimensions do the copy together. Each block has a source region of its own,
    and all these regions must have the same contents. Each block fetches one
    share of the tile. The share is written to the shared memory of all of these
    blocks, and completes on the barrier that each of them signals.
    `--tile-multicast-copies` finds such copies.

    ```mlir
    tile.copy %A[%m, %k] to %As : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.copy %Q[%b, %m, %h, 0] [1, 128, 1, 64] to %Qs
      : memref<?x?x?x64xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.copy %A[%m, %k] to %As signals(%full[%slot]) {tile.inst = #tile.inst<tma>}
      : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>, !tile.mbarrier<4>
    tile.copy %A[%m, %k] to %As {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>}
      : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.copy %X[0, %k] [128, 64] at(0 = %rows : memref<128xi32, #gpu.address_space<workgroup>>) to %As
      : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.copy %K[%first, 0] to %Ks limit(0 = %end)
      : memref<?x64xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins
    Tile_Buffer:$source, Variadic<Index>:$source_offsets,
    Tile_Buffer:$dest, Variadic<Index>:$dest_offsets,
    Optional<Tile_MBarrierType>:$signal, Optional<I32>:$signal_slot,
    Optional<Index>:$limit, Optional<Tile_Buffer>:$rows,
    DenseI64ArrayAttr:$static_source_offsets,
    DenseI64ArrayAttr:$source_sizes,
    DenseI64ArrayAttr:$static_dest_offsets,
    DenseI64ArrayAttr:$dest_sizes,
    OptionalAttr<Tile_ClusterDimsAttr>:$multicast,
    OptionalAttr<I64Attr>:$limit_dim, OptionalAttr<I64Attr>:$row_dim);
  let assemblyFormat = [{
    $source `` custom<Region>($source_offsets, $static_source_offsets, $source_sizes)
    (`at` `(` $row_dim^ `=` $rows `:` type($rows) `)`)?
    `to` $dest `` custom<Region>($dest_offsets, $static_dest_offsets, $dest_sizes)
    (`limit` `(` $limit_dim^ `=` $limit `)`)?
    (`signals` `(` $signal^ `[` $signal_slot `]` `)`)?
    attr-dict `:` type($source) `to` type($dest) (`,` qualified(type($signal))^)?
  }];
  let extraClassDeclaration = [{
    /// The regions, with the defaults of offsets and sizes.
    ::tilews::tile::TileRegion getSourceRegion();
    ::tilews::tile::TileRegion getDestRegion();
    /// Whether the limit, if there is one, is that of the destination.
    bool limitsDest();
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  // Version 1 of the bytecode has no rows and no limit.
  let useCustomPropertiesEncoding = 1;
}

def Tile_LoadOp : Tile_AccessOp<"load", [
    AttrSizedOperandSegments,
    OptionalTypesMatchWith<"padding has the element type", "source", "padding",
      "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "load a region of a buffer into a fragment";
  let description = [{
    Reads a region into registers. Sizes default to the shape of the fragment,
    as the innermost dimensions. Sizes of one are dropped before the comparison
    with the shape of the fragment. Elements outside the buffer read as `pad`,
    or as zero without it.

    ```mlir
    %t = tile.load %A[%m, %n] : memref<?x?xf16> -> tensor<128x64xf16>
    %u = tile.load %X[%r, 0] pad %lowest : memref<?x1000xf32> -> tensor<4x1024xf32>
    ```
  }];
  let arguments = (ins
    Tile_Buffer:$source, Variadic<Index>:$offsets,
    Optional<AnyType>:$padding,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = [{
    $source `` custom<Region>($offsets, $static_offsets, $sizes)
    (`pad` $padding^)? attr-dict `:` type($source) `->` type($result)
  }];
  let extraClassDeclaration = [{
    ::tilews::tile::TileRegion getRegion();
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_StoreOp : Tile_AccessOp<"store"> {
  let summary = "store a fragment to a region of a buffer";
  let description = [{
    Writes a fragment to a region. Sizes default to the shape of the fragment,
    as the innermost dimensions. Sizes of one are dropped before the comparison
    with the shape of the fragment. Elements outside the buffer are not written.

    ```mlir
    tile.store %t to %C[%m, %n] : tensor<128x64xf16> to memref<?x?xf16>
    ```
  }];
  let arguments = (ins
    Tile_Fragment:$value, Tile_Buffer:$dest, Variadic<Index>:$offsets,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes);
  let assemblyFormat = [{
    $value `to` $dest `` custom<Region>($offsets, $static_offsets, $sizes)
    attr-dict `:` type($value) `to` type($dest)
  }];
  let extraClassDeclaration = [{
    ::tilews::tile::TileRegion getRegion();
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "synchronize all threads of the block";
  let description = [{
    Each thread waits until all threads of the block have arrived. Writes to
    shared memory before the barrier are visible after it. Frontends write no
    barriers: `--tile-insert-barriers` inserts one wherever a hazard requires
    it.

    With `drain_copies`, each thread first waits for the asynchronous copies
    that it started. With `proxy_fence`, ordinary accesses before it are ordered
    before those of the units that access shared memory on their own (wgmma,
    TMA), as by a `tile.proxy_fence`.

    ```mlir
    tile.barrier {drain_copies, proxy_fence}
    ```
  }];
  let arguments = (ins UnitAttr:$drain_copies, UnitAttr:$proxy_fence);
  let assemblyFormat = "attr-dict";
}

#endif // TILEWS_DIALECT_TILE_IR_TILEMEMORYOPS_TD
