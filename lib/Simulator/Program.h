//===- Program.h - A kernel prepared for execution --------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is translated once into instructions: each has the handler of its
// operation and, for its operands and results, places in a frame. A frame holds
// the values of one block. Handlers are registered by operation name.
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

/// The most elements of a fragment or shared buffer: far more than any GPU
/// holds, and few enough to be allocated.
constexpr int64_t kMaxElements = int64_t(1) << 26;
/// Whether something of the given shape has at most that many.
bool isHeld(llvm::ArrayRef<int64_t> shape);

using Handler =
    std::function<mlir::LogicalResult(Frame &, const Instruction &)>;

/// What a result of an instruction is: a scalar, a fragment, or a memref.
struct ValueType {
  ElementType element;
  bool isMemRef = false;
  bool isFragment = false;
  llvm::SmallVector<int64_t> shape;

  int64_t countElements() const {
    return isFragment ? sim::countElements(shape) : 1;
  }
};

/// A block's instructions. The last one's operands are what the block yields;
/// the instruction around the block reads them.
struct BlockCode {
  llvm::SmallVector<unsigned> arguments;
  std::vector<Instruction> body;
};

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
  /// Whether it may be given what an asynchronous product has yet to write.
  bool takesUnfinished = false;
  /// Whether a record of the block lists it.
  bool isRecorded = false;
  /// Where in the block's shared memory the buffer that it makes, or its
  /// scratch memory, begins; -1 before shared memory is planned.
  int64_t sharedOffset = -1;
  int64_t scratchBytes = 0;
  std::shared_ptr<const Places> places;
};

/// A kernel's instructions and the number of values in a frame.
struct Program {
  BlockCode code;
  unsigned numSlots;
  mlir::Location location;
};

/// Translates a kernel. Errors are emitted as diagnostics.
mlir::FailureOr<Program> translateKernel(mlir::gpu::GPUFuncOp kernel);

/// The values of a launch's arguments, which have to fit the kernel's. Errors
/// are emitted as diagnostics.
mlir::LogicalResult bindArguments(mlir::gpu::GPUFuncOp kernel,
                                  llvm::ArrayRef<Argument> arguments,
                                  llvm::SmallVectorImpl<Datum> &values);

/// The grid in `options` or, if there is none, the kernel's `tile.grid`.
mlir::FailureOr<Int3> getGrid(mlir::gpu::GPUFuncOp kernel,
                              llvm::ArrayRef<Datum> arguments,
                              const LaunchOptions &options);

/// Handlers by operation name.
class Registry {
public:
  /// All handlers there are.
  static const Registry &get();

  void add(llvm::StringRef name, Handler handler);
  template <typename OpT>
  void add(Handler handler) {
    add(OpT::getOperationName(), std::move(handler));
  }
  /// The operation's handler, null if there is none.
  const Handler *find(llvm::StringRef name) const;

private:
  llvm::StringMap<Handler> handlers;
};

void registerArithHandlers(Registry &registry);
void registerBarrierHandlers(Registry &registry);
void registerCastHandlers(Registry &registry);
void registerMathHandlers(Registry &registry);
void registerControlHandlers(Registry &registry);
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
  /// What else there is to see, and where.
  std::vector<std::pair<mlir::Location, std::string>> notes = {};
};

class BlockState;

/// What all blocks of a launch share.
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
};

/// The values of a block or of a role, during its execution.
class Frame {
public:
  Frame(const Launch &launch, Int3 block, std::vector<Datum> values,
        BlockState &state, unsigned agent = 0)
      : launch(launch), block(block), values(std::move(values)), state(state),
        agent(agent) {}

  const Launch &getLaunch() const { return launch; }
  Int3 getBlock() const { return block; }
  BlockState &getState() { return state; }
  /// The number of the agent whose frame it is; 0 is the block itself.
  unsigned getAgent() const { return agent; }
  bool isInRole() const;

  /// Runs a block's instructions with `arguments`, up to its last.
  mlir::LogicalResult run(const BlockCode &code,
                          llvm::ArrayRef<Datum> arguments);
  /// The values that the block just run yields, from its operand `first` on.
  llvm::SmallVector<Datum> getYielded(const BlockCode &code,
                                      unsigned first = 0) const;

  /// The values of an instruction's operands, from `first` on.
  const Datum &get(const Instruction &inst, unsigned operand) const {
    return values[inst.operands[operand]];
  }
  llvm::SmallVector<Datum> getAll(const Instruction &inst,
                                  unsigned first = 0) const;
  int64_t getInteger(const Instruction &inst, unsigned operand) const {
    return get(inst, operand).integer;
  }
  const MemRef &getMemRef(const Instruction &inst, unsigned operand) const {
    return *get(inst, operand).memref;
  }
  /// Operands as integers, `count` of them from `first` on.
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

  /// Stops the block with an error at the instruction.
  mlir::LogicalResult
  fail(const Instruction &inst, const llvm::Twine &message,
       std::vector<std::pair<mlir::Location, std::string>> notes = {});

  /// The record of the operation that is executed; null if there is none.
  struct Record *getRecord();

  /// The frame of a role of this block: it sees all values there are.
  Frame fork(unsigned role) const;

private:
  mlir::LogicalResult runOne(const Instruction &inst);

  const Launch &launch;
  Int3 block;
  std::vector<Datum> values;
  BlockState &state;
  unsigned agent;
  uint64_t steps = 0;
  std::optional<size_t> record;
};

/// Registers a handler that has a form for each class of elements. `fn` is
/// called with an element of the right class, for its type: `auto`.
template <typename OpT, typename Fn>
void addByElement(Registry &registry, Fn fn) {
  registry.add<OpT>([fn](Frame &frame, const Instruction &inst) {
    return inst.isFloat ? fn(frame, inst, double())
                        : fn(frame, inst, int64_t());
  });
}

/// Starts an error at an operation. The operation's own function would add the
/// text of the operation with all its regions.
mlir::InFlightDiagnostic emitOpErrorAt(mlir::Operation *op);

/// A value of the given type; the elements of a fragment are zero.
Datum makeDatum(const ValueType &type);

/// The operands that stand for `ShapedType::kDynamic` in a list of offsets,
/// filled in. `operand` is the first one's number and is moved past the last.
llvm::SmallVector<int64_t> fillDynamic(const Frame &frame,
                                       const Instruction &inst,
                                       llvm::ArrayRef<int64_t> values,
                                       unsigned &operand);

/// The value of an affine expression; nothing if it divides by zero or less.
std::optional<int64_t> evaluate(mlir::AffineExpr expr,
                                llvm::ArrayRef<int64_t> dims,
                                llvm::ArrayRef<int64_t> symbols);

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_PROGRAM_H
