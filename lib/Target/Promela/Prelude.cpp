//===- Prelude.cpp - What all models begin with ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The macros of models. They are macros of C's preprocessor and not `inline`s
// of Promela, so that Spin gives the line of their use, under the comment with
// the operation of the kernel.
//
//===----------------------------------------------------------------------===//

#include "AccessText.h"

using namespace tilews;

static constexpr llvm::StringLiteral kPrelude = R"(
/* A rule: Spin reports a run that breaks it. Runs in which an assertion of the
   kernel has failed count no more. */
bool infeasible;
#define check(rule) assert((rule) || infeasible)
#define until(condition) ((condition) || infeasible)
/* The queues of the model are long enough; otherwise it says nothing. */
#define room(queue) assert(nfull(queue))
#define assume(condition) \
  if :: (condition) -> skip :: else -> infeasible = true fi

/* Integers */
#define floordiv(a, b) ((a) >= 0 -> (a) / (b) : ((a) + 1) / (b) - 1)
#define floormod(a, b) ((a) - (b) * floordiv(a, b))
#define ceildiv(a, b) ((a) > 0 -> ((a) - 1) / (b) + 1 : (a) / (b))
#define least(a, b) ((a) < (b) -> (a) : (b))
#define most(a, b) ((a) > (b) -> (a) : (b))
#define wrap(a, half) ((((a) + (half)) & (2 * (half) - 1)) - (half))
#define below(a, b) (((a) < 0) == ((b) < 0) -> (a) < (b) : (b) < 0)

/* An element of memory is chosen when it is read first. */
#define element(array, inside, index, limit, result) \
  assume(inside); \
  if \
  :: !(inside) -> result = 0 \
  :: else -> \
    if \
    :: array[index] >= 0 -> skip \
    :: else -> select(units_ : 0 .. limit); array[index] = units_ \
    fi; \
    result = array[index] \
  fi

/* A version of a buffer, or a part of it: the accesses under way. */
typedef place_t {
  byte readers;  /* reads: of threads, matmuls, copies to global memory */
  byte writers;  /* writes: of threads and copies */
  byte updaters; /* atomic updates */
  byte fills;    /* those of the writers that are asynchronous copies */
  byte writer;   /* the process of the last writer */
  bool filled;   /* whether it has contents */
  bool written;  /* whether a write to it has begun */
  bool unfenced; /* whether the asynchronous proxy may not see them */
  bool read;     /* whether threads have read since the last proxy fence */
  short fill;    /* in a channel: the number of the fill */
  int cells      /* a set of bits: which elements are written */
  stored_starts
};
place_t place[PLACES];

#define is_idle(p) (place[p].readers == 0 && place[p].writers == 0 && \
                    place[p].updaters == 0)
#define is_readable(p) (place[p].writers == 0 && place[p].updaters == 0)
#define is_updatable(p) (place[p].writers == 0 && place[p].readers == 0)
/* The threads of a role may store one after the other. */
#define is_writable(p) (is_idle(p) || (place[p].readers == 0 && \
  place[p].updaters == 0 && place[p].fills == 0 && place[p].writer == _pid))
/* Copies to elements of their own fill a place together. */
hidden int cells_;
#define is_fillable(p, set) (is_idle(p) || ( \
  place[p].readers == 0 && place[p].updaters == 0 && \
  place[p].fills == place[p].writers && place[p].writer == _pid && \
  (place[p].cells & (set)) == 0))

/* What the last thread of each process has still to do, in its order. */
mtype = {
  END_READ, END_WRITE, END_UPDATE, END_FILL, FENCE, GROUP, WAIT, ARRIVE
};
chan late[THREADS] = [QUEUE] of { mtype, short, short, short };
byte arrivals[THREADS]; /* arrivals in its queue */
#define own_variables mtype kind_; short at_, units_, phase_, awaited_

/* Adds an end to the queue. The same access is under way but once. */
#define end_late(t, field, end, p) \
  units_ = late[t]??[end, eval(p), 0, 0]; \
  if \
  :: arrivals[t] == 0 && units_ -> skip \
  :: else -> place[p].field++; late[t]!end, p, 0, 0 \
  fi
#define begin_read(t, p) end_late(t, readers, END_READ, p)
#define begin_update(t, p) end_late(t, updaters, END_UPDATE, p)
#define begin_write(t, p) \
  end_late(t, writers, END_WRITE, p); \
  place[p].writer = _pid; \
  place[p].written = true; \
  place[p].filled = true
#define begin_fill(p, set) \
  place[p].writers++; \
  place[p].fills++; \
  place[p].cells = place[p].cells | (set); \
  place[p].writer = _pid; \
  place[p].written = true; \
  place[p].filled = false
#define end_fill(p) \
  place[p].writers--; \
  place[p].fills--; \
  place[p].cells = (place[p].fills > 0 -> place[p].cells : 0); \
  place[p].filled = true

/* A proxy fence: the asynchronous proxy sees all writes that have ended, and
   writes after all reads that have. */
#define fence() \
  units_ = 0; \
  do \
  :: units_ < PLACES -> \
    if \
    :: place[units_].writers == 0 && place[units_].updaters == 0 -> \
      place[units_].unfenced = false \
    :: else \
    fi; \
    place[units_].read = place[units_].read && place[units_].readers > 0; \
    units_++ \
  :: else -> break \
  od
#define fence_late(t) late[t]!FENCE, 0, 0, 0

#define apply(t) \
  if \
  :: kind_ == END_READ -> place[at_].readers-- \
  :: kind_ == END_WRITE -> end_write(at_) \
  :: kind_ == END_UPDATE -> place[at_].updaters-- \
  :: kind_ == END_FILL -> end_fill(at_) \
  :: kind_ == FENCE -> fence() \
  :: kind_ == WAIT -> see(at_, units_) \
  :: kind_ == ARRIVE -> arrivals[t]--; arrive(at_, units_, phase_) \
  fi
#define flush(t) \
  do \
  :: late[t]?kind_, at_, units_, phase_ -> apply(t) \
  :: empty(late[t]) -> break \
  od
#define go_on_to_arrival(t) \
  do \
  :: late[t]?kind_, at_, units_, phase_ -> \
    apply(t); \
    if :: kind_ == ARRIVE -> break :: else fi \
  od

)";

static constexpr llvm::StringLiteral kBarriers = R"(
/* A barrier of one slot. Copies in flight have signalled it and not landed. */
typedef barrier_t {
  short count, pending, phase;
  int bytes;
  byte copies
};
/* Copies by TMA that one operation has started to one version. */
typedef flight_t {
  byte copies, signals
};
#define NEVER -2
#define PRODUCES -1

/* A phase is complete without pending arrivals and bytes. Bytes of a copy that
   land later would count in another phase. */
#define complete(b) \
  if \
  :: barrier[b].pending == 0 && barrier[b].bytes == 0 -> \
    check(barrier[b].copies == 0); \
    barrier[b].phase++; \
    barrier[b].pending = barrier[b].count \
  :: else \
  fi
#define arrive(b, n, expected_phase) \
  check(barrier[b].phase == expected_phase); \
  check(barrier[b].pending >= n); \
  barrier[b].pending = barrier[b].pending - (n); \
  complete(b)
#define arrive_late(t, b, n, expected_phase) \
  arrivals[t]++; \
  late[t]!ARRIVE, b, n, expected_phase
#define expect(b, n, expected_phase) \
  check(barrier[b].phase == expected_phase); \
  barrier[b].bytes = barrier[b].bytes + n
#define depart(f, b) \
  check(flight[f].copies == 0 || flight[f].signals == b); \
  flight[f].copies++; \
  flight[f].signals = b; \
  barrier[b].copies++
#define land(b, n) \
  barrier[b].copies--; \
  barrier[b].bytes = barrier[b].bytes - n; \
  complete(b)

/* A wait for a parity is for the present phase or for the one before. No other
   phase may complete meanwhile: its parity would be the same. */
#define begin_wait(b, parity) \
  check((parity) == 0 || (parity) == 1); \
  awaited_ = barrier[b].phase - (barrier[b].phase % 2 == (parity) -> 0 : 1)
#define end_wait(t, b, parity) \
  until(barrier[b].phase % 2 != (parity)); \
  check(barrier[b].phase == awaited_ + 1); \
  if \
  :: seen[(b) * THREADS + t] == PRODUCES -> skip \
  :: seen[(b) * THREADS + t] == NEVER && awaited_ < 0 -> \
    seen[(b) * THREADS + t] = PRODUCES \
  :: else -> seen[(b) * THREADS + t] = awaited_ + 1 \
  fi
/* The last warp waits for the same phase, and may come to it later. */
#define wait_late(t, b) \
  if \
  :: late[t]??[WAIT, eval(b), _, _] -> \
    check((late[t]??[WAIT, eval(b), eval(awaited_ + 1), 0])) \
  :: else -> late[t]!WAIT, b, awaited_ + 1, 0 \
  fi
#define see(b, next_phase) check(barrier[b].phase == next_phase)

)";

static constexpr llvm::StringLiteral kChannels = R"(
/* A slot of a channel: how often it was acquired, committed, and filled. */
typedef slot_t {
  short acquired, committed, filled
};
/* A slot as a consumer sees it. `holder` is used by alternating consumers. */
typedef reader_t {
  short waited, released;
  byte holder
};
/* No barriers in memory. */
#define arrive(b, n, expected_phase) skip
#define see(b, next_phase) skip

/* All copies to a place have landed. */
#define end_fills(p) \
  place[p].writers = place[p].writers - place[p].fills; \
  place[p].fills = 0; \
  place[p].cells = 0; \
  place[p].filled = true
)";

static constexpr llvm::StringLiteral kCopies = R"(
/* Copies by cp.async, in groups; GROUPS_END marks the end of one. */
#define GROUPS_END 255
chan copies[THREADS] = [QUEUE] of { short };
byte groups[THREADS];
byte last_copied[THREADS] = PLACES; /* the place of the last copy of the group */
/* An empty group that no copy precedes is complete at once. No wait leaves more
   than MOST_PENDING groups pending, so the two oldest of two groups more end at
   the same wait: they become one. */
#define commit_group(t) \
  last_copied[t] = PLACES; \
  if \
  :: empty(copies[t]) -> skip \
  :: nempty(copies[t]) -> \
    room(copies[t]); \
    copies[t]!GROUPS_END; \
    if \
    :: groups[t] > MOST_PENDING -> copies[t]??GROUPS_END \
    :: else -> groups[t]++ \
    fi \
  fi
/* Copies of one group to one place, such as the rows of a gather, end together:
   the queue has one message for those that follow each other. */
#define begin_copy(t, p) \
  if \
  :: last_copied[t] == p -> place[p].writers--; place[p].fills-- \
  :: else -> room(copies[t]); copies[t]!p; last_copied[t] = p \
  fi
#define wait_for_copies(t, pending) \
  until_landed(t, pending); \
  do \
  :: groups[t] > pending -> pop_copy(t) \
  :: else -> break \
  od
#define pop_copy(t) \
  copies[t]?at_; \
  if \
  :: at_ == GROUPS_END -> groups[t]-- \
  :: else -> late[t]!END_FILL, at_, 0, 0 \
  fi
#define wait_for_all_copies(t) \
  last_copied[t] = PLACES; \
  until_all_landed(t); \
  do \
  :: copies[t]?<at_> -> pop_copy(t) \
  :: empty(copies[t]) -> break \
  od
)";

static constexpr llvm::StringLiteral kNoLandings =
    R"(#define until_landed(t, pending) skip
#define until_all_landed(t) skip
)";

static constexpr llvm::StringLiteral kLandings =
    R"(/* Those that an arrival waits for, with the arrival. */
chan landing[THREADS] = [QUEUE] of { mtype, short, short, short };
byte landing_groups[THREADS];
#define until_landed(t, pending) \
  until(landing_groups[t] == 0 || landing_groups[t] + groups[t] <= pending)
#define until_all_landed(t) until(empty(landing[t]))

/* Arrives when the copies so far have landed. */
#define arrive_after_copies(t, b, n, expected_phase) \
  last_copied[t] = PLACES; \
  do \
  :: copies[t]?at_ -> \
    if \
    :: at_ == GROUPS_END -> \
      groups[t]--; \
      landing_groups[t]++; \
      landing[t]!GROUP, 0, 0, 0 \
    :: else -> landing[t]!END_FILL, at_, 0, 0 \
    fi \
  :: empty(copies[t]) -> break \
  od; \
  landing[t]!ARRIVE, b, n, expected_phase
#define apply_landing(t) \
  if \
  :: kind_ == END_FILL -> end_fill(at_) \
  :: kind_ == GROUP -> landing_groups[t]-- \
  :: kind_ == ARRIVE -> arrive(at_, units_, phase_) \
  fi
)";

static constexpr llvm::StringLiteral kStores = R"(
/* Copies from shared to global memory read until they are waited for. */
chan stores[THREADS] = [QUEUE] of { short };
#define begin_store(t, p) place[p].readers++; room(stores[t]); stores[t]!p
#define wait_for_stores(t) \
  do \
  :: stores[t]?at_ -> place[at_].readers-- \
  :: empty(stores[t]) -> break \
  od
#define is_read_by_store(t, p) (stores[t]??[eval(p)])
)";

static constexpr llvm::StringLiteral kMatmuls = R"(
/* Asynchronous matmuls end in their order; they read until they are waited
   for. */
chan matmuls[THREADS] = [QUEUE] of { short, short };
short issued[THREADS];
#define begin_matmul(t, p) \
  place[p].readers++; \
  room(matmuls[t]); \
  matmuls[t]!issued[t], p
#define wait_for_matmuls(t, pending) \
  do \
  :: empty(matmuls[t]) -> break \
  :: matmuls[t]?<units_, at_> -> \
    if \
    :: units_ <= issued[t] - pending -> \
      matmuls[t]?units_, at_; \
      late[t]!END_READ, at_, 0, 0 \
    :: else -> break \
    fi \
  od
#define is_read_by_matmul(t, p) (matmuls[t]??[_, eval(p)])
)";

static constexpr llvm::StringLiteral kNoStoredCells = R"(
#define stored_starts
#define end_write(p) place[p].writers--
)";

static constexpr llvm::StringLiteral kStoredCells = R"(
/* Threads store the same elements again, or others. */
#define stored_starts ; int starts
#define is_storable(p, set, start) (place[p].writers == 0 || \
  (place[p].cells & (set)) == 0 || (place[p].starts & (start)) != 0)
#define store_cells(p, set, start) \
  place[p].cells = place[p].cells | (set); \
  place[p].starts = place[p].starts | (start)
#define end_write(p) \
  place[p].writers--; \
  place[p].cells = (place[p].writers > 0 -> place[p].cells : 0); \
  place[p].starts = (place[p].writers > 0 -> place[p].starts : 0)
)";

std::string promela::getPrelude(const KernelReader &reader) {
  std::string text =
      reader.hasStoredCells() ? kStoredCells.str() : kNoStoredCells.str();
  text += kPrelude;
  if (reader.hasCopies())
    text += kCopies;
  if (reader.hasCopies())
    text += reader.hasLandings() ? kLandings : kNoLandings;
  if (reader.hasStores())
    text += kStores;
  if (reader.hasMatmuls())
    text += kMatmuls;
  return text;
}

llvm::StringRef promela::getBarrierPrelude() { return kBarriers; }
llvm::StringRef promela::getChannelPrelude() { return kChannels; }
