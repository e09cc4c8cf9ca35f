//===- MatmulOps.cpp - Matrix products ------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls are exact up to one rounding. A double holds the scalar product of
// two elements of 24 bits exactly; sums are formed in double precision, or as
// integers modulo 2^64, and rounded to the type of the accumulator once.
// Whatever order an instruction sums in, and in whatever precision, this is the
// value that it approximates.
//
// An asynchronous matmul is checked when it starts and computed when it
// completes. Its event reads the operands until the agent waits for it, and its
// result carries the number of the matmul: uses before the wait are errors.
//
//===----------------------------------------------------------------------===//

#include "Simulator/Access.h"
#include "Simulator/BlockState.h"

#include "tilews/Dialect/Tile/Analysis/Memory/TmaCopy.h"
#include "tilews/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::sim;

namespace {
/// A matrix, row by row.
template <typename T>
struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<T> elements;
};
} // namespace

/// Reads an operand, which is a buffer or a fragment. The access to a buffer
/// was checked when the matmul started.
template <typename T>
static FailureOr<Matrix<T>> readMatrix(Frame &frame, const Instruction &inst,
                                       const Datum &datum) {
  ArrayRef<int64_t> shape =
      datum.memref ? datum.memref->shape : datum.fragment->shape;
  Matrix<T> matrix{shape[0], shape[1], {}};
  matrix.elements.resize(shape[0] * shape[1]);
  if (datum.fragment)
    std::copy_n(datum.elements<T>(), matrix.elements.size(),
                matrix.elements.begin());
  else if (failed(readBox<T>(frame, inst, *datum.memref,
                             Box::getWhole(*datum.memref), 0,
                             matrix.elements.data())))
    return failure();
  return matrix;
}

/// Returns the elements of a type that are packed in bytes, along rows.
static Matrix<double> unpackElements(const Matrix<int64_t> &bytes,
                                     ElementType type) {
  int64_t columns = bytes.columns * 8 / type.width;
  Matrix<double> matrix{bytes.rows, columns, {}};
  matrix.elements.resize(matrix.rows * columns);
  for (int64_t row = 0; row < bytes.rows; ++row) {
    const int64_t *line = &bytes.elements[row * bytes.columns];
    for (int64_t column = 0; column < columns; ++column) {
      int64_t bit = column * type.width, first = bit / 8;
      uint64_t word = uint8_t(line[first]);
      if (bit % 8 + type.width > 8)
        word |= uint64_t(uint8_t(line[first + 1])) << 8;
      fromBits(type, getUnsigned(word >> (bit % 8), type.width),
               matrix.elements[row * columns + column]);
    }
  }
  return matrix;
}

/// Reads an operand whose elements are of `type`, which may be packed in bytes.
template <typename T>
static FailureOr<Matrix<T>> readElements(Frame &frame, const Instruction &inst,
                                         const Datum &datum, Value operand,
                                         Type type) {
  if constexpr (std::is_same_v<T, double>)
    if (isa<IntegerType>(getElementTypeOrSelf(operand.getType()))) {
      FailureOr<Matrix<int64_t>> bytes =
          readMatrix<int64_t>(frame, inst, datum);
      if (failed(bytes))
        return failure();
      return unpackElements(*bytes, *ElementType::get(type));
    }
  return readMatrix<T>(frame, inst, datum);
}

/// Multiplies the elements of a left operand (or a right one) by the scales of
/// 32 neighbors along K.
static void applyScales(Matrix<double> &matrix, const Matrix<double> &scales,
                        bool isLhs) {
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column)
      matrix.elements[row * matrix.columns + column] *=
          isLhs ? scales.elements[row * scales.columns + column / 32]
                : scales.elements[row / 32 * scales.columns + column];
}

/// Checks that the operands can be read: by wgmma from now on until `op`
/// completes, otherwise at once. Threads read metadata themselves.
static LogicalResult checkOperands(Frame &frame, const Instruction &inst,
                                   const std::shared_ptr<AsyncOp> &op) {
  auto matmul = cast<tile::MatmulOpInterface>(inst.op);
  BlockState &state = frame.getState();
  for (unsigned i = 0; i < inst.operands.size(); ++i) {
    const Datum &datum = frame.get(inst, i);
    OpOperand &operand = inst.op->getOpOperand(i);
    AccessMode mode{/*writes=*/false, tile::isByAsyncProxy(operand),
                    std::nullopt, op};
    if (datum.memref &&
        failed(state.getAccesses().check(
            frame, inst, *datum.memref, Box::getWhole(*datum.memref),
            tile::isMetadata(operand) ? AccessMode() : mode)))
      return failure();
    bool isAccumulator = &operand == &matmul.getAccMutable();
    if (!(isAccumulator && op) && state.isUnfinished(frame.getAgent(), datum))
      return frame.fail(inst, "takes the result of an asynchronous matmul "
                              "that no tile.gemm_wait has waited for");
  }
  return success();
}

template <typename T>
static Matrix<T> transpose(const Matrix<T> &matrix) {
  Matrix<T> result{matrix.columns, matrix.rows, {}};
  result.elements.resize(matrix.elements.size());
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column)
      result.elements[column * matrix.rows + row] =
          matrix.elements[row * matrix.columns + column];
  return result;
}

static double multiplyAdd(double sum, double a, double b) {
  return sum + a * b;
}
static int64_t multiplyAdd(int64_t sum, int64_t a, int64_t b) {
  return uint64_t(sum) + uint64_t(a) * uint64_t(b);
}

/// Computes `sums += lhs * rhs`. Four rows of the result at a time share the
/// reads of the right operand.
template <typename T>
static void multiply(const Matrix<T> &lhs, const Matrix<T> &rhs, T *sums) {
  int64_t n = rhs.columns;
  auto addRows = [&](int64_t row, auto rows) {
    for (int64_t k = 0; k < lhs.columns; ++k) {
      const T *b = &rhs.elements[k * n];
      const T *a = &lhs.elements[row * lhs.columns + k];
      for (int64_t column = 0; column < n; ++column)
        for (int64_t i = 0; i < decltype(rows)::value; ++i)
          sums[(row + i) * n + column] = multiplyAdd(
              sums[(row + i) * n + column], a[i * lhs.columns], b[column]);
    }
  };
  int64_t row = 0;
  for (; row + 4 <= lhs.rows; row += 4)
    addRows(row, std::integral_constant<int64_t, 4>());
  for (; row < lhs.rows; ++row)
    addRows(row, std::integral_constant<int64_t, 1>());
}

/// Sets `result` to `lhs * rhs`, added to `acc` unless that is null.
template <typename T>
static void accumulate(ElementType type, const Matrix<T> &lhs,
                       const Matrix<T> &rhs, const Datum *acc, Datum &result) {
  T *sums = result.elements<T>();
  int64_t count = countElements(result.fragment->shape);
  multiply(lhs, rhs, sums);
  if (acc) {
    const T *old = acc->elements<T>();
    for (int64_t i = 0; i < count; ++i)
      sums[i] = multiplyAdd(sums[i], old[i], 1);
  }
  normalize(type, sums, count);
}

/// Returns the dense matrix of a 2:4 sparse one. Each nibble of the metadata
/// names the columns, among four, of two stored elements: nibble 0b1101 puts
/// them into columns 1 and 3.
template <typename T>
static FailureOr<Matrix<T>>
expand(Frame &frame, const Instruction &inst, const Matrix<T> &sparse,
       const Matrix<int64_t> &metadata, unsigned width) {
  Matrix<T> dense{sparse.rows, sparse.columns * 2, {}};
  dense.elements.resize(sparse.elements.size() * 2);
  int64_t groups = dense.columns / 4, perWord = width / 4;
  for (int64_t row = 0; row < dense.rows; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      int64_t word =
          metadata.elements[row * metadata.columns + group / perWord];
      unsigned nibble = (word >> (group % perWord * 4)) & 15;
      unsigned places[] = {nibble & 3, nibble >> 2};
      const T *pair = &sparse.elements[row * sparse.columns + group * 2];
      // A pair of zeros may stand in any columns. Past the end of the matrix
      // copies write zeros, also as metadata.
      if (pair[0] == 0 && pair[1] == 0)
        continue;
      if (places[0] >= places[1])
        return frame.fail(inst, "has metadata " + Twine(nibble) + " in row " +
                                    Twine(row) + ", group " + Twine(group) +
                                    ": expected two ascending places");
      for (int64_t i = 0; i < 2; ++i)
        dense.elements[row * dense.columns + group * 4 + places[i]] = pair[i];
    }
  }
  return dense;
}

namespace {
/// The values of a matmul. Metadata is read when the matmul starts.
struct MatmulValues {
  Datum lhs, rhs, acc, result;
  Matrix<int64_t> metadata;
  SmallVector<Datum, 2> scales;
};
} // namespace

/// Applies the scales, if there are any, to operands of shapes (m, k), (k, n).
template <typename T>
static LogicalResult applyScales(Frame &frame, const Instruction &inst,
                                 const MatmulValues &values, Matrix<T> &lhs,
                                 Matrix<T> &rhs) {
  auto op = cast<tile::MatmulOpInterface>(inst.op);
  if constexpr (std::is_same_v<T, double>)
    for (auto [i, datum] : llvm::enumerate(values.scales)) {
      FailureOr<Matrix<T>> scales = readMatrix<T>(frame, inst, datum);
      if (failed(scales))
        return failure();
      if (i == 0 ? op.getTransposeLhs() : op.getTransposeRhs())
        scales = transpose(*scales);
      applyScales(i == 0 ? lhs : rhs, *scales, /*isLhs=*/i == 0);
    }
  return success();
}

template <typename T>
static LogicalResult compute(Frame &frame, const Instruction &inst,
                             MatmulValues &values) {
  auto op = cast<tile::MatmulOpInterface>(inst.op);
  FailureOr<Matrix<T>> lhs = readElements<T>(
      frame, inst, values.lhs, op.getLhs(), op.getLhsElementType());
  if (failed(lhs))
    return failure();
  FailureOr<Matrix<T>> rhs = readElements<T>(
      frame, inst, values.rhs, op.getRhs(), op.getRhsElementType());
  if (failed(rhs))
    return failure();
  if (OpOperand *metadata = op.getMetadataOperand()) {
    unsigned width =
        getElementTypeOrSelf(metadata->get().getType()).getIntOrFloatBitWidth();
    lhs = expand(frame, inst, *lhs, values.metadata, width);
    if (failed(lhs))
      return failure();
  }
  if (op.getTransposeLhs())
    lhs = transpose(*lhs);
  if (op.getTransposeRhs())
    rhs = transpose(*rhs);
  if (failed(applyScales(frame, inst, values, *lhs, *rhs)))
    return failure();
  accumulate(inst.resultTypes[0].element, *lhs, *rhs,
             op.getClearAccumulator() ? nullptr : &values.acc, values.result);
  return success();
}

static FailureOr<MatmulValues> makeValues(Frame &frame,
                                          const Instruction &inst) {
  auto op = cast<tile::MatmulOpInterface>(inst.op);
  auto get = [&](OpOperand &operand) {
    return frame.get(inst, operand.getOperandNumber());
  };
  MatmulValues values{get(op.getLhsMutable()), get(op.getRhsMutable()),
                      get(op.getAccMutable()), makeDatum(inst.resultTypes[0]),
                      Matrix<int64_t>(),       {}};
  for (OpOperand &scale : op.getScaleOperands())
    values.scales.push_back(get(scale));
  if (OpOperand *metadata = op.getMetadataOperand()) {
    auto read = readMatrix<int64_t>(frame, inst, get(*metadata));
    if (failed(read))
      return failure();
    values.metadata = std::move(*read);
  }
  return values;
}

/// Makes the operation of an asynchronous matmul. The matmuls of an agent
/// complete in the order of their start.
static std::shared_ptr<AsyncOp> makeAsync(Frame &frame,
                                          const Instruction &inst) {
  BlockState &state = frame.getState();
  Agent &agent = state.getAgent(frame.getAgent());
  auto op = std::make_shared<AsyncOp>();
  op->kind = AsyncKind::Matmul;
  op->agent = frame.getAgent();
  op->inst = &inst;
  op->component = agent.matmuls;
  op->time = ++agent.matmulsStarted;
  for (const auto &other : llvm::reverse(state.scheduler.getInFlight()))
    if (other->component == op->component) {
      op->after.push_back(other);
      break;
    }
  return op;
}

template <typename T>
static LogicalResult multiplyTiles(Frame &frame, const Instruction &inst) {
  BlockState &state = frame.getState();
  bool isAsync = cast<tile::MatmulOpInterface>(inst.op).getAsync();
  if (isAsync && failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  std::shared_ptr<AsyncOp> async = isAsync ? makeAsync(frame, inst) : nullptr;
  if (failed(checkOperands(frame, inst, async)))
    return failure();
  FailureOr<MatmulValues> values = makeValues(frame, inst);
  if (failed(values))
    return failure();
  if (isAsync)
    values->result.fragment->matmul = async->time;
  frame.set(inst, 0, values->result);
  if (!isAsync)
    return compute<T>(frame, inst, *values);
  Record details;
  details.number = async->time;
  async->complete = [&frame, &inst, own = *values]() mutable {
    return compute<T>(frame, inst, own);
  };
  return state.start(std::move(async), RecordUnit::Tensor, details);
}

/// Waits for all matmuls except the last `pending` ones.
static LogicalResult waitForGemms(Frame &frame, const Instruction &inst) {
  BlockState &state = frame.getState();
  Agent &agent = state.getAgent(frame.getAgent());
  if (failed(state.scheduler.yield(frame.getAgent())))
    return failure();
  uint64_t pending = cast<tile::GemmWaitOp>(inst.op).getPending();
  uint32_t finished =
      agent.matmulsStarted - std::min<uint64_t>(agent.matmulsStarted, pending);
  if (failed(state.finish(frame, AsyncKind::Matmul, finished)))
    return failure();
  for (unsigned i = 0; i < inst.op->getNumResults(); ++i) {
    const Datum &fragment = frame.get(inst, i);
    if (state.isUnfinished(frame.getAgent(), fragment))
      return frame.fail(inst, "lets the last " + Twine(pending) +
                                  " matmuls be in flight, of which one has "
                                  "yet to write its operand number " +
                                  Twine(i));
    frame.set(inst, i, fragment);
  }
  return success();
}

void sim::registerTileMatmulHandlers(Registry &registry) {
  registry.add<tile::GemmWaitOp>(waitForGemms);
  // The elements of a packed operand are floats, though its bytes are not.
  auto run = [](Frame &frame, const Instruction &inst) {
    auto matmul = cast<tile::MatmulOpInterface>(inst.op);
    return isa<FloatType>(matmul.getLhsElementType())
               ? multiplyTiles<double>(frame, inst)
               : multiplyTiles<int64_t>(frame, inst);
  };
  registry.add<tile::GemmOp>(run);
  registry.add<tile::GemmSpOp>(run);
}
