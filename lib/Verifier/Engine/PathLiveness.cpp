//===- PathLiveness.cpp - Values that a path may still use ----------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Liveness of SSA values in structured control flow, for several positions at
// once. A task is at one operation of each frame of its stack. A use is ahead
// of the task if
//
//   * a loop of the stack contains the use and not the value's definition, so
//     that a later iteration may execute it again with the same value, or
//   * in the innermost frame that contains the use, the use stands in or after
//     the next operation.
//
// The operation that an inner frame is in has read its operands already. Few
// places recur in the many states of a proof, so results are kept by place.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Engine/PathLiveness.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

namespace {
/// The position of one task: its frames, to be found by their operations.
class Position {
public:
  Position(ArrayRef<TaskFrame> frames, bool rolesBegun)
      : frames(frames), rolesBegun(rolesBegun) {
    unsigned loops = 0;
    for (auto [i, frame] : llvm::enumerate(frames)) {
      loops += frame.group != TaskFrame::kNoGroup;
      numLoops.push_back(loops);
      indices[frame.op] = i;
    }
  }

  /// Whether the task may still execute `user`, which uses a value that a
  /// region of `definedIn` defines.
  bool isAhead(Operation *user, Operation *definedIn) const {
    int inner = findFrame(user->getParentOp());
    if (inner < 0)
      return false;
    int outer = findFrame(definedIn);
    if (inner > outer && numLoops[inner] > (outer < 0 ? 0 : numLoops[outer]))
      return true;
    Operation *next = frames[inner].next;
    if (!next)
      return false;
    Operation *at = next->getBlock()->findAncestorOpInBlock(*user);
    if (!at)
      return false;
    if (at != next)
      return next->isBeforeInBlock(at);
    bool isInside = unsigned(inner) + 1 < frames.size() ||
                    (isa<SpecializeOp>(at) && rolesBegun);
    return !isInside;
  }

private:
  /// The number of the innermost frame around or at `op`; -1 if there is none.
  int findFrame(Operation *op) const {
    for (; op; op = op->getParentOp())
      if (auto it = indices.find(op); it != indices.end())
        return it->second;
    return -1;
  }

  ArrayRef<TaskFrame> frames;
  bool rolesBegun;
  llvm::DenseMap<Operation *, int> indices;
  /// The number of loops among the frames up to each one.
  SmallVector<unsigned> numLoops;
};
} // namespace

static SmallVector<Position> getPositions(const Path &path) {
  SmallVector<Position> positions;
  for (const auto &frames : path.tasks)
    positions.emplace_back(frames, path.rolesBegun);
  return positions;
}

bool PathLiveness::isAhead(const Path &path, const std::string &place,
                           ArrayRef<Operation *> ops) {
  auto [it, isNew] = aheadByPlace.try_emplace(place);
  if (!isNew)
    return it->second;
  SmallVector<Position> positions = getPositions(path);
  it->second = llvm::any_of(ops, [&](Operation *op) {
    return llvm::any_of(positions, [&](const Position &position) {
      return position.isAhead(op, program.getKernel());
    });
  });
  return it->second;
}

const std::vector<unsigned> &PathLiveness::get(const Path &path,
                                               const std::string &place) {
  auto [it, isNew] = liveByPlace.try_emplace(place);
  if (!isNew)
    return it->second;
  SmallVector<Position> positions = getPositions(path);
  for (unsigned number = 0; number < path.values.size(); ++number) {
    Value value = program.getValue(number);
    Operation *definedIn = value.getParentBlock()->getParentOp();
    SmallVector<Operation *> users(value.getUsers());
    llvm::append_range(users, program.getCopiedReads(value));
    bool isLive = llvm::any_of(positions, [&](const Position &position) {
      return llvm::any_of(users, [&](Operation *user) {
        return position.isAhead(user, definedIn);
      });
    });
    if (isLive)
      it->second.push_back(number);
  }
  return it->second;
}
