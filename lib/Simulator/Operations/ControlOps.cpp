//===- ControlOps.cpp - Control flow and grid -----------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Control flow runs regions through `Frame::run`: a loop passes the carried
// values as arguments and takes what the terminator yields. The number of
// iterations of `scf.for` is computed first, in unsigned arithmetic, so that a
// bound near the largest integer does not overflow the induction variable.
//
// A block of `tile.persistent` takes the tiles b, b + grid, b + 2 * grid, ...
// for its linear number b. Grid queries, affine maps, assertions and prints are
// here as well.
//
//===----------------------------------------------------------------------===//

#include "Simulator/Program.h"

#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Utils/Rasterize.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// scf
//===----------------------------------------------------------------------===//

/// Returns the number of iterations of a loop with a positive step.
static uint64_t countTrips(int64_t lower, int64_t upper, int64_t step) {
  if (lower >= upper)
    return 0;
  uint64_t span = uint64_t(upper) - uint64_t(lower);
  return (span - 1) / uint64_t(step) + 1;
}

static LogicalResult runFor(Frame &frame, const Instruction &inst) {
  unsigned width = inst.operandType.width;
  bool isUnsigned = cast<scf::ForOp>(inst.op).getUnsignedCmp();
  // Flipping the sign bit maps the unsigned order to the signed one.
  auto toOrdered = [&](int64_t value) {
    return isUnsigned ? int64_t(getUnsigned(value, width) ^ (uint64_t(1) << 63))
                      : value;
  };
  int64_t lower = frame.getInteger(inst, 0), step = frame.getInteger(inst, 2);
  if (step <= 0)
    return frame.fail(inst,
                      "has step " + Twine(step) + ", expected a positive one");
  uint64_t trips =
      countTrips(toOrdered(lower), toOrdered(frame.getInteger(inst, 1)), step);
  const BlockCode &body = inst.regions[0];
  SmallVector<Datum> carried = frame.getAll(inst, 3);
  SmallVector<Datum> arguments;
  for (uint64_t trip = 0; trip < trips; ++trip) {
    Datum variable;
    variable.integer =
        wrapInteger(uint64_t(lower) + trip * uint64_t(step), width);
    arguments.assign({variable});
    llvm::append_range(arguments, carried);
    if (failed(frame.run(body, arguments)))
      return failure();
    carried = frame.getYielded(body);
  }
  frame.setAll(inst, carried);
  return success();
}

static LogicalResult runWhile(Frame &frame, const Instruction &inst) {
  const BlockCode &before = inst.regions[0], &after = inst.regions[1];
  SmallVector<Datum> carried = frame.getAll(inst);
  while (true) {
    if (failed(frame.run(before, carried)))
      return failure();
    carried = frame.getYielded(before, /*first=*/1);
    if (!frame.getYielded(before).front().integer)
      break;
    if (failed(frame.run(after, carried)))
      return failure();
    carried = frame.getYielded(after);
  }
  frame.setAll(inst, carried);
  return success();
}

/// Runs a region once and takes what it yields as the results.
static LogicalResult runRegion(Frame &frame, const Instruction &inst,
                               const BlockCode &region) {
  if (region.body.empty()) // The missing `else` of an scf.if.
    return success();
  if (failed(frame.run(region, {})))
    return failure();
  frame.setAll(inst, frame.getYielded(region));
  return success();
}

static LogicalResult runSwitch(Frame &frame, const Instruction &inst) {
  ArrayRef<int64_t> cases = cast<scf::IndexSwitchOp>(inst.op).getCases();
  const int64_t *it = llvm::find(cases, frame.getInteger(inst, 0));
  // The default region comes first.
  size_t region = it == cases.end() ? 0 : 1 + (it - cases.begin());
  return runRegion(frame, inst, inst.regions[region]);
}

static void registerScf(Registry &registry) {
  registry.add<scf::ForOp>(runFor);
  registry.add<scf::WhileOp>(runWhile);
  registry.add<scf::IfOp>([](Frame &frame, const Instruction &inst) {
    return runRegion(frame, inst,
                     inst.regions[frame.getInteger(inst, 0) ? 0 : 1]);
  });
  registry.add<scf::ExecuteRegionOp>([](Frame &frame, const Instruction &inst) {
    return runRegion(frame, inst, inst.regions[0]);
  });
  registry.add<scf::IndexSwitchOp>(runSwitch);
}

//===----------------------------------------------------------------------===//
// gpu
//===----------------------------------------------------------------------===//

/// Registers an operation that returns one of three numbers, by its dimension.
template <typename OpT, typename Fn>
static void addDimension(Registry &registry, Fn fn) {
  registry.add<OpT>([fn](Frame &frame, const Instruction &inst) {
    auto dim = unsigned(cast<OpT>(inst.op).getDimension());
    Int3 values = fn(frame);
    frame.setInteger(inst, values[dim]);
    return success();
  });
}

static LogicalResult refuseThread(Frame &frame, const Instruction &inst) {
  return frame.fail(inst, "asks for a thread, but a kernel of the first phase "
                          "describes what its whole block does");
}

static void registerGpu(Registry &registry) {
  addDimension<gpu::BlockIdOp>(registry,
                               [](Frame &frame) { return frame.getBlock(); });
  addDimension<gpu::GridDimOp>(
      registry, [](Frame &frame) { return frame.getLaunch().grid; });
  addDimension<gpu::BlockDimOp>(registry, [](Frame &frame) {
    return Int3{frame.getLaunch().threads, 1, 1};
  });
  registry.add<gpu::ThreadIdOp>(refuseThread);
  registry.add<gpu::GlobalIdOp>(refuseThread);
  registry.add<gpu::LaneIdOp>(refuseThread);
}

//===----------------------------------------------------------------------===//
// affine
//===----------------------------------------------------------------------===//

/// Returns the values of the results of an operation's affine map.
template <typename OpT>
static FailureOr<SmallVector<int64_t>> evaluateMap(Frame &frame,
                                                   const Instruction &inst) {
  AffineMap map = cast<OpT>(inst.op).getAffineMap();
  SmallVector<int64_t> operands =
      frame.getIntegers(inst, 0, inst.operands.size());
  SmallVector<int64_t> results;
  for (AffineExpr expr : map.getResults()) {
    std::optional<int64_t> value =
        evaluate(expr, ArrayRef(operands).take_front(map.getNumDims()),
                 ArrayRef(operands).drop_front(map.getNumDims()));
    if (!value)
      return frame.fail(inst, "divides by zero or less");
    results.push_back(*value);
  }
  return results;
}

template <typename OpT, typename Fn>
static void addAffine(Registry &registry, Fn choose) {
  registry.add<OpT>([choose](Frame &frame, const Instruction &inst) {
    FailureOr<SmallVector<int64_t>> values = evaluateMap<OpT>(frame, inst);
    if (failed(values))
      return failure();
    frame.setInteger(inst, choose(*values));
    return success();
  });
}

static void registerAffine(Registry &registry) {
  addAffine<affine::AffineApplyOp>(
      registry, [](ArrayRef<int64_t> values) { return values.front(); });
  addAffine<affine::AffineMinOp>(registry, [](ArrayRef<int64_t> values) {
    return *llvm::min_element(values);
  });
  addAffine<affine::AffineMaxOp>(registry, [](ArrayRef<int64_t> values) {
    return *llvm::max_element(values);
  });
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

/// Runs the definition, whose scalars are fragments if a result is one.
static LogicalResult runAsm(Frame &frame, const Instruction &inst) {
  SmallVector<Datum> arguments = frame.getAll(inst);
  auto op = cast<tile::AsmOp>(inst.op);
  const ValueType *fragment = llvm::find_if(
      inst.resultTypes, [](auto &type) { return type.isFragment; });
  for (auto [input, datum] : llvm::zip_equal(op.getInputs(), arguments)) {
    if (fragment == inst.resultTypes.end() || datum.fragment)
      continue;
    ValueType type = *fragment;
    type.element = *ElementType::get(input.getType());
    Datum repeated = makeDatum(type);
    int64_t count = type.countElements();
    if (type.element.isFloat)
      std::fill_n(repeated.elements<double>(), count, datum.real);
    else
      std::fill_n(repeated.elements<int64_t>(), count, datum.integer);
    datum = repeated;
  }
  if (failed(frame.run(inst.regions[0], arguments)))
    return failure();
  frame.setAll(inst, frame.getYielded(inst.regions[0]));
  return success();
}

//===----------------------------------------------------------------------===//
// Persistent loops
//===----------------------------------------------------------------------===//

static LogicalResult runPersistent(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::PersistentOp>(inst.op);
  unsigned rank = op.getExtents().size();
  Int3 extents = {1, 1, 1};
  llvm::copy(frame.getIntegers(inst, 0, rank), extents.begin());
  int64_t tiles = 1;
  for (int64_t extent : extents)
    if (llvm::MulOverflow(tiles, std::max<int64_t>(extent, 0), tiles))
      return frame.fail(inst, "has more than 2^63 tiles");
  auto [x, y, z] = frame.getBlock();
  const Int3 &grid = frame.getLaunch().grid;
  int64_t block = x + grid[0] * (y + grid[1] * z);
  int64_t blocks = grid[0] * grid[1] * grid[2];
  int64_t plane = extents[0] * extents[1];

  const BlockCode &body = inst.regions[0];
  SmallVector<Datum> carried = frame.getAll(inst, rank);
  SmallVector<Datum> arguments;
  for (int64_t number = block; number < tiles; number += blocks) {
    auto [tileX, tileY] = tile::rasterize(op.getRasterizeAttr(), number % plane,
                                          extents[0], extents[1]);
    Int3 coords = {tileX, tileY, number / plane};
    arguments.assign(rank, Datum());
    for (unsigned dim = 0; dim < rank; ++dim)
      arguments[dim].integer = coords[dim];
    llvm::append_range(arguments, carried);
    if (failed(frame.run(body, arguments)))
      return failure();
    carried = frame.getYielded(body);
  }
  frame.setAll(inst, carried);
  return success();
}

//===----------------------------------------------------------------------===//
// Assertions and output
//===----------------------------------------------------------------------===//

/// Returns the block that a print or an assertion names. Its coordinates are
/// the operands from `first` on; without them it is the block that runs.
static Int3 getNamedBlock(Frame &frame, const Instruction &inst,
                          OperandRange block) {
  Int3 place = frame.getBlock();
  if (!block.empty())
    llvm::copy(frame.getIntegers(inst, block.getBeginOperandIndex(), 3),
               place.begin());
  return place;
}

static LogicalResult runAssert(Frame &frame, const Instruction &inst) {
  auto tileAssert = dyn_cast<tile::AssertOp>(inst.op);
  StringRef message = tileAssert ? tileAssert.getMessage()
                                 : cast<cf::AssertOp>(inst.op).getMsg();
  std::optional<Int3> block;
  if (tileAssert)
    block = getNamedBlock(frame, inst, tileAssert.getBlock());
  const Datum &condition = frame.get(inst, 0);
  if (!condition.fragment)
    return condition.integer
               ? success()
               : frame.fail(inst, "failed: " + message, {}, block);
  SmallVector<int64_t> place;
  int64_t i = 0;
  bool holds = forEachCoordinate(
      condition.fragment->shape, [&](ArrayRef<int64_t> coords) {
        place.assign(coords.begin(), coords.end());
        return condition.fragment->integers[i++] != 0;
      });
  if (holds)
    return success();
  return frame.fail(inst, "failed at " + toString(place) + ": " + message, {},
                    block);
}

/// Prints element `index` of a value so that it can be read back exactly.
static void printElement(raw_ostream &os, ElementType type, const Datum &datum,
                         int64_t index, bool isUnsigned) {
  if (!type.isFloat) {
    int64_t value = datum.elements<int64_t>()[index];
    if (isUnsigned || type.width == 1)
      os << getUnsigned(value, type.width);
    else
      os << value;
    return;
  }
  double value = datum.elements<double>()[index];
  if (std::isnan(value)) { // C's printf has "-nan", too.
    os << "nan";
    return;
  }
  // Enough digits to distinguish all values of the type.
  const char *format = type.format == FloatFormat::F64 ? "%.17g" : "%.9g";
  os << llvm::format(format, value);
}

static LogicalResult runPrint(Frame &frame, const Instruction &inst) {
  auto op = cast<tile::PrintOp>(inst.op);
  std::string text;
  llvm::raw_string_ostream os(text);
  std::string prefix =
      ("block " + toString(getNamedBlock(frame, inst, op.getBlock())) + ": " +
       op.getMessage())
          .str();
  if (op.getShown().empty())
    os << prefix << "\n";
  for (auto [operand, value] : llvm::enumerate(op.getShown())) {
    ElementType type = *ElementType::get(getElementTypeOrSelf(value.getType()));
    const Datum &datum = frame.get(inst, operand);
    bool isUnsigned = op.isUnsigned(operand);
    int64_t i = 0;
    forEachCoordinate(datum.fragment ? ArrayRef<int64_t>(datum.fragment->shape)
                                     : ArrayRef<int64_t>(),
                      [&](ArrayRef<int64_t> coords) {
                        os << prefix << " ";
                        if (datum.fragment)
                          os << toString(coords) << " ";
                        printElement(os, type, datum, i++, isUnsigned);
                        os << "\n";
                        return true;
                      });
  }
  if (frame.getLaunch().print)
    frame.getLaunch().print(text);
  return success();
}

void sim::registerControlHandlers(Registry &registry) {
  registerScf(registry);
  registerGpu(registry);
  registerAffine(registry);
  registry.add<tile::PersistentOp>(runPersistent);
  registry.add<tile::AsmOp>(runAsm);
  registry.add<tile::AssertOp>(runAssert);
  registry.add<cf::AssertOp>(runAssert);
  registry.add<tile::PrintOp>(runPrint);
}
