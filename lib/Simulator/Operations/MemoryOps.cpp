//===- MemoryOps.cpp - Shared memory, copies, loads and stores ------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared buffers, and copies, loads and stores of tiles. Loads and stores are
// done at once. A copy is done at once, or it is an asynchronous operation if
// the hardware's instruction is:
//
//   tile.inst = tma, to shared    lands on a barrier (its own or its channel's)
//   tile.inst = tma, to global    completes for a wait of the agent's threads
//   tile.inst = cp_async          completes for a wait for its group
//
// The bytes of an asynchronous copy move when it completes, but its event is
// checked and recorded when it starts: from then on it may happen. With
// `multicast` there is one operation for each block that receives the tile.
// TMA needs regions of global memory that begin at multiples of 16 bytes of
// their rows, in whatever form the kernel is.
//
//===----------------------------------------------------------------------===//

#include "Simulator/Access.h"
#include "Simulator/BarrierWait.h"
#include "Simulator/ClusterState.h"
#include "Simulator/Numbers.h"

#include "tilews/Dialect/Tile/IR/SharedOperands.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// Makes a row-major memref of a static type. The layout of the type only
/// matters for the shadow memory, not for the values.
static FailureOr<Datum> makeMemRef(Frame &frame, const Instruction &inst,
                                   std::shared_ptr<Buffer> buffer) {
  auto type = cast<MemRefType>(inst.op->getResult(0).getType());
  if (!isHeld(type.getShape()))
    return frame.fail(inst, "has the shape " + toString(type.getShape()) +
                                "; the interpreter holds up to " +
                                Twine(kMaxElements) + " elements");
  auto memref = std::make_shared<MemRef>();
  memref->type = inst.resultTypes[0].element;
  memref->storageBits = memref->type.getMemoryBits();
  if (memref->storageBits == 0)
    return frame.fail(inst, "has elements of " + Twine(memref->type.width) +
                                " bits, which have no form in memory");
  memref->shape.assign(type.getShape().begin(), type.getShape().end());
  memref->strides = getRowMajorStrides(type.getShape());
  memref->buffer = std::move(buffer);
  Datum datum;
  datum.memref = std::move(memref);
  return datum;
}

static LogicalResult allocate(Frame &frame, const Instruction &inst) {
  auto buffer = std::make_shared<Buffer>();
  FailureOr<Datum> datum = makeMemRef(frame, inst, buffer);
  if (failed(datum))
    return failure();
  const MemRef &memref = *datum->memref;
  int64_t bits = countElements(memref.shape) * memref.storageBits;
  buffer->storage.resize(llvm::divideCeil(bits, 8));
  buffer->written.resize(buffer->storage.size());
  buffer->data = buffer->storage.data();
  buffer->alloc = &inst;
  frame.getState().addBuffer(inst, buffer);
  if (inst.places) {
    buffer->cells = frame.getState().getAccesses().getArena();
    buffer->firstCell = inst.sharedOffset;
    buffer->places = inst.places.get();
  } else {
    buffer->cells = std::make_shared<Cells>();
  }
  frame.set(inst, 0, std::move(*datum));
  return success();
}

static LogicalResult makeView(Frame &frame, const Instruction &inst) {
  const MemRef &source = frame.getMemRef(inst, 0);
  if (ArrayRef(source.strides) != ArrayRef(getRowMajorStrides(source.shape)))
    return frame.fail(inst, "views a buffer with strides " +
                                toString(source.strides) +
                                ", but only contiguous ones have a view");
  FailureOr<Datum> datum = makeMemRef(frame, inst, source.buffer);
  if (failed(datum))
    return failure();
  auto result = std::make_shared<MemRef>(*datum->memref);
  result->slot = source.slot;
  int64_t bits = source.offset * source.storageBits;
  int64_t sourceBits = countElements(source.shape) * source.storageBits;
  if (bits % result->storageBits != 0 ||
      sourceBits != countElements(result->shape) * result->storageBits)
    return frame.fail(inst, "does not view the same bytes: the source starts "
                            "at bit " +
                                Twine(bits) + " and has " + Twine(sourceBits));
  result->offset = bits / result->storageBits;
  datum->memref = std::move(result);
  frame.set(inst, 0, std::move(*datum));
  return success();
}

/// Makes a view of one version of a buffer.
static LogicalResult makeSlot(Frame &frame, const Instruction &inst) {
  auto slot = std::make_shared<MemRef>(frame.getMemRef(inst, 0));
  int64_t number = frame.getInteger(inst, 1), versions = slot->shape.front();
  if (isa<tile::CursorType>(inst.op->getOperand(1).getType()))
    number %= versions;
  if (number < 0 || number >= versions)
    return frame.fail(inst, "takes version " + Twine(number) +
                                " of a buffer that has " + Twine(versions));
  slot->slot = number;
  slot->offset += number * slot->strides.front();
  slot->shape.erase(slot->shape.begin());
  slot->strides.erase(slot->strides.begin());
  Datum datum;
  datum.memref = std::move(slot);
  frame.set(inst, 0, std::move(datum));
  return success();
}

/// Makes a view of a part of a buffer, without its dimensions of size one.
static LogicalResult makeSubview(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::SubviewOp>(inst.op);
  const MemRef &source = frame.getMemRef(inst, 0);
  auto part = std::make_shared<MemRef>(source);
  part->shape.clear();
  part->strides.clear();
  unsigned operand = 1;
  SmallVector<int64_t> offsets =
      fillDynamic(frame, inst, op.getStaticOffsets(), operand);
  for (auto [dim, offset, size] : llvm::enumerate(offsets, op.getSizes())) {
    if (offset < 0 || offset >= source.shape[dim])
      return frame.fail(inst, "takes the part at index " + Twine(offset) +
                                  " along dimension " + Twine(dim) +
                                  ", expected an index below " +
                                  Twine(source.shape[dim]));
    part->offset += offset * source.strides[dim];
    if (size == 1)
      continue;
    part->shape.push_back(size);
    part->strides.push_back(source.strides[dim]);
  }
  Datum datum;
  datum.memref = std::move(part);
  frame.set(inst, 0, std::move(datum));
  return success();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

namespace {
/// The barrier that a copy by TMA signals.
struct Signal {
  BarrierArray *barriers = nullptr;
  int64_t slot = 0;
};
} // namespace

/// Returns the barrier that a copy by TMA signals: its own or, in a role, that
/// of the channel whose slot it fills. For other copies `barriers` is null.
static FailureOr<Signal> getSignal(Frame &frame, const Instruction &inst,
                                   const MemRef &dest) {
  auto op = cast<tile::CopyOp>(inst.op);
  auto kind = op->getAttrOfType<tile::InstKindAttr>(tile::TileDialect::kInst);
  if (op.getSignal()) {
    unsigned operand = op.getSignalMutable()[0].getOperandNumber();
    FailureOr<int64_t> slot = getBarrierSlot(frame, inst, operand);
    if (failed(slot))
      return failure();
    return Signal{frame.get(inst, operand).barriers.get(), *slot};
  }
  ChannelBarriers *channel = dest.buffer->channel.get();
  if (channel && dest.slot >= 0 && frame.isInRole() && kind &&
      kind.getValue() == tile::InstKind::Tma)
    return Signal{channel->full.get(), dest.slot};
  return Signal();
}

/// Returns the kind of asynchronous operation of a copy that signals no
/// barrier; nothing if the copy is done at once.
static std::optional<AsyncKind> getAsyncKind(Frame &frame, tile::CopyOp op,
                                             const MemRef &dest) {
  auto inst = op->getAttrOfType<tile::InstKindAttr>(tile::TileDialect::kInst);
  bool isExplicit = frame.getState().isExplicit;
  bool fillsSlot = dest.slot >= 0 && dest.buffer->channel;
  if (!inst)
    return std::nullopt;
  if (inst.getValue() == tile::InstKind::Tma && isExplicit &&
      tile::isShared(op.getSource()))
    return AsyncKind::Store;
  if (inst.getValue() == tile::InstKind::CpAsync &&
      tile::isShared(op.getDest()) && (isExplicit || fillsSlot))
    return AsyncKind::Copy;
  return std::nullopt;
}

/// Makes a copy by cp.async or by TMA to global memory.
static std::shared_ptr<AsyncOp> makeCopy(Frame &frame, const Instruction &inst,
                                         AsyncKind kind) {
  Agent &agent = frame.getState().getAgent(frame.getAgent());
  bool isStore = kind == AsyncKind::Store;
  auto op = std::make_shared<AsyncOp>();
  op->kind = kind;
  op->agent = frame.getAgent();
  op->inst = &inst;
  op->component = isStore ? agent.stores : agent.copies;
  op->time = isStore ? ++agent.storesStarted : ++agent.copiesStarted;
  return op;
}

/// Returns share number `share` of `shares` of a region, cut along its first
/// dimension whose size is not 1. Share 1 of 2 of 64 x 32 is rows 32 to 63.
static Box getShare(const Box &box, int64_t share, int64_t shares) {
  Box rows = box;
  size_t dim = 0;
  while (dim + 1 < box.sizes.size() && box.sizes[dim] == 1)
    ++dim;
  int64_t first = box.sizes[dim] * share / shares;
  rows.offsets[dim] += first;
  rows.sizes[dim] = box.sizes[dim] * (share + 1) / shares - first;
  return rows;
}

/// Copies this block's share of a tile to the block and each of its peers, by
/// one operation for each.
template <typename T>
static LogicalResult
multicast(Frame &frame, const Instruction &inst, const MemRef &source,
          const Box &from, const MemRef &dest, const Box &to, Signal signal) {
  BlockState &state = frame.getState();
  tile::ClusterDims dims = *cast<tile::CopyOp>(inst.op).getMulticast();
  const tile::Cluster &cluster = state.getCluster().getExtents();
  if (failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  int64_t share = cluster.getShare(dims, state.getRank());
  int64_t shares = cluster.countPeers(dims);
  Box fromShare = getShare(from, share, shares);
  Box toShare = getShare(to, share, shares);
  int64_t bytes = countElements(toShare.sizes) * dest.storageBits / 8;
  for (BlockState *block :
       state.getBlocks(cluster.getPeers(dims, state.getRank()))) {
    BarrierArray *barriers = signal.barriers;
    MemRef target = dest;
    if (block != &state) {
      FailureOr<BarrierArray *> found =
          block->getBarriersFor(frame, inst, *barriers);
      FailureOr<MemRef> memref = block->getMemRefFor(frame, inst, dest);
      if (failed(found) || failed(memref))
        return failure();
      barriers = *found;
      target = *memref;
      block->addGuest(state.getAgent(frame.getAgent()), inst);
    }
    std::shared_ptr<AsyncOp> async =
        makeLoad(frame, inst, *block, barriers->slots[signal.slot]);
    AccessMode read{/*writes=*/false, /*isAsyncProxy=*/true, std::nullopt,
                    async};
    AccessMode write{/*writes=*/true, /*isAsyncProxy=*/true, std::nullopt,
                     async};
    if (failed(
            state.getAccesses().check(frame, inst, source, fromShare, read)) ||
        failed(block->getAccesses().check(frame, inst, target, toShare, write)))
      return failure();
    auto move = [&frame, &inst, source, target, fromShare, toShare] {
      std::vector<T> values(countElements(fromShare.sizes));
      return success(
          succeeded(
              readBox<T>(frame, inst, source, fromShare, 0, values.data())) &&
          succeeded(writeBox<T>(frame, inst, target, toShare, values.data())));
    };
    if (failed(startLoad(frame, std::move(async), *barriers, signal.slot, bytes,
                         move)))
      return failure();
  }
  return success();
}

/// A region of the source of a copy and the region of the destination that
/// takes it.
struct CopyPart {
  Box from, to;
};

/// Cuts a copy of rows at indices into its rows. Other copies have one part.
static FailureOr<SmallVector<CopyPart>> getParts(Frame &frame,
                                                 const Instruction &inst,
                                                 const Box &from,
                                                 const Box &to) {
  auto op = cast<tile::CopyOp>(inst.op);
  if (!op.getRows())
    return SmallVector<CopyPart>{{from, to}};
  const MemRef &memref =
      frame.getMemRef(inst, op.getRowsMutable()[0].getOperandNumber());
  Box whole = Box::getWhole(memref);
  SmallVector<int64_t> rows(memref.shape.front());
  if (failed(readNow<int64_t>(frame, inst, memref, whole, 0, rows.data())))
    return failure();
  size_t dim = *op.getRowDim(), toDim = 0;
  // The dimension of the destination with the same place among those whose size
  // is not 1.
  int64_t before = llvm::count_if(ArrayRef(from.sizes).take_front(dim),
                                  [](int64_t size) { return size != 1; });
  if (rows.size() > 1)
    while (to.sizes[toDim] == 1 || before-- > 0)
      ++toDim;
  SmallVector<CopyPart> parts;
  for (auto [i, row] : llvm::enumerate(rows)) {
    CopyPart part = {from, to};
    part.from.offsets[dim] =
        int64_t(uint64_t(from.offsets[dim]) + uint64_t(row));
    part.from.sizes[dim] = 1;
    if (rows.size() > 1) {
      part.to.offsets[toDim] += i;
      part.to.sizes[toDim] = 1;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Checks the accesses of a copy.
static LogicalResult checkCopy(Frame &frame, const Instruction &inst,
                               const MemRef &source, const MemRef &dest,
                               ArrayRef<CopyPart> parts, bool isTma,
                               const std::shared_ptr<AsyncOp> &async) {
  AccessMode read{/*writes=*/false, isTma, std::nullopt, async};
  AccessMode write{/*writes=*/true, isTma, std::nullopt, async};
  AccessChecker &accesses = frame.getState().getAccesses();
  for (const CopyPart &part : parts)
    if (failed(accesses.check(frame, inst, source, part.from, read)) ||
        failed(accesses.check(frame, inst, dest, part.to, write)))
      return failure();
  return success();
}

template <typename T>
static LogicalResult moveParts(Frame &frame, const Instruction &inst,
                               const MemRef &source, const MemRef &dest,
                               ArrayRef<CopyPart> parts) {
  std::vector<T> values;
  for (const auto &[from, to] : parts) {
    values.resize(countElements(from.sizes));
    if (failed(readBox<T>(frame, inst, source, from, 0, values.data())) ||
        failed(writeBox<T>(frame, inst, dest, to, values.data())))
      return failure();
  }
  return success();
}

/// Fails if TMA cannot start a copy where a region of global memory begins. The
/// GPU stops with an illegal instruction then.
static LogicalResult checkTmaStart(Frame &frame, const Instruction &inst,
                                   const Box &from, const Box &to) {
  auto op = cast<tile::CopyOp>(inst.op);
  auto kind = op->getAttrOfType<tile::InstKindAttr>(tile::TileDialect::kInst);
  if (!kind || kind.getValue() != tile::InstKind::Tma)
    return success();
  bool isStore = tile::isShared(op.getSource());
  auto type =
      cast<MemRefType>((isStore ? op.getDest() : op.getSource()).getType());
  std::optional<int64_t> inner = tile::getInnerDim(type);
  if (!tile::isGlobal(type) || !inner)
    return success();
  int64_t element = (isStore ? to : from).offsets[*inner];
  int64_t bits = tile::getStorageBits(type.getElementType());
  // Indices are arbitrary numbers: only the remainder is free of overflow.
  int64_t perUnit = std::max<int64_t>(128 / bits, 1);
  if (element % perUnit == 0)
    return success();
  return frame.fail(inst, "begins at element " + Twine(element) +
                              " of a row of global memory, but TMA begins at "
                              "multiples of " +
                              Twine(perUnit) + " elements (16 bytes)");
}

template <typename T>
static LogicalResult copy(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::CopyOp>(inst.op);
  BlockState &state = frame.getState();
  unsigned number = 1 + op.getSourceOffsets().size();
  Box from = getBox(frame, inst, op.getSourceRegion(), 1);
  Box to = getBox(frame, inst, op.getDestRegion(), number + 1);
  MemRef source = frame.getMemRef(inst, 0),
         dest = frame.getMemRef(inst, number);
  if (op.getLimit()) {
    bool limitsDest = op.limitsDest();
    MemRef &limited = limitsDest ? dest : source;
    limited = getLimited(
        limited, limitsDest ? to : from, *op.getLimitDim(),
        frame.getInteger(inst, op.getLimitMutable()[0].getOperandNumber()));
  }
  FailureOr<Signal> signal = getSignal(frame, inst, dest);
  if (failed(signal) || failed(checkTmaStart(frame, inst, from, to)))
    return failure();
  bool isLoad = signal->barriers;
  if (isLoad && op.getSignal() && op.getMulticast())
    return multicast<T>(frame, inst, source, from, dest, to, *signal);
  std::optional<AsyncKind> kind =
      isLoad ? AsyncKind::Load : getAsyncKind(frame, op, dest);
  if (kind && failed(state.scheduler.yield(frame.getAgent())))
    return failure();

  std::shared_ptr<AsyncOp> async;
  if (isLoad)
    async = makeLoad(frame, inst, state, signal->barriers->slots[signal->slot]);
  else if (kind)
    async = makeCopy(frame, inst, *kind);
  bool isTma = kind && kind != AsyncKind::Copy;
  auto parts = getParts(frame, inst, from, to);
  if (failed(parts) ||
      failed(checkCopy(frame, inst, source, dest, *parts, isTma, async)))
    return failure();

  auto move = [&frame, &inst, source, dest, parts = std::move(*parts)] {
    return moveParts<T>(frame, inst, source, dest, parts);
  };
  Record details;
  int64_t bytes = countElements(to.sizes) * dest.storageBits / 8;
  details.bytes = bytes;
  if (Record *record = frame.getRecord())
    record->bytes = bytes;
  if (!kind)
    return move();
  if (!isLoad) {
    details.number = async->time;
    async->complete = move;
    auto unit = isTma ? RecordUnit::Tma : RecordUnit::CpAsync;
    return state.start(std::move(async), unit, details);
  }
  // Bytes outside the source count, too. A channel's barrier expects them when
  // the copy starts; other barriers are told by separate operations.
  if (!op.getSignal())
    expect(frame, signal->barriers->slots[signal->slot], bytes);
  return startLoad(frame, std::move(async), *signal->barriers, signal->slot,
                   bytes, move);
}

template <typename T>
static LogicalResult load(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::LoadOp>(inst.op);
  Box box = getBox(frame, inst, op.getRegion(), 1);
  T padding = op.getPadding()
                  ? *frame.get(inst, 1 + op.getOffsets().size()).elements<T>()
                  : fromZero<T>(inst.resultTypes[0].element);
  Datum datum = makeDatum(inst.resultTypes[0]);
  if (failed(readNow<T>(frame, inst, frame.getMemRef(inst, 0), box, padding,
                        datum.elements<T>())))
    return failure();
  frame.set(inst, 0, std::move(datum));
  return success();
}

template <typename T>
static LogicalResult store(Frame &frame, const Instruction &inst) {
  Box box = getBox(frame, inst, cast<tile::StoreOp>(inst.op).getRegion(), 2);
  return writeNow<T>(frame, inst, frame.getMemRef(inst, 1), box,
                     frame.get(inst, 0).elements<T>());
}

void sim::registerTileMemoryHandlers(Registry &registry) {
  registry.add<tile::AllocSharedOp>(allocate);
  registry.add<tile::ViewOp>(makeView);
  registry.add<tile::SlotOp>(makeSlot);
  registry.add<tile::SubviewOp>(makeSubview);
  addByElement<tile::CopyOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return copy<decltype(element)>(frame, inst);
      });
  addByElement<tile::LoadOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return load<decltype(element)>(frame, inst);
      });
  addByElement<tile::StoreOp>(
      registry, [](Frame &frame, const Instruction &inst, auto element) {
        return store<decltype(element)>(frame, inst);
      });
}
