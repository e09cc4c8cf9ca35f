//===- Wgmma.cpp - Matrix products of warpgroups --------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate
// Instructions". All instructions of one tile.gemm stand in one piece of
// inline assembly, from the fence to the wait: no copy of an accumulator can
// come between them, which is what makes ptxas serialize them.
//
//===----------------------------------------------------------------------===//

#include "NVVMLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {

/// A shared operand as wgmma's matrix descriptors see it: panels as wide as
/// the swizzle, one row of the buffer 'span' bytes after the other.
struct MatrixOperand {
  /// Bytes of a panel's row, and from one panel to the next.
  int64_t span, panelBytes;
  /// Bytes of an element, elements of a panel's row.
  int64_t elementBytes, panelElements;
  /// Whether the buffer's rows run along K.
  bool majorK;

  MatrixOperand(MemRefType type, bool majorK) : majorK(majorK) {
    SharedLayout layout = getSharedLayout(type);
    int64_t bits = layout.getSwizzle().bits;
    span = 16 << bits;
    elementBytes = type.getElementTypeBitWidth() / 8;
    panelElements = span / elementBytes;
    panelBytes = type.getDimSize(0) * span;
  }

  /// Offset in bytes of the element (i along M or N, k along K).
  int64_t getOffset(int64_t i, int64_t k) const {
    int64_t row = majorK ? i : k, column = majorK ? k : i;
    return column / panelElements * panelBytes +
           column % panelElements * elementBytes + row * span;
  }

  /// The descriptor but for its address (PTX ISA, "Matrix descriptor format"):
  /// leading and stride byte offset in units of 16 bytes, and the swizzle.
  int64_t getDescriptor() const {
    int64_t rows = 8 * span; // from a group of eight rows to the next
    int64_t leading = panelBytes, stride = rows;
    // Without a swizzle the two swap places unless the rows run along K.
    if (span == 16 && !majorK)
      std::swap(leading, stride);
    int64_t mode = span == 128 ? 1 : span == 64 ? 2 : span == 32 ? 3 : 0;
    return (leading >> 4 & 0x3fff) << 16 | (stride >> 4) << 32 | mode << 62;
  }
};

struct WgmmaPattern : TilePattern<GemmOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(GemmOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
    if (!inst || inst.getValue() != InstKind::Wgmma)
      return rewriter.notifyMatchFailure(op, "not wgmma");
    std::optional<GemmPlan> plan =
        getGemmPlan(op, getTarget().info, lowering.threads);
    if (!plan)
      return op.emitError("wgmma cannot compute this product with ")
             << lowering.threads << " threads";
    if (failed(checkLayouts(op)))
      return failure();

    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    // Every thread of a warp has the same warpgroup; the shuffle lets ptxas
    // know, so that descriptors live in uniform registers.
    Value group =
        arith::DivUIOp::create(b, getTarget().getThreadId(b), constant(b, 128));
    group = NVVM::ShflOp::create(b, b.getI32Type(), constant(b, -1), group,
                                 constant(b, 0), constant(b, 31),
                                 NVVM::ShflKind::idx, UnitAttr());
    Product product(op, *plan);
    SmallVector<AsmInput> inputs = createInputs(b, product, adaptor, group);
    std::string text = product.getText();
    auto accType = cast<VectorType>(adaptor.getAcc().getType());
    SmallVector<Value> results =
        createAsm(b, text, product.getRegisterType(b), product.accClass(),
                  product.numAccRegisters(), inputs, /*hasSideEffects=*/true);
    rewriter.replaceOp(op, product.packedAcc()
                               ? fromWords(b, results, accType)
                               : pack(b, accType.getElementType(), results));
    return success();
  }

private:
  static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }

  /// The buffers have to lie as the descriptors say.
  LogicalResult checkLayouts(GemmOp op) const {
    SmallVector<LayoutRequirement> requirements;
    op.getLayoutRequirements(getTarget().info, lowering.threads, requirements);
    for (const LayoutRequirement &requirement : requirements) {
      Value value = requirement.getValue();
      Attribute found;
      bool same;
      if (auto type = dyn_cast<MemRefType>(value.getType())) {
        found = type.getLayout();
        same = found == requirement.layout;
      } else {
        found = cast<RankedTensorType>(value.getType()).getEncoding();
        same =
            getFragmentLayout(value.getType())
                .isSameAs(cast<FragmentAttr>(requirement.layout).getLayout());
      }
      if (!same)
        return op.emitError("wgmma needs layout ")
               << requirement.layout << ", found " << found
               << "; run --tile-infer-layouts";
    }
    return success();
  }

  /// The instructions of one product and the registers they name.
  struct Product {
    GemmOp op;
    GemmPlan plan;
    MmaRepeats repeats;
    int64_t steps, lhsWords;
    bool lhsShared;

    Product(GemmOp op, const GemmPlan &plan)
        : op(op), plan(plan),
          repeats(getRepeats(plan.mma, plan.grid, op.getM(), op.getN())),
          steps(op.getK() / plan.mma.k), lhsWords(4),
          lhsShared(isa<MemRefType>(op.getLhs().getType())) {}

    bool packedAcc() { return op.getAccType().getElementType().isF16(); }
    StringRef accClass() {
      return op.getAccType().getElementType().isF32() ? "f" : "r";
    }
    Type getRegisterType(Builder &b) {
      return op.getAccType().getElementType().isF32() ? Type(b.getF32Type())
                                                      : b.getI32Type();
    }
    int64_t accPerTile() {
      return plan.mma.acc.getNumValues() / (packedAcc() ? 2 : 1);
    }
    int64_t numAccRegisters() { return accPerTile() * repeats.m * repeats.n; }
    /// Inputs that repeat the accumulators come first, unless they are cleared.
    int64_t firstInput() {
      return numAccRegisters() * (op.getClearAccumulator() ? 1 : 2);
    }
    MatrixOperand getLhs() {
      return MatrixOperand(cast<MemRefType>(op.getLhs().getType()),
                           !op.getTransposeLhs());
    }
    MatrixOperand getRhs() {
      return MatrixOperand(cast<MemRefType>(op.getRhs().getType()),
                           op.getTransposeRhs());
    }

    std::string getText() {
      std::string text;
      llvm::raw_string_ostream stream(text);
      stream << "{\n.reg .pred p, q;\n.reg .b64 da, db;\n"
                "setp.eq.u32 p, 0, 0;\nsetp.ne.u32 q, 0, 0;\n"
                "wgmma.fence.sync.aligned;\n";
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t m = 0; m < repeats.m; ++m)
          for (int64_t n = 0; n < repeats.n; ++n)
            printInstruction(stream, step, m, n);
      stream << "wgmma.commit_group.sync.aligned;\n"
                "wgmma.wait_group.sync.aligned 0;\n}";
      return text;
    }

    void printInstruction(llvm::raw_ostream &stream, int64_t step, int64_t m,
                          int64_t n) {
      const MmaInstruction &mma = plan.mma;
      Type accElement = op.getAccType().getElementType();
      int64_t rhsInput =
          firstInput() + (lhsShared ? 1 : lhsWords * steps * repeats.m);
      if (lhsShared)
        stream << "add.s64 da, $" << firstInput() << ", "
               << (getLhs().getOffset(m * mma.m, step * mma.k) >> 4) << ";\n";
      stream << "add.s64 db, $" << rhsInput << ", "
             << (getRhs().getOffset(n * mma.n, step * mma.k) >> 4) << ";\n";
      stream << "wgmma.mma_async.sync.aligned.m64n" << mma.n << "k" << mma.k
             << "."
             << (accElement.isF32()   ? "f32"
                 : accElement.isF16() ? "f16"
                                      : "s32")
             << "." << getPtxType(op.getLhsElementType()) << "."
             << getPtxType(op.getRhsElementType()) << " ";
      printRegisters(stream, accPerTile() * (n + repeats.n * m), accPerTile());
      stream << ", ";
      if (lhsShared)
        stream << "da";
      else
        printRegisters(stream, firstInput() + lhsWords * (step + steps * m),
                       lhsWords);
      bool clears = op.getClearAccumulator() && step == 0;
      stream << ", db, " << (clears ? "q" : "p");
      // Integers have no sign flips, and only 16-bit operands can be
      // transposed.
      if (!accElement.isInteger())
        stream << ", 1, 1";
      if (op.getLhsElementType().getIntOrFloatBitWidth() == 16) {
        if (lhsShared)
          stream << ", " << (getLhs().majorK ? 0 : 1);
        stream << ", " << (getRhs().majorK ? 0 : 1);
      }
      stream << ";\n";
    }

    static void printRegisters(llvm::raw_ostream &stream, int64_t first,
                               int64_t count) {
      stream << "{";
      for (int64_t i = 0; i < count; ++i)
        stream << (i ? ", $" : "$") << first + i;
      stream << "}";
    }
  };

  SmallVector<AsmInput> createInputs(ImplicitLocOpBuilder &b, Product &product,
                                     OpAdaptor adaptor, Value group) const {
    GemmOp op = product.op;
    const GemmPlan &plan = product.plan;
    SmallVector<AsmInput> inputs;
    if (!op.getClearAccumulator()) {
      SmallVector<Value> acc = product.packedAcc()
                                   ? toWords(b, adaptor.getAcc())
                                   : unpack(b, adaptor.getAcc());
      for (auto [i, value] : llvm::enumerate(acc))
        inputs.push_back({value, std::to_string(i)});
    }
    Value alongM = arith::RemUIOp::create(b, group, constant(b, plan.grid.m));
    Value alongN = arith::DivUIOp::create(b, group, constant(b, plan.grid.m));
    if (product.lhsShared)
      inputs.push_back(
          {createDescriptor(b, product.getLhs(), adaptor.getLhs(), alongM,
                            plan.grid.m, product.repeats.m * plan.mma.m),
           "l"});
    else
      for (Value word : toWords(b, adaptor.getLhs()))
        inputs.push_back({word, "r"});
    inputs.push_back(
        {createDescriptor(b, product.getRhs(), adaptor.getRhs(), alongN,
                          plan.grid.n, product.repeats.n * plan.mma.n),
         "l"});
    return inputs;
  }

  /// The descriptor of the part of an operand that a warpgroup reads: part
  /// `index` of `parts`, each of `extent` rows or columns.
  static Value createDescriptor(ImplicitLocOpBuilder &b,
                                const MatrixOperand &operand, Value buffer,
                                Value index, int64_t parts, int64_t extent) {
    Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), buffer);
    if (parts > 1) {
      Value offset = arith::MulIOp::create(
          b, index, constant(b, operand.getOffset(extent, 0)));
      address = arith::AddIOp::create(b, address, offset);
    }
    address = arith::ShRUIOp::create(b, address, constant(b, 4));
    address = arith::AndIOp::create(b, address, constant(b, 0x3fff));
    Value wide = arith::ExtUIOp::create(b, b.getI64Type(), address);
    Value rest = arith::ConstantOp::create(
        b, b.getI64IntegerAttr(operand.getDescriptor()));
    return arith::OrIOp::create(b, wide, rest);
  }
};

} // namespace

void tilews::populateWgmmaPatterns(const TileTypeConverter &converter,
                                   LoweringContext &lowering,
                                   RewritePatternSet &patterns) {
  patterns.add<WgmmaPattern>(converter, lowering);
}
