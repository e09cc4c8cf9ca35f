//===- TileGatherOps.td - Accesses at indices and under masks -*- tablegen -*-//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEGATHEROPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEGATHEROPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

/// An access whose elements have indices along some dimensions of the buffer,
/// and a mask.
class Tile_IndexedOp<string opMnemonic, list<Trait> traits = []>
    : Tile_AccessOp<opMnemonic, traits # [
        AttrSizedOperandSegments,
        DeclareOpInterfaceMethods<Tile_IndexedOpInterface>]> {
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_GatherOp : Tile_IndexedOp<"gather", [
    OptionalTypesMatchWith<"padding has the element type", "source", "padding",
      "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "load elements at indices, or under a mask, into a fragment";
  let description = [{
    Reads a region as `tile.load` does, with two additions.

    `at(0 = %rows)` gives the elements their coordinates along dimension 0: that
    of an element is the offset of the region plus its index. `%rows` has the
    rank of the result, and the extent 1 in dimensions along which it does not
    change. An indexed dimension has the size 1 or the extent of the result's
    dimension that it is; with the size 1, a leading dimension of the result
    comes from the indices alone. Indices have a sign.

    With `mask`, the elements whose mask is false are not read. These, and
    elements outside the buffer (a negative index is outside), are `pad`, or zero
    without it.

    With `limit(0 = %end)`, the buffer ends at index `%end` of dimension 0, which
    has no indices, if it does not end before. If the offset of the region along
    that dimension is negative, all elements are outside.

    ```mlir
    %t = tile.gather %A[0, %k] [64, 128] at(0 = %rows : tensor<64x1xi32>)
      : memref<?x?xf16> -> tensor<64x128xf16>
    // A page and a place in it for each of 64 keys.
    %keys = tile.gather %K[0, 0, 0] [1, 1, 128]
      at(0 = %page : tensor<64x1xi32>, 1 = %place : tensor<64x1xi32>)
      : memref<?x16x128xf16> -> tensor<64x128xf16>
    %part = tile.gather %X[%k] mask(%inside : tensor<256xi1>) pad %lowest
      : memref<?xf32> -> tensor<256xf32>
    %last = tile.gather %A[%first, 0] limit(0 = %end)
      : memref<?x?xf16> -> tensor<64x128xf16>
    ```
  }];
  let arguments = (ins
    Tile_Buffer:$source, Variadic<Index>:$offsets,
    Variadic<Tile_IntFragment>:$indices, Optional<Tile_BoolFragment>:$mask,
    Optional<Index>:$limit,
    Optional<AnyType>:$padding,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes,
    DenseI64ArrayAttr:$index_dims, OptionalAttr<I64Attr>:$limit_dim);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = [{
    $source `` custom<Region>($offsets, $static_offsets, $sizes)
    custom<Indices>($indices, type($indices), $index_dims)
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`limit` `(` $limit_dim^ `=` $limit `)`)? (`pad` $padding^)?
    attr-dict `:` type($source) `->` type($result)
  }];
}

def Tile_ScatterOp : Tile_IndexedOp<"scatter"> {
  let summary = "store the elements of a fragment at indices, or under a mask";
  let description = [{
    Writes a region as `tile.store` does. Indices, mask and limit are those of
    `tile.gather`; elements whose mask is false, or that are outside the buffer,
    are not written. If two elements have the same place, one of them is stored.

    ```mlir
    tile.scatter %t to %C[0, %n] [64, 128] at(0 = %rows : tensor<64x1xi32>)
      : tensor<64x128xf16> to memref<?x?xf16>
    ```
  }];
  let arguments = (ins
    Tile_Fragment:$value, Tile_Buffer:$dest, Variadic<Index>:$offsets,
    Variadic<Tile_IntFragment>:$indices, Optional<Tile_BoolFragment>:$mask,
    Optional<Index>:$limit,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes,
    DenseI64ArrayAttr:$index_dims, OptionalAttr<I64Attr>:$limit_dim);
  let assemblyFormat = [{
    $value `to` $dest `` custom<Region>($offsets, $static_offsets, $sizes)
    custom<Indices>($indices, type($indices), $index_dims)
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`limit` `(` $limit_dim^ `=` $limit `)`)?
    attr-dict `:` type($value) `to` type($dest)
  }];
}

def Tile_AtomicScatterOp : Tile_IndexedOp<"atomic_scatter", [
    Tile_AtomicOpInterface]> {
  let summary = "combine a fragment atomically with elements at indices";
  let description = [{
    Does at the places of `tile.scatter` what `tile.atomic_rmw` does in a region:
    each element is one atomic step, so that elements at the same place are
    combined one after another, in any order. The result has the old values; it
    is zero for elements whose mask is false or that are outside the buffer.
    `order` and `scope` are those of `tile.atomic_rmw`.

    ```mlir
    %slot = tile.atomic_scatter <add> %one to %count[0] [256]
      at(0 = %expert : tensor<256xi32>)
      : tensor<256xi32> to memref<?xi32> -> tensor<256xi32>
    ```
  }];
  let arguments = (ins
    Tile_AtomicKindAttr:$kind,
    Tile_Fragment:$value, Tile_Buffer:$dest, Variadic<Index>:$offsets,
    Variadic<Tile_IntFragment>:$indices, Optional<Tile_BoolFragment>:$mask,
    Optional<Index>:$limit,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes,
    DenseI64ArrayAttr:$index_dims, OptionalAttr<I64Attr>:$limit_dim,
    DefaultValuedAttr<Tile_MemoryOrderAttr,
      "::tilews::tile::MemoryOrder::Relaxed">:$order,
    OptionalAttr<Tile_MemoryScopeAttr>:$scope);
  let results = (outs Optional<Tile_Fragment>:$old);
  let assemblyFormat = [{
    $kind $value `to` $dest `` custom<Region>($offsets, $static_offsets, $sizes)
    custom<Indices>($indices, type($indices), $index_dims)
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    (`limit` `(` $limit_dim^ `=` $limit `)`)?
    attr-dict `:` type($value) `to` type($dest) (`->` type($old)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getAtomicBuffer();
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILEGATHEROPS_TD
