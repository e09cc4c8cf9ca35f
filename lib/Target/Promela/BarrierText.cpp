//===- BarrierText.cpp - Barriers in a model ------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels with `tile.mbarrier`, as in the PTX ISA, "mbarrier": each slot has
// pending arrivals, pending bytes and a phase. Steps that count in a phase have
// a duration, too. A thread looks at the phase at once, and arrives any time
// later; the phase must still be the same:
//
//   phase_ = barrier[FULL + ps].phase;      in the step before
//   arrive(FULL + ps, 1, phase_);           checks that it is still phase_
//
// So an arrival that might count in one phase or in the next fails in some run.
// Copies by TMA land whenever the process `tma` takes them from `flight`, and
// arrivals of copies by cp.async when `land_...` takes them from `landing`.
//
//===----------------------------------------------------------------------===//

#include "AccessText.h"

#include "mlir/IR/Dominance.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;
using namespace tilews::tile;

/// Threads of a warp of NVIDIA's, the only ones with barriers of this kind.
static constexpr int64_t kWarpSize = 32;

namespace {
/// A copy by TMA to shared memory: one flight for each version that it may
/// write, and each slot of the barrier that it signals.
struct CopySite {
  CopyOp op;
  ModelAccess access;
  int64_t first, bytes;
};

class BarrierText : public AccessText {
public:
  explicit BarrierText(KernelReader &reader);

  LogicalResult write(Operation *op, ThreadText &thread) override;
  StringRef getRules() const override { return getBarrierPrelude(); }
  void declareState(ModelText &out) override;
  void initialize(ModelText &out) override;
  void writeAgents(ModelText &out) override;
  void writeFinalChecks(ModelText &out) override;

private:
  LogicalResult writeCopy(CopyOp copy, ArrayRef<ModelAccess> accesses,
                          ThreadText &thread) override;
  void writeArrival(MBarrierArriveOp arrive, const std::string &barrier,
                    ThreadText &thread);
  int64_t getNumInitialized(Operation *op) const;
  FailureOr<std::string> getBarrier(Operation *op, Value barrier, Value slot,
                                    ThreadText &thread);

  llvm::MapVector<Value, std::pair<std::string, int64_t>> barriers;
  int64_t numFlights = 0;
  SmallVector<CopySite> copies;
  /// Threads whose last thread arrives, and those with arrivals of copies.
  llvm::SetVector<const Thread *> lateThreads, landingThreads;
};
} // namespace

std::unique_ptr<AccessText> promela::makeBarrierText(KernelReader &reader) {
  return std::make_unique<BarrierText>(reader);
}

BarrierText::BarrierText(KernelReader &reader) : AccessText(reader) {
  int64_t first = 0;
  reader.getKernel().walk([&](MBarrierOp op) {
    barriers[op.getBarrier()] = {
        reader.getSource().getConstantName(op.getBarrier()), first};
    first += op.getBarrier().getType().getDepth();
  });
}

void BarrierText::declareState(ModelText &out) {
  out.append("\n/* Barriers: one for each slot. */\n");
  for (auto &[value, barrier] : barriers) {
    auto op = value.getDefiningOp<MBarrierOp>();
    out.comment(reader.getSource().getComment(op));
    out.line("#define " + barrier.first + " " + Twine(barrier.second));
  }
  int64_t some = std::max<int64_t>(reader.getNumBarriers(), 1);
  out.line("#define BARRIERS " + Twine(some));
  out.line("barrier_t barrier[BARRIERS];");
  out.line("flight_t flight[" + Twine(std::max<int64_t>(numFlights, 1)) + "];");
  out.line("short seen[BARRIERS * THREADS] = NEVER;");
  out.append("/* The number of those that all threads see, in the order of "
             "the kernel */\nbyte ready;\n");
  declareSharers(out);
}

void BarrierText::initialize(ModelText &out) {
  for (auto &[value, barrier] : barriers) {
    auto op = value.getDefiningOp<MBarrierOp>();
    int64_t depth = op.getBarrier().getType().getDepth();
    out.line("for (at_ : " + barrier.first + " .. " + barrier.first + " + " +
             Twine(depth - 1) +
             ") { barrier[at_].count = " + Twine(int64_t(op.getCount())) +
             "; barrier[at_].pending = " + Twine(int64_t(op.getCount())) +
             " }");
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Returns the barrier of a slot, "FULL + qs", and checks the slot.
FailureOr<std::string> BarrierText::getBarrier(Operation *op, Value barrier,
                                               Value slot, ThreadText &thread) {
  auto it = barriers.find(barrier);
  if (it == barriers.end())
    return op->emitError("is not exported to Promela: control flow selects its "
                         "barrier");
  std::string number = thread.get(slot), isSlot;
  std::string place = it->second.first + " + " + number;
  int64_t depth = cast<MBarrierType>(barrier.getType()).getDepth();
  if (!llvm::all_of(number, llvm::isDigit) || std::stoll(number) >= depth)
    isSlot =
        " && " + number + " >= 0 && " + number + " < " + std::to_string(depth);
  thread.getOut().step("check(" + place + " < ready" + isSlot + ")");
  return place;
}

/// Returns how many barriers are initialized before `op`.
int64_t BarrierText::getNumInitialized(Operation *op) const {
  DominanceInfo dominance(reader.getKernel());
  int64_t number = 0;
  for (auto &[barrier, entry] : barriers)
    if (dominance.properlyDominates(barrier, op))
      number += cast<MBarrierType>(barrier.getType()).getDepth();
  return number;
}

LogicalResult BarrierText::write(Operation *op, ThreadText &thread) {
  ModelText &out = thread.getOut();
  std::string queue = thread.getThread().constant;
  if (isa<MBarrierReadyOp>(op)) {
    comment(op, thread);
    synchronize(thread);
    out.step("ready = " + Twine(getNumInitialized(op)));
  } else if (isa<MBarrierArriveOp, MBarrierExpectOp, MBarrierWaitOp>(op)) {
    comment(op, thread);
    FailureOr<std::string> barrier =
        getBarrier(op, op->getOperand(0), op->getOperand(1), thread);
    if (failed(barrier))
      return failure();
    if (auto arrive = dyn_cast<MBarrierArriveOp>(op)) {
      writeArrival(arrive, *barrier, thread);
    } else if (auto wait = dyn_cast<MBarrierWaitOp>(op)) {
      std::string parity = thread.get(wait.getParity());
      out.step("begin_wait(" + *barrier + ", " + parity + ")");
      out.gap();
      out.step("end_wait(" + queue + ", " + *barrier + ", " + parity + ")");
      if (thread.getThread().hasWarps)
        out.step("wait_late(" + queue + ", " + *barrier + ")");
    } else {
      out.step("phase_ = barrier[" + *barrier + "].phase");
      finishAccesses(thread);
      out.gap();
      out.step("expect(" + *barrier + ", " +
               Twine(cast<MBarrierExpectOp>(op).getBytes()) + ", phase_)");
    }
  } else if (isa<BarrierOp, gpu::BarrierOp>(op)) {
    writeBarrier(op, thread);
  } else if (isa<ProxyFenceOp>(op)) {
    comment(op, thread);
    finishAccesses(thread);
    if (reader.hasFences()) {
      out.step("fence()");
      out.step("fence_late(" + queue + ")");
    }
  } else if (isa<CommitGroupOp>(op)) {
    writeCommitGroup(op, thread);
  } else if (auto wait = dyn_cast<CopyGroupWaitOp>(op)) {
    writeGroupWait(op, wait.getPending(), thread);
  } else if (auto wait = dyn_cast<GemmWaitOp>(op)) {
    writeGemmWait(wait, thread);
  } else if (failed(writeAccesses(op, thread))) {
    return failure();
  }
  if (reader.usesScratch(op))
    writeScratch(op, thread);
  return success();
}

void BarrierText::writeArrival(MBarrierArriveOp arrive,
                               const std::string &barrier, ThreadText &thread) {
  ModelText &out = thread.getOut();
  std::string queue = thread.getThread().constant;
  std::string units = std::to_string(arrive.getNumArrivals());
  bool isInOrder = thread.getThread().isInOrder;
  auto expectBytes = [&] {
    if (std::optional<int64_t> bytes = arrive.getBytes())
      out.step("expect(" + barrier + ", " + Twine(*bytes) + ", phase_)");
  };
  out.step("phase_ = barrier[" + barrier + "].phase");
  if (arrive.getBy() == Agents::Copies) {
    landingThreads.insert(&thread.getThread());
    expectBytes();
    // Those of the last warp come after its wait. The others land after the
    // copies of all, so a complete phase means that all have landed.
    int64_t late = thread.getThread().hasWarps && !isInOrder ? kWarpSize : 0;
    out.step("arrive_after_copies(" + queue + ", " + barrier + ", " +
             Twine(arrive.getNumArrivals() - late) + ", phase_)");
    if (late != 0) {
      lateThreads.insert(&thread.getThread());
      out.step("arrive_late(" + queue + ", " + barrier + ", " + Twine(late) +
               ", phase_)");
    }
  } else if (arrive.getBy() == Agents::Thread || isInOrder) {
    finishAccesses(thread);
    out.gap();
    expectBytes();
    out.step("arrive(" + barrier + ", " + units + ", phase_)");
  } else {
    lateThreads.insert(&thread.getThread());
    expectBytes();
    out.step("arrive_late(" + queue + ", " + barrier + ", " + units +
             ", phase_)");
  }
}

LogicalResult BarrierText::writeCopy(CopyOp copy,
                                     ArrayRef<ModelAccess> accesses,
                                     ThreadText &thread) {
  ModelText &out = thread.getOut();
  std::string queue = thread.getThread().constant;
  bool isTma = hasInst(copy, InstKind::Tma);
  for (const ModelAccess &access : accesses) {
    if (!access.writes) {
      for (const std::string &place : getPlaces(access, thread)) {
        startRead(access, place, isTma, thread);
        out.step(isTma ? "begin_store(" + queue + ", " + place + ")"
                       : "begin_read(" + queue + ", " + place + ")");
      }
      continue;
    }
    for (const std::string &place : getPlaces(access, thread)) {
      startFill(access, place, isTma, thread);
      if (!isTma)
        out.step("begin_copy(" + queue + ", " + place + ")");
    }
    if (!isTma)
      continue;
    if (!copy.getSignal())
      return copy.emitError("is not exported to Promela: it signals no "
                            "barrier, so nothing can wait for it");
    FailureOr<std::string> barrier =
        getBarrier(copy, copy.getSignal(), copy.getSignalSlot(), thread);
    if (failed(barrier))
      return failure();
    int64_t bytes = getStorageBits(getElementType(copy.getDest())) / 8;
    for (int64_t size : copy.getDestRegion().sizes)
      bytes *= size;
    std::string flight = std::to_string(numFlights);
    if (access.version)
      flight += " + " + thread.get(access.version);
    out.step("depart(" + flight + ", " + *barrier + ")");
    copies.push_back({copy, access, numFlights, bytes});
    numFlights += access.version ? access.buffer->versions : 1;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

void BarrierText::writeAgents(ModelText &out) {
  if (!copies.empty()) {
    out.append("\n/* Copies by TMA land in any order, at any time. */\n");
    out.line("active proctype tma() {");
    out.line("end:");
    out.line("  do");
    for (const CopySite &site : copies) {
      out.line("  /* " + reader.getSource().getComment(site.op) + " */");
      int64_t versions = site.access.version ? site.access.buffer->versions : 1;
      for (int64_t version = 0; version < versions; ++version) {
        std::string flight = std::to_string(site.first + version);
        std::string step = "  :: atomic { flight[" + flight +
                           "].copies > 0 -> flight[" + flight + "].copies--;";
        int64_t all =
            site.access.version ? version + 1 : site.access.buffer->versions;
        for (int64_t at = version; at < all; ++at)
          for (int64_t part : site.access.parts)
            step += " end_fill(" + site.access.buffer->name + " + " +
                    std::to_string(at * site.access.buffer->parts + part) +
                    ");";
        out.line(step + " land(flight[" + flight + "].signals, " +
                 Twine(site.bytes) + ") }");
      }
    }
    out.line("  od");
    out.line("}");
  }
  for (const Thread *thread : lateThreads) {
    out.append("\n/* The last thread of " + thread->name +
               " arrives after its first one. */\n");
    out.line("active proctype late_" + thread->name + "() {");
    out.line("  own_variables;");
    out.line("end:");
    out.line("  do");
    out.line("  :: atomic { arrivals[" + thread->constant +
             "] > 0 -> go_on_to_arrival(" + thread->constant + ") }");
    out.line("  od");
    out.line("}");
  }
  for (const Thread *thread : landingThreads) {
    out.append("\n/* Copies by cp.async of " + thread->name +
               " land, and their arrivals are made. */\n");
    out.line("active proctype land_" + thread->name + "() {");
    out.line("  own_variables;");
    out.line("end:");
    out.line("  do");
    out.line("  :: atomic { landing[" + thread->constant +
             "]?kind_, at_, units_, phase_ -> apply_landing(" +
             thread->constant + ") }");
    out.line("  od");
    out.line("}");
  }
}

void BarrierText::writeFinalChecks(ModelText &out) {
  out.line("/* The last warp of each role ends, too. */");
  for (const Thread &thread : reader.getThreads())
    if (thread.hasWarps)
      out.line("atomic { flush(" + thread.constant + ") };");
  out.line("/* Everything has landed. */");
  for (int64_t i = 0; i < numFlights; ++i)
    out.line("until(flight[" + Twine(i) + "].copies == 0);");
  for (const Thread *thread : lateThreads)
    out.line("until(arrivals[" + thread->constant + "] == 0);");
  for (const Thread *thread : landingThreads)
    out.line("until(empty(landing[" + thread->constant + "]));");
  if (barriers.empty())
    return;
  out.line(
      "/* No phase is incomplete. A consumer has waited for the last one. */");
  out.line("for (at_ : 0 .. BARRIERS - 1) {");
  out.line("  check(barrier[at_].pending == barrier[at_].count && "
           "barrier[at_].bytes == 0);");
  out.line("  awaited_ = NEVER;");
  out.line("  for (units_ : 0 .. THREADS - 1) {");
  out.line("    awaited_ = most(awaited_, seen[at_ * THREADS + units_])");
  out.line("  }");
  out.line("  check(awaited_ < 0 || awaited_ == barrier[at_].phase)");
  out.line("}");
}
