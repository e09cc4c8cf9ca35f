//===- TileScheduleOps.td - Operations of schedules --------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The third phase: which warps do what, and how they hand slots of shared
// memory to each other.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILESCHEDULEOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILESCHEDULEOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

def Tile_ChannelOp : Tile_Op<"channel"> {
  let summary = "hand the versions of buffers from a producer to consumers";
  let description = [{
    Makes a channel of as many slots as the leading dimension of its buffers
    has: slot `i` is version `i` of each of them. A slot is filled, completed
    once, read, and released once, and slots take turns:

    | | waits until | then |
    |---|---|---|
    | `tile.acquire` | all consumers have released the slot's last contents | the producer fills the slot |
    | `tile.commit` | | the fill is complete as soon as the producer's writes since the acquire have landed |
    | `tile.wait` | the fill is complete | the consumer reads the slot |
    | `tile.release` | | the consumer is done with it |

    `producer` says how slots are filled: by `tma` copies, by `cp_async`
    copies, by ordinary stores (`simt`), or by copies of more than one kind
    (`mixed`). A channel without buffers only orders its roles.

    Each consumer reads and releases every slot. Where the channel is
    `alternating`, a fill is for one of its consumers, which take turns: the
    others advance their cursors over it, and only that one releases the slot.
    Another channel has to order them, so that none waits for a slot before
    those have waited whose turn came first.

    ```mlir
    %ch = tile.channel(%As, %Bs) {producer = #tile.producer<tma>}
       : memref<4x128x64xf16, #gpu.address_space<workgroup>>,
         memref<4x256x64xf16, #gpu.address_space<workgroup>> -> !tile.channel<4>
    ```
  }];
  let arguments = (ins Variadic<Tile_SharedBuffer>:$buffers,
                       Tile_ProducerKindAttr:$producer, UnitAttr:$alternating);
  let results = (outs Res<Tile_ChannelType, "", [MemAlloc]>:$channel);
  let assemblyFormat = [{
    `(` $buffers `)` attr-dict (`:` type($buffers)^)? `->` qualified(type($channel))
  }];
  let hasVerifier = 1;
}

def Tile_CursorOp : Tile_Op<"cursor", [Pure]> {
  let summary = "the place of the first transaction";
  let description = [{
    Slot 0 in phase 0, for a producer and a consumer alike.

    ```mlir
    %p = tile.cursor : !tile.cursor<4>
    ```
  }];
  let results = (outs Tile_CursorType:$cursor);
  let assemblyFormat = "attr-dict `:` qualified(type($cursor))";
}

def Tile_AdvanceOp : Tile_Op<"advance", [Pure, SameOperandsAndResultType]> {
  let summary = "the place of the next transaction";
  let description = [{
    The next slot in the same phase or, after the last slot, slot 0 in the
    other phase. A role advances its cursor exactly where it has made a
    transaction; the cursor is then carried through `scf.if`, `scf.for` and
    `scf.while` as a value.

    ```mlir
    %q = tile.advance %p : !tile.cursor<4>
    ```
  }];
  let arguments = (ins Tile_CursorType:$cursor);
  let results = (outs Tile_CursorType:$next);
  let assemblyFormat = "$cursor attr-dict `:` qualified(type($cursor))";
}

def Tile_SlotOp : Tile_Op<"slot", [Pure, ViewLikeOpInterface]> {
  let summary = "the version of a buffer that a cursor points at";
  let description = [{
    A view without the leading dimension. After `--tile-lower-channels` the
    number of the slot, an i32, stands in the place of the cursor. Where the buffer has a layout, the
    version has the layout without its first group, and the bytes from one
    version to the next are a multiple of the span of the swizzle.

    ```mlir
    %a = tile.slot %As[%p] : memref<4x128x64xf16, #gpu.address_space<workgroup>>
      -> memref<128x64xf16, #gpu.address_space<workgroup>>
    %b = tile.slot %As[%slot] : memref<4x128x64xf16, #gpu.address_space<workgroup>>, i32
      -> memref<128x64xf16, #gpu.address_space<workgroup>>
    ```
  }];
  let arguments = (ins Tile_SharedBuffer:$source,
                       AnyTypeOf<[Tile_CursorType, I32]>:$cursor);
  let results = (outs Tile_SharedBuffer:$result);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getSource(); }
    ::mlir::Value getViewDest() { return getResult(); }
    /// The type of one version of a buffer of type `source`.
    static ::mlir::MemRefType getSlotType(::mlir::MemRefType source);
  }];
  let hasCanonicalizeMethod = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$source, "::mlir::Value":$cursor), [{
    build($_builder, $_state,
          getSlotType(::llvm::cast<::mlir::MemRefType>(source.getType())),
          source, cursor);
  }]>];
  let hasVerifier = 1;
}

class Tile_TransactionOp<string opMnemonic, dag extraArguments = (ins)>
    : Tile_Op<opMnemonic, [
        MemoryEffects<[MemRead, MemWrite]>,
        TypesMatchWith<"the cursor has the channel's depth", "channel",
          "cursor", "::tilews::tile::CursorType::get($_ctxt, "
          "::llvm::cast<::tilews::tile::ChannelType>($_self).getDepth())">]> {
  let arguments = !con((ins Tile_ChannelType:$channel, Tile_CursorType:$cursor),
                       extraArguments);
  let assemblyFormat = "$channel `[` $cursor `]` attr-dict `:` qualified(type($channel))";
}

def Tile_AcquireOp : Tile_TransactionOp<"acquire"> {
  let summary = "wait until a slot can be filled";
  let description = [{
    Waits until all consumers have released what the slot held. The first
    `depth` transactions find their slots free.

    ```mlir
    tile.acquire %ch[%p] : !tile.channel<4>
    ```
  }];
}

def Tile_CommitOp : Tile_TransactionOp<"commit"> {
  let summary = "let a slot's fill complete";
  let description = [{
    The fill of the slot is complete as soon as the copies and stores that the
    producer has issued since the slot's `tile.acquire` have landed. Does not
    wait for them.

    ```mlir
    tile.commit %ch[%p] : !tile.channel<4>
    ```
  }];
}

def Tile_WaitOp : Tile_TransactionOp<"wait", (ins
    ConfinedAttr<OptionalAttr<I64Attr>, [IntNonNegative]>:$pending,
    UnitAttr:$proxy_fence)> {
  let summary = "wait until a slot's fill is complete";
  let description = [{
    Returns when the contents of the slot can be read. In a kernel without
    roles the threads that wait are those that copy: `pending` is then the
    number of groups of asynchronous copies, the last ones to be closed by
    `tile.commit_group`, that may still be under way; without it none may.
    They meet there as at a `tile.barrier`, with or without `proxy_fence`.

    ```mlir
    tile.wait %ch[%q] : !tile.channel<4>
    tile.wait %ch[%q] {pending = 2 : i64} : !tile.channel<4>
    ```
  }];
}

def Tile_CommitGroupOp : Tile_Op<"commit_group"> {
  let summary = "close a group of asynchronous copies";
  let description = [{
    The asynchronous copies that the threads have started since the last
    `tile.commit_group` are a group, possibly an empty one. Groups are what the
    `pending` of a `tile.wait` counts, in kernels without roles.

    ```mlir
    tile.commit_group
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_ReleaseOp : Tile_TransactionOp<"release"> {
  let summary = "give a slot back to the producer";
  let description = [{
    The consumer has read the slot for the last time.

    ```mlir
    tile.release %ch[%q] : !tile.channel<4>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

def Tile_SpecializeOp : Tile_Op<"specialize", [
    NoTerminator, SingleBlock, NoRegionArguments, RecursiveMemoryEffects]> {
  let summary = "let groups of warps do different things at the same time";
  let description = [{
    Its body holds nothing but `tile.role`s, which share out the warps of the
    block in order: the first takes the lowest thread ids. All roles run at the
    same time; the operation ends when all of them have. What roles need of each
    other goes through channels: no fragment is used in a role that was made
    outside of it, but for those made of nothing but scalars, such as constants,
    which each role can make anew.

    Channels are barriers in shared memory, which NVIDIA GPUs have from sm_80
    on; for others a kernel with roles is an error. From sm_90 on copies to
    slots are done by TMA, before by cp.async.

    ```mlir
    tile.specialize {
      tile.role @math warps(8) {
        tile.wait %ch[%q] : !tile.channel<4>
        tile.release %ch[%q] : !tile.channel<4>
      }
      tile.role @load warps(1) {
        tile.acquire %ch[%p] : !tile.channel<4>
        tile.commit %ch[%p] : !tile.channel<4>
      }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    auto getRoles() { return getBody().front().getOps<::tilews::tile::RoleOp>(); }
    /// Warps of all roles together.
    int64_t getNumWarps();
    /// Fails with an error if roles cannot run on `target`.
    ::llvm::LogicalResult verifyTarget(const ::tilews::TargetInfo &target);
  }];
}

def Tile_RoleOp : Tile_Op<"role", [
    NoTerminator, SingleBlock, NoRegionArguments, RecursiveMemoryEffects,
    AutomaticAllocationScope, HasParent<"::tilews::tile::SpecializeOp">]> {
  let summary = "what one group of warps does";
  let description = [{
    Runs its body on `warps` warps: its fragments are spread over their threads,
    its barriers are theirs. `registers` asks for as many registers a thread
    (NVIDIA sm_90 and later: a multiple of 8 from 24 to 256); a role that has
    it, and all other roles of the block, fill whole warpgroups of 4 warps.
    An `elected` role is run by one of its threads, the others pass over it:
    `--tile-lower-channels` says so of roles that do nothing but what one thread
    can do, such as to start TMA copies.
  }];
  let arguments = (ins SymbolNameAttr:$name,
    ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<32>]>:$warps,
    OptionalAttr<I64Attr>:$registers, UnitAttr:$elected);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` `(` $warps `)` (`registers` `(` $registers^ `)`)?
    (`elected` $elected^)? $body attr-dict
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The first of its threads.
    int64_t getFirstThread();
    int64_t getNumThreads();
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILESCHEDULEOPS_TD
