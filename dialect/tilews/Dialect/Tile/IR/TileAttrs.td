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
  let summary = "position of each element of a shared memory buffer";
  let description = [{
    Maps coordinates to element offsets in shape:stride notation. Each dimension
    has one group of modes; the leftmost mode of a group runs fastest. The
    product of the extents of a group is the extent of the dimension.

    An optional swizzle `Sw<bits, base, shift>` then permutes *byte* offsets. It
    takes the `bits` bits that start at bit `base + shift`, and XORs them into
    the bits that start at bit `base`. TMA and wgmma do the same in hardware:
    `Sw<3,4,3>` is the 128-byte swizzle, `Sw<2,4,3>` the 64-byte swizzle, and
    `Sw<1,4,3>` the 32-byte swizzle.

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
    /// The layout in the form of the layout library.
    ::tilews::SharedLayout getLayout() const;
    static SharedLayoutAttr get(::mlir::MLIRContext *context,
                                const ::tilews::SharedLayout &layout);
    /// The number of dimensions of the layout.
    unsigned getRank() const;
  }];
}

def Tile_FragmentAttr : Tile_Attr<"Fragment", "fragment", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "the thread and register that hold each element of a fragment";
  let description = [{
    A thread-value layout. Both lists consist of modes `extent:stride*dim`:
    digit `i` of the mode moves the coordinate of dimension `dim` by `i *
    stride`. The leftmost mode runs fastest over the thread index, or over the
    register index within a thread. A mode with stride 0 replicates the same
    elements.

    The modes together must reach every element of the tensor. Coordinates may
    exceed the extents of the tensor: such registers hold no element and are
    never read. This is how a layout holds an extent that the thread count does
    not divide.

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
    /// The layout in the form of the layout library.
    ::tilews::FragmentLayout getLayout() const;
    static FragmentAttr get(::mlir::MLIRContext *context,
                            const ::tilews::FragmentLayout &layout);
  }];
}

//===----------------------------------------------------------------------===//
// Decisions and kernel attributes
//===----------------------------------------------------------------------===//

def Tile_InstAttr : EnumAttr<Tile_Dialect, Tile_InstKind, "inst"> {
  let summary = "the instruction family that an operation becomes";
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ReductionKindAttr
    : EnumAttr<Tile_Dialect, Tile_ReductionKind, "reduction"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_AtomicKindAttr : EnumAttr<Tile_Dialect, Tile_AtomicKind, "atomic"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_MemoryOrderAttr
    : EnumAttr<Tile_Dialect, Tile_MemoryOrder, "order"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_MemoryScopeAttr
    : EnumAttr<Tile_Dialect, Tile_MemoryScope, "scope"> {
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

def Tile_ScheduleLimitAttr
    : EnumAttr<Tile_Dialect, Tile_ScheduleLimit, "schedule_limit"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_ClusterDimsAttr
    : EnumAttr<Tile_Dialect, Tile_ClusterDims, "cluster"> {
  let summary = "dimensions of a cluster; selects the blocks that differ only along them";
  let assemblyFormat = "`<` $value `>`";
}

def Tile_WarpPolicyAttr : EnumAttr<Tile_Dialect, Tile_WarpPolicy, "warps"> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_RasterizeAttr : Tile_Attr<"Rasterize", "rasterize"> {
  let summary = "order in which block ids visit the output tiles";
  let description = [{
    Blocks visit the tiles in panels of `panel` rows (`row`) or columns (`col`)
    of tiles. The order is boustrophedon: the direction reverses from one panel
    to the next. Blocks that run at the same time then share operands in the
    second-level cache. `--tile-rasterize-blocks` applies the order to the x and
    y block ids.

    ```mlir
    gpu.func @kernel() kernel attributes {tile.rasterize = #tile.rasterize<row, panel = 10>}
    ```
  }];
  let parameters = (ins EnumParameter<Tile_RasterOrder>:$order,
                        "int64_t":$panel);
  let assemblyFormat = "`<` $order `,` `panel` `=` $panel `>`";
  let genVerifyDecl = 1;
}

def Tile_AssemblyAttr : Tile_Attr<"Assembly", "assembly"> {
  let summary = "a template of inline assembly and the registers of its operands";
  let description = [{
    `$0`, `$1`, ... in the template stand for the results and then for the inputs;
    `$$` is a dollar sign. The constraints have an item for each result: `=f`, or
    `=&f` if it is written before the inputs are read. Then comes an item for each
    input: `f`, or a number for the register of that result. The last ones are the
    registers that the template changes: `~{vcc}`. `tile.asm` lists the kinds of
    registers.

    ```mlir
    #tile.assembly<"ex2.approx.ftz.f32 $0, $1;", "=f,f">
    ```
  }];
  let parameters = (ins StringRefParameter<>:$text,
                        StringRefParameter<>:$constraints);
  let assemblyFormat = "`<` $text `,` $constraints `>`";
}

#endif // TILEWS_DIALECT_TILE_IR_TILEATTRS_TD
