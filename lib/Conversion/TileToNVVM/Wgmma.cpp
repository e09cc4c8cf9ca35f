//===- Wgmma.cpp - Matmuls of warpgroups ----------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls of warpgroups (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Multiply-Accumulate Instructions"). All instructions of one matmul are one
// piece of inline assembly, from `wgmma.fence` to `wgmma.wait_group`:
//
//   wgmma.fence; wgmma.mma_async (step 0); ...; wgmma.mma_async (step K/k - 1);
//   wgmma.commit_group; wgmma.wait_group 0
//
// Between separate instructions LLVM could copy an accumulator to another
// register; ptxas would then serialize them ("wgmma serialized"). An
// asynchronous matmul leaves the wait to `tile.gemm_wait`. Operands in shared
// memory are read through descriptors, 64-bit numbers whose address advances by
// a constant from instruction to instruction.
//
//===----------------------------------------------------------------------===//

#include "NVVMLowering.h"

#include "tilews/Conversion/Common/MetadataReader.h"
#include "tilews/Dialect/Tile/IR/SharedOperands.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "convert-tile-to-nvvm"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;
using llvm::Expected;

namespace {

/// An operand in shared memory. `groups` maps the number of a warpgroup along M
/// or N to the offset in bytes at which its part of the operand starts.
struct MatrixOperand {
  WgmmaDescriptor descriptor;
  Layout groups;

  /// Returns the distance from the start of a warpgroup's part to the operand
  /// of its instruction `i` along M or N and `k` along K, in units of 16 bytes:
  /// the unit of addresses in descriptors.
  int64_t getStep(int64_t i, int64_t k) const {
    return (descriptor.starts(i) + descriptor.kStarts(k)) / 16;
  }
};

struct WgmmaPattern : MatmulPattern {
  using MatmulPattern::MatmulPattern;

  LogicalResult
  matchAndRewrite(MatmulOpInterface op, ArrayRef<Value> converted,
                  ConversionPatternRewriter &rewriter) const override {
    auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
    if (!inst || inst.getValue() != InstKind::Wgmma)
      return rewriter.notifyMatchFailure(op, "not wgmma");
    std::optional<MatmulPlan> plan =
        getMatmulPlan(op, getTarget().info, getNumThreads(op));
    if (!plan)
      return op->emitError("wgmma cannot compute this matmul with ")
             << getNumThreads(op) << " threads";
    MmaRepeats repeats =
        getRepeats(plan->mma, plan->grid, op.getM(), op.getN());
    std::optional<MatrixOperand> lhs, rhs;
    if (failed(checkFragments(op)) ||
        failed(getOperand(op, op.getLhsMutable(), *plan, repeats.m, lhs)) ||
        failed(getOperand(op, op.getRhsMutable(), *plan, repeats.n, rhs)))
      return failure();
    if (int64_t first = lowering.getThreads(op).first; first % 128 != 0)
      return op->emitError("wgmma runs on warpgroups of 4 warps, but the role "
                           "begins at warp ")
             << first / 32;

    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    // All threads of a warp are in the same warpgroup. ptxas infers this from
    // the shuffle, and then keeps descriptors in uniform registers.
    Value group =
        arith::DivUIOp::create(b, getThreadId(b, op), constant(b, 128));
    group = NVVM::ShflOp::create(b, b.getI32Type(), constant(b, -1), group,
                                 constant(b, 0), constant(b, 31),
                                 NVVM::ShflKind::idx, UnitAttr());
    WarpgroupMatmul matmul(op, *plan, repeats, lhs, *rhs);
    LDBG() << "matmul at " << op.getLoc() << ": wgmma m64n" << plan->mma.n
           << "k" << plan->mma.k << ", " << repeats.m << " x " << repeats.n
           << " tiles, " << matmul.steps << " steps along K, left operand in "
           << (lhs ? "shared memory" : "registers");
    SmallVector<AsmInput> inputs = createInputs(b, matmul, converted, group);
    std::string text = matmul.getText();
    auto accType =
        cast<VectorType>(getConverted(op.getAccMutable(), converted).getType());
    SmallVector<Value> results =
        createAsm(b, text, matmul.getRegisterType(b), matmul.accClass(),
                  matmul.numAccRegisters(), inputs, /*hasSideEffects=*/true);
    rewriter.replaceOp(op, matmul.packedAcc()
                               ? fromWords(b, results, accType)
                               : pack(b, accType.getElementType(), results));
    return success();
  }

private:
  static Value constant(ImplicitLocOpBuilder &b, int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(value));
  }

  /// Checks that fragments have the layouts that the instruction reads and
  /// writes.
  LogicalResult checkFragments(MatmulOpInterface op) const {
    SmallVector<LayoutRequirement> requirements;
    cast<LayoutOpInterface>(*op).getLayoutRequirements(
        getTarget().info, getNumThreads(op), requirements);
    for (const LayoutRequirement &requirement : requirements) {
      auto needed = dyn_cast<FragmentAttr>(requirement.layout);
      Type type = requirement.getValue().getType();
      if (needed && !getFragmentLayout(type).isSameAs(needed.getLayout()))
        return op->emitError("wgmma needs layout ")
               << needed << ", found "
               << cast<RankedTensorType>(type).getEncoding()
               << "; run --tile-infer-layouts";
    }
    return success();
  }

  /// Sets `result` to how the `repeats` instructions of each warpgroup along M
  /// or N read an operand in shared memory. Leaves it empty for a fragment.
  static LogicalResult getOperand(MatmulOpInterface op, OpOperand &operand,
                                  const MatmulPlan &plan, int64_t repeats,
                                  std::optional<MatrixOperand> &result) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      return success();
    Expected<WgmmaDescriptor> descriptor =
        getWgmmaDescriptor(op, operand, plan, getSharedLayout(type));
    // A warpgroup computes `repeats` neighboring tiles, so the starts of its
    // parts are every `repeats`-th of the starts of tiles.
    Expected<Layout> parts =
        descriptor ? logicalDivide(descriptor->starts,
                                   llvm::cantFail(Layout::get(repeats, 1)))
                   : Expected<Layout>(descriptor.takeError());
    if (!parts)
      return op->emitError("wgmma cannot read ")
             << type << ": " << llvm::toString(parts.takeError())
             << "; run --tile-infer-layouts";
    result = {*descriptor, parts->getMode(1)};
    return success();
  }

  /// The instructions of one matmul as PTX, and the operand numbers that the
  /// text names. The operands of the assembly are, in this order:
  ///
  ///   outputs      accumulators: `accPerTile()` registers for each of the
  ///                `repeats.m * repeats.n` tiles
  ///   inputs       the accumulators once more, tied to the outputs (unless the
  ///                matmul clears them)
  ///                the left operand: one descriptor, or 4 registers for each
  ///                step along K and repeat along M;
  ///                the descriptor of the right operand;
  ///                the words of metadata (2:4 sparse matmuls)
  struct WarpgroupMatmul {
    MatmulOpInterface op;
    MatmulPlan plan;
    MmaRepeats repeats;
    std::optional<MatrixOperand> lhs; // none for a fragment
    MatrixOperand rhs;
    int64_t steps, lhsWords = 4;
    /// Sparse matmuls: steps along K whose metadata is in one word.
    int64_t stepsPerWord = 1;

    WarpgroupMatmul(MatmulOpInterface op, const MatmulPlan &plan,
                    MmaRepeats repeats, const std::optional<MatrixOperand> &lhs,
                    const MatrixOperand &rhs)
        : op(op), plan(plan), repeats(repeats), lhs(lhs), rhs(rhs),
          steps(op.getK() / plan.mma.k) {
      if (op.isSparse())
        stepsPerWord = getMetadataLayout(op, plan).stepsPerWord;
    }

    /// Whether a register holds two accumulators (f16).
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
    /// Returns the number of the first operand of the left matrix.
    int64_t firstInput() {
      return numAccRegisters() * (op.getClearAccumulator() ? 1 : 2);
    }
    /// Returns the number of the right matrix's descriptor.
    int64_t getRhsInput() {
      return firstInput() + (lhs ? 1 : lhsWords * steps * repeats.m);
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
      stream << "wgmma.commit_group.sync.aligned;\n";
      // The instructions read the registers of metadata while they run. After
      // the assembly, ptxas may reuse these registers, so sparse matmuls end
      // here.
      if (!op.getAsync() || op.isSparse())
        stream << "wgmma.wait_group.sync.aligned 0;\n";
      stream << "}";
      return text;
    }

    void printInstruction(llvm::raw_ostream &stream, int64_t step, int64_t m,
                          int64_t n) {
      const MmaInstruction &mma = plan.mma;
      Type accElement = op.getAccType().getElementType();
      if (lhs)
        stream << "add.s64 da, $" << firstInput() << ", "
               << lhs->getStep(m, step) << ";\n";
      stream << "add.s64 db, $" << getRhsInput() << ", " << rhs.getStep(n, step)
             << ";\n";
      stream << "wgmma.mma_async" << (op.isSparse() ? ".sp" : "")
             << ".sync.aligned.m64n" << mma.n << "k" << mma.k << "."
             << (accElement.isF32()   ? "f32"
                 : accElement.isF16() ? "f16"
                                      : "s32")
             << "." << getPtxType(op.getLhsElementType()) << "."
             << getPtxType(op.getRhsElementType()) << " ";
      printRegisters(stream, accPerTile() * (n + repeats.n * m), accPerTile());
      stream << ", ";
      if (lhs)
        stream << "da";
      else
        printRegisters(stream, firstInput() + lhsWords * (step + steps * m),
                       lhsWords);
      stream << ", db, ";
      if (op.isSparse())
        stream << "$"
               << getRhsInput() + 1 + step / stepsPerWord +
                      steps / stepsPerWord * m
               << ", " << step % stepsPerWord << ", ";
      bool clears = op.getClearAccumulator() && step == 0;
      stream << (clears ? "q" : "p");
      // The instructions on integers have no operands that negate the inputs,
      // and only those on 16-bit elements can transpose.
      if (!accElement.isInteger())
        stream << ", 1, 1";
      if (op.getLhsElementType().getIntOrFloatBitWidth() == 16) {
        if (lhs)
          stream << ", " << (lhs->descriptor.majorK ? 0 : 1);
        stream << ", " << (rhs.descriptor.majorK ? 0 : 1);
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

  SmallVector<AsmInput> createInputs(ImplicitLocOpBuilder &b,
                                     WarpgroupMatmul &matmul,
                                     ArrayRef<Value> converted,
                                     Value group) const {
    MatmulOpInterface op = matmul.op;
    const MatmulPlan &plan = matmul.plan;
    Value lhs = getConverted(op.getLhsMutable(), converted);
    Value rhs = getConverted(op.getRhsMutable(), converted);
    SmallVector<AsmInput> inputs;
    if (!op.getClearAccumulator()) {
      Value fragment = getConverted(op.getAccMutable(), converted);
      SmallVector<Value> acc =
          matmul.packedAcc() ? toWords(b, fragment) : unpack(b, fragment);
      for (auto [i, value] : llvm::enumerate(acc))
        inputs.push_back({value, std::to_string(i)});
    }
    Value alongM = arith::RemUIOp::create(b, group, constant(b, plan.grid.m));
    Value alongN = arith::DivUIOp::create(b, group, constant(b, plan.grid.m));
    if (matmul.lhs)
      inputs.push_back({createDescriptor(b, *matmul.lhs, lhs, alongM), "l"});
    else
      for (Value word : toWords(b, lhs))
        inputs.push_back({word, "r"});
    inputs.push_back({createDescriptor(b, matmul.rhs, rhs, alongN), "l"});
    if (!op.isSparse())
      return inputs;
    MetadataReader metadata(b, op, plan,
                            getConverted(*op.getMetadataOperand(), converted),
                            getThreadId(b, op));
    for (int64_t m = 0; m < matmul.repeats.m; ++m)
      for (Value word : metadata.read(m))
        inputs.push_back({word, "r"});
    return inputs;
  }

  /// Returns the descriptor of the part of an operand that warpgroup `index`
  /// reads: the address in units of 16 bytes in bits 0 to 13, and constant bits
  /// (PTX ISA, "Matrix Descriptor Format").
  static Value createDescriptor(ImplicitLocOpBuilder &b,
                                const MatrixOperand &operand, Value buffer,
                                Value index) {
    Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), buffer);
    if (Value offset = createOffset(b, operand.groups.getAxes(), index))
      address = arith::AddIOp::create(b, address, offset);
    address = arith::ShRUIOp::create(b, address, constant(b, 4));
    address = arith::AndIOp::create(b, address, constant(b, 0x3fff));
    Value wide = arith::ExtUIOp::create(b, b.getI64Type(), address);
    Value rest = arith::ConstantOp::create(
        b, b.getI64IntegerAttr(operand.descriptor.getBits()));
    return arith::OrIOp::create(b, wide, rest);
  }
};

/// Lowers a wait for asynchronous matmuls. The assembly takes the accumulators
/// as operands and returns them, so that LLVM can neither move their uses
/// before the wait nor copy them to other registers before it.
struct WgmmaWaitPattern : TilePattern<GemmWaitOp> {
  WgmmaWaitPattern(const TileTypeConverter &converter,
                   LoweringContext &lowering)
      : TilePattern(converter, lowering, /*benefit=*/2) {}

  LogicalResult
  matchAndRewrite(GemmWaitOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!getTarget().info.hasWgmma())
      return rewriter.notifyMatchFailure(op, "no asynchronous matmuls");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> registers;
    SmallVector<size_t> counts;
    for (Value fragment : adaptor.getFragments()) {
      SmallVector<Value> own = split(b, fragment);
      counts.push_back(own.size());
      llvm::append_range(registers, own);
    }
    // The instruction takes at most 7 (PTX ISA, "wgmma.wait_group"); to wait
    // for more groups than needed is right.
    int64_t pending = std::min<int64_t>(op.getPending(), 7);
    std::string text =
        "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
    registers = createTied(b, text, registers);
    SmallVector<Value> results;
    ArrayRef<Value> rest = registers;
    for (auto [fragment, count] : llvm::zip(adaptor.getFragments(), counts)) {
      results.push_back(count == 0
                            ? fragment
                            : fromWords(b, rest.take_front(count),
                                        cast<VectorType>(fragment.getType())));
      rest = rest.drop_front(count);
    }
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  /// Returns the registers of a fragment as operands of assembly. Returns none
  /// for a fragment whose bits do not fill a whole number of registers.
  static SmallVector<Value> split(ImplicitLocOpBuilder &b, Value fragment) {
    auto type = cast<VectorType>(fragment.getType());
    int64_t bits = type.getElementTypeBitWidth();
    if (bits >= 32)
      return unpack(b, fragment);
    if (type.getNumElements() * bits % 32 != 0)
      return {};
    return toWords(b, fragment);
  }

  /// Emits assembly that takes `values` and returns each in the same register.
  static SmallVector<Value> createTied(ImplicitLocOpBuilder &b, StringRef text,
                                       ArrayRef<Value> values) {
    std::string outputs, inputs;
    SmallVector<Type> types;
    for (auto [i, value] : llvm::enumerate(values)) {
      Type type = value.getType();
      StringRef kind = type.isF32()         ? "f"
                       : type.isF64()       ? "d"
                       : type.isInteger(64) ? "l"
                                            : "r";
      outputs += (outputs.empty() ? "=" : ",=") + kind.str();
      inputs += "," + std::to_string(i);
      types.push_back(type);
    }
    SmallVector<Type> results(types);
    if (types.size() > 1)
      results = {LLVM::LLVMStructType::getLiteral(b.getContext(), types)};
    auto assembly = LLVM::InlineAsmOp::create(
        b, results, values, text, outputs + inputs, /*has_side_effects=*/true,
        /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
        /*operand_attrs=*/ArrayAttr());
    if (types.size() < 2)
      return llvm::to_vector_of<Value>(assembly.getResults());
    SmallVector<Value> registers;
    for (size_t i = 0; i < types.size(); ++i)
      registers.push_back(
          LLVM::ExtractValueOp::create(b, assembly.getResult(0), i));
    return registers;
  }
};

} // namespace

void tilews::populateWgmmaPatterns(const TileTypeConverter &converter,
                                   LoweringContext &lowering,
                                   RewritePatternSet &patterns) {
  patterns.add<WgmmaPattern, WgmmaWaitPattern>(converter, lowering);
}
