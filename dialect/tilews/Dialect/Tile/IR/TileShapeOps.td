//===- TileShapeOps.td - Reductions and shapes -------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILESHAPEOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILESHAPEOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Reductions and scans
//===----------------------------------------------------------------------===//

def Tile_ReduceOp : Tile_Op<"reduce", [Pure,
    InferTypeOpAdaptorWithIsCompatible]> {
  let summary = "combine the elements along one axis";
  let description = [{
    Removes `axis` by combining its elements, in an order that the compiler
    chooses. `max`, `min`, `absmax` and `absmin` ignore NaN unless all elements
    are NaN. Integers compare as signed; `umax` and `umin` take integers and
    compare them as unsigned. `absmax` and `absmin` return an absolute value.
    `and`, `or` and `xor` take integers; `any` and `all` take i1.

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
  let summary = "prefix combination along one axis";
  let description = [{
    Element `i` along `axis` of the result combines elements 0 to `i` of the
    source. With `reverse`, it combines element `i` to the last one. `kind` is
    `sum`, `max`, `min`, `umax` or `umin`, with the semantics of `tile.reduce`.

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
    The source and the result have the same rank. Where their extents differ,
    the extent of the source is one.

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
    Cuts the source along `axis` into parts of the shape of the result, and
    returns part number `index`. The extent of the source along `axis` is a
    multiple of the extent of the result.

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
    /// The number of parts into which the source is cut.
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

def Tile_FlipOp : Tile_Op<"flip", [Pure, SameOperandsAndResultType]> {
  let summary = "reverse the order of the elements along axes";
  let description = [{
    The element of the result at coordinate `c` is the element of the source
    whose coordinate along each of the `axes` is `extent - 1 - c`. The axes are in
    ascending order. The result has the source's layout.

    ```mlir
    %f = tile.flip %x {axes = array<i64: 1>} : tensor<128x64xf32>
    ```

    Lowering reverses each digit of a coordinate on its own, as far as registers,
    lanes and warps are digits of it: registers are renamed, lanes exchange their
    registers by one shuffle for each word, and warps by scratch memory. With 64
    columns in 16 lanes of 4 registers each:

    ```mlir
    // before
    %f = tile.flip %x {axes = array<i64: 1>} : tensor<2x64xf32, #tile.fragment<thread = (16, 2):(4*d1, 1*d0), value = (4):(1*d1)>>
    // after: register 0 comes from register 3 of lane `lane ^ 15`
    %s = vector.extract %x[3] : f32 from vector<4xf32>
    %r = nvvm.shfl.sync bfly %all, %s, %c15, %c31 : f32 -> f32
    ```
  }];
  let arguments = (ins Tile_Fragment:$source, DenseI64ArrayAttr:$axes);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_ReshapeOp : Tile_Op<"reshape", [Pure]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    The source and the result number their elements in row-major order.

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

def Tile_BitcastOp : Tile_Op<"bitcast", [Pure]> {
  let summary = "the same bits as elements of another width";
  let description = [{
    Reads the bits of each line along the last dimension as elements of the
    result. The first of the elements that share a wider one is its lowest bits:
    element `2 * i` of type i4 is the lower half of byte `i`. All extents but the
    last agree, and so do the bits of a line. Elements have 4, 8, 16, 32 or 64
    bits. Those of `f6E2M3FN` and `f6E3M2FN` count as bytes, whose two highest
    bits are 0 in a result and are ignored in a source. For two types of
    one width `arith.bitcast` does the same.

    ```mlir
    %n = tile.bitcast %bytes : tensor<64x32xi8> to tensor<64x64xi4>
    ```
  }];
  let arguments = (ins Tile_Fragment:$source);
  let results = (outs Tile_Fragment:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// The elements of the result that an element of the source becomes; 1 if
    /// they have the same width, or the result has wider ones.
    int64_t getSplit();
    /// The elements of the source that become one of the result, else 1.
    int64_t getJoin();
  }];
}

def Tile_IotaOp : Tile_Op<"iota", [Pure]> {
  let summary = "a fragment whose elements are their coordinates along one axis";
  let description = [{
    The element of the result at coordinate `c` is `c[axis]`.

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
    Moves elements between threads. `--tile-infer-layouts` inserts it where a
    fragment has one layout and a user of it needs another.

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

#endif // TILEWS_DIALECT_TILE_IR_TILESHAPEOPS_TD
