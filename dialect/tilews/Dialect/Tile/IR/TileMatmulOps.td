//===- TileMatmulOps.td - Matmuls --------------------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEMATMULOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEMATMULOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Matmuls
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
  let summary = "matmul of two tiles, added to a fragment";
  let description = [{
    Returns `acc + lhs * rhs`. `lhs` has shape MxK, `rhs` KxN, and `acc` MxN.
    With `transpose_lhs`, `lhs` is stored as KxM; with `transpose_rhs`, `rhs` is
    stored as NxK. With `clear_accumulator`, the operation ignores the value of
    `acc` and adds to zero. Operands are shared memory buffers or fragments.

    Elements are multiplied exactly, and summed in the type of the accumulator
    in an order that the instruction chooses. Both operands have the same
    element type; the two types of one fp8 family may also be mixed, and so may
    f8E4M3FN, f8E5M2 and the packed types below. Floating point accumulates in f32; f16 and f64 operands may also accumulate in their
    own type. Integers accumulate in i32. With `allow_tf32`, f32 operands may be
    reduced to 10 bits of fraction, as the matrix units of NVIDIA GPUs require.

    With `lhs_type` (or `rhs_type`) the left (right) operand consists of bytes,
    i8. Elements of that type are packed in them, along K and from the lowest
    bits on: 2 of f4E2M1FN in a byte, or 4 of f6E2M3FN or f6E3M2FN in 3 bytes. K
    is the last dimension of such an operand.

    `scaled` gives both operands a factor for each 32 elements along K, a power
    of two: a buffer or fragment of f8E8M0FNU that is stored like its operand,
    with the extent K/32 in place of K. The elements are fp8 of OCP or packed.
    These are the formats mxfp8, mxfp6 and mxfp4 of OCP. Only gfx950 has an
    instruction for packed and for scaled operands.

    `policy` distributes the result over the warps: `square` (least operand
    traffic), `full_row` (all warps along M), or `full_col` (all warps along N).

    With `async`, the operation starts the matmul, and the following operations
    may run before it has finished. Until then, its operands in shared memory
    must not be overwritten. Its result may only be the accumulator of another
    asynchronous matmul, be carried by control flow, or be finished by
    `tile.gemm_wait`.

    ```mlir
    %d = tile.gemm %a, %b, %c {transpose_rhs}
       : memref<128x64xf16, #gpu.address_space<workgroup>>,
         memref<256x64xf16, #gpu.address_space<workgroup>> -> tensor<128x256xf32>
    // 128 elements of K: mxfp4 on the left, mxfp8 on the right.
    %e = tile.gemm %p, %q, %c scaled (%s, %t
       : tensor<128x4xf8E8M0FNU>, tensor<256x4xf8E8M0FNU>)
         {transpose_rhs, lhs_type = f4E2M1FN}
       : memref<128x64xi8, #gpu.address_space<workgroup>>,
         memref<256x128xf8E4M3FN, #gpu.address_space<workgroup>>
         -> tensor<128x256xf32>
    ```
  }];
  let arguments = (ins
    Tile_BufferOrFragment:$lhs, Tile_BufferOrFragment:$rhs, Tile_Fragment:$acc,
    Variadic<Tile_BufferOrFragment>:$scales,
    UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs,
    UnitAttr:$clear_accumulator, UnitAttr:$allow_tf32,
    DefaultValuedAttr<Tile_WarpPolicyAttr,
      "::tilews::tile::WarpPolicy::Square">:$policy,
    UnitAttr:$async, OptionalAttr<TypeAttr>:$lhs_type,
    OptionalAttr<TypeAttr>:$rhs_type);
  let results = (outs Tile_Fragment:$result);
  let useCustomPropertiesEncoding = 1;
  let assemblyFormat = [{
    $lhs `,` $rhs `,` $acc
    (`scaled` `(` $scales^ `:` type($scales) `)`)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($acc)
  }];
  let extraClassDeclaration = [{
    /// Extents of the matmul.
    int64_t getM();
    int64_t getN();
    int64_t getK();
    ::mlir::Type getLhsElementType();
    ::mlir::Type getRhsElementType();
    ::mlir::RankedTensorType getAccType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getAcc().getType());
    }
    ::mlir::OpOperand *getMetadataOperand() { return nullptr; }
    ::llvm::MutableArrayRef<::mlir::OpOperand> getScaleOperands() {
      return getScalesMutable();
    }
  }];
}

def Tile_GemmWaitOp : Tile_Op<"gemm_wait", [
    MemoryEffects<[MemRead, MemWrite]>,
    RangedTypesMatchWith<"results have the fragments' types", "results",
                         "fragments", "$_self">]> {
  let summary = "wait until asynchronous matmuls have finished";
  let description = [{
    Waits for all asynchronous matmuls except the `pending` ones that were
    started last. A matmul that has finished has read its operands, and its
    result can be used. The fragments are results of such matmuls; the operation
    returns their final values. The operation may also name fragments that a
    matmul reads from registers: they then stay unchanged up to this point.

    ```mlir
    %d = tile.gemm %a, %b, %c {async}
       : memref<128x64xf16, #gpu.address_space<workgroup>>,
         memref<64x128xf16, #gpu.address_space<workgroup>> -> tensor<128x128xf32>
    tile.gemm_wait {pending = 1 : i64}
    %e = tile.gemm_wait %d : tensor<128x128xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_Fragment>:$fragments,
    DefaultValuedAttr<Tile_PendingCount<>, "0">:$pending);
  let results = (outs Variadic<Tile_Fragment>:$results);
  let assemblyFormat = "($fragments^)? attr-dict (`:` type($results)^)?";
}

def Tile_GemmSpOp : Tile_MatmulOp<"gemm_sp"> {
  let summary = "matmul with a 2:4 sparse left operand";
  let description = [{
    Like `tile.gemm`, with a compressed left operand. `lhs` of shape MxK holds
    at most two nonzeros in each four consecutive elements along K. Only these
    two are stored, so its type is Mx(K/2).

    `metadata` holds a nibble `i0 | i1 << 2` for each group of four, where `i0 <
    i1` are the places of the two stored elements. The nibbles of a row are
    packed into i8, i16 or i32, starting at the least significant bit. The type
    is therefore Mx(K/8), Mx(K/16) or Mx(K/32). The places do not matter if both
    stored elements are zero. A tile that a copy has padded with zeros can
    therefore be multiplied. With `async`, the metadata is read when the matmul
    starts.

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
    /// The dense K: twice the columns of the compressed left operand.
    int64_t getK();
    ::mlir::Type getLhsElementType();
    ::mlir::Type getRhsElementType();
    ::mlir::RankedTensorType getAccType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getAcc().getType());
    }
    ::mlir::OpOperand *getMetadataOperand() { return &getMetadataMutable(); }
    ::llvm::MutableArrayRef<::mlir::OpOperand> getScaleOperands() { return {}; }
    bool getTransposeLhs() { return false; }
    bool getAllowTf32() { return false; }
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILEMATMULOPS_TD
