//===- Program.cpp - A kernel prepared for execution ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes translated instructions. A frame is an array of values, one slot for
// each SSA value of the kernel, and `run` calls the handler of one instruction
// after the other. A region is executed by the handler of its operation: that
// of `scf.for` calls `run` on the body once an iteration.
//
// A role gets a copy of the frame of its block: it sees all values from
// outside, and what it computes remains its own.
//
//===----------------------------------------------------------------------===//

#include "BlockState.h"
#include "Follower.h"

#include "tilews/Simulator/Interruption.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

//===----------------------------------------------------------------------===//
// Registry
//===----------------------------------------------------------------------===//

const Registry &Registry::get() {
  static const Registry registry = [] {
    Registry all;
    registerArithHandlers(all);
    registerAtomicHandlers(all);
    registerBarrierHandlers(all);
    registerCastHandlers(all);
    registerMathHandlers(all);
    registerControlHandlers(all);
    registerGatherHandlers(all);
    registerMemRefHandlers(all);
    registerRoleHandlers(all);
    registerScheduleHandlers(all);
    registerTileMemoryHandlers(all);
    registerTileMatmulHandlers(all);
    registerTileShapeHandlers(all);
    return all;
  }();
  return registry;
}

void Registry::add(StringRef name, Handler handler) {
  handlers.try_emplace(name, std::move(handler));
}

const Handler *Registry::find(StringRef name) const {
  auto it = handlers.find(name);
  return it == handlers.end() ? nullptr : &it->second;
}

//===----------------------------------------------------------------------===//
// Frame
//===----------------------------------------------------------------------===//

static constexpr StringRef kInterrupted = "is where the caller ended the run";

bool Frame::isInterrupted() {
  constexpr uint64_t kInterval = 64;
  return launch.interruption && ++checks % kInterval == 0 &&
         launch.interruption->isRequested();
}

LogicalResult Frame::run(const BlockCode &code, ArrayRef<Datum> arguments) {
  if (isInterrupted())
    return fail(code.body.back(), kInterrupted);
  for (auto [slot, argument] : llvm::zip_equal(code.arguments, arguments))
    values[slot] = argument;
  for (const Instruction &inst : ArrayRef(code.body).drop_back()) {
    if (isInterrupted())
      return fail(inst, kInterrupted);
    if (++steps == launch.maxSteps)
      return fail(inst, "is the block's operation number " + Twine(steps) +
                            ", which is the limit; the kernel may be endless, "
                            "or needs a larger one (max_steps, or "
                            "TILEWS_MAX_STEPS for calls); a loop that waits "
                            "for memory which nobody writes never ends, and "
                            "one that waits for another block has to read by "
                            "tl.atomic_load");
    if (!inst.takesUnfinished)
      for (unsigned operand : inst.operands)
        if (state.isUnfinished(agent, values[operand]))
          return fail(inst, "uses the result of an asynchronous matmul that "
                            "no tile.gemm_wait has waited for");
    if (failed(runOne(inst)))
      return failure();
  }
  return success();
}

LogicalResult Frame::runOne(const Instruction &inst) {
  if (Follower *follower = state.getFollower();
      follower && failed(follower->follow(*this, inst)))
    return failure();
  auto execute = [&]() -> LogicalResult {
    if (inst.scratchBytes > 0 && state.isExplicit &&
        failed(state.getAccesses().useScratch(*this, inst)))
      return failure();
    return (*inst.handler)(*this, inst);
  };
  Recorder *recorder = inst.isRecorded ? state.getRecorder() : nullptr;
  if (!recorder)
    return execute();
  record = recorder->begin(inst, agent, RecordUnit::Role);
  size_t number = *record;
  LogicalResult result = execute();
  record.reset();
  if (succeeded(result))
    recorder->end(number);
  return result;
}

Record *Frame::getRecord() {
  return record ? &state.getRecorder()->get(*record) : nullptr;
}

SmallVector<Datum> Frame::getYielded(const BlockCode &code,
                                     unsigned first) const {
  return getAll(code.body.back(), first);
}

SmallVector<Datum> Frame::getAll(const Instruction &inst,
                                 unsigned first) const {
  return llvm::map_to_vector(ArrayRef(inst.operands).drop_front(first),
                             [&](unsigned slot) { return values[slot]; });
}

SmallVector<int64_t> Frame::getIntegers(const Instruction &inst, unsigned first,
                                        unsigned count) const {
  return llvm::map_to_vector(
      ArrayRef(inst.operands).slice(first, count),
      [&](unsigned slot) { return values[slot].integer; });
}

void Frame::setAll(const Instruction &inst, ArrayRef<Datum> results) {
  for (auto [slot, value] : llvm::zip_equal(inst.results, results))
    values[slot] = value;
}

Frame Frame::fork(unsigned role) const {
  Frame frame(launch, block, values, state, role);
  frame.steps = steps;
  return frame;
}

bool Frame::isInRole() const { return agent != state.getMainAgent(); }

LogicalResult Frame::fail(const Instruction &inst, const Twine &message,
                          std::vector<std::pair<Location, std::string>> notes,
                          std::optional<Int3> named) {
  state.fail({inst.op->getLoc(),
              ("'" + inst.op->getName().getStringRef() + "' op " + message +
               " (block " + toString(named.value_or(block)) + ")")
                  .str(),
              std::move(notes)});
  return failure();
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

bool sim::isHeld(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(count, extent, count))
      return false;
  return count <= kMaxElements;
}

InFlightDiagnostic sim::emitOpErrorAt(Operation *op) {
  return std::move(emitError(op->getLoc()) << "'" << op->getName() << "' op ");
}

Datum sim::makeDatum(const ValueType &type) {
  Datum datum;
  if (!type.isFragment)
    return datum;
  datum.fragment = std::make_shared<Fragment>();
  datum.fragment->shape = type.shape;
  if (type.element.isFloat)
    datum.fragment->reals.resize(type.countElements());
  else
    datum.fragment->integers.resize(type.countElements());
  return datum;
}

SmallVector<int64_t> sim::fillDynamic(const Frame &frame,
                                      const Instruction &inst,
                                      ArrayRef<int64_t> values,
                                      unsigned &operand) {
  return llvm::map_to_vector(values, [&](int64_t value) {
    return ShapedType::isDynamic(value) ? frame.getInteger(inst, operand++)
                                        : value;
  });
}

std::optional<int64_t> sim::evaluate(AffineExpr expr, ArrayRef<int64_t> dims,
                                     ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<int64_t> lhs = evaluate(binary.getLHS(), dims, symbols);
  std::optional<int64_t> rhs = evaluate(binary.getRHS(), dims, symbols);
  if (!lhs || !rhs)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Add)
    return int64_t(uint64_t(*lhs) + uint64_t(*rhs));
  if (binary.getKind() == AffineExprKind::Mul)
    return int64_t(uint64_t(*lhs) * uint64_t(*rhs));
  if (*rhs <= 0)
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mod)
    return llvm::mod(*lhs, *rhs);
  return binary.getKind() == AffineExprKind::FloorDiv
             ? llvm::divideFloorSigned(*lhs, *rhs)
             : llvm::divideCeilSigned(*lhs, *rhs);
}
