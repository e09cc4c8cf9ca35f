//===- ChannelText.cpp - Channels in a model ------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels with `tile.channel` as a protocol with sequence numbers. Transaction
// t of a channel of depth D is at slot t % D, and is the fill number t / D + 1
// of that slot. Numbers say how often a slot was acquired, committed, filled,
// waited for and released:
//
//   acquire   needs  released == filled, for each consumer
//   wait      needs  filled > waited
//   read      needs  the contents to be fill number `waited`
//
// Asynchronous copies to a slot land together, at any time after the commit.
//
//===----------------------------------------------------------------------===//

#include "AccessText.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

namespace {
/// A channel with the rows of its consumers, one for each, or one for all of
/// those that alternate.
struct ModelChannel {
  ChannelOp op;
  std::string name;
  int64_t number, first, depth;
  bool isAlternating;
  llvm::SetVector<const Thread *> producers = {}, consumers = {};
  int64_t firstRow = 0;

  int64_t countRows() const {
    return consumers.empty() ? 0 : isAlternating ? 1 : consumers.size();
  }
  std::optional<int64_t> findRow(const Thread *thread) const {
    if (!consumers.contains(thread))
      return std::nullopt;
    return isAlternating ? 0
                         : llvm::find(consumers, thread) - consumers.begin();
  }
};

class ChannelText : public AccessText {
public:
  explicit ChannelText(KernelReader &reader);

  LogicalResult write(Operation *op, ThreadText &thread) override;
  StringRef getRules() const override { return getChannelPrelude(); }
  void declareState(ModelText &out) override;
  void initialize(ModelText &out) override;
  void writeAgents(ModelText &out) override;
  void writeFinalChecks(ModelText &out) override;

private:
  LogicalResult checkAccess(Operation *op, const ModelAccess &access,
                            ThreadText &thread) override;
  LogicalResult writeCopy(CopyOp copy, ArrayRef<ModelAccess> accesses,
                          ThreadText &thread) override;
  void writeAcquire(ModelChannel &channel, StringRef cursor,
                    ThreadText &thread);
  void writeCommit(ModelChannel &channel, StringRef cursor, ThreadText &thread);
  void writeWait(ModelChannel &channel, WaitOp wait, StringRef cursor,
                 ThreadText &thread);
  void writeRelease(ModelChannel &channel, StringRef cursor,
                    ThreadText &thread);
  ModelChannel &getChannel(Value value);
  /// "slot[CH + q % 2]" and, of a consumer, "reader[2 + q % 2]".
  std::string getSlot(const ModelChannel &channel, StringRef cursor) const;
  std::string isReleased(const ModelChannel &channel, StringRef cursor) const;
  std::string getReader(const ModelChannel &channel, int64_t row,
                        StringRef cursor) const;
  SmallVector<const ModelBuffer *> getBuffers(const ModelChannel &c) const;
  bool lands(const ModelChannel &channel) const {
    return reader.hasRoles() &&
           ChannelOp(channel.op).getProducer() != ProducerKind::Simt;
  }

  std::vector<ModelChannel> channels;
  int64_t numSlots = 0, numRows = 0;
};
} // namespace

std::unique_ptr<AccessText> promela::makeChannelText(KernelReader &reader) {
  return std::make_unique<ChannelText>(reader);
}

ChannelText::ChannelText(KernelReader &reader) : AccessText(reader) {
  reader.getKernel().walk([&](ChannelOp op) {
    ModelChannel channel{op,
                         reader.getSource().getConstantName(op.getChannel()),
                         int64_t(channels.size()),
                         numSlots,
                         op.getChannel().getType().getDepth(),
                         op.getAlternating()};
    for (Operation *user : op.getChannel().getUsers()) {
      const Thread *thread = &reader.getThread(user);
      if (isa<AcquireOp, CommitOp>(user))
        channel.producers.insert(thread);
      else if (isa<WaitOp, ReleaseOp>(user))
        channel.consumers.insert(thread);
    }
    channel.firstRow = numRows;
    numRows += channel.countRows();
    numSlots += channel.depth;
    channels.push_back(std::move(channel));
  });
}

ModelChannel &ChannelText::getChannel(Value value) {
  for (ModelChannel &channel : channels)
    if (channel.op.getChannel() == value)
      return channel;
  llvm_unreachable("KernelReader declines channels that are passed on");
}

SmallVector<const ModelBuffer *>
ChannelText::getBuffers(const ModelChannel &channel) const {
  SmallVector<const ModelBuffer *> buffers;
  for (const ModelBuffer &buffer : reader.getBuffers())
    if (buffer.channel == channel.op)
      buffers.push_back(&buffer);
  return buffers;
}

std::string ChannelText::getSlot(const ModelChannel &channel,
                                 StringRef cursor) const {
  return ("slot[" + channel.name + " + " + cursor + " % " +
          Twine(channel.depth) + "]")
      .str();
}

/// Rows have as many readers as the deepest channel has slots.
std::string ChannelText::getReader(const ModelChannel &channel, int64_t row,
                                   StringRef cursor) const {
  return ("reader[" + Twine(channel.firstRow + row) + " * DEPTH + " + cursor +
          " % " + Twine(channel.depth) + "]")
      .str();
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

void ChannelText::declareState(ModelText &out) {
  out.append("\n/* Channels: their slots, their consumers, and the numbers of "
             "transactions. */\n");
  int64_t depth = 1;
  for (const ModelChannel &channel : channels) {
    depth = std::max(depth, channel.depth);
    out.comment(reader.getSource().getComment(channel.op));
    out.line("#define " + channel.name + " " + Twine(channel.first));
    for (auto [i, consumer] : llvm::enumerate(channel.consumers))
      if (i < size_t(channel.countRows()))
        out.line(
            "/* consumer " + Twine(channel.firstRow + i) + ": " +
            (channel.isAlternating ? "those that alternate" : consumer->name) +
            " */");
  }
  out.line("#define DEPTH " + Twine(depth));
  out.line("slot_t slot[" + Twine(std::max<int64_t>(numSlots, 1)) + "];");
  out.line("reader_t reader[" + Twine(std::max<int64_t>(numRows, 1)) +
           " * DEPTH];");
  out.line("short made[" + Twine(std::max<size_t>(channels.size(), 1)) +
           "], taken[" + Twine(std::max<int64_t>(numRows, 1)) + "];");
}

void ChannelText::initialize(ModelText &out) {
  for (const ModelChannel &channel : channels)
    if (channel.producers.size() > 1)
      out.line("check(false); /* " + channel.name +
               " has more than one producer */");
}

/// Copies to a slot land together, after the commit.
void ChannelText::writeAgents(ModelText &out) {
  for (const ModelChannel &channel : channels) {
    if (!lands(channel))
      continue;
    out.append("\n/* Fills of " + channel.name + " are complete. */\n");
    out.line("active proctype fills_" + channel.name + "() {");
    out.line("end:");
    out.line("  do");
    for (int64_t slot = 0; slot < channel.depth; ++slot) {
      std::string name =
          "slot[" + channel.name + " + " + std::to_string(slot) + "]";
      out.line("  :: atomic {");
      out.line("    " + name + ".filled < " + name + ".committed ->");
      for (const ModelBuffer *buffer : getBuffers(channel))
        for (int64_t part = 0; part < buffer->parts; ++part)
          out.line("    end_fills(" + buffer->name + " + " +
                   Twine(slot * buffer->parts + part) + ");");
      out.line("    " + name + ".filled = " + name + ".committed");
      out.line("  }");
    }
    out.line("  od");
    out.line("}");
  }
}

void ChannelText::writeFinalChecks(ModelText &out) {
  out.line("/* All slots are free. */");
  for (const ModelChannel &channel : channels) {
    if (lands(channel))
      for (int64_t i = 0; i < channel.depth; ++i)
        out.line("until(slot[" + channel.name + " + " + Twine(i) +
                 "].filled == slot[" + channel.name + " + " + Twine(i) +
                 "].committed);");
    for (int64_t i = 0; i < channel.depth; ++i) {
      std::string cursor = std::to_string(i), slot = getSlot(channel, cursor);
      out.line("check(" + slot + ".acquired == " + slot + ".committed);");
      if (channel.countRows() == 0)
        out.line("check(" + slot + ".filled == 0);");
      for (int64_t row = 0; row < channel.countRows(); ++row)
        for (StringRef field : {"waited", "released"})
          out.line("check(" + getReader(channel, row, cursor) + "." + field +
                   " == " + slot + ".filled);");
    }
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult ChannelText::write(Operation *op, ThreadText &thread) {
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp>(op)) {
    comment(op, thread);
    ModelChannel &channel = getChannel(op->getOperand(0));
    std::string cursor = thread.get(op->getOperand(1));
    if (isa<AcquireOp>(op))
      writeAcquire(channel, cursor, thread);
    else if (isa<CommitOp>(op))
      writeCommit(channel, cursor, thread);
    else if (auto wait = dyn_cast<WaitOp>(op))
      writeWait(channel, wait, cursor, thread);
    else
      writeRelease(channel, cursor, thread);
    return success();
  }
  if (isa<BarrierOp, gpu::BarrierOp>(op)) {
    writeBarrier(op, thread);
  } else if (isa<CommitGroupOp>(op)) {
    writeCommitGroup(op, thread);
  } else if (auto wait = dyn_cast<GemmWaitOp>(op)) {
    writeGemmWait(wait, thread);
  } else if (failed(writeAccesses(op, thread))) {
    return failure();
  }
  if (reader.usesScratch(op))
    writeScratch(op, thread);
  return success();
}

/// The condition that no transaction of a slot is open after its commit.
std::string ChannelText::isReleased(const ModelChannel &channel,
                                    StringRef cursor) const {
  std::string slot = getSlot(channel, cursor);
  std::string isReleased = slot + ".filled == " + slot + ".committed";
  for (int64_t row = 0; row < channel.countRows(); ++row)
    isReleased += " && " + getReader(channel, row, cursor) +
                  ".released == " + slot + ".committed";
  return isReleased;
}

/// The condition that a cursor is that of transaction `number`.
static std::string isAt(StringRef cursor, const Twine &number, int64_t depth) {
  return ("check(" + cursor + " == (" + number + ") % " + Twine(2 * depth) +
          ")")
      .str();
}

void ChannelText::writeAcquire(ModelChannel &channel, StringRef cursor,
                               ThreadText &thread) {
  ModelText &out = thread.getOut();
  std::string slot = getSlot(channel, cursor);
  std::string made = "made[" + std::to_string(channel.number) + "]";
  out.gap();
  out.step(isAt(cursor, made, channel.depth));
  out.step("check(" + slot + ".acquired == " + slot + ".committed)");
  out.step("until(" + isReleased(channel, cursor) + ")");
  out.step(slot + ".acquired++");
  out.step(made + "++");
}

void ChannelText::writeCommit(ModelChannel &channel, StringRef cursor,
                              ThreadText &thread) {
  ModelText &out = thread.getOut();
  std::string slot = getSlot(channel, cursor);
  std::string depth = std::to_string(channel.depth);
  finishAccesses(thread);
  out.step("check(" + slot + ".acquired == " + slot + ".committed + 1)");
  out.step(isAt(cursor,
                slot + ".committed * " + depth + " + " + cursor + " % " + depth,
                channel.depth));
  out.step(slot + ".committed++");
  if (!lands(channel))
    out.step(slot + ".filled++");
}

void ChannelText::writeWait(ModelChannel &channel, WaitOp wait,
                            StringRef cursor, ThreadText &thread) {
  ModelText &out = thread.getOut();
  const Thread &self = thread.getThread();
  int64_t row = *channel.findRow(&self);
  std::string slot = getSlot(channel, cursor);
  std::string reading = getReader(channel, row, cursor);
  std::string taken = "taken[" + std::to_string(channel.firstRow + row) + "]";
  out.gap();
  out.step(isAt(cursor, taken, channel.depth));
  out.step("check(" + reading + ".waited == " + reading + ".released)");
  out.step("until(" + slot + ".filled > " + reading + ".waited)");
  out.step(reading + ".waited++");
  out.step(reading + ".holder = _pid");
  out.step(taken + "++");
  if (reader.hasRoles())
    return;
  // Without roles, the threads have started the copies themselves.
  writeGroupWait(wait, wait.getPending(), thread);
  if (wait.getProxyFence() && reader.hasFences())
    out.step("fence_late(" + self.constant + ")");
  synchronize(thread);
}

void ChannelText::writeRelease(ModelChannel &channel, StringRef cursor,
                               ThreadText &thread) {
  ModelText &out = thread.getOut();
  const Thread &self = thread.getThread();
  int64_t row = *channel.findRow(&self);
  std::string reading = getReader(channel, row, cursor);
  std::string depth = std::to_string(channel.depth);
  finishAccesses(thread);
  out.step("check(" + reading + ".waited == " + reading + ".released + 1 && " +
           reading + ".holder == _pid)");
  out.step(isAt(
      cursor, reading + ".released * " + depth + " + " + cursor + " % " + depth,
      channel.depth));
  auto checkNotReadBy = [&](StringRef unit) {
    for (const ModelBuffer *buffer : getBuffers(channel))
      for (int64_t part = 0; part < buffer->parts; ++part)
        out.step("check(!is_read_by_" + unit + "(" + self.constant + ", " +
                 buffer->name + " + (" + cursor + " % " + depth + ") * " +
                 Twine(buffer->parts) + " + " + Twine(part) + "))");
  };
  if (reader.hasMatmuls())
    checkNotReadBy("matmul");
  if (reader.hasStores())
    checkNotReadBy("store");
  out.step(reading + ".released++");
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

LogicalResult ChannelText::checkAccess(Operation *op, const ModelAccess &access,
                                       ThreadText &thread) {
  if (!access.version || !isa<CursorType>(access.version.getType()))
    return op->emitError("is not exported to Promela: it accesses a channel's "
                         "buffer, expected tile.slot with a cursor");
  ModelText &out = thread.getOut();
  const Thread *self = &thread.getThread();
  ModelChannel &channel = getChannel(access.buffer->channel.getChannel());
  std::string cursor = thread.get(access.version);
  std::string slot = getSlot(channel, cursor);
  std::string isFilling = "false", isHolding = "false";
  std::optional<int64_t> row = channel.findRow(self);
  std::string reading = row ? getReader(channel, *row, cursor) : "";
  if (channel.producers.contains(self))
    isFilling = "(" + slot + ".acquired == " + slot + ".committed + 1)";
  if (row)
    isHolding = "(" + reading + ".waited == " + reading + ".released + 1 && " +
                reading + ".holder == _pid)";
  if (access.writes) {
    out.step("check(" + isFilling + " || " + isHolding + ")");
    if (channel.producers.contains(self))
      for (const std::string &place : getPlaces(access, thread))
        out.step("if :: " + isFilling + " -> place[" + place +
                 "].fill = " + slot + ".acquired :: else fi");
  }
  if (!access.reads)
    return success();
  std::string isUnused = "made[" + std::to_string(channel.number) + "] == 0";
  // Others may read a slot that is free.
  if (!row) {
    out.step("check(" + isFilling + " || " + isUnused + " || (" + slot +
             ".acquired == " + slot + ".committed && " +
             isReleased(channel, cursor) + "))");
    return success();
  }
  // After its transaction, the slot that was waited for last may be read.
  std::string depth = std::to_string(channel.depth);
  std::string last = "(taken[" + std::to_string(channel.firstRow + *row) +
                     "] - 1) % " + depth + " == " + cursor + " % " + depth;
  std::string isRead = isHolding + " || " + last;
  for (const std::string &place : getPlaces(access, thread))
    isRead = "(" + isRead + ") && place[" + place + "].fill == " + reading +
             ".waited";
  // Before all transactions it reads what the kernel as written would read.
  isRead = "(" + isRead + ") || " + isUnused;
  if (channel.producers.contains(self))
    isRead = isFilling + " || " + isRead;
  out.step("check(" + isRead + ")");
  return success();
}

LogicalResult ChannelText::writeCopy(CopyOp copy,
                                     ArrayRef<ModelAccess> accesses,
                                     ThreadText &thread) {
  ModelText &out = thread.getOut();
  std::string queue = thread.getThread().constant;
  bool isTma = hasInst(copy, InstKind::Tma);
  for (const ModelAccess &access : accesses)
    for (const std::string &place : getPlaces(access, thread)) {
      if (access.writes) {
        startFill(access, place, isTma, thread);
        if (!reader.hasRoles())
          out.step("begin_copy(" + queue + ", " + place + ")");
        continue;
      }
      startRead(access, place, isTma, thread);
      out.step((isTma ? "begin_store(" : "begin_read(") + queue + ", " + place +
               ")");
    }
  return success();
}
