//===- Rasterize.cpp - Numbering of a grid's tiles ------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbering of tiles exists once, as a template over an arithmetic: on
// integers for the simulator, and on SSA values for passes. Both therefore
// agree.
//
// With panels of two rows, a grid of four by three tiles has this order. A
// panel is passed column by column, every other panel backwards, so that
// consecutive tiles are neighbours:
//
//   0 2 4 6
//   1 3 5 7
//   b a 9 8
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Utils/Rasterize.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// Arithmetic on integers.
struct Numbers {
  using T = int64_t;
  T constant(int64_t value) { return value; }
  T add(T a, T b) { return a + b; }
  T sub(T a, T b) { return a - b; }
  T mul(T a, T b) { return a * b; }
  T div(T a, T b) { return a / b; }
  T rem(T a, T b) { return a % b; }
  T min(T a, T b) { return std::min(a, b); }
  T selectIfZero(T a, T zero, T other) { return a == 0 ? zero : other; }
};

/// The same arithmetic on SSA values.
struct Operations {
  using T = Value;
  OpBuilder &builder;
  Location loc;

  template <typename OpT>
  T make(T a, T b) {
    return builder.createOrFold<OpT>(loc, a, b);
  }
  T constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  T add(T a, T b) { return make<arith::AddIOp>(a, b); }
  T sub(T a, T b) { return make<arith::SubIOp>(a, b); }
  T mul(T a, T b) { return make<arith::MulIOp>(a, b); }
  T div(T a, T b) { return make<arith::DivUIOp>(a, b); }
  T rem(T a, T b) { return make<arith::RemUIOp>(a, b); }
  T min(T a, T b) { return make<arith::MinUIOp>(a, b); }
  T selectIfZero(T a, T zero, T other) {
    Value isZero = builder.createOrFold<arith::CmpIOp>(
        loc, arith::CmpIPredicate::eq, a, constant(0));
    return builder.createOrFold<arith::SelectOp>(loc, isZero, zero, other);
  }
};
} // namespace

/// Returns the coordinates of tile `id` along the lines and across them. Lines
/// are rows or columns of `length` tiles; a panel has `panelLines` of `lines`
/// lines. Every other panel is passed backwards, so it starts where the
/// previous one ended.
template <typename Arithmetic, typename T>
static std::pair<T, T> fillPanels(Arithmetic a, T id, T length, T lines,
                                  int64_t panelLines) {
  T panel = a.constant(panelLines);
  T panelTiles = a.mul(panel, length);
  T index = a.div(id, panelTiles);
  T within = a.rem(id, panelTiles);
  T firstLine = a.mul(index, panel);
  // The last panel may have fewer lines.
  T height = a.min(panel, a.sub(lines, firstLine));
  T forward = a.div(within, height);
  T backward = a.sub(a.sub(length, a.constant(1)), forward);
  T along = a.selectIfZero(a.rem(index, a.constant(2)), forward, backward);
  return {along, a.add(firstLine, a.rem(within, height))};
}

template <typename Arithmetic, typename T>
static std::pair<T, T> rasterizeWith(Arithmetic a, RasterizeAttr order, T id,
                                     T extentX, T extentY) {
  if (!order)
    return {a.rem(id, extentX), a.div(id, extentX)};
  if (order.getOrder() == RasterOrder::Row)
    return fillPanels(a, id, extentX, extentY, order.getPanel());
  auto [y, x] = fillPanels(a, id, extentY, extentX, order.getPanel());
  return {x, y};
}

std::pair<Value, Value> tile::rasterize(OpBuilder &builder, Location loc,
                                        RasterizeAttr order, Value id,
                                        Value extentX, Value extentY) {
  return rasterizeWith(Operations{builder, loc}, order, id, extentX, extentY);
}

std::pair<int64_t, int64_t> tile::rasterize(RasterizeAttr order, int64_t id,
                                            int64_t extentX, int64_t extentY) {
  return rasterizeWith(Numbers(), order, id, extentX, extentY);
}
