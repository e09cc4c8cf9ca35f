//===- MatrixMover.cpp - Fragments by ldmatrix and stmatrix ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores of fragments by ldmatrix and stmatrix. `getMatrixAccess`
// finds 8x8 matrices in the layout; here each instruction gets the address of
// the row that a lane provides, and its 32-bit words are split into the
// registers that they hold. The access is used only if the whole region lies in
// the buffer, because a matrix instruction has no mask.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/MatrixMover.h"
#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/Analysis/Layout/FragmentAccess.h"
#include "tilews/Layout/MatrixAccess.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

std::optional<MatrixMover>
MatrixMover::get(ImplicitLocOpBuilder &b, const TargetLowering &target,
                 MemRefType type, Value buffer, ArrayRef<SplitOffset> offsets,
                 ArrayRef<int64_t> sizes, int64_t maxVector,
                 const FragmentLayout &layout, ArrayRef<int64_t> shape,
                 Value threadId, bool isStore) {
  int64_t bits = getStorageBits(type.getElementType());
  if (!isShared(type) || !hasMatrixAccess(target.info, isStore) ||
      sizes.empty() || sizes.back() == 1)
    return std::nullopt;
  std::optional<MatrixAccess> access = getMatrixAccess(
      layout, shape, tile::getSharedLayout(type), maxVector, bits);
  if (!access)
    return std::nullopt;
  auto mover = std::make_unique<Rows>(b, type, buffer, offsets, sizes,
                                      maxVector, *access, shape, threadId);
  if (!mover->region.isAlwaysInside())
    return std::nullopt;
  return MatrixMover(b, target, std::move(*access), std::move(mover));
}

Value MatrixMover::load(Type element, int64_t numRegisters) {
  SmallVector<Value> registers(numRegisters);
  auto type = VectorType::get({access.elements}, element);
  size_t next = 0;
  for (int64_t i = 0; i < access.getNumInstructions(); ++i) {
    SmallVector<Value> words = target.emitMatrixLoad(
        b, getAddress(i), access.count, access.transposed);
    for (Value word : words)
      for (Value value : unpack(b, LLVM::BitcastOp::create(b, type, word)))
        registers[access.registers[next++]] = value;
  }
  return pack(b, element, registers);
}

void MatrixMover::store(Value vector) {
  SmallVector<Value> registers = unpack(b, vector);
  Type element = registers.front().getType();
  size_t next = 0;
  for (int64_t i = 0; i < access.getNumInstructions(); ++i) {
    SmallVector<Value> words;
    for (int64_t j = 0; j < access.count; ++j) {
      SmallVector<Value> values;
      for (int64_t e = 0; e < access.elements; ++e)
        values.push_back(registers[access.registers[next++]]);
      words.push_back(
          LLVM::BitcastOp::create(b, b.getI32Type(), pack(b, element, values)));
    }
    target.emitMatrixStore(b, getAddress(i), words, access.transposed);
  }
}
