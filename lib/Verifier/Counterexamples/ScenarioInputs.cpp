//===- ScenarioInputs.cpp - Inputs of counterexamples ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An input is identified by what it is, not by who reads it: an argument, a
// dimension (one of those with its symbol), or a memory and indices. A number
// is made from the identity and the scenario's seed. Sizes are numbers of
// tiles, so the traces are short, and multiples of what is promised to divide
// them.
//
//===----------------------------------------------------------------------===//

#include "Verifier/Counterexamples/ScenarioInputs.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using namespace tilews::verifier;

/// Kernels have no special case for more iterations than this.
static constexpr int64_t kLargestLimit = 100;

ScenarioInputs::ScenarioInputs(const TaskProgram &program) : program(program) {
  gpu::GPUFuncOp(program.getKernel()).walk([&](Operation *op) {
    IntegerAttr limit;
    if (isa<arith::CmpIOp, arith::MinSIOp, arith::MaxSIOp>(op) &&
        matchPattern(op->getOperand(1), m_Constant(&limit)) &&
        limit.getInt() > 0 && limit.getInt() < kLargestLimit)
      limits.insert(limit.getInt() + 2);
    if (isa<arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(op))
      if (Type type = op->getResult(0).getType();
          type.isInteger() && type.getIntOrFloatBitWidth() < 32)
        narrowest =
            std::min(narrowest ? narrowest : 32u, type.getIntOrFloatBitWidth());
    if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp, arith::DivSIOp,
            arith::DivUIOp, arith::FloorDivSIOp>(op))
      findScale(op);
  });
}

/// Notes the tile size of an extent or argument, by which it is divided;
/// scenarios choose a number of tiles.
void ScenarioInputs::findScale(Operation *op) {
  IntegerAttr divisor;
  if (!matchPattern(op->getOperand(1), m_Constant(&divisor)))
    return;
  Value dividend = op->getOperand(0);
  Dimension dimension = {dividend, -1};
  if (Operation *dim = dividend.getDefiningOp())
    if (const ExtentPremises::Extent *extent = program.getExtents().find(dim))
      dimension = extent->dimensions.front();
  int64_t &scale = scales[dimension];
  scale = std::max(scale, divisor.getInt());
}

void ScenarioInputs::begin(const Scenario &chosen) {
  scenario = chosen;
  isPossible = true;
  inputs.clear();
  extents.clear();
  unread.clear();
  identities.clear();
  fills.clear();
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// A number for the thing that the words identify, in order of first use. Words
/// may be pointers, which differ between runs of the compiler.
uint64_t ScenarioInputs::identify(ArrayRef<int64_t> words) {
  return identities.try_emplace({words.begin(), words.end()}, identities.size())
      .first->second;
}

/// Spreads the bits of a number (Steele et al., "Fast splittable pseudorandom
/// number generators").
static uint64_t mix(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

/// A number of tiles of size `scale`, or another multiple of `divisor`.
int64_t ScenarioInputs::chooseInteger(Type type, uint64_t identity,
                                      int64_t scale, int64_t divisor) const {
  uint64_t random = mix(mix(identity) + scenario.seed);
  if (type.isInteger(1))
    return scenario.number >= 0 ? 1 : random >> 7 & 1;
  static constexpr int64_t kNumbers[] = {0, 1, 2, 3, 4, 5, 7, 9};
  if (scenario.number >= 0)
    return scale * scenario.number;
  // Half of the random numbers are such that narrow arithmetic wraps around.
  bool wraps = random >> 10 & 1;
  if (unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
      wraps && width < 32)
    return llvm::SignExtend64(random >> 11, width);
  if (wraps && narrowest)
    return llvm::alignTo(int64_t(1) << narrowest, divisor);
  int64_t number = scale * kNumbers[random >> 7 & 7];
  // A quarter of the sizes is no number of tiles.
  bool isRagged = (random >> 40 & 3) == 0;
  return isRagged && scale > divisor
             ? number + divisor * int64_t(1 + (random >> 42) % 7)
             : number;
}

/// A number of any type. Floats are integers, too, so that little is rounded:
/// large ones and negative ones, with which conditions become true after some
/// iterations, or never.
std::optional<UniformValue> ScenarioInputs::choose(Type type, uint64_t identity,
                                                   int64_t scale) const {
  if (!isa<FloatType>(type))
    return chooseInteger(type, identity, scale);
  static constexpr int64_t kFactors[] = {1, 5, 1, -1};
  if (scenario.number >= 0)
    return makeUniform(type, 3 * scenario.number);
  uint64_t random = mix(mix(identity) + scenario.seed);
  return makeUniform(type,
                     int64_t(random >> 7 & 7) * kFactors[random >> 20 & 3]);
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static std::string getName(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "";
  auto kernel = dyn_cast<gpu::GPUFuncOp>(argument.getOwner()->getParentOp());
  unsigned number = argument.getArgNumber();
  auto name = kernel ? kernel.getArgAttrOfType<StringAttr>(number, "tile.name")
                     : StringAttr();
  return name ? name.str() : "argument " + std::to_string(number);
}

static bool isArgument(Value value, Operation *kernel) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->getParentOp() == kernel;
}

static int64_t getWord(Value value) {
  return reinterpret_cast<int64_t>(value.getAsOpaquePointer());
}

void ScenarioInputs::note(const std::string &name,
                          ScheduleVerdict::Input::Kind kind, Value of,
                          ArrayRef<int64_t> place, int64_t value) {
  ScheduleVerdict::Input input;
  input.kind = kind;
  input.argument = cast<BlockArgument>(of).getArgNumber();
  llvm::append_range(input.place, place);
  input.value = value;
  inputs.try_emplace(name, std::move(input));
}

/// The small integer that `value` is.
static int64_t getInteger(Type type, UniformValue value) {
  return isa<FloatType>(type) ? int64_t(llvm::bit_cast<double>(value)) : value;
}

std::optional<UniformValue> ScenarioInputs::getOutside(Value value) {
  Type type = value.getType();
  if (!isArgument(value, program.getKernel()) || !type.isIntOrIndexOrFloat())
    return std::nullopt;
  int64_t scale = std::max<int64_t>(scales.lookup({value, -1}), 1);
  std::optional<UniformValue> chosen =
      choose(type, identify({getWord(value)}), scale);
  if (chosen)
    note(getName(value), ScheduleVerdict::Input::Kind::Scalar, value, {},
         getInteger(type, *chosen));
  return chosen;
}

std::optional<UniformValue>
ScenarioInputs::getElement(memref::LoadOp load, Value memory,
                           ArrayRef<int64_t> place) {
  // A view, or memory that the kernel writes, may hold something else.
  if (!program.readsInput(load) || !isArgument(memory, program.getKernel()))
    return std::nullopt;
  if (program.getFilledReads().isFilled(memory)) {
    noteFill(memory, place);
    return getFill(load.getType());
  }
  SmallVector<int64_t> words = {getWord(memory)};
  llvm::append_range(words, place);
  std::optional<UniformValue> value = choose(load.getType(), identify(words));
  if (!value)
    return value;
  std::string name = getName(memory) + "[";
  llvm::raw_string_ostream os(name);
  llvm::interleaveComma(place, os);
  os << "]";
  note(name, ScheduleVerdict::Input::Kind::Element, memory, place,
       getInteger(load.getType(), *value));
  return value;
}

/// All memory that is read tile by tile holds the same number everywhere. So a
/// tile has the same value, whichever memory and region it is read from.
std::optional<UniformValue> ScenarioInputs::getFill(Type type) const {
  static constexpr int64_t kNumbers[] = {1, 0, 1, 2, 1, 3, -1, 5};
  uint64_t random = mix(scenario.seed) >> 7 & 7;
  return makeUniform(type, scenario.number >= 0 ? 1 : kNumbers[random]);
}

void ScenarioInputs::noteFill(Value memory, ArrayRef<int64_t> last) {
  SmallVector<int64_t> &most = fills[memory];
  if (most.empty())
    most.assign(last.begin(), last.end());
  for (auto [known, index] : llvm::zip_equal(most, last))
    known = std::max(known, index);
  Type type = cast<MemRefType>(memory.getType()).getElementType();
  if (std::optional<UniformValue> value = getFill(type))
    note("each element of " + getName(memory),
         ScheduleVerdict::Input::Kind::Fill, memory, {},
         getInteger(type, *value));
}

std::optional<UniformValue> ScenarioInputs::getResult(OpResult result) {
  Operation *op = result.getOwner();
  if (const ExtentPremises::Extent *extent = program.getExtents().find(op))
    return getExtent(op, *extent);
  // A counterexample is for a grid of one block.
  if (isa<gpu::BlockIdOp, gpu::GridDimOp>(op))
    return isa<gpu::GridDimOp>(op);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Extents
//===----------------------------------------------------------------------===//

int64_t ScenarioInputs::getExtent(Operation *op,
                                  const ExtentPremises::Extent &extent) {
  if (extent.constant)
    return *extent.constant;
  auto [memory, dim] = extent.dimensions.front();
  int64_t scale = std::lcm(std::max<int64_t>(scales.lookup({memory, dim}), 1),
                           extent.divisor);
  uint64_t identity = identify({getWord(memory), -1, dim});
  int64_t value = chooseInteger(op->getResult(0).getType(), identity, scale,
                                extent.divisor);
  noteExtent(extent, value);
  return value;
}

void ScenarioInputs::noteExtent(const ExtentPremises::Extent &extent,
                                int64_t value) {
  if (!extents.try_emplace(&extent, value).second)
    return;
  for (auto [memory, dim] : extent.dimensions)
    note("extent " + std::to_string(dim) + " of " + getName(memory),
         ScheduleVerdict::Input::Kind::Extent, memory, {dim}, value);
}

/// Whether an element lies in its memory. Extents that nothing has read become
/// large enough, if they are promised something or the memory is filled.
bool ScenarioInputs::fitExtents(Value memory, ArrayRef<int64_t> place,
                                bool isFill) {
  for (auto [dim, index] : llvm::enumerate(place)) {
    const ExtentPremises::Extent &extent =
        program.getExtents().get({memory, int64_t(dim)});
    if (index < 0 || (extent.constant && index >= *extent.constant))
      return false;
    if (auto known = extents.find(&extent); known != extents.end()) {
      if (index >= known->second)
        return false;
    } else if (isFill || extent.divisor > 1 || extent.dimensions.size() > 1) {
      int64_t &least = unread[&extent];
      least =
          std::max<int64_t>(least, llvm::alignTo(index + 1, extent.divisor));
    }
  }
  return true;
}

bool ScenarioInputs::finish() {
  if (!isPossible)
    return false;
  gpu::GPUFuncOp kernel(program.getKernel());
  for (const auto &[name, input] : inputs)
    if (input.kind == ScheduleVerdict::Input::Kind::Element &&
        !fitExtents(kernel.getArgument(input.argument), input.place,
                    /*isFill=*/false))
      return false;
  for (const auto &[memory, last] : fills)
    if (!fitExtents(memory, last, /*isFill=*/true))
      return false;
  for (auto [extent, value] : unread)
    if (!extent->constant)
      noteExtent(*extent, value);
  return true;
}
