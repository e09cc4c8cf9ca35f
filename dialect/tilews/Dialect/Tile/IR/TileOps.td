//===- TileOps.td - Operations of the tile dialect ---------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEOPS_TD

include "tilews/Dialect/Tile/IR/TileBarrierOps.td"
include "tilews/Dialect/Tile/IR/TileOpBase.td"
include "tilews/Dialect/Tile/IR/TileScheduleOps.td"

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_AllocSharedOp : Tile_Op<"alloc_shared", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "allocate a buffer in shared memory";
  let description = [{
    Allocates a buffer that all threads of the block share, for the rest of the
    enclosing region. Its contents are undefined until written. The type may
    carry a `#tile.shared` layout, which is then kept; otherwise
    `--tile-infer-layouts` gives it one. `alignment` is in bytes.

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
    the same size in bytes. Both types number their elements row by row; a
    buffer whose layout is not linear can be viewed only under a layout that
    places the same bytes.

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

def Tile_CopyOp : Tile_AccessOp<"copy", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Tile_InstructionOpInterface>,
    DeclareOpInterfaceMethods<Tile_LayoutOpInterface, ["checkSharedLayout"]>]> {
  let summary = "copy a region of one buffer to a region of another";
  let description = [{
    Copies between global and shared memory, or within one of them. A region is
    given by the offsets of its first element and, in a second pair of
    brackets, its static sizes, of at most 524288 elements. Without offsets it
    starts at zero. Without
    sizes it takes the other side's, as the innermost dimensions with leading
    ones; at least one side has sizes or a static shape without offsets. Sizes
    of one are dropped before the two sides are compared, and have to agree.

    Elements of the source region that lie outside the source buffer read as
    zero; elements of the destination region that lie outside the destination
    buffer are not written. An offset may be negative. Element types agree, and
    regions do not overlap.

    After `--tile-lower-channels` a copy by TMA to shared memory `signals` the
    barrier of a slot: there all its bytes land, those of elements outside the
    source buffer too.

    With `multicast` the blocks of the cluster that differ along these
    dimensions only do the copy together, each with its own source region, and
    all of them have to hold the same: each block fetches its share of the
    tile, and each share lands in all of these blocks, on the barrier that each
    of them signals. `--tile-multicast-copies` finds such copies.

    ```mlir
    tile.copy %A[%m, %k] to %As : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.copy %Q[%b, %m, %h, 0] [1, 128, 1, 64] to %Qs
      : memref<?x?x?x64xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    tile.copy %A[%m, %k] to %As signals(%full[%slot]) {tile.inst = #tile.inst<tma>}
      : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>, !tile.mbarrier<4>
    tile.copy %A[%m, %k] to %As {multicast = #tile.cluster<x>, tile.inst = #tile.inst<tma>}
      : memref<?x?xf16> to memref<128x64xf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins
    Tile_Buffer:$source, Variadic<Index>:$source_offsets,
    Tile_Buffer:$dest, Variadic<Index>:$dest_offsets,
    Optional<Tile_MBarrierType>:$signal, Optional<I32>:$signal_slot,
    DenseI64ArrayAttr:$static_source_offsets,
    DenseI64ArrayAttr:$source_sizes,
    DenseI64ArrayAttr:$static_dest_offsets,
    DenseI64ArrayAttr:$dest_sizes,
    OptionalAttr<Tile_ClusterDimsAttr>:$multicast);
  let assemblyFormat = [{
    $source `` custom<Region>($source_offsets, $static_source_offsets, $source_sizes)
    `to` $dest `` custom<Region>($dest_offsets, $static_dest_offsets, $dest_sizes)
    (`signals` `(` $signal^ `[` $signal_slot `]` `)`)?
    attr-dict `:` type($source) `to` type($dest) (`,` qualified(type($signal))^)?
  }];
  let extraClassDeclaration = [{
    /// The regions with all defaults filled in.
    ::tilews::tile::TileRegion getSourceRegion();
    ::tilews::tile::TileRegion getDestRegion();
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_LoadOp : Tile_AccessOp<"load", [
    AttrSizedOperandSegments,
    OptionalTypesMatchWith<"padding has the element type", "source", "padding",
      "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "load a region of a buffer into a fragment";
  let description = [{
    Reads a region into registers. Sizes default to the fragment's shape as the
    innermost dimensions; sizes of one are dropped before they are compared
    with the fragment's. Elements outside the buffer read as `pad`, or as zero.

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
    Writes a fragment to a region. Sizes default to the fragment's shape as the
    innermost dimensions; sizes of one are dropped before they are compared
    with the fragment's. Elements outside the buffer are not written.

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

def Tile_AtomicRMWOp : Tile_AccessOp<"atomic_rmw"> {
  let summary = "combine a fragment into a region of a buffer, atomically";
  let description = [{
    Each element of the region becomes the combination of its old value and the
    fragment's element, in one atomic step (relaxed order, device scope for
    global memory, block scope for shared memory). Elements outside the buffer
    are skipped. Sizes default as for `tile.store`. `and`, `or` and `xor` take
    integers.

    ```mlir
    tile.atomic_rmw <add> %t to %C[%m, %n] : tensor<128x64xf32> to memref<?x?xf32>
    ```
  }];
  let arguments = (ins
    Tile_AtomicKindAttr:$kind,
    Tile_Fragment:$value, Tile_Buffer:$dest, Variadic<Index>:$offsets,
    DenseI64ArrayAttr:$static_offsets, DenseI64ArrayAttr:$sizes);
  let assemblyFormat = [{
    $kind $value `to` $dest `` custom<Region>($offsets, $static_offsets, $sizes)
    attr-dict `:` type($value) `to` type($dest)
  }];
  let extraClassDeclaration = [{
    ::tilews::tile::TileRegion getRegion();
  }];
  let hasVerifier = 1;
}

def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "all threads of the block meet";
  let description = [{
    Every thread waits for the others; shared memory written before is visible
    after. Kernels are written without barriers: `--tile-insert-barriers` puts
    one where a hazard needs it. `drain_copies` first waits for the asynchronous
    copies the thread has started; `proxy_fence` makes ordinary writes visible
    to the units that read shared memory on their own (wgmma, TMA).

    ```mlir
    tile.barrier {drain_copies, proxy_fence}
    ```
  }];
  let arguments = (ins UnitAttr:$drain_copies, UnitAttr:$proxy_fence);
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

class Tile_MatmulOp<string opMnemonic>
    : Tile_AccessOp<opMnemonic, [
        Tile_MatmulOpInterface,
        DeclareOpInterfaceMethods<Tile_InstructionOpInterface>,
        DeclareOpInterfaceMethods<Tile_LayoutOpInterface,
                                  ["checkSharedLayout"]>,
        InferTypeOpAdaptor]> {
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

def Tile_GemmOp : Tile_MatmulOp<"gemm"> {
  let summary = "matrix product of two tiles, added to a fragment";
  let description = [{
    Returns `acc + lhs * rhs`, with `lhs` of shape MxK, `rhs` of shape KxN and
    `acc` of shape MxN. `transpose_lhs` says that `lhs` is given as KxM,
    `transpose_rhs` that `rhs` is given as NxK. With `clear_accumulator` the
    accumulator counts as zero. Operands are shared memory buffers or
    fragments.

    Products are exact and summed in the accumulator's type, in an order of the
    instruction's choosing. Operand types agree, but for the two fp8 families'
    members, which mix. Accumulators are f32 for floating point (f16 and f64
    operands also accumulate in their own type), i32 for integers. `allow_tf32`
    permits f32 operands to lose all but 10 bits of their fraction, which is
    what the matrix units of NVIDIA's GPUs can take.

    `policy` says how the warps share the result: `square` (least operand
    traffic), `full_row` (all warps along M), `full_col` (all along N).

    With `async` the product is started and may still run when the next
    operation does: its operands in shared memory stay as they are, and its
    result is nothing but the accumulator of another such product, carried by
    control flow, or finished by a `tile.gemm_wait`.

    ```mlir
    %d = tile.gemm %a, %b, %c {transpose_rhs}
       : memref<128x64xf16, #gpu.address_space<workgroup>>,
         memref<256x64xf16, #gpu.address_space<workgroup>> -> tensor<128x256xf32>
    ```
  }];
  let arguments = (ins
    Tile_BufferOrFragment:$lhs, Tile_BufferOrFragment:$rhs, Tile_Fragment:$acc,
    UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
    UnitAttr:$clear_accumulator, UnitAttr:$allow_tf32,
    DefaultValuedAttr<Tile_WarpPolicyAttr,
      "::tilews::tile::WarpPolicy::Square">:$policy,
    UnitAttr:$async);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($acc)
  }];
  let extraClassDeclaration = [{
    /// Extents of the product.
    int64_t getM();
    int64_t getN();
    int64_t getK();
    ::mlir::Type getLhsElementType();
    ::mlir::Type getRhsElementType();
    ::mlir::RankedTensorType getAccType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getAcc().getType());
    }
    ::mlir::OpOperand *getMetadataOperand() { return nullptr; }
  }];
}

def Tile_GemmWaitOp : Tile_Op<"gemm_wait", [
    MemoryEffects<[MemRead, MemWrite]>,
    RangedTypesMatchWith<"results have the fragments' types", "results",
                         "fragments", "$_self">]> {
  let summary = "wait until asynchronous products have finished";
  let description = [{
    Returns when all asynchronous products but the `pending` that were started
    last have finished: they have read their operands, and their results can be
    used. The results are the fragments given, which belong to those products.
    Fragments that a product reads from registers may be named too: they then
    stay as they are until here.

    ```mlir
    %d = tile.gemm %a, %b, %c {async}
       : memref<128x64xf16, #gpu.address_space<workgroup>>,
         memref<64x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    tile.gemm_wait {pending = 1 : i64}
    %e = tile.gemm_wait %d : tensor<128x128xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_Fragment>:$fragments,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$pending);
  let results = (outs Variadic<Tile_Fragment>:$results);
  let assemblyFormat = "($fragments^)? attr-dict (`:` type($results)^)?";
}

def Tile_GemmSpOp : Tile_MatmulOp<"gemm_sp"> {
  let summary = "matrix product with a 2:4 sparse left operand";
  let description = [{
    As `tile.gemm`, with `lhs` of shape MxK compressed to the two nonzeros of
    each four consecutive elements along K: it is given as Mx(K/2). `metadata`
    holds, for each group of four, a nibble `i0 | i1 << 2` with the places
    `i0 < i1` of the two elements, the nibbles of a row packed from the least
    significant bit into i8, i16 or i32: Mx(K/8), Mx(K/16) or Mx(K/32). Of two
    zeros the places do not matter, so that a tile that a copy has filled up
    with zeros can be multiplied. The metadata of a product with `async` is read
    when the product is started.

    ```mlir
    %d = tile.gemm_sp %a, %e, %b, %c
       : memref<128x32xf16, #gpu.address_space<workgroup>>,
         memref<128x4xi16, #gpu.address_space<workgroup>>,
         memref<64x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    ```
  }];
  let arguments = (ins
    Tile_BufferOrFragment:$lhs, Tile_BufferOrFragment:$metadata,
    Tile_BufferOrFragment:$rhs, Tile_Fragment:$acc,
    UnitAttr:$transpose_rhs, UnitAttr:$clear_accumulator,
    DefaultValuedAttr<Tile_WarpPolicyAttr,
      "::tilews::tile::WarpPolicy::Square">:$policy,
    UnitAttr:$async);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = [{
    $lhs `,` $metadata `,` $rhs `,` $acc attr-dict
    `:` type($lhs) `,` type($metadata) `,` type($rhs) `->` type($acc)
  }];
  let extraClassDeclaration = [{
    int64_t getM();
    int64_t getN();
    /// The dense K: twice the compressed left operand's columns.
    int64_t getK();
    ::mlir::Type getLhsElementType();
    ::mlir::Type getRhsElementType();
    ::mlir::RankedTensorType getAccType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getAcc().getType());
    }
    ::mlir::OpOperand *getMetadataOperand() { return &getMetadataMutable(); }
    bool getTransposeLhs() { return false; }
    bool getAllowTf32() { return false; }
  }];
}

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

def Tile_ReduceOp : Tile_Op<"reduce", [Pure,
    InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "combine the elements along one axis";
  let description = [{
    Removes `axis` by combining its elements, in an order of the compiler's
    choosing. `max`, `min`, `absmax` and `absmin` pass over NaN unless all
    elements are NaN; integers compare as signed. `absmax` and `absmin` return
    an absolute value. `and`, `or` and `xor` take integers, `any` and `all` i1.

    ```mlir
    %r = tile.reduce <max> %x {axis = 1 : i64} : tensor<128x64xf32> -> tensor<128xf32>
    ```
  }];
  let arguments = (ins
    Tile_ReductionKindAttr:$kind, Tile_Fragment:$source,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$kind $source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, SameOperandsAndResultType]> {
  let summary = "running combination along one axis";
  let description = [{
    Element `i` along `axis` becomes the combination of elements 0 to `i`, or of
    `i` to the last with `reverse`. `kind` is `sum`, `max` or `min`, which treat
    their elements as `tile.reduce` does.

    ```mlir
    %s = tile.scan <sum> %x {axis = 1 : i64} : tensor<128x64xf32>
    ```
  }];
  let arguments = (ins
    Tile_ReductionKindAttr:$kind, Tile_Fragment:$source,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$axis, UnitAttr:$reverse);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$kind $source attr-dict `:` type($source)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeat a fragment along its dimensions of extent one";
  let description = [{
    Ranks agree; where extents differ, the source's is one.

    ```mlir
    %b = tile.broadcast %x : tensor<128x1xf32> -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Tile_Fragment:$source);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ExpandDimsOp : Tile_Op<"expand_dims", [Pure,
    InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "insert a dimension of extent one";
  let description = [{
    The new dimension becomes dimension `axis` of the result.

    ```mlir
    %e = tile.expand_dims %x {axis = 1 : i64} : tensor<128xf32> -> tensor<128x1xf32>
    ```
  }];
  let arguments = (ins Tile_Fragment:$source,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "one of the equal parts of a fragment";
  let description = [{
    The source is cut along `axis` into as many parts as its extent is a
    multiple of the result's; the result is part number `index`.

    ```mlir
    %right = tile.slice %x {axis = 1 : i64, index = 1 : i64}
       : tensor<128x256xf32> -> tensor<128x128xf32>
    ```
  }];
  let arguments = (ins Tile_Fragment:$source,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$axis,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$index);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// How many parts there are.
    int64_t getNumParts();
  }];
}

def Tile_TransposeOp : Tile_Op<"transpose", [Pure,
    InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "permute the dimensions";
  let description = [{
    Dimension `i` of the result is dimension `permutation[i]` of the source.

    ```mlir
    %t = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<128x64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_Fragment:$source, DenseI64ArrayAttr:$permutation);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "the same elements, row by row, under another shape";
  let description = [{
    ```mlir
    %r = tile.reshape %x : tensor<128x64xf32> -> tensor<64x128xf32>
    ```
  }];
  let arguments = (ins Tile_Fragment:$source);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "each element is its own coordinate";
  let description = [{
    Element `c` of the result is `c[axis]`.

    ```mlir
    %i = tile.iota {axis = 1 : i64} : tensor<128x64xi32>
    ```
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Tile_IntFragment:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "the same fragment in another layout";
  let description = [{
    Moves elements between threads. Written by `--tile-infer-layouts` where two
    requirements meet.

    ```mlir
    %c = tile.convert_layout %x
       : tensor<16x8xf32, #tile.fragment<thread = (4, 8):(2*d1, 1*d0), value = (2, 2):(1*d1, 8*d0)>>
      to tensor<16x8xf32, #tile.fragment<thread = (8, 4):(1*d1, 1*d0), value = (4):(4*d0)>>
    ```
  }];
  let arguments = (ins Tile_Fragment:$source);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

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
  let summary = "loop of a block over the output tiles it owns";
  let description = [{
    Runs its body for the tiles of a grid whose extents are given, x first.
    Blocks take tiles in turn: block `b` of `n` takes the tiles numbered `b`,
    `b + n`, `b + 2n`, ... of the whole launch. `rasterize` numbers the tiles
    in panels; without it the first index runs fastest. `iter_args` are carried
    from a tile to the block's next one.

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
    /// The tile's coordinates, x first.
    ::mlir::Block::BlockArgListType getTileIndices() {
      return getBody().front().getArguments().take_front(getExtents().size());
    }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, ReturnLike, Terminator,
    HasParent<"::tilews::tile::PersistentOp">]> {
  let summary = "end of a persistent loop's body";
  let description = [{
    Passes the carried values on to the block's next tile.
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
    Prints `message` and the values. A scalar is printed once a block, by its
    first thread; a fragment element by element with its coordinates.

    ```mlir
    tile.print "row maximum" %m : tensor<128xf32>
    ```
  }];
  let arguments = (ins StrAttr:$message, Variadic<AnyType>:$values);
  let assemblyFormat = "$message ($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

def Tile_AssertOp : Tile_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stop the kernel unless a condition holds";
  let description = [{
    `condition` is an i1 or a fragment of i1, all of which have to hold.

    ```mlir
    tile.assert %ok, "index out of range" : i1
    ```
  }];
  let arguments = (ins AnyTypeOf<[I1, Tile_BoolFragment]>:$condition,
                       StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

#endif // TILEWS_DIALECT_TILE_IR_TILEOPS_TD
