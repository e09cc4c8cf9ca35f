//===- TileMatmulOps.td - Matrix products ------------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEMATMULOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEMATMULOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

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

#endif // TILEWS_DIALECT_TILE_IR_TILEMATMULOPS_TD
