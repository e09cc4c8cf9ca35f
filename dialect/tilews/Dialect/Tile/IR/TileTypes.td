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
  let summary = "slots that roles hand to each other in rotation";
  let description = [{
    What `tile.channel` makes. `depth` is the number of slots, from 1 to 64.

    ```mlir
    !tile.channel<4>
    ```
  }];
}

def Tile_CursorType : Tile_Type<"Cursor", "cursor"> {
  let summary = "a role's place in a channel: a slot and its phase";
  let description = [{
    The slot, from 0 to `depth - 1`, of the next transaction, and the parity of
    the number of times the rotation has come past slot 0. It counts
    transactions, never iterations, and is a value like any other: control flow
    carries it.

    ```mlir
    !tile.cursor<4>
    ```
  }];
}

def Tile_MBarrierType : Tile_Type<"MBarrier", "mbarrier"> {
  let summary = "barriers in shared memory, one a slot";
  let description = [{
    What `tile.mbarrier` makes. `depth` is the number of barriers, from 1 to 64.

    ```mlir
    !tile.mbarrier<4>
    ```
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILETYPES_TD
