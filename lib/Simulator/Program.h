//===- Program.h - A kernel prepared for execution --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is translated once into instructions. An instruction has the handler
// of its operation, and slots in a frame for its operands and results. A frame
// holds the values of one agent. Handlers are registered by operation name.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_PROGRAM_H
#define TILEWS_LIB_SIMULATOR_PROGRAM_H

#include "tilews/Dialect/Tile/IR/Cluster.h"
#include "tilews/Simulator/Interpreter.h"
#include "tilews/Simulator/Values.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace tilews::sim {

class Frame;
struct Instruction;

/// The largest number of elements of a fragment or a shared buffer: far more
/// than any GPU holds, and small enough to be allocated.
constexpr int64_t kMaxElements = int64_t(1) << 26;
/// Returns whether a shape has at most that many elements.
bool isHeld(llvm::ArrayRef<int64_t> shape);
/// The deepest nesting of regions. Execution recurses over them, on threads
/// with stacks of the default size.
constexpr unsigned kMaxDepth = 500;

using Handler =
    std::function<mlir::LogicalResult(Frame &, const Instruction &)>;

/// The type of a result of an instruction: a scalar, a fragment, or a memref.
struct ValueType {
  ElementType element;
  bool isMemRef = false;
  bool isFragment = false;
  llvm::SmallVector<int64_t> shape;

  int64_t countElements() const {
    return isFragment ? sim::countElements(shape) : 1;
  }
};

/// The instructions of an MLIR block. The operands of the last one are the
/// values that the block yields to the instruction around it.
struct BlockCode {
  llvm::SmallVector<unsigned> arguments;
  std::vector<Instruction> body;
};

/// An operation, prepared for execution.
struct Instruction {
  mlir::Operation *op = nullptr;
  const Handler *handler = nullptr;
  llvm::SmallVector<unsigned, 4> operands, results;
  llvm::SmallVector<ValueType, 1> resultTypes;
  /// The type of the first operand's elements.
  ElementType operandType;
  /// Whether elements are floating point: the first result's or, if there is
  /// none, the first operand's.
  bool isFloat = false;
  std::vector<BlockCode> regions;
  /// The value of a constant.
  Datum constant;
  /// Whether its operands may be results of asynchronous matmuls that no agent
  /// has waited for.
  bool takesUnfinished = false;
  /// Whether a record of the block lists it.
  bool isRecorded = false;
  /// The first byte, in shared memory, of the buffer that it makes or of its
  /// scratch memory; -1 before shared memory is planned.
  int64_t sharedOffset = -1;
  int64_t scratchBytes = 0;
  std::shared_ptr<const Places> places;
};

/// The instructions of a kernel and the number of slots of a frame.
struct Program {
  BlockCode code;
  unsigned numSlots;
  mlir::Location location;
};

/// Translates a kernel. Errors are emitted as diagnostics.
mlir::FailureOr<Program> translateKernel(mlir::gpu::GPUFuncOp kernel);

/// Checks the arguments of a launch against the signature of the kernel and
/// converts them to values. Errors are emitted as diagnostics.
mlir::LogicalResult bindArguments(mlir::gpu::GPUFuncOp kernel,
                                  llvm::ArrayRef<Argument> arguments,
                                  llvm::SmallVectorImpl<Datum> &values);

/// Returns the grid in `options` or, if there is none, the value of
/// `tile.grid`.
mlir::FailureOr<Int3> getGrid(mlir::gpu::GPUFuncOp kernel,
                              llvm::ArrayRef<Datum> arguments,
                              const LaunchOptions &options);

/// Handlers by operation name.
class Registry {
public:
  /// Returns the handlers of all supported operations.
  static const Registry &get();

  void add(llvm::StringRef name, Handler handler);
  template <typename OpT>
  void add(Handler handler) {
    add(OpT::getOperationName(), std::move(handler));
  }
  /// Returns the handler of an operation, null if there is none.
  const Handler *find(llvm::StringRef name) const;

private:
  llvm::StringMap<Handler> handlers;
};

void registerArithHandlers(Registry &registry);
void registerAtomicHandlers(Registry &registry);
void registerBarrierHandlers(Registry &registry);
void registerCastHandlers(Registry &registry);
void registerMathHandlers(Registry &registry);
void registerControlHandlers(Registry &registry);
void registerGatherHandlers(Registry &registry);
void registerMemRefHandlers(Registry &registry);
void registerRoleHandlers(Registry &registry);
void registerScheduleHandlers(Registry &registry);
void registerTileMemoryHandlers(Registry &registry);
void registerTileMatmulHandlers(Registry &registry);
void registerTileShapeHandlers(Registry &registry);

/// Why a block stopped.
struct Failure {
  mlir::Location location;
  std::string message;
  /// Further places, with what happens there.
  std::vector<std::pair<mlir::Location, std::string>> notes = {};
};

class BlockState;

/// What is common to all blocks of a launch.
struct Launch {
  Int3 grid;
  int64_t threads;
  uint64_t maxSteps;
  bool hasExplicitBarriers;
  llvm::function_ref<void(llvm::StringRef)> print;
  llvm::function_ref<void(const RecordedEvent &)> record;
  Int3 recordedBlock;
  /// The blocks that run together.
  tile::Cluster cluster = {};
  llvm::ArrayRef<OrderedEvent> order;
  llvm::function_ref<void(const Exploration &)> explored = nullptr;
  /// Set if blocks of the launch wait for each other.
  class ConcurrentBlocks *concurrent = nullptr;
  class Interruption *interruption = nullptr;
};

/// The values of an agent during its execution.
///
/// Example: `%s = arith.addi %a, %b` with slots 0, 1 and 2 sets `values[2]` to
/// the sum of the integers in `values[0]` and `values[1]`.
class Frame {
public:
  Frame(const Launch &launch, Int3 block, std::vector<Datum> values,
        BlockState &state, unsigned agent = 0)
      : launch(launch), block(block), values(std::move(values)), state(state),
        agent(agent) {}

  const Launch &getLaunch() const { return launch; }
  Int3 getBlock() const { return block; }
  BlockState &getState() { return state; }
  /// Returns the number of the agent whose frame it is.
  unsigned getAgent() const { return agent; }
  bool isInRole() const;

  /// Runs the instructions of an MLIR block, except its terminator.
  mlir::LogicalResult run(const BlockCode &code,
                          llvm::ArrayRef<Datum> arguments);
  /// Returns the values that the block yields after `run`, from operand `first`
  /// of its terminator on.
  llvm::SmallVector<Datum> getYielded(const BlockCode &code,
                                      unsigned first = 0) const;

  const Datum &get(const Instruction &inst, unsigned operand) const {
    return values[inst.operands[operand]];
  }
  /// Returns the values of an instruction's operands, from `first` on.
  llvm::SmallVector<Datum> getAll(const Instruction &inst,
                                  unsigned first = 0) const;
  int64_t getInteger(const Instruction &inst, unsigned operand) const {
    return get(inst, operand).integer;
  }
  const MemRef &getMemRef(const Instruction &inst, unsigned operand) const {
    return *get(inst, operand).memref;
  }
  /// Returns `count` operands from `first` on, as integers.
  llvm::SmallVector<int64_t> getIntegers(const Instruction &inst,
                                         unsigned first, unsigned count) const;

  void set(const Instruction &inst, unsigned result, Datum value) {
    values[inst.results[result]] = std::move(value);
  }
  void setInteger(const Instruction &inst, int64_t value) {
    Datum datum;
    datum.integer = value;
    set(inst, 0, std::move(datum));
  }
  void setAll(const Instruction &inst, llvm::ArrayRef<Datum> results);

  /// Stops the block with an error at the instruction. It names the block, or
  /// that which the operation names.
  mlir::LogicalResult
  fail(const Instruction &inst, const llvm::Twine &message,
       std::vector<std::pair<mlir::Location, std::string>> notes = {},
       std::optional<Int3> named = std::nullopt);

  /// Returns the record of the present operation; null if there is none.
  struct Record *getRecord();

  /// Returns a frame for a role, with a copy of all values.
  Frame fork(unsigned role) const;

private:
  mlir::LogicalResult runOne(const Instruction &inst);
  /// Returns whether the run has to end. Asks at some of the calls only, as
  /// that takes as long as a short operation.
  bool isInterrupted();

  const Launch &launch;
  Int3 block;
  std::vector<Datum> values;
  BlockState &state;
  unsigned agent;
  uint64_t steps = 0, checks = 0;
  std::optional<size_t> record;
};

/// Registers a handler that is generic in the class of elements. `fn` is called
/// with a double or an int64_t as its last argument, which only has a type.
template <typename OpT, typename Fn>
void addByElement(Registry &registry, Fn fn) {
  registry.add<OpT>([fn](Frame &frame, const Instruction &inst) {
    return inst.isFloat ? fn(frame, inst, double())
                        : fn(frame, inst, int64_t());
  });
}

/// Starts an error at an operation. Unlike `op->emitOpError`, it does not add
/// the text of the operation with all its regions.
mlir::InFlightDiagnostic emitOpErrorAt(mlir::Operation *op);

/// Returns a value of the given type; the elements of a fragment are zero.
Datum makeDatum(const ValueType &type);

/// Returns a list of offsets with `ShapedType::kDynamic` replaced by operands,
/// the first of which has number `operand`. Advances `operand` past the last.
llvm::SmallVector<int64_t> fillDynamic(const Frame &frame,
                                       const Instruction &inst,
                                       llvm::ArrayRef<int64_t> values,
                                       unsigned &operand);

/// Returns the value of an affine expression; nothing if it divides by a number
/// that is not positive.
std::optional<int64_t> evaluate(mlir::AffineExpr expr,
                                llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<int64_t> symbols);

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_PROGRAM_H
