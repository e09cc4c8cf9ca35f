//===- TileAtomicOps.td - Atomic accesses and fences -------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEATOMICOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEATOMICOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

/// An access to a region that is one step for each element. `order` and `scope`
/// are those of the PTX ISA, of the block as a whole: a release orders what all
/// its threads did before, an acquire what all of them do after.
class Tile_AtomicOp<string opMnemonic, list<Trait> traits = []>
    : Tile_AccessOp<opMnemonic, traits # [Tile_AtomicOpInterface]> {
  code extraAtomicDeclaration = [{
    ::tilews::tile::TileRegion getRegion();
    ::mlir::Value getAtomicBuffer();
  }];
  let hasVerifier = 1;
}

def Tile_AtomicRMWOp : Tile_AtomicOp<"atomic_rmw"> {
  let summary = "combine a fragment atomically with a region of a buffer";
  let description = [{
    Replaces each element of the region by the combination of its old value and
    the element of the fragment, in one atomic step. Elements outside the buffer
    are skipped. Sizes default as for `tile.store`. `and`, `or` and `xor` take
    integers, and so do `umax` and `umin`, which compare them as unsigned; `max`
    and `min` compare integers as signed. The result, if there is one, has the
    old values; it is zero for elements outside the buffer. `exchange` without a
    result is an atomic store.

    `order` is `relaxed` by default: no other access is ordered. With `release`
    or `acq_rel`, whatever the threads of the block did before happens before
    an access by others that acquires the new value. With `acquire` or `acq_rel`,
    whatever they do after happens after what was released with the old value.
    `scope` names the threads between which this holds: those of the `block`, of
    the `cluster`, of the `device` or of the `system`. The default is the device
    for global memory, and the block for shared memory.

    ```mlir
    tile.atomic_rmw <add> %t to %C[%m, %n] : tensor<128x64xf32> to memref<?x?xf32>
    %ticket = tile.atomic_rmw <add> %one to %next[0] {order = #tile.order<acq_rel>}
      : tensor<i32> to memref<1xi32> -> tensor<i32>
    ```
  }];
  let arguments = (ins
    Tile_AtomicKindAttr:$kind,
    Tile_Fragment:$value, Tile_Buffer:$dest, Variadic<Index>:$offsets,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes,
    DefaultValuedAttr<Tile_MemoryOrderAttr,
      "::tilews::tile::MemoryOrder::Relaxed">:$order,
    OptionalAttr<Tile_MemoryScopeAttr>:$scope);
  let results = (outs Optional<Tile_Fragment>:$old);
  let assemblyFormat = [{
    $kind $value `to` $dest `` custom<Region>($offsets, $static_offsets, $sizes)
    attr-dict `:` type($value) `to` type($dest) (`->` type($old)^)?
  }];
  let extraClassDeclaration = extraAtomicDeclaration;
  let hasCanonicalizer = 1;
  // Version 1 of the bytecode has no order and no scope.
  let useCustomPropertiesEncoding = 1;
}

def Tile_AtomicCASOp : Tile_AtomicOp<"atomic_cas", [
    AllTypesMatch<["expected", "value", "old"]>]> {
  let summary = "replace the elements of a region that have an expected value";
  let description = [{
    Compares each element of the region with the element of `expected`, and
    replaces it by that of `value` if the bits of both are equal, in one atomic
    step. The result has the old values, also where nothing was replaced, and
    zero for elements outside the buffer. `order` and `scope` are those of
    `tile.atomic_rmw`; a comparison that fails releases nothing.

    ```mlir
    %old = tile.atomic_cas %free, %taken to %lock[0] {order = #tile.order<acquire>}
      : tensor<i32> to memref<1xi32>
    ```
  }];
  let arguments = (ins
    Tile_Fragment:$expected, Tile_Fragment:$value,
    Tile_Buffer:$dest, Variadic<Index>:$offsets,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes,
    DefaultValuedAttr<Tile_MemoryOrderAttr,
      "::tilews::tile::MemoryOrder::Relaxed">:$order,
    OptionalAttr<Tile_MemoryScopeAttr>:$scope);
  let results = (outs Tile_Fragment:$old);
  let assemblyFormat = [{
    $expected `,` $value `to` $dest ``
    custom<Region>($offsets, $static_offsets, $sizes)
    attr-dict `:` type($value) `to` type($dest)
  }];
  let extraClassDeclaration = extraAtomicDeclaration;
}

def Tile_AtomicLoadOp : Tile_AtomicOp<"atomic_load"> {
  let summary = "load a region that other blocks may write at the same time";
  let description = [{
    Reads each element of the region in one atomic step, anew each time: no pass
    merges, moves or removes it. A loop that waits for another block reads by
    it. Elements outside the buffer read as zero. `order` is `relaxed`, the
    default, or `acquire`; `scope` is that of `tile.atomic_rmw`.

    ```mlir
    %flag = tile.atomic_load %ready[%i] {order = #tile.order<acquire>}
      : memref<?xi32> -> tensor<i32>
    ```
  }];
  let arguments = (ins
    Tile_Buffer:$source, Variadic<Index>:$offsets,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes,
    DefaultValuedAttr<Tile_MemoryOrderAttr,
      "::tilews::tile::MemoryOrder::Relaxed">:$order,
    OptionalAttr<Tile_MemoryScopeAttr>:$scope);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = [{
    $source `` custom<Region>($offsets, $static_offsets, $sizes)
    attr-dict `:` type($source) `->` type($result)
  }];
  let extraClassDeclaration = extraAtomicDeclaration;
}

def Tile_FenceOp : Tile_Op<"fence", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    Tile_AtomicOpInterface]> {
  let summary = "order the accesses of the block before it and after it";
  let description = [{
    With a relaxed atomic access after it, a fence with `release` orders what
    the block did before as that access would with `release`; with a relaxed one
    before it, a fence with `acquire` does as that one would with `acquire`.
    `acq_rel`, the default, does both. `scope` is the device by default.

    ```mlir
    tile.fence {scope = #tile.scope<system>}
    ```
  }];
  let arguments = (ins
    DefaultValuedAttr<Tile_MemoryOrderAttr,
      "::tilews::tile::MemoryOrder::AcqRel">:$order,
    OptionalAttr<Tile_MemoryScopeAttr>:$scope);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
}

#endif // TILEWS_DIALECT_TILE_IR_TILEATOMICOPS_TD
