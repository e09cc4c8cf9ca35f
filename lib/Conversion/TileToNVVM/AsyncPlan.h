//===- AsyncPlan.h - Who signals what in a kernel ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the lowering of TMA copies, channels and roles has to know of a kernel
// as a whole, found before the conversion starts.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H
#define TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/TmaCopy.h"

#include <memory>

namespace tilews {

/// A copy that TMA does.
struct PlannedCopy {
  tile::TmaCopy copy;
  /// The number of its tensor map.
  unsigned map = 0;
  /// Loads: the transaction that the copy is part of.
  mlir::TypedValue<tile::ChannelType> channel;
  mlir::Value cursor;
  /// Loads: no single commit counts the copy's bytes.
  bool expectsAlone = false;
};

/// A channel of a specialized kernel. Its barriers lie in the arena, those that
/// say "full" first, then those that say "empty".
struct PlannedChannel {
  /// What fills its slots: each kind arrives on its own when a fill completes.
  bool byTma = false, byCpAsync = false, byStores = false;
  /// Whether wgmma or TMA read its slots, and whether ordinary loads do.
  bool hasAsyncReaders = false, hasGenericReaders = false;
  /// Whether consumers store to its slots.
  bool isWrittenByConsumers = false;
  /// How many times a barrier is arrived at in a phase.
  int64_t fullArrivals = 0, emptyArrivals = 0;
};

struct AsyncPlan {
  llvm::DenseMap<mlir::Operation *, PlannedCopy> copies;
  llvm::DenseMap<mlir::Operation *, PlannedChannel> channels;
  /// The bytes that a commit tells its barrier to expect.
  llvm::DenseMap<mlir::Operation *, int64_t> committedBytes;
  /// Roles that do nothing but issue TMA copies: one thread runs them.
  llvm::DenseSet<mlir::Operation *> electedRoles;
  bool storesByTma = false, copiesByCpAsync = false;
  bool hasAsyncProducts = false;

  const PlannedChannel &getChannel(mlir::Value channel) const {
    return channels.at(channel.getDefiningOp());
  }
};

/// Plans `kernel`; notes the tensor maps it needs, and which roles one thread
/// runs, in `lowering`. Fails with an error if an operation cannot be lowered
/// as it says.
mlir::FailureOr<std::shared_ptr<const AsyncPlan>>
planAsync(mlir::gpu::GPUFuncOp kernel, LoweringContext &lowering);

/// A pattern with access to the plan, tried before those of all targets.
template <typename OpT>
class AsyncPattern : public TilePattern<OpT> {
public:
  AsyncPattern(const TileTypeConverter &converter, LoweringContext &lowering,
               std::shared_ptr<const AsyncPlan> plan)
      : TilePattern<OpT>(converter, lowering, /*benefit=*/2),
        plan(std::move(plan)) {}

protected:
  std::shared_ptr<const AsyncPlan> plan;
};

/// The barriers of one slot of a channel, from its converted values.
class SlotBarriers {
public:
  SlotBarriers(mlir::ImplicitLocOpBuilder &b, mlir::Value channel,
               mlir::Value cursor, int64_t depth);

  mlir::Value getFull();
  mlir::Value getEmpty();
  /// The phase of the cursor, an i32 that is 0 or 1.
  mlir::Value getPhase();

private:
  mlir::Value getBarrier(int64_t first);

  mlir::ImplicitLocOpBuilder &b;
  mlir::Value channel, cursor;
  int64_t depth;
};

/// Bytes of a barrier in shared memory.
constexpr int64_t kBarrierBytes = 8;

/// Emits `body` for one of `threads`.
void createForOneThread(mlir::ImplicitLocOpBuilder &b,
                        const ThreadGroup &threads,
                        llvm::function_ref<void()> body);

void populateTmaPatterns(const TileTypeConverter &converter,
                         LoweringContext &lowering,
                         std::shared_ptr<const AsyncPlan> plan,
                         mlir::RewritePatternSet &patterns);
void populateChannelPatterns(const TileTypeConverter &converter,
                             LoweringContext &lowering,
                             std::shared_ptr<const AsyncPlan> plan,
                             mlir::RewritePatternSet &patterns);
void populateRolePatterns(const TileTypeConverter &converter,
                          LoweringContext &lowering,
                          std::shared_ptr<const AsyncPlan> plan,
                          mlir::RewritePatternSet &patterns);

} // namespace tilews

#endif // TILEWS_LIB_CONVERSION_TILETONVVM_ASYNCPLAN_H
