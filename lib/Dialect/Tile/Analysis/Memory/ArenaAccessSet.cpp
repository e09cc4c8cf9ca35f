//===- ArenaAccessSet.cpp - Sets of accesses to memory --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A set is a search tree of accesses, sorted by space and first address. A
// query for conflicts with [begin, end) starts at the first access that is not
// too short to reach `begin`, which follows from the length of the longest
// access. It stops at `end`. So it takes logarithmic time and a step for each
// access nearby.
//
// Each node is above those of smaller hashes (a treap). The shape of a tree
// follows from its accesses alone, and is balanced because hashes are random.
// Nodes never change: an operation makes new ones on the path to what it
// changes, and takes over all others. Two sets that come from one then have
// most subtrees in common, at the same places, and `join` and `subtract` need
// no look at these.
// llvm::ImmutableSet shares nodes as well, but has no union and no difference.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Memory/ArenaAccessSet.h"

#include <limits>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

//===----------------------------------------------------------------------===//
// ArenaAccess
//===----------------------------------------------------------------------===//

bool ArenaAccess::overlaps(const ArenaAccess &other) const {
  if (loop && loop == other.loop && moving == other.moving &&
      root == other.root && earlier != other.earlier)
    return false;
  if (root && root == other.root && elements && other.elements &&
      elements->isDisjointFrom(*other.elements))
    return false;
  if (space == other.space)
    return begin < other.end && other.begin < end;
  ArenaSpace known = space == ArenaSpace::Unknown ? other.space : space;
  bool isUnknown =
      space == ArenaSpace::Unknown || other.space == ArenaSpace::Unknown;
  return isUnknown && known != ArenaSpace::Arguments;
}

bool ArenaAccess::conflictsWith(const ArenaAccess &other) const {
  if (!overlaps(other) || !(writes || other.writes) ||
      (channel && channel == other.channel))
    return false;
  // Atomic operations of one kind commute, except exchanges.
  return !atomic || atomic != other.atomic || *atomic == AtomicKind::Exchange;
}

bool ArenaAccess::needsFenceBefore(const ArenaAccess &access) const {
  // Matmuls and TMA stores read through the proxy themselves.
  if (!writes && (proxy || !access.writes))
    return false;
  // The channel that TMA fills orders other writes to the same buffer.
  bool sameBuffer = root == access.root;
  bool matters = !root || !access.root || sameBuffer == access.reads;
  bool sameChannel = channel && channel == access.channel;
  return matters && !sameChannel && overlaps(access);
}

void ArenaAccess::print(raw_ostream &os) const {
  static constexpr StringRef kSpaces[] = {"unknown", "arena", "channel",
                                          "argument"};
  os << (reads && writes ? "reads and writes "
         : writes        ? "writes "
                         : "reads ")
     << kSpaces[unsigned(space)];
  if (space != ArenaSpace::Unknown)
    os << " [" << begin << ", " << end << ")";
  if (async)
    os << (matmul ? ", asynchronous matmul" : ", asynchronous");
  if (closedGroups)
    os << ", " << *closedGroups << " groups closed";
  if (proxy)
    os << ", through the proxy";
  if (scratch)
    os << ", scratch";
  if (loop)
    os << ", moving with a loop" << (earlier ? ", earlier" : "");
  if (elements)
    os << ", elements [" << elements->begin << ", " << elements->end
       << ") of dimension " << elements->dim;
  if (atomic)
    os << ", atomic " << stringifyAtomicKind(*atomic);
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

/// Whether `node` has its place above `other` if a tree has both.
bool ArenaAccessSet::isAbove(const AccessNode &node, const AccessNode &other) {
  if (node.hash != other.hash)
    return node.hash > other.hash;
  return node.access < other.access;
}

ArenaAccessSet::Tree ArenaAccessSet::makeLeaf(const ArenaAccess &access) {
  return new AccessNode(access, hash_value(access));
}

/// Returns the tree with the root of `tree`, which is `tree` itself if the
/// children are its own.
ArenaAccessSet::Tree ArenaAccessSet::withChildren(const Tree &tree, Tree left,
                                                  Tree right) {
  if (left == tree->left && right == tree->right)
    return tree;
  return new AccessNode(tree->access, tree->hash, std::move(left),
                        std::move(right));
}

ArenaAccessSet::AccessHalves ArenaAccessSet::split(const Tree &tree,
                                                   const ArenaAccess &at) {
  if (!tree)
    return {};
  if (at < tree->access) {
    AccessHalves parts = split(tree->left, at);
    parts.after = withChildren(tree, parts.after, tree->right);
    return parts;
  }
  if (tree->access < at) {
    AccessHalves parts = split(tree->right, at);
    parts.before = withChildren(tree, tree->left, parts.before);
    return parts;
  }
  return {tree->left, tree->right, /*found=*/true};
}

/// Returns the accesses of both trees: `tree` itself if it has all of them.
ArenaAccessSet::Tree ArenaAccessSet::join(const Tree &tree, const Tree &other) {
  if (!tree || !other || tree == other)
    return tree ? tree : other;
  if (isAbove(*other, *tree)) {
    AccessHalves parts = split(tree, other->access);
    return withChildren(other, join(parts.before, other->left),
                        join(parts.after, other->right));
  }
  AccessHalves parts = split(other, tree->access);
  return withChildren(tree, join(tree->left, parts.before),
                      join(tree->right, parts.after));
}

/// Joins trees of which `left` has the smaller accesses.
ArenaAccessSet::Tree ArenaAccessSet::concatenate(const Tree &left,
                                                 const Tree &right) {
  if (!left || !right)
    return left ? left : right;
  if (isAbove(*left, *right))
    return withChildren(left, left->left, concatenate(left->right, right));
  return withChildren(right, concatenate(left, right->left), right->right);
}

/// Returns the accesses of `tree` that `other` lacks.
ArenaAccessSet::Tree ArenaAccessSet::subtract(const Tree &tree,
                                              const Tree &other) {
  if (!tree || !other)
    return tree;
  if (tree == other)
    return Tree();
  AccessHalves parts = split(other, tree->access);
  Tree left = subtract(tree->left, parts.before);
  Tree right = subtract(tree->right, parts.after);
  return parts.found ? concatenate(left, right)
                     : withChildren(tree, left, right);
}

bool ArenaAccessSet::any(const Tree &tree, Predicate matches) {
  return tree && (any(tree->left, matches) || matches(tree->access) ||
                  any(tree->right, matches));
}

/// Whether `matches` holds for an access in `space` that begins in
/// [begin, end).
bool ArenaAccessSet::anyFrom(const Tree &tree, ArenaSpace space, int64_t begin,
                             int64_t end, Predicate matches) {
  if (!tree)
    return false;
  std::pair<ArenaSpace, int64_t> at(tree->access.space, tree->access.begin);
  bool isAfter = at >= std::pair(space, begin);
  bool isBefore = at < std::pair(space, end);
  return (isAfter && anyFrom(tree->left, space, begin, end, matches)) ||
         (isAfter && isBefore && matches(tree->access)) ||
         (isBefore && anyFrom(tree->right, space, begin, end, matches));
}

//===----------------------------------------------------------------------===//
// ArenaAccessSet
//===----------------------------------------------------------------------===//

bool ArenaAccessSet::insert(const ArenaAccess &access) {
  if (contains(access))
    return false;
  int64_t &length = longest[unsigned(access.space)];
  length = std::max(length, access.end - access.begin);
  root = join(root, makeLeaf(access));
  return true;
}

bool ArenaAccessSet::contains(const ArenaAccess &access) const {
  const AccessNode *node = root.get();
  while (node && !(node->access == access))
    node = (access < node->access ? node->left : node->right).get();
  return node;
}

bool ArenaAccessSet::containsAll(const ArenaAccessSet &other) const {
  return join(root, other.root) == root;
}

bool ArenaAccessSet::insertAll(const ArenaAccessSet &other) {
  for (auto [length, others] : llvm::zip_equal(longest, other.longest))
    length = std::max(length, others);
  Tree joined = join(root, other.root);
  bool changed = joined != root;
  root = std::move(joined);
  return changed;
}

void ArenaAccessSet::removeAll(const ArenaAccessSet &other) {
  root = subtract(root, other.root);
}

bool ArenaAccessSet::any(Predicate matches) const { return any(root, matches); }

bool ArenaAccessSet::anyOverlapping(const ArenaAccess &access,
                                    Predicate matches) const {
  auto search = [&](ArenaSpace space, int64_t begin, int64_t end) {
    return anyFrom(root, space, begin, end, [&](const ArenaAccess &each) {
      return each.overlaps(access) && matches(each);
    });
  };
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  if (access.space == ArenaSpace::Unknown)
    return search(ArenaSpace::Unknown, 0, kLast) ||
           search(ArenaSpace::Arena, 0, kLast) ||
           search(ArenaSpace::Channels, 0, kLast);
  int64_t length = longest[unsigned(access.space)];
  int64_t begin = access.begin > length ? access.begin - length : 0;
  return search(access.space, begin, access.end) ||
         (access.space != ArenaSpace::Arguments &&
          search(ArenaSpace::Unknown, 0, kLast));
}

void ArenaAccessSet::removeRoot(const ArenaAccess &range) {
  ArenaAccessSet removed;
  (void)anyFrom(root, range.space, range.begin, range.end,
                [&](const ArenaAccess &each) {
                  if (each.root == range.root)
                    removed.insert(each);
                  return false;
                });
  removeAll(removed);
}

void ArenaAccessSet::replace(
    Predicate matches,
    function_ref<std::optional<ArenaAccess>(ArenaAccess)> change) {
  ArenaAccessSet removed, added;
  (void)any([&](const ArenaAccess &each) {
    if (!matches(each))
      return false;
    removed.insert(each);
    if (std::optional<ArenaAccess> result = change(each))
      added.insert(*result);
    return false;
  });
  removeAll(removed);
  (void)insertAll(added);
}
