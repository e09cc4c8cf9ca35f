//===- TileTypes.td - Types of the tile dialect ------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILETYPES_TD
#define TILEWS_DIALECT_TILE_IR_TILETYPES_TD

include "tilews/Dialect/Tile/IR/TileDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Tile_Type<string name, string typeMnemonic>
    : TypeDef<Tile_Dialect, name> {
  let mnemonic = typeMnemonic;
  let parameters = (ins "int64_t":$depth);
  let assemblyFormat = "`<` $depth `>`";
  let genVerifyDecl = 1;
}

def Tile_ChannelType : Tile_Type<"Channel", "channel"> {
  let summary = "slots of shared memory that a producer hands to consumers in rotation";
  let description = [{
    The type of the result of `tile.channel`. `depth` is the number of slots,
    from 1 to 64.

    ```mlir
    !tile.channel<4>
    ```
  }];
}

def Tile_CursorType : Tile_Type<"Cursor", "cursor"> {
  let summary = "position of a role in a channel: a slot and its phase";
  let description = [{
    A cursor holds the slot of the next transaction, from 0 to `depth - 1`, and
    a phase of 0 or 1. The phase flips each time the cursor wraps around to slot
    0. A cursor counts transactions, not iterations. It is an ordinary SSA value
    that control flow carries.

    ```mlir
    !tile.cursor<4>
    ```
  }];
}

def Tile_MBarrierType : Tile_Type<"MBarrier", "mbarrier"> {
  let summary = "barriers in shared memory, one for each slot";
  let description = [{
    The type of the result of `tile.mbarrier`. `depth` is the number of
    barriers, from 1 to 64.

    ```mlir
    !tile.mbarrier<4>
    ```
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILETYPES_TD
