//===- MetadataReader.cpp - Metadata of sparse matmuls --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The metadata of a 2:4 sparse left operand says which two of four neighboring
// elements are stored, two bits for each stored element. A matrix instruction
// takes 32-bit words of it. All metadata that a thread needs is loaded at once;
// `read` then joins the registers of a repeat to words. In layouts with halves
// two neighboring lanes share a register, and each takes its 16 bits by a
// shift.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/MetadataReader.h"
#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Loads all metadata that a thread needs.
static SmallVector<Value> load(ImplicitLocOpBuilder &b, MemRefType type,
                               Value buffer, const FragmentLayout &layout,
                               Value threadId) {
  FragmentIndexer indexer(b, layout, type.getShape(), threadId);
  RegionAccess access(b, type, buffer, SmallVector<SplitOffset>(2),
                      type.getShape(), kMaxVector, indexer);
  bool masked = !access.isAlwaysInside();
  Value padding;
  if (masked) {
    // Padding names the first two elements of four, which is valid metadata.
    int64_t bits = type.getElementTypeBitWidth();
    APInt places = APInt::getSplat(bits, APInt(4, 0b0100));
    padding = arith::ConstantOp::create(
        b, b.getIntegerAttr(type.getElementType(), places));
  }
  return loadRegisters(b, access, indexer, type.getElementType(), padding, 0,
                       indexer.getNumValues(), masked);
}

MetadataReader::MetadataReader(ImplicitLocOpBuilder &b, MatmulOpInterface op,
                               const MatmulPlan &plan, Value metadata,
                               Value threadId)
    : b(b), layout(tile::getMetadataLayout(op, plan)), threadId(threadId) {
  Value original = op.getMetadataOperand()->get();
  auto type = dyn_cast<MemRefType>(original.getType());
  registers = type ? load(b, type, metadata, layout.fragment, threadId)
                   : unpack(b, metadata);
  int64_t repeats = getRepeats(plan.mma, plan.grid, op.getM(), 1).m;
  int64_t words = op.getK() / plan.mma.k / layout.stepsPerWord;
  perRepeat = registers.size() / repeats;
  perWord = perRepeat / words;
}

SmallVector<Value> MetadataReader::read(int64_t repeat) {
  SmallVector<Value> words;
  for (int64_t first = 0; first < perRepeat; first += perWord)
    words.push_back(makeWord(
        ArrayRef<Value>(registers).slice(perRepeat * repeat + first, perWord)));
  return words;
}

Value MetadataReader::makeWord(ArrayRef<Value> parts) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  };
  if (layout.hasHalves) {
    Value odd = arith::AndIOp::create(b, threadId, constant(1));
    Value shift = arith::MulIOp::create(b, odd, constant(16));
    Value low = arith::ShRUIOp::create(b, parts[0], shift);
    low = arith::AndIOp::create(b, low, constant(0xffff));
    Value high = arith::ShRUIOp::create(b, parts[1], shift);
    high = arith::ShLIOp::create(b, high, constant(16));
    return arith::OrIOp::create(b, low, high);
  }
  Value word;
  int64_t shift = 0;
  for (Value part : parts) {
    int64_t bits = part.getType().getIntOrFloatBitWidth();
    if (bits < 32)
      part = arith::ExtUIOp::create(b, b.getI32Type(), part);
    if (word)
      part = arith::OrIOp::create(
          b, word, arith::ShLIOp::create(b, part, constant(shift)));
    word = part;
    shift += bits;
  }
  return word;
}
