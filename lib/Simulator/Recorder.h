//===- Recorder.h - Events of a block for timelines -------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Events of one block, for timelines. Logical time counts starts and ends: a
// copy that starts first and ends after the next operation has begin 0, end 3.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_RECORDER_H
#define TILEWS_LIB_SIMULATOR_RECORDER_H

#include "tilews/Simulator/Interpreter.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace tilews::sim {

struct Instruction;

/// An operation of an agent, or an asynchronous operation that it started.
struct Record {
  const Instruction *inst = nullptr;
  unsigned agent = 0;
  RecordUnit unit = RecordUnit::Role;
  int64_t begin = 0, end = -1;
  int64_t barrier = -1, slot = -1, phase = -1, bytes = -1, number = -1;
  llvm::SmallVector<AccessedBytes, 0> accesses;

  /// Adds an access. It is merged with the last one if it continues it.
  void add(AccessedBytes bytes) {
    if (!accesses.empty() && accesses.back().memory == bytes.memory &&
        accesses.back().isWritten == bytes.isWritten &&
        accesses.back().last == bytes.first)
      accesses.back().last = bytes.last;
    else
      accesses.push_back(bytes);
  }
};

/// The records of a block, in the order of their starts.
class Recorder {
public:
  /// Begins a record and returns its number.
  size_t begin(const Instruction &inst, unsigned agent, RecordUnit unit) {
    Record record;
    record.inst = &inst;
    record.agent = agent;
    record.unit = unit;
    record.begin = time++;
    records.push_back(record);
    return records.size() - 1;
  }
  void end(size_t number) { records[number].end = time++; }
  Record &get(size_t number) { return records[number]; }
  llvm::ArrayRef<Record> getRecords() const { return records; }
  /// Returns the number of a memory, which is given at its first access.
  int64_t getMemory(const void *memory) {
    return memories.try_emplace(memory, memories.size()).first->second;
  }

private:
  llvm::DenseMap<const void *, int64_t> memories;
  std::vector<Record> records;
  int64_t time = 0;
};

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_RECORDER_H
