//===- TileEnums.td - Enumerations of the tile dialect -----*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEENUMS_TD
#define TILEWS_DIALECT_TILE_IR_TILEENUMS_TD

include "tilews/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/EnumAttr.td"

class Tile_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tilews::tile";
  let genSpecializedAttr = 0;
}

def Tile_ReductionKind : Tile_Enum<"ReductionKind",
    "function that combines elements", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"AbsMax", 3, "absmax">,
    I32EnumAttrCase<"AbsMin", 4, "absmin">,
    I32EnumAttrCase<"And", 5, "and">,
    I32EnumAttrCase<"Or", 6, "or">,
    I32EnumAttrCase<"Xor", 7, "xor">,
    I32EnumAttrCase<"Any", 8, "any">,
    I32EnumAttrCase<"All", 9, "all">,
    I32EnumAttrCase<"UMax", 10, "umax">,
    I32EnumAttrCase<"UMin", 11, "umin">]>;

def Tile_AtomicKind : Tile_Enum<"AtomicKind", "atomic read-modify-write function", [
    I32EnumAttrCase<"Add", 0, "add">,
    I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">,
    I32EnumAttrCase<"And", 3, "and">,
    I32EnumAttrCase<"Or", 4, "or">,
    I32EnumAttrCase<"Xor", 5, "xor">,
    I32EnumAttrCase<"Exchange", 6, "exchange">,
    I32EnumAttrCase<"UMax", 7, "umax">,
    I32EnumAttrCase<"UMin", 8, "umin">]>;

// The names of C++ and of the PTX ISA ("Memory Consistency Model").
def Tile_MemoryOrder : Tile_Enum<"MemoryOrder",
    "accesses that an atomic access orders", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">,
    I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">,
    I32EnumAttrCase<"AcqRel", 3, "acq_rel">]>;

def Tile_MemoryScope : Tile_Enum<"MemoryScope",
    "threads for which an atomic access is one step", [
    I32EnumAttrCase<"Block", 0, "block">,
    I32EnumAttrCase<"Cluster", 1, "cluster">,
    I32EnumAttrCase<"Device", 2, "device">,
    I32EnumAttrCase<"System", 3, "system">]>;

def Tile_SwizzleMode : Tile_Enum<"SwizzleMode",
    "span of the XOR swizzle of TMA and wgmma", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Span32", 1, "span32">,
    I32EnumAttrCase<"Span64", 2, "span64">,
    I32EnumAttrCase<"Span128", 3, "span128">]>;

// The values that one operation can take are in ascending order of quality.
def Tile_InstKind : Tile_Enum<"InstKind",
    "instruction family that an operation becomes", [
    I32EnumAttrCase<"Simt", 0, "simt">,
    I32EnumAttrCase<"CpAsync", 1, "cp_async">,
    I32EnumAttrCase<"Tma", 2, "tma">,
    I32EnumAttrCase<"Mma", 3, "mma">,
    I32EnumAttrCase<"Wgmma", 4, "wgmma">,
    I32EnumAttrCase<"Mfma", 5, "mfma">,
    I32EnumAttrCase<"Wmma", 6, "wmma">]>;

def Tile_ProducerKind : Tile_Enum<"ProducerKind",
    "kind of copy that fills the slots of a channel", [
    I32EnumAttrCase<"Simt", 0, "simt">,
    I32EnumAttrCase<"CpAsync", 1, "cp_async">,
    I32EnumAttrCase<"Tma", 2, "tma">,
    I32EnumAttrCase<"Mixed", 3, "mixed">]>;

def Tile_Agents : Tile_Enum<"Agents", "agents that arrive at a barrier", [
    I32EnumAttrCase<"Thread", 0, "thread">,
    I32EnumAttrCase<"Warps", 1, "warps">,
    I32EnumAttrCase<"Threads", 2, "threads">,
    I32EnumAttrCase<"Copies", 3, "copies">]>;

def Tile_ScheduleLimit : Tile_Enum<"ScheduleLimit",
    "what passes that plan a schedule leave out, each case with those before", [
    I32EnumAttrCase<"FewChannels", 0, "few_channels">,
    I32EnumAttrCase<"OneRole", 1, "one_role">,
    I32EnumAttrCase<"NoPipeline", 2, "no_pipeline">]>;

def Tile_ClusterDims : I32BitEnumAttr<"ClusterDims",
    "dimensions of a cluster of blocks", [
    I32BitEnumAttrCaseBit<"X", 0, "x">,
    I32BitEnumAttrCaseBit<"Y", 1, "y">,
    I32BitEnumAttrCaseBit<"Z", 2, "z">]> {
  let cppNamespace = "::tilews::tile";
  let genSpecializedAttr = 0;
}

def Tile_WarpPolicy : Tile_Enum<"WarpPolicy",
    "distribution of the rows and columns of a matmul over the warps", [
    I32EnumAttrCase<"Square", 0, "square">,
    I32EnumAttrCase<"FullRow", 1, "full_row">,
    I32EnumAttrCase<"FullCol", 2, "full_col">]>;

def Tile_RasterOrder : Tile_Enum<"RasterOrder",
    "direction in which consecutive blocks advance", [
    I32EnumAttrCase<"Row", 0, "row">,
    I32EnumAttrCase<"Col", 1, "col">]>;

#endif // TILEWS_DIALECT_TILE_IR_TILEENUMS_TD
