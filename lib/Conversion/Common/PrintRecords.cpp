//===- PrintRecords.cpp - Prints that the host formats --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AMD's GPUs have no printf without a buffer of AMD's runtime. So a print
// becomes a record in memory of the host, which the launch allocates and reads
// after the run. The memory has 64-bit words:
//
//   word 0: the number of words of all records, also of those that do not fit.
//   word 1: the number of words there is room for, which the launch sets.
//   word 2: the number of records that did not fit.
//   Then come the records, one after the other.
//
// A record is one execution of a print by one block:
//
//   word 0: the number of the print in the launch manifest, plus 1.
//   word 1: the block's y in the upper half, and its x.
//   word 2: 1 in bit 63 when the record is complete, and the block's z.
//   Then come the bits of each element of each value, in row-major order.
//
// The first thread reserves the words with an atomic addition, and tells the
// place to the others by scratch memory if they hold elements of fragments:
//
//   first thread: place = reserve(3 + elements); scratch = place
//   barrier
//   all threads:  store own elements at scratch, fence
//   barrier
//   first thread: store word 2
//
// The second barrier also keeps the next print from changing the scratch memory
// before all threads have read it.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/DeviceVariables.h"
#include "tilews/Conversion/Common/Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Words before the first record, and before the values of a record.
static constexpr int64_t kMemoryHeader = 3, kRecordHeader = 3;
static constexpr int64_t kWordBytes = 8;

static Value getI64(ImplicitLocOpBuilder &b, int64_t value) {
  return createInteger(b, b.getI64Type(), value);
}

static int64_t countElements(Value value) {
  auto fragment = dyn_cast<RankedTensorType>(value.getType());
  return fragment ? fragment.getNumElements() : 1;
}

/// Returns what the manifest says about a print.
static DictionaryAttr describe(PrintOp op, unsigned indexBitwidth) {
  Builder b(op.getContext());
  SmallVector<Attribute> values;
  for (auto [place, value] : llvm::enumerate(op.getShown())) {
    Type type = getElementTypeOrSelf(value.getType());
    if (type.isIndex())
      type = b.getIntegerType(indexBitwidth);
    SmallVector<NamedAttribute> entries = {
        b.getNamedAttr("type", TypeAttr::get(type))};
    if (op.isUnsigned(place) || type.isInteger(1))
      entries.push_back(b.getNamedAttr("unsigned", b.getUnitAttr()));
    if (auto fragment = dyn_cast<RankedTensorType>(value.getType()))
      entries.push_back(
          b.getNamedAttr("shape", b.getDenseI64ArrayAttr(fragment.getShape())));
    values.push_back(b.getDictionaryAttr(entries));
  }
  return b.getDictionaryAttr(
      {b.getNamedAttr("message", op.getMessageAttr()),
       b.getNamedAttr("values", b.getArrayAttr(values))});
}

/// Returns the bits of a number as an i64.
static Value toWord(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType();
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(
        b, b.getIntegerType(type.getIntOrFloatBitWidth()), value);
  if (value.getType() != b.getI64Type())
    value = arith::ExtUIOp::create(b, b.getI64Type(), value);
  return value;
}

namespace {

/// A record in memory of the host, by the address of its first word.
class PrintRecord {
public:
  PrintRecord(ImplicitLocOpBuilder &b, Value address) : b(b) {
    pointer = LLVM::IntToPtrOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/1),
        address);
  }

  Value getAddress(Value word) {
    return createElementPointer(b, pointer, word, kWordBytes);
  }
  void store(Value word, Value value) {
    LLVM::StoreOp::create(b, value, getAddress(word), kWordBytes,
                          /*isVolatile=*/true);
  }
  void store(int64_t word, Value value) { store(getI64(b, word), value); }
  Value load(int64_t word) {
    return LLVM::LoadOp::create(b, b.getI64Type(), getAddress(getI64(b, word)),
                                kWordBytes);
  }
  /// Adds to a word, and returns what it was.
  Value add(int64_t word, Value value) {
    return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add,
                                     getAddress(getI64(b, word)), value,
                                     LLVM::AtomicOrdering::monotonic);
  }

private:
  ImplicitLocOpBuilder &b;
  Value pointer;
};

struct PrintRecordPattern : TilePattern<PrintOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(PrintOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value scratch;
    if (auto offset = op->getAttrOfType<IntegerAttr>(TileDialect::kOffset))
      scratch = createArenaPointer(b, offset.getInt());
    bool hasFragment =
        llvm::any_of(op.getShown().getTypes(), llvm::IsaPred<RankedTensorType>);
    if (hasFragment && !scratch)
      return op.emitError("needs scratch memory; run "
                          "--tile-plan-shared-memory first");
    Value threadId = getThreadId(b, op);
    Value isFirst = isFirstThread(b, threadId);
    SmallVector<Value> block =
        getBlockCoordinates(b, getTarget(), getBlock(op, adaptor));
    if (!hasFragment) {
      createGuarded(b, isFirst, [&] {
        reserve(b, op, block, [&](Value address) {
          PrintRecord record(b, address);
          storeScalars(b, op, adaptor, record);
          complete(b, record, block);
        });
      });
    } else {
      printFragments(b, op, adaptor, block, threadId, scratch);
    }
    rewriter.eraseOp(op);
    return success();
  }

private:
  void printFragments(ImplicitLocOpBuilder &b, PrintOp op, OpAdaptor adaptor,
                      ArrayRef<Value> block, Value threadId,
                      Value scratch) const {
    Value isFirst = isFirstThread(b, threadId);
    auto tell = [&](Value address) {
      createStore(b, address, scratch, b.getI64Type(), /*count=*/1);
    };
    createGuarded(b, isFirst, [&] {
      tell(getI64(b, 0));
      reserve(b, op, block, tell);
    });
    emitBarrier(b, op);
    Value address = createLoad(b, scratch, b.getI64Type(), /*count=*/1);
    Value hasRoom = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, address,
                                          getI64(b, 0));
    createGuarded(b, hasRoom, [&] {
      PrintRecord record(b, address);
      createGuarded(b, isFirst, [&] { storeScalars(b, op, adaptor, record); });
      storeFragments(b, op, adaptor, record, threadId);
      LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release);
    });
    emitBarrier(b, op);
    Value completes = arith::AndIOp::create(b, isFirst, hasRoom);
    createGuarded(b, completes, [&] {
      PrintRecord record(b, address);
      complete(b, record, block);
    });
  }

  /// Reserves a record, stores its first words and passes its address to
  /// `body`. Does nothing if nobody reads it, and counts it if there is no
  /// room.
  void reserve(ImplicitLocOpBuilder &b, PrintOp op, ArrayRef<Value> block,
               function_ref<void(Value)> body) const {
    int64_t words = kRecordHeader;
    for (Value value : op.getShown())
      words += countElements(value);
    ModuleVariables &variables = getTarget().variables;
    int64_t number =
        variables.addPrint(describe(op, getTarget().indexBitwidth));
    Value variable = LLVM::AddressOfOp::create(b, variables.getRecords());
    Value address = LLVM::LoadOp::create(b, b.getI64Type(), variable);
    Value isRead = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, address,
                                         getI64(b, 0));
    createGuarded(b, isRead, [&] {
      PrintRecord memory(b, address);
      Value size = getI64(b, words);
      Value first = memory.add(0, size);
      Value last = arith::AddIOp::create(b, first, size);
      Value room = memory.load(1);
      Value fits =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ule, last, room);
      createGuarded(b, fits, [&] {
        Value offset = arith::MulIOp::create(
            b, arith::AddIOp::create(b, first, getI64(b, kMemoryHeader)),
            getI64(b, kWordBytes));
        Value place = arith::AddIOp::create(b, address, offset);
        PrintRecord record(b, place);
        record.store(0, getI64(b, number + 1));
        Value y = arith::ShLIOp::create(b, toWord(b, block[1]), getI64(b, 32));
        record.store(1, arith::OrIOp::create(b, y, toWord(b, block[0])));
        body(place);
      });
      Value isLost =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, last, room);
      createGuarded(b, isLost, [&] { memory.add(2, getI64(b, 1)); });
    });
  }

  void complete(ImplicitLocOpBuilder &b, PrintRecord &record,
                ArrayRef<Value> block) const {
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::release);
    record.store(
        2, arith::OrIOp::create(b, toWord(b, block[2]), getI64(b, INT64_MIN)));
  }

  void storeScalars(ImplicitLocOpBuilder &b, PrintOp op, OpAdaptor adaptor,
                    PrintRecord &record) const {
    int64_t word = kRecordHeader;
    for (auto [original, value] :
         llvm::zip_equal(op.getShown(), getShown(op, adaptor))) {
      if (!isa<RankedTensorType>(original.getType()))
        record.store(word, toWord(b, value));
      word += countElements(original);
    }
  }

  /// Stores the elements of which the thread is the owner.
  void storeFragments(ImplicitLocOpBuilder &b, PrintOp op, OpAdaptor adaptor,
                      PrintRecord &record, Value threadId) const {
    int64_t word = kRecordHeader;
    for (auto [original, value] :
         llvm::zip_equal(op.getShown(), getShown(op, adaptor))) {
      if (auto type = dyn_cast<RankedTensorType>(original.getType()))
        storeFragment(b, type, value, record, word, threadId);
      word += countElements(original);
    }
  }

  void storeFragment(ImplicitLocOpBuilder &b, RankedTensorType type,
                     Value vector, PrintRecord &record, int64_t first,
                     Value threadId) const {
    FragmentLayout layout = getFragmentLayout(type);
    FragmentIndexer indexer(b, layout, type.getShape(), threadId);
    Value owns = getOwnerPredicate(b, layout, threadId);
    for (auto [v, value] : llvm::enumerate(unpack(b, vector))) {
      Value stored = owns, word = getI64(b, 0);
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        Value coord = toWord(b, indexer.createCoord(b, v, dim));
        word = arith::MulIOp::create(b, word, getI64(b, type.getDimSize(dim)));
        word = arith::AddIOp::create(b, word, coord);
        if (!indexer.overCovers(dim))
          continue;
        Value inside = indexer.createIsInside(b, v, dim);
        stored = stored ? arith::AndIOp::create(b, stored, inside).getResult()
                        : inside;
      }
      word = arith::AddIOp::create(b, word, getI64(b, first));
      Value element = fromRegister(b, value, type.getElementType());
      createGuarded(b, stored, [&] { record.store(word, toWord(b, element)); });
    }
  }
};

} // namespace

void tilews::populatePrintRecordPatterns(const TileTypeConverter &converter,
                                         LoweringContext &lowering,
                                         RewritePatternSet &patterns) {
  patterns.add<PrintRecordPattern>(converter, lowering);
}
