//===- Debug.cpp - Printing from a kernel ---------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tile.print` becomes calls of the device's printf on NVIDIA GPUs; for AMD's
// see PrintRecords.cpp. One thread prints a fragment row by row, up to eight
// elements a line, with the block and the coordinates:
//
//   tile.print "x" %x : tensor<2x3xf32>  ->  block (2, 0, 0): x (0, 0:3) 1 2 3
//                                            block (2, 0, 0): x (1, 0:3) 4 5 6
//
// All threads pass their elements to it through scratch memory, some lines at a
// time. A variable of the module counts lines; the launch resets it. Lines past
// the limit, which is beside it, are left out, and the first of them says so.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"

#include "tilews/Conversion/Common/DeviceVariables.h"
#include "tilews/Dialect/Tile/Analysis/Memory/Scratch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Returns a number in a type of 64 bits that printf takes, and its format.
static std::pair<Value, StringRef> toPrintable(ImplicitLocOpBuilder &b,
                                               const TargetLowering &target,
                                               Value value, Type original,
                                               bool isUnsigned) {
  if (auto number = dyn_cast<FloatType>(original)) {
    if (number.getWidth() <= 8) {
      value = toRegister(b, value, original);
      Value vector = createSmallExtension(
          b, target, pack(b, value.getType(), value), original);
      if (!vector)
        return {arith::ExtUIOp::create(
                    b, b.getI64Type(),
                    arith::BitcastOp::create(
                        b, b.getIntegerType(number.getWidth()), value)),
                "0x%llx"};
      value = unpack(b, vector).front();
    }
    if (!value.getType().isF64())
      value = arith::ExtFOp::create(b, b.getF64Type(), value);
    return {value, "%g"};
  }
  isUnsigned |= original.isInteger(1);
  if (value.getType().getIntOrFloatBitWidth() < 64)
    value = isUnsigned
                ? arith::ExtUIOp::create(b, b.getI64Type(), value).getResult()
                : arith::ExtSIOp::create(b, b.getI64Type(), value).getResult();
  return {value, isUnsigned ? "%llu" : "%lld"};
}

/// Returns a format with blanks before short numbers, so that columns align.
static std::string getAligned(StringRef format, Type type) {
  unsigned width = 12;
  if (auto integer = dyn_cast<IntegerType>(type))
    width = integer.getWidth() == 1    ? 1
            : integer.getWidth() <= 8  ? 4
            : integer.getWidth() <= 16 ? 6
                                       : 11;
  return format.starts_with("0x")
             ? format.str()
             : "%" + std::to_string(width) + format.drop_front().str();
}

/// Emits `body` for first, first + step, ... below `last`.
static void createLoop(ImplicitLocOpBuilder &b, Value first, Value last,
                       Value step, function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, first, last, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

namespace {

/// The registers of a thread as lines of a table in scratch memory.
class PrintedFragment {
public:
  PrintedFragment(ImplicitLocOpBuilder &b, const TargetLowering &target,
                  RankedTensorType type, Value vector, bool isUnsigned,
                  Value threadId, Value scratch)
      : b(b), target(target), type(type), isUnsigned(isUnsigned),
        scratch(scratch), table(type.getShape()), registers(unpack(b, vector)),
        layout(getFragmentLayout(type)),
        indexer(b, layout, type.getShape(), threadId),
        owns(getOwnerPredicate(b, layout, threadId)) {}

  const PrintTable &getTable() const { return table; }
  Value getConstant(int64_t value) {
    return createInteger(b, b.getI32Type(), value);
  }

  /// Stores the elements of `chunk` lines from `first` on.
  void store(Value first) {
    for (int64_t v = 0; v < indexer.getNumValues(); ++v) {
      auto [line, place] = getPlace(v);
      line = arith::SubIOp::create(b, line, first);
      Value stored = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, line,
                                           getConstant(table.chunk));
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        if (indexer.overCovers(dim))
          stored = arith::AndIOp::create(b, stored,
                                         indexer.createIsInside(b, v, dim));
      if (owns)
        stored = arith::AndIOp::create(b, stored, owns);
      createGuarded(b, stored, [&] {
        Value index = arith::MulIOp::create(b, line, getConstant(table.width));
        index = arith::AddIOp::create(b, index, place);
        Value element = fromRegister(b, registers[v], type.getElementType());
        std::tie(element, format) =
            toPrintable(b, target, element, type.getElementType(), isUnsigned);
        printed = element.getType();
        createStore(b, element, getAddress(index), printed, /*count=*/1);
      });
    }
  }

  /// Returns the coordinates and the elements of a line with `count` elements,
  /// of which `local` is the place in scratch memory, and their format.
  std::pair<std::string, SmallVector<Value>> load(Value line, Value local,
                                                  int64_t count) {
    std::string text = " (";
    SmallVector<Value> values;
    if (type.getRank()) {
      Value row = arith::DivUIOp::create(b, line, getConstant(table.segments));
      ArrayRef<int64_t> outer = type.getShape().drop_back();
      int64_t left = llvm::product_of(outer);
      for (int64_t extent : outer) {
        left /= extent;
        Value coord = arith::DivUIOp::create(b, row, getConstant(left));
        values.push_back(arith::RemUIOp::create(b, coord, getConstant(extent)));
        text += "%d, ";
      }
      Value start = arith::MulIOp::create(
          b, arith::RemUIOp::create(b, line, getConstant(table.segments)),
          getConstant(table.width));
      values.push_back(start);
      values.push_back(arith::AddIOp::create(b, start, getConstant(count)));
      text += "%d:%d";
    }
    text += ")";
    Value index = arith::MulIOp::create(b, local, getConstant(table.width));
    std::string number = " " + getAligned(format, type.getElementType());
    for (int64_t i = 0; i < count; ++i) {
      Value place = arith::AddIOp::create(b, index, getConstant(i));
      values.push_back(createLoad(b, getAddress(place), printed, /*count=*/1));
      text += number;
    }
    return {text, values};
  }

private:
  /// Returns the line of a register's element, and the place in the line.
  std::pair<Value, Value> getPlace(int64_t v) {
    int64_t rank = type.getRank();
    Value line = getConstant(0), place = line;
    for (int64_t dim = 0; dim + 1 < rank; ++dim) {
      line = arith::MulIOp::create(b, line, getConstant(type.getDimSize(dim)));
      line = arith::AddIOp::create(b, line, indexer.createCoord(b, v, dim));
    }
    if (rank == 0)
      return {line, place};
    Value column = indexer.createCoord(b, v, rank - 1);
    line = arith::MulIOp::create(b, line, getConstant(table.segments));
    line = arith::AddIOp::create(
        b, line, arith::DivUIOp::create(b, column, getConstant(table.width)));
    place = arith::RemUIOp::create(b, column, getConstant(table.width));
    return {line, place};
  }

  Value getAddress(Value index) {
    return createElementPointer(b, scratch, index, PrintTable::kElementBytes);
  }

  ImplicitLocOpBuilder &b;
  const TargetLowering &target;
  RankedTensorType type;
  bool isUnsigned;
  Value scratch;
  PrintTable table;
  SmallVector<Value> registers;
  FragmentLayout layout;
  FragmentIndexer indexer;
  Value owns;
  /// The type and the format of elements in scratch memory.
  Type printed;
  StringRef format;
};

/// How each line of a print starts: the block, of which `block` has the
/// coordinates that the operation names, and the message.
struct LineStart {
  std::string format;
  ValueRange block;
};

struct PrintPattern : TilePattern<PrintOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(PrintOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LineStart start = {"block (%d, %d, %d): " + escapeFormat(op.getMessage()),
                       getBlock(op, adaptor)};
    Value threadId = getThreadId(b, op), scratch;
    if (auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset))
      scratch = createArenaPointer(b, offset.getInt());
    for (auto [place, original, value] :
         llvm::enumerate(op.getShown(), getShown(op, adaptor))) {
      bool isUnsigned = op.isUnsigned(place);
      auto fragment = dyn_cast<RankedTensorType>(original.getType());
      if (fragment && !scratch)
        return op.emitError("needs scratch memory; run "
                            "--tile-plan-shared-memory first");
      if (fragment)
        printFragment(
            b, op, start,
            {b, getTarget(), fragment, value, isUnsigned, threadId, scratch},
            threadId);
      else
        printScalar(b, start, original.getType(), value, isUnsigned, threadId);
    }
    if (op.getShown().empty())
      createGuarded(b, isFirstThread(b, threadId),
                    [&] { printLine(b, start, "", {}); });
    rewriter.eraseOp(op);
    return success();
  }

  /// Prints the start of a line and values, unless enough lines have been
  /// printed.
  void printLine(ImplicitLocOpBuilder &b, const LineStart &start,
                 StringRef format, ArrayRef<Value> values) const {
    auto [number, limit] = countPrintedLine(b, getTarget().variables);
    Value prints =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, limit);
    createGuarded(b, prints, [&] {
      SmallVector<Value> operands =
          getBlockCoordinates(b, getTarget(), start.block);
      operands.append(values.begin(), values.end());
      getTarget().emitPrintf(b, (start.format + format + "\n").str(), operands);
    });
    Value isNext =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, limit);
    createGuarded(b, isNext, [&] {
      getTarget().emitPrintf(b,
                             "... and more; TILEWS_PRINT_LINES=0 prints all "
                             "that kernels print\n",
                             {});
    });
  }

  void printScalar(ImplicitLocOpBuilder &b, const LineStart &start, Type type,
                   Value value, bool isUnsigned, Value threadId) const {
    createGuarded(b, isFirstThread(b, threadId), [&] {
      auto [printable, format] =
          toPrintable(b, getTarget(), value, type, isUnsigned);
      printLine(b, start, (" " + format).str(), printable);
    });
  }

  /// Prints some lines of a table at a time, between barriers.
  void printFragment(ImplicitLocOpBuilder &b, PrintOp op,
                     const LineStart &start, PrintedFragment fragment,
                     Value threadId) const {
    const PrintTable &table = fragment.getTable();
    Value one = fragment.getConstant(1), zero = fragment.getConstant(0);
    Value lines = fragment.getConstant(table.lines);
    Value chunk = fragment.getConstant(table.chunk);
    createLoop(b, zero, lines, chunk, [&](Value first) {
      fragment.store(first);
      emitBarrier(b, op);
      Value last = arith::AddIOp::create(b, first, chunk);
      last = arith::MinUIOp::create(b, last, lines);
      createGuarded(b, isFirstThread(b, threadId), [&] {
        createLoop(b, first, last, one, [&](Value line) {
          printRow(b, start, fragment, line, first);
        });
      });
      emitBarrier(b, op);
    });
  }

  /// Prints a line of a table; the last segment of a row may be shorter.
  void printRow(ImplicitLocOpBuilder &b, const LineStart &start,
                PrintedFragment &fragment, Value line, Value first) const {
    const PrintTable &table = fragment.getTable();
    Value local = arith::SubIOp::create(b, line, first);
    auto print = [&](int64_t count) {
      auto [format, values] = fragment.load(line, local, count);
      printLine(b, start, format, values);
    };
    int64_t rest = table.columns % table.width;
    if (rest == 0)
      return print(table.width);
    Value segment =
        arith::RemUIOp::create(b, line, fragment.getConstant(table.segments));
    auto isLast = [&](arith::CmpIPredicate predicate) {
      return arith::CmpIOp::create(b, predicate, segment,
                                   fragment.getConstant(table.segments - 1));
    };
    createGuarded(b, isLast(arith::CmpIPredicate::ne),
                  [&] { print(table.width); });
    createGuarded(b, isLast(arith::CmpIPredicate::eq), [&] { print(rest); });
  }
};

} // namespace

void tilews::populateDebugPatterns(const TileTypeConverter &converter,
                                   LoweringContext &lowering,
                                   RewritePatternSet &patterns) {
  if (lowering.target.info.isAMD())
    return populatePrintRecordPatterns(converter, lowering, patterns);
  patterns.add<PrintPattern>(converter, lowering);
}
