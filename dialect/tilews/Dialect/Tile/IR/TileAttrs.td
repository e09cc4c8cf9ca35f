//===- TileAttrs.td - Attributes of the tile dialect -------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEATTRS_TD
#define TILEWS_DIALECT_TILE_IR_TILEATTRS_TD

include "tilews/Dialect/Tile/IR/TileDialect.td"
include "tilews/Dialect/Tile/IR/TileEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/TensorEncoding.td"

class Tile_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Tile_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

def Tile_SharedLayoutAttr : Tile_Attr<"SharedLayout", "shared", [
    DeclareAttrInterfaceMethods<MemRefLayoutAttrInterface,
        ["isIdentity", "verifyLayout", "getStridesAndOffset"]>]> {
  let summary = "where each element of a shared memory buffer lies";
  let description = [{
    A map from coordinates to element offsets in shape:stride notation: one
    group of modes a dimension, a group's leftmost mode running fastest. The
    optional swizzle `Sw<bits, base, shift>` then XORs the `bits` bits of the
    *byte* offset that start at `base + shift` into the bits that start at
    `base`, as the hardware does for TMA and wgmma: `Sw<3,4,3>` is the 128-byte
    swizzle, `Sw<2,4,3>` the 64-byte and `Sw<1,4,3>` the 32-byte one.

    The product of a group's extents is the dimension's extent.

    ```mlir
    // 128x128 f16 in two panels of 64 columns, each row of a panel 128 bytes.
    memref<128x128xf16,
           #tile.shared<(128, (64, 2)):(64, (1, 8192)), Sw<3,4,3>>,
           #gpu.address_space<workgroup>>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::tilews::Mode", "modes, grouped by dimension">:$modes,
    "::tilews::Swizzle":$swizzle);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout as a value of the layout library.
    ::tilews::SharedLayout getLayout() const;
    static SharedLayoutAttr get(::mlir::MLIRContext *context,
                                const ::tilews::SharedLayout &layout);
    /// Number of dimensions the layout takes.
    unsigned getRank() const;
  }];
}

def Tile_FragmentAttr : Tile_Attr<"Fragment", "fragment", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "which thread holds which element of a fragment";
  let description = [{
    A thread-value layout. Both lists give modes `extent:stride*dim`: digit `i`
    of the mode moves the coordinate of dimension `dim` by `i * stride`. The
    leftmost mode runs fastest over the thread index, and over the index of the
    register within a thread. Stride 0 repeats the same elements (replication).

    Together the modes have to reach every element of the tensor. Coordinates
    may go past a tensor's extents; those registers hold no element and are
    never read, which is how extents that the thread count does not divide
    are held.

    ```mlir
    // The accumulator of wgmma m64n16: 128 threads, 8 registers each.
    #tile.fragment<thread = (4, 8, 4):(2*d1, 1*d0, 16*d0),
                   value = (2, 2, 2):(1*d1, 8*d0, 8*d1)>
    ```
  }];
  let parameters = (ins
    ArrayRefParameter<"::tilews::Mode">:$thread,
    ArrayRefParameter<"::tilews::Mode">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The layout as a value of the layout library.
    ::tilews::FragmentLayout getLayout() const;
    static FragmentAttr get(::mlir::MLIRContext *context,
                            const ::tilews::FragmentLayout &layout);
  }];
}

//===----------------------------------------------------------------------===//
// Decisions and kernel attributes
//===----------------------------------------------------------------------===//

def Tile_InstAttr : EnumAttr<Tile_Dialect, Tile_InstKind, "inst"> {
  let summary = "the instruction family an operation becomes";
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ReductionKindAttr
    : EnumAttr<Tile_Dialect, Tile_ReductionKind, "reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_AtomicKindAttr : EnumAttr<Tile_Dialect, Tile_AtomicKind, "atomic"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_SwizzleModeAttr : EnumAttr<Tile_Dialect, Tile_SwizzleMode, "swizzle"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ProducerKindAttr
    : EnumAttr<Tile_Dialect, Tile_ProducerKind, "producer"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_AgentsAttr : EnumAttr<Tile_Dialect, Tile_Agents, "agents"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ClusterDimsAttr
    : EnumAttr<Tile_Dialect, Tile_ClusterDims, "cluster"> {
  let summary = "dimensions of a cluster: the blocks that differ along them only";
  let assemblyFormat = "`<` $value `>`";
}

def Tile_WarpPolicyAttr : EnumAttr<Tile_Dialect, Tile_WarpPolicy, "warps"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_RasterizeAttr : Tile_Attr<"Rasterize", "rasterize"> {
  let summary = "order in which block ids visit the output tiles";
  let description = [{
    Blocks are visited in panels of `panel` rows (`row`) or columns (`col`) of
    tiles, boustrophedon within a panel, so that blocks resident at the same
    time share operands in the second-level cache. Applied to the x and y block
    ids by `--tile-rasterize-blocks`.

    ```mlir
    gpu.func @kernel() kernel attributes {tile.rasterize = #tile.rasterize<row, panel = 10>}
    ```
  }];
  let parameters = (ins EnumParameter<Tile_RasterOrder>:$order,
                        "int64_t":$panel);
  let assemblyFormat = "`<` $order `,` `panel` `=` $panel `>`";
  let genVerifyDecl = 1;
}

#endif // TILEWS_DIALECT_TILE_IR_TILEATTRS_TD
