//===- TileScheduleOps.td - Operations of schedules --------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The third phase of compilation: roles, which are groups of warps with code of
// their own, and channels, which hand slots of shared memory from role to role.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILESCHEDULEOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILESCHEDULEOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

def Tile_ChannelOp : Tile_Op<"channel"> {
  let summary = "hand versions of buffers from a producer to consumers";
  let description = [{
    Makes a channel whose number of slots is the leading extent of its buffers.
    Slot `i` is version `i` of each buffer. Each transaction fills, completes,
    reads and releases one slot. The slots are used in rotation:

    | | waits until | then |
    |---|---|---|
    | `tile.acquire` | all consumers have released the previous contents of the slot | the producer fills the slot |
    | `tile.commit` | | the fill is complete once the writes of the producer since the acquire have been performed |
    | `tile.wait` | the fill is complete | the consumer reads the slot |
    | `tile.release` | | the consumer reads the slot no more |

    `producer` says how slots are filled: by `tma` copies, by `cp_async` copies,
    by ordinary stores (`simt`), or by copies of more than one kind (`mixed`). A
    channel without buffers only orders its roles.

    Each consumer reads and releases every slot. In an `alternating` channel,
    each fill is for only one of the consumers, which alternate. That consumer
    releases the slot; the others only advance their cursors past it. Another
    channel must order the consumers, so that none waits for a slot before the
    consumers of earlier slots have waited for theirs.

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
  let summary = "the cursor of the first transaction";
  let description = [{
    Returns slot 0 in phase 0, for producers and for consumers.

    ```mlir
    %p = tile.cursor : !tile.cursor<4>
    ```
  }];
  let results = (outs Tile_CursorType:$cursor);
  let assemblyFormat = "attr-dict `:` qualified(type($cursor))";
}

def Tile_AdvanceOp : Tile_Op<"advance", [Pure, SameOperandsAndResultType]> {
  let summary = "the cursor of the next transaction";
  let description = [{
    Returns the next slot in the same phase or, after the last slot, slot 0 in
    the other phase. A role advances its cursor once for each transaction.
    `scf.if`, `scf.for` and `scf.while` carry the cursor as a value.

    ```mlir
    %q = tile.advance %p : !tile.cursor<4>
    ```
  }];
  let arguments = (ins Tile_CursorType:$cursor);
  let results = (outs Tile_CursorType:$next);
  let assemblyFormat = "$cursor attr-dict `:` qualified(type($cursor))";
}

def Tile_SlotOp : Tile_Op<"slot", [Pure, ViewLikeOpInterface]> {
  let summary = "the version of a buffer that a cursor selects";
  let description = [{
    Returns a view without the leading dimension. After `--tile-lower-channels`,
    the operand is the number of the slot, an i32, instead of a cursor. If the
    buffer has a layout, the layout of the view lacks its first group. The
    distance in bytes between two versions must then be a multiple of the span
    of the swizzle.

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
    Waits until all consumers have released the previous contents of the slot.
    The first `depth` transactions do not wait: their slots are free.

    ```mlir
    tile.acquire %ch[%p] : !tile.channel<4>
    ```
  }];
}

def Tile_CommitOp : Tile_TransactionOp<"commit"> {
  let summary = "mark the end of a slot's fill";
  let description = [{
    The fill of the slot is complete once all copies and stores that the
    producer issued since `tile.acquire` have been performed. The operation does
    not wait for them.

    ```mlir
    tile.commit %ch[%p] : !tile.channel<4>
    ```
  }];
}

def Tile_WaitOp : Tile_TransactionOp<"wait", (ins
    Tile_PendingCount<OptionalAttr<I64Attr>>:$pending,
    UnitAttr:$proxy_fence)> {
  let summary = "wait until the fill of a slot is complete";
  let description = [{
    Returns when the contents of the slot can be read.

    In a kernel without roles, the waiting threads are those that started the
    copies. `pending` is then the number of groups of asynchronous copies that
    may still be in flight: the groups that `tile.commit_group` closed last.
    Without `pending`, no copy may be in flight. The wait also synchronizes the
    threads, like a `tile.barrier` with or without `proxy_fence`.

    ```mlir
    tile.wait %ch[%q] : !tile.channel<4>
    tile.wait %ch[%q] {pending = 2 : i64} : !tile.channel<4>
    ```
  }];
}

def Tile_CommitGroupOp : Tile_Op<"commit_group"> {
  let summary = "close a group of asynchronous copies";
  let description = [{
    The asynchronous copies that the threads started since the last
    `tile.commit_group` become a group, which may be empty. In kernels without
    roles, the `pending` of a `tile.wait` counts groups.

    ```mlir
    tile.commit_group
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Tile_ReleaseOp : Tile_TransactionOp<"release"> {
  let summary = "return a slot to the producer";
  let description = [{
    States that the consumer reads the slot no more.

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
  let summary = "run groups of warps with different code at the same time";
  let description = [{
    The body consists of `tile.role`s only. They partition the warps of the
    block in order: the first role takes the lowest thread ids. All roles run
    concurrently; the operation ends when all roles have ended. Roles exchange
    data only through channels. A role must not use a fragment that was made
    outside of it, unless the fragment is computed from scalars alone, such as a
    constant: each role can compute it anew.

    Channels are barriers in shared memory, which NVIDIA GPUs have from sm_80
    on. For other targets, a kernel with roles is an error. TMA copies fill
    slots from sm_90 on, `cp.async` copies before it.

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
    /// The sum of the warps of all roles.
    int64_t getNumWarps();
    /// Fails with an error if `target` has no barriers in shared memory, which
    /// roles need.
    ::llvm::LogicalResult verifyTarget(const ::tilews::TargetInfo &target);
  }];
}

def Tile_RoleWarps : Resource<"::tilews::tile::RoleWarps">;

def Tile_RoleOp : Tile_Op<"role", [
    NoTerminator, SingleBlock, NoRegionArguments, RecursiveMemoryEffects,
    MemoryEffects<[MemWrite<Tile_RoleWarps>]>, AutomaticAllocationScope, HasParent<"::tilews::tile::SpecializeOp">]> {
  let summary = "code of one group of warps";
  let description = [{
    Runs the body on `warps` warps. Fragments of the role are distributed over
    its threads, and barriers in the role synchronize its threads only. A role
    whose body is empty keeps its warps.

    `registers` requests a number of registers for each thread: a multiple of 8
    from 24 to 256, on NVIDIA sm_90 and later. If one role has it, all roles of
    the block must consist of whole warpgroups of 4 warps.

    One thread runs an `elected` role; the other threads skip it.
    `--tile-lower-channels` marks roles whose operations all can run on one
    thread, such as starting TMA copies.
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
    /// The id in the block of the first thread of the role.
    int64_t getFirstThread();
    int64_t getNumThreads();
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILESCHEDULEOPS_TD
