//===- WgmmaDescriptorTest.cpp - Matrix descriptors of wgmma --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A descriptor is compared with the PTX ISA in two ways: its bits with the
// table in "Matrix Descriptor Format", and the addresses that it describes with
// the layout of the buffer, element by element. The canonical layouts in
// "Strides" say which addresses these are.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/WgmmaDescriptor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilews;
using testing::HasSubstr;

namespace {

/// Returns the byte, from the start of an instruction's part, of element `mn`
/// along M or N and `k` along K, before the swizzle.
int64_t getByte(const WgmmaDescriptor &descriptor, int64_t bytes, int64_t mn,
                int64_t k) {
  int64_t span = descriptor.swizzleBytes ? descriptor.swizzleBytes : 16;
  int64_t width = span / bytes;
  int64_t leading = descriptor.leadingBytes, stride = descriptor.strideBytes;
  if (descriptor.majorK) {
    int64_t row = mn / 8 * stride + mn % 8 * span;
    // Without a swizzle, chunks of 16 bytes are `leading` apart.
    return descriptor.swizzleBytes
               ? row + k * bytes
               : row + k / width * leading + k % width * bytes;
  }
  if (!descriptor.swizzleBytes)
    std::swap(leading, stride);
  return mn / width * leading + mn % width * bytes + k / 8 * stride +
         k % 8 * span;
}

/// Compares the descriptor of an operand with its layout.
void check(const WgmmaOperand &operand) {
  WgmmaDescriptor descriptor = llvm::cantFail(getWgmmaDescriptor(operand));
  int64_t bytes = operand.elementBits / 8;
  auto shape = operand.layout.getShape();
  int64_t parts = shape[1 - operand.kDim] / operand.extent;
  int64_t kParts = shape[operand.kDim] / operand.k;
  ASSERT_EQ(descriptor.starts.getSize(), parts);
  ASSERT_EQ(descriptor.kStarts.getSize(), kParts);
  for (int64_t i = 0; i < parts; ++i)
    for (int64_t j = 0; j < kParts; ++j)
      for (int64_t mn = 0; mn < operand.extent; ++mn)
        for (int64_t k = 0; k < operand.k; ++k) {
          int64_t byte = descriptor.starts(i) + descriptor.kStarts(j) +
                         getByte(descriptor, bytes, mn, k);
          byte = operand.layout.getSwizzle()(byte);
          llvm::SmallVector<int64_t> coords(2);
          coords[1 - operand.kDim] = i * operand.extent + mn;
          coords[operand.kDim] = j * operand.k + k;
          ASSERT_EQ(byte,
                    operand.layout.getOffset(coords, operand.elementBits) *
                        bytes)
              << "part (" << i << ", " << j << "), element (" << mn << ", " << k
              << ")";
        }
}

WgmmaOperand getOperand(SharedLayout layout, int64_t bits, int64_t kDim,
                        int64_t extent) {
  WgmmaOperand operand;
  operand.layout = std::move(layout);
  operand.elementBits = bits;
  operand.kDim = kDim;
  operand.extent = extent;
  operand.k = 256 / bits;
  return operand;
}

std::string getError(const WgmmaOperand &operand) {
  llvm::Expected<WgmmaDescriptor> descriptor = getWgmmaDescriptor(operand);
  return descriptor ? "" : llvm::toString(descriptor.takeError());
}

// PTX ISA, "Matrix Descriptor Format": bits 16-29 are the leading dimension
// byte offset, bits 32-45 the stride dimension byte offset, both in units of 16
// bytes. Bits 62-63 are the swizzle: 0 none, 1 128 bytes, 2 64 bytes, 3 32
// bytes.
TEST(WgmmaDescriptorTest, BitsAreThoseOfThePtxIsa) {
  for (auto [span, mode] :
       {std::pair<int64_t, uint64_t>(0, 0), {128, 1}, {64, 2}, {32, 3}}) {
    WgmmaDescriptor descriptor;
    descriptor.swizzleBytes = span;
    descriptor.leadingBytes = 0x120;
    descriptor.strideBytes = 0x3FFF0;
    uint64_t bits = descriptor.getBits();
    EXPECT_EQ(bits & 0x3FFF, 0u);
    EXPECT_EQ(bits >> 16 & 0x3FFF, 0x12u);
    EXPECT_EQ(bits >> 32 & 0x3FFF, 0x3FFFu);
    EXPECT_EQ(bits >> 62, mode);
  }
}

// The usual operand: 64 f16 along K fill the span of the 128-byte swizzle.
// Groups of eight rows are 1024 bytes apart, and the steps along K 32 bytes.
TEST(WgmmaDescriptorTest, RowsOfOneSpan) {
  WgmmaOperand operand =
      getOperand(SharedLayout::getPanels({128, 64}, 16, 128), 16, 1, 64);
  WgmmaDescriptor descriptor = llvm::cantFail(getWgmmaDescriptor(operand));
  EXPECT_TRUE(descriptor.majorK);
  EXPECT_EQ(descriptor.swizzleBytes, 128);
  EXPECT_EQ(descriptor.strideBytes, 1024);
  EXPECT_EQ(descriptor.starts(1), 8192);
  EXPECT_EQ(descriptor.kStarts(1), 32);
  EXPECT_EQ(descriptor.kStarts(3), 96);
  check(operand);
}

TEST(WgmmaDescriptorTest, OperandsAlongK) {
  for (int64_t bits : {8, 16, 32})
    for (int64_t span : {16, 32, 64, 128})
      for (int64_t spans : {1, 2, 4}) {
        int64_t k = std::max<int64_t>(span * spans, 32) * 8 / bits;
        check(getOperand(SharedLayout::getPanels({128, k}, bits, span), bits, 1,
                         64));
      }
}

// The operand B of a row-major KxN matrix: 16-byte rows run along N.
TEST(WgmmaDescriptorTest, OperandsAlongN) {
  for (int64_t span : {16, 32, 64, 128})
    for (int64_t extent : {64, 128}) {
      WgmmaOperand operand = getOperand(
          SharedLayout::getPanels({64, 128}, 16, span), 16, 0, extent);
      EXPECT_FALSE(llvm::cantFail(getWgmmaDescriptor(operand)).majorK);
      check(operand);
    }
}

TEST(WgmmaDescriptorTest, LayoutsThatWgmmaCannotRead) {
  EXPECT_THAT(
      getError(getOperand(SharedLayout::getRowMajor({64, 64}), 16, 1, 64)),
      HasSubstr("16 bytes apart, found 128"));
  EXPECT_THAT(
      getError(getOperand(SharedLayout::getPanels({64, 64}, 8, 64), 8, 0, 64)),
      HasSubstr("cannot be transposed"));
  WgmmaOperand odd =
      getOperand(SharedLayout::getPanels({64, 64}, 16, 128), 16, 1, 12);
  EXPECT_THAT(getError(odd), HasSubstr("multiples of 8 elements"));
  EXPECT_THAT(getError(getOperand(SharedLayout::getPanels({64, 64}, 16, 128, 8),
                                  16, 1, 64)),
              HasSubstr("wgmma has no swizzle"));
}

} // namespace
