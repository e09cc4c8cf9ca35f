//===- ArenaAccessSet.h - Sets of accesses to memory ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Accesses to ranges of addresses, and sets of them that share what they have
// in common.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENAACCESSSET_H
#define TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENAACCESSSET_H

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/IntrusiveRefCntPtr.h"

#include <array>

namespace tilews::tile {

/// The address spaces that barriers order accesses to.
enum class ArenaSpace : uint8_t {
  /// Shared memory of unknown origin: any bytes of the arena, or a channel.
  Unknown,
  /// The shared memory of the kernel, by byte.
  Arena,
  /// One address for each channel. A release reads it, an acquire writes it:
  /// an acquire lets others overwrite what was read before the releases.
  Channels,
  /// Global memory: one address for each argument of the kernel. Arguments do
  /// not overlap unless they are only read.
  Arguments
};

/// The elements [begin, end) of a dimension of an allocation, or of each of its
/// versions, whichever `tile.slot` chose.
struct ElementRange {
  bool ofVersion = false;
  unsigned dim = 0;
  int64_t begin = 0;
  int64_t end = 0;

  bool isDisjointFrom(const ElementRange &other) const {
    return ofVersion == other.ofVersion && dim == other.dim &&
           (begin >= other.end || other.begin >= end);
  }
};

/// An access to the addresses [begin, end) of a space.
///
/// Example: the store to rows 8 to 15 of
///
///     %a = tile.alloc_shared {tile.offset = 1024} : memref<16x64xf16>
///     tile.store %x, %a[8, 0] : tensor<8x64xf16>
///
/// writes the bytes [2048, 3072) of `Arena`, with the allocation as its root.
struct ArenaAccess {
  ArenaSpace space = ArenaSpace::Arena;
  int64_t begin = 0;
  int64_t end = 0;
  bool reads = false;
  bool writes = false;
  /// Asynchronous: complete only when the thread drains its copies.
  bool async = false;
  /// By an asynchronous matmul: also complete when the matmul is waited for.
  bool matmul = false;
  /// Through the asynchronous proxy: by wgmma or TMA (PTX ISA, "Proxies").
  bool proxy = false;
  /// Scratch memory: written, then read after a barrier of the operation's own.
  bool scratch = false;
  std::optional<AtomicKind> atomic = std::nullopt;
  /// For a copy by cp.async: how many groups were closed since it was started.
  std::optional<int64_t> closedGroups = std::nullopt;
  /// The allocation; null if it is not known. No data passes between buffers
  /// that share bytes.
  mlir::Operation *root = nullptr;
  /// The access is to these elements of its root only. Parts of a swizzled
  /// buffer can be disjoint though their bytes alternate.
  std::optional<ElementRange> elements = std::nullopt;
  /// Outside of roles: the channel to whose slots the access goes. The
  /// transactions of a channel order the accesses to its slots.
  mlir::Operation *channel = nullptr;
  /// A loop, and an offset that moves with it along a dimension of the root:
  /// accesses of different iterations with one `moving` offset are disjoint.
  /// Null outside of the loop.
  mlir::Operation *loop = nullptr;
  std::pair<void *, unsigned> moving = {};
  /// Whether an earlier iteration of `loop` made the access.
  bool earlier = false;

  /// Whether some access of the kernel through the proxy needs a fence after
  /// this one, and whether some read does. Both follow from the other fields.
  bool needsFence = false;
  bool needsFenceToRead = false;

  bool overlaps(const ArenaAccess &other) const;
  /// Whether the order of the two matters.
  bool conflictsWith(const ArenaAccess &other) const;
  /// Whether `access`, through the proxy, may read what this one writes, or
  /// overwrite what it reads or writes in the bytes of another buffer, so that
  /// a proxy fence has to be between the two.
  bool needsFenceBefore(const ArenaAccess &access) const;

  void print(llvm::raw_ostream &os) const;

  friend llvm::hash_code hash_value(const ArenaAccess &access) {
    return llvm::hash_value(access.getKey());
  }
  friend bool operator<(const ArenaAccess &a, const ArenaAccess &b) {
    return a.getKey() < b.getKey();
  }
  friend bool operator==(const ArenaAccess &a, const ArenaAccess &b) {
    return a.getKey() == b.getKey();
  }

private:
  using Key =
      std::tuple<ArenaSpace, int64_t, int64_t, bool, bool, bool, bool, bool,
                 bool, int, int64_t, mlir::Operation *, mlir::Operation *,
                 mlir::Operation *, std::pair<void *, unsigned>, bool,
                 std::tuple<bool, unsigned, int64_t, int64_t>>;
  Key getKey() const {
    ElementRange part = elements.value_or(ElementRange());
    return {space,
            begin,
            end,
            reads,
            writes,
            async,
            matmul,
            proxy,
            scratch,
            atomic ? int(*atomic) : -1,
            closedGroups.value_or(-1),
            root,
            channel,
            loop,
            moving,
            earlier,
            {part.ofVersion, part.dim, part.begin, part.end}};
  }
};

/// A set of accesses, sorted by address. A search for those that overlap a
/// range visits only the accesses near it. Copies of a set share what they have
/// in common: a copy takes constant time, and to join, subtract or compare two
/// sets takes time for their differences.
///
/// Example: in the set
///
///     writes [0, 512), reads [512, 1024), writes [4096, 8192)
///
/// a search for [768, 2048) visits no access that begins at 4096.
class ArenaAccessSet {
public:
  using Predicate = llvm::function_ref<bool(const ArenaAccess &)>;

  /// Returns whether `access` is new.
  bool insert(const ArenaAccess &access);
  bool contains(const ArenaAccess &access) const;
  bool containsAll(const ArenaAccessSet &other) const;
  bool insertAll(const ArenaAccessSet &other);
  void removeAll(const ArenaAccessSet &other);
  /// Whether `matches` holds for some access; it is called in their order.
  bool any(Predicate matches) const;
  /// Whether `matches` holds for an access that overlaps `access`.
  bool anyOverlapping(const ArenaAccess &access, Predicate matches) const;
  /// Removes the accesses to bytes of `range` that belong to its allocation.
  void removeRoot(const ArenaAccess &range);
  /// Replaces each access that `matches` by what `change` makes of it, if
  /// anything.
  void
  replace(Predicate matches,
          llvm::function_ref<std::optional<ArenaAccess>(ArenaAccess)> change);

  bool empty() const { return !root; }
  void clear() { root.reset(); }

private:
  struct AccessNode;
  using Tree = llvm::IntrusiveRefCntPtr<const AccessNode>;
  /// The parts of a tree before and after an access.
  struct AccessHalves {
    Tree before = Tree(), after = Tree();
    bool found = false;
  };

  static bool isAbove(const AccessNode &node, const AccessNode &other);
  static Tree makeLeaf(const ArenaAccess &access);
  static Tree withChildren(const Tree &tree, Tree left, Tree right);
  static AccessHalves split(const Tree &tree, const ArenaAccess &at);
  static Tree join(const Tree &tree, const Tree &other);
  static Tree concatenate(const Tree &left, const Tree &right);
  static Tree subtract(const Tree &tree, const Tree &other);
  static bool any(const Tree &tree, Predicate matches);
  static bool anyFrom(const Tree &tree, ArenaSpace space, int64_t begin,
                      int64_t end, Predicate matches);

  Tree root;
  /// An upper bound on the number of addresses of an access, by space.
  std::array<int64_t, 4> longest = {};
};

/// A node of a tree. No node changes once a set has it.
struct ArenaAccessSet::AccessNode : llvm::RefCountedBase<AccessNode> {
  ArenaAccess access;
  size_t hash;
  Tree left, right;

  AccessNode(const ArenaAccess &access, size_t hash, Tree left = Tree(),
             Tree right = Tree())
      : access(access), hash(hash), left(std::move(left)),
        right(std::move(right)) {}
};

} // namespace tilews::tile

#endif // TILEWS_DIALECT_TILE_ANALYSIS_MEMORY_ARENAACCESSSET_H
