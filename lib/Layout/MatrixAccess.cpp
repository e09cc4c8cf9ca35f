//===- MatrixAccess.cpp - Fragments as 8x8 matrices in memory -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes 8x8 matrices in the layout of a fragment. The modes of lanes and
// registers are cut into bits, then each matrix instruction is a pattern of
// bits:
//
//   plain:      lane bits 0-1 step over the words of a row, bits 2-4 over rows
//   transposed: lane bits 2-4 step along the row, bits 0-1 and one register
//               bit over rows
//
// The remaining register bits select the matrices, two bits per instruction at
// most, and the instructions. Rows must start at multiples of 16 bytes.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/MatrixAccess.h"

#include "llvm/ADT/STLExtras.h"

using namespace tilews;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// A mode of a thread's or register's number.
struct SteppedMode {
  Mode mode;
  int64_t step;
};

/// Finds matrices in the bits of lanes and registers of a layout.
class MatrixFinder {
public:
  MatrixFinder(const FragmentLayout &layout, int64_t inner, int64_t elementBits)
      : inner(inner), elements(32 / elementBits) {
    split(layout.getThreadModes(), /*limit=*/kWarp, lanes, otherThreads);
    split(layout.getValueModes(), /*limit=*/INT64_MAX, registers, odd);
  }

  std::optional<MatrixAccess> find() {
    if (lanes.size() != 5)
      return std::nullopt;
    if (isRun(lanes[0], elements) && isRun(lanes[1], 2 * elements))
      return findRows();
    if (elements == 2 && isRun(lanes[2], 1) && isRun(lanes[3], 2) &&
        isRun(lanes[4], 4))
      return findColumns();
    return std::nullopt;
  }

private:
  static constexpr int64_t kWarp = 32;

  /// Cuts modes into bits as long as the step is below `limit` and the extent
  /// is even. The remaining modes go to `rest`.
  static void split(ArrayRef<Mode> modes, int64_t limit,
                    SmallVector<SteppedMode> &bits,
                    SmallVector<SteppedMode> &rest) {
    int64_t step = 1;
    for (Mode mode : modes) {
      int64_t own = step;
      step *= mode.extent;
      while (mode.extent % 2 == 0 && own < limit) {
        bits.push_back({{2, mode.stride, mode.dim}, own});
        mode = {mode.extent / 2, mode.stride * 2, mode.dim};
        own *= 2;
      }
      if (mode.extent > 1)
        rest.push_back({mode, own});
    }
  }

  bool isRun(const SteppedMode &bit, int64_t stride) const {
    return bit.mode.dim == inner && bit.mode.stride == stride;
  }

  /// Matches words along rows: registers hold the elements of a word, and the
  /// four lanes of a quad the words of a row.
  std::optional<MatrixAccess> findRows() {
    for (int64_t stride = 1; stride < elements; stride *= 2) {
      auto *bit = llvm::find_if(registers, [&](const SteppedMode &bit) {
        return isRun(bit, stride);
      });
      if (bit == registers.end())
        return std::nullopt;
      word.push_back(bit->step);
      registers.erase(bit);
    }
    rows = {lanes[2], lanes[3], lanes[4]};
    return finish(/*transposed=*/false);
  }

  /// Matches words across rows: a register bit and the two bits of a quad
  /// select the row.
  std::optional<MatrixAccess> findColumns() {
    auto *pair = llvm::find_if(
        registers, [](const SteppedMode &bit) { return bit.mode.stride != 0; });
    if (pair == registers.end())
      return std::nullopt;
    word.push_back(pair->step);
    rows = {*pair, lanes[0], lanes[1]};
    registers.erase(pair);
    return finish(/*transposed=*/true);
  }

  std::optional<MatrixAccess> finish(bool transposed) {
    MatrixAccess access;
    access.transposed = transposed;
    access.elements = elements;
    SmallVector<Mode> thread, value;
    for (const SteppedMode &bit : rows)
      thread.push_back(bit.mode);
    // Lanes 8 to 15 provide the rows of the second matrix, and so on.
    SmallVector<int64_t> matrices;
    for (int i = 0; i < 2; ++i) {
      if (registers.empty()) {
        thread.push_back({2, 0, 0});
        continue;
      }
      thread.push_back(registers.front().mode);
      matrices.push_back(registers.front().step);
      registers.erase(registers.begin());
    }
    access.count = int64_t(1) << matrices.size();
    for (const SteppedMode &mode : otherThreads)
      thread.push_back(mode.mode);
    llvm::append_range(registers, odd);
    for (const SteppedMode &mode : registers)
      value.push_back(mode.mode);
    access.rows = FragmentLayout(thread, value);
    // Rows must start at multiples of 16 bytes.
    for (ArrayRef<Mode> modes : {ArrayRef<Mode>(thread), ArrayRef<Mode>(value)})
      for (const Mode &mode : modes)
        if (mode.dim == inner && mode.stride % (4 * elements) != 0)
          return std::nullopt;

    for (int64_t number = 0; number < access.getNumInstructions(); ++number) {
      int64_t base = 0, rest = number;
      for (const SteppedMode &mode : registers) {
        base += rest % mode.mode.extent * mode.step;
        rest /= mode.mode.extent;
      }
      for (int64_t matrix = 0; matrix < access.count; ++matrix)
        for (int64_t element = 0; element < elements; ++element)
          access.registers.push_back(base + combine(matrix, matrices) +
                                     combine(element, word));
    }
    return access;
  }

  /// Returns the sum of the steps whose bit is set.
  static int64_t combine(int64_t bits, ArrayRef<int64_t> steps) {
    int64_t sum = 0;
    for (auto [i, step] : llvm::enumerate(steps))
      sum += (bits >> i & 1) * step;
    return sum;
  }

  int64_t inner, elements;
  SmallVector<SteppedMode> lanes, otherThreads, registers, odd;
  SmallVector<SteppedMode> rows;
  /// Steps of the registers that a word holds, the lowest element first.
  SmallVector<int64_t> word;
};
} // namespace

std::optional<MatrixAccess>
tilews::getMatrixAccess(const FragmentLayout &layout, ArrayRef<int64_t> shape,
                        const SharedLayout &memory, int64_t maxVector,
                        int64_t elementBits) {
  if (elementBits != 8 && elementBits != 16 && elementBits != 32)
    return std::nullopt;
  if (maxVector * elementBits < 128 ||
      memory.getContiguity(elementBits) * elementBits % 128 != 0)
    return std::nullopt;
  int64_t inner = int64_t(shape.size()) - 1;
  while (inner >= 0 && shape[inner] == 1)
    --inner;
  SmallVector<int64_t> cover = layout.getCover(shape.size());
  if (ArrayRef<int64_t>(cover) != shape || layout.getNumThreads() % 32 != 0)
    return std::nullopt;
  return MatrixFinder(layout, inner, elementBits).find();
}
