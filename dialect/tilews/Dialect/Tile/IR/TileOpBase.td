//===- TileOpBase.td - Base classes and operand types ------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEOPBASE_TD
#define TILEWS_DIALECT_TILE_IR_TILEOPBASE_TD

include "tilews/Dialect/Tile/IR/TileAttrs.td"
include "tilews/Dialect/Tile/IR/TileInterfaces.td"
include "tilews/Dialect/Tile/IR/TileTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"
include "mlir/IR/OpBase.td"

class Tile_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, opMnemonic, traits>;

/// How many groups or matmuls a wait leaves pending.
class Tile_PendingCount<Attr attr = I64Attr> : ConfinedAttr<attr, [
    IntNonNegative, IntMaxValue<1023>]>;

//===----------------------------------------------------------------------===//
// Types of operands and results
//===----------------------------------------------------------------------===//

def Tile_Fragment : Type<
    CPred<"::tilews::tile::isFragmentType($_self)">,
    "fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, "
    "i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or "
    "f8E8M0FNU, and no encoding but #tile.fragment)", "::mlir::RankedTensorType">;
def Tile_IntFragment : Type<
    And<[Tile_Fragment.predicate,
         CPred<"::llvm::cast<::mlir::RankedTensorType>($_self)"
               ".getElementType().isIntOrIndex()">]>,
    "fragment of integers or indices", "::mlir::RankedTensorType">;
def Tile_BoolFragment : Type<
    And<[Tile_Fragment.predicate,
         CPred<"::llvm::cast<::mlir::RankedTensorType>($_self)"
               ".getElementType().isInteger(1)">]>,
    "fragment of i1", "::mlir::RankedTensorType">;
def Tile_Buffer : Type<
    CPred<"::tilews::tile::isBufferType($_self)">,
    "buffer (a memref in global memory with a strided layout, or in "
    "#gpu.address_space<workgroup> with a static shape and no layout but "
    "#tile.shared; with no empty dimension, elements i1, i4, i8, i16, i32, i64, "
    "index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU)", "::mlir::MemRefType">;
def Tile_SharedBuffer : Type<
    And<[Tile_Buffer.predicate,
         CPred<"::tilews::tile::isShared("
               "::llvm::cast<::mlir::MemRefType>($_self))">]>,
    "buffer in shared memory (#gpu.address_space<workgroup>, a static shape "
    "that is not empty, no layout but #tile.shared, elements of tile types)",
    "::mlir::MemRefType">;
def Tile_BufferOrFragment : AnyTypeOf<[Tile_Buffer, Tile_Fragment]>;

/// An operation on buffers. Its access regions determine its memory effects.
class Tile_AccessOp<string opMnemonic, list<Trait> traits = []>
    : Tile_Op<opMnemonic, traits # [
        DeclareOpInterfaceMethods<Tile_AccessOpInterface>,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]>;

#endif // TILEWS_DIALECT_TILE_IR_TILEOPBASE_TD
