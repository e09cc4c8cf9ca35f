//===- InferLayouts.cpp - Give fragments and buffers layouts --------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes into the IR what two analyses choose: `LayoutInference` the layouts of
// fragments (which thread holds which element), `BufferLayouts` those of shared
// buffers. Values flow through the kernel in one layout each; where an
// operation produces or needs another one, a conversion is inserted:
//
//   %c = gemm ..            : tensor<64x64xf32>
//   store %c, %C
//     -> %c = gemm ..       : tensor<64x64xf32, #mma>
//        %s = convert_layout %c : .. -> tensor<64x64xf32, #rows>
//        store %s, %C
//
// Operands of matmuls that have no matrix instruction go through shared memory
// first, which the inference then places like any other buffer.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/Layout/BufferLayouts.h"
#include "tilews/Dialect/Tile/Analysis/Layout/ConversionPlan.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutInference.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRemarks.h"
#include "tilews/Dialect/Tile/Analysis/Layout/LayoutRules.h"
#include "tilews/Dialect/Tile/IR/Tile.h"
#include "tilews/Dialect/Tile/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/DebugLog.h"

namespace tilews::tile {
#define GEN_PASS_DEF_INFERLAYOUTSPASS
#include "tilews/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace tilews::tile

#define DEBUG_TYPE "tile-infer-layouts"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

ALWAYS_ENABLED_STATISTIC(numConversions,
                         "Conversions between layouts inserted");

/// Returns the type of a fragment with `layout` as its encoding.
static RankedTensorType withLayout(Type type, FragmentAttr layout) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               layout);
}

/// Returns the type of a shared buffer with `layout`.
static MemRefType withLayout(Type type, SharedLayoutAttr layout) {
  auto memref = cast<MemRefType>(type);
  return MemRefType::get(memref.getShape(), memref.getElementType(), layout,
                         memref.getMemorySpace());
}

//===----------------------------------------------------------------------===//
// Fragments through shared memory
//===----------------------------------------------------------------------===//

/// Stores `fragment` to a new shared buffer, which is returned. Its layout is
/// inferred later, unless it has to be row-major.
static Value spill(OpBuilder &builder, Location loc, Value fragment,
                   bool isRowMajor) {
  auto tensor = cast<RankedTensorType>(fragment.getType());
  auto space = gpu::AddressSpaceAttr::get(builder.getContext(),
                                          gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get(tensor.getShape(), tensor.getElementType(),
                              MemRefLayoutAttrInterface(), space);
  if (isRowMajor)
    type = withLayout(type, SharedLayoutAttr::get(
                                builder.getContext(),
                                SharedLayout::getRowMajor(type.getShape())));
  Value buffer = AllocSharedOp::create(builder, loc, type, IntegerAttr());
  DenseI64ArrayAttr whole = builder.getDenseI64ArrayAttr({});
  StoreOp::create(builder, loc, fragment, buffer, ValueRange(), whole, whole);
  return buffer;
}

/// Moves the operands of matmuls without a matrix instruction from fragments to
/// shared memory: each thread needs elements that other threads hold.
static void spillSimtOperands(gpu::GPUFuncOp kernel) {
  kernel.walk([](Operation *op) {
    auto inst = op->getAttrOfType<InstKindAttr>(TileDialect::kInst);
    if (!isa<GemmOp, GemmSpOp>(op) ||
        (inst && inst.getValue() != InstKind::Simt))
      return;
    OpBuilder builder(op);
    OpOperand &accumulator = cast<MatmulOpInterface>(op).getAccMutable();
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != &accumulator && isFragment(operand.get()))
        operand.set(spill(builder, op->getLoc(), operand.get(),
                          /*isRowMajor=*/false));
  });
}

//===----------------------------------------------------------------------===//
// Writing the layouts into the IR
//===----------------------------------------------------------------------===//

namespace {
/// Writes the layouts of fragments into the types, and inserts a conversion
/// where a result or an operand has another layout. Everything is read from the
/// inference before anything changes.
///
/// Example: `%c = gemm ...` has the layout L1 of the instruction, and a store
/// needs L2. The writer sets the type of `%c` to L1 and inserts
/// `%s = tile.convert_layout %c` from L1 to L2 before the store.
class LayoutWriter {
public:
  LayoutWriter(gpu::GPUFuncOp kernel, LayoutInference &inference)
      : kernel(kernel), inference(inference), builder(kernel.getContext()) {}

  LogicalResult run() {
    if (failed(read()))
      return failure();
    for (auto [value, layout] : types)
      value.setType(withLayout(value.getType(), layout));
    for (auto [result, layout] : produced)
      convertResult(result, layout);
    for (const NeededLayout &need : needed)
      adaptOperand(need);
    for (Operation *op : repeatable)
      if (op->use_empty())
        op->erase();
    return success();
  }

  /// The conversions that were inserted.
  ArrayRef<InsertedConversion> getConversions() const { return conversions; }

private:
  /// An operand that needs `layout`. `wants` is the reason for that. `has` is
  /// the reason for the layout of the operand's value. Both are missing if the
  /// value comes from a repeatable operation, which is cloned for each use.
  struct NeededLayout {
    OpOperand *operand;
    FragmentAttr layout;
    std::optional<LayoutReason> has, wants;
  };

  /// Fills the lists below. Fails with an error if a constant cannot have a
  /// layout.
  LogicalResult read();
  LogicalResult readOp(Operation *op);
  void readValue(Value value);
  void convertResult(OpResult result, FragmentAttr layout);
  void adaptOperand(const NeededLayout &need);
  Value repeat(const NeededLayout &need);

  gpu::GPUFuncOp kernel;
  LayoutInference &inference;
  OpBuilder builder;

  /// The layout of each value.
  SmallVector<std::pair<Value, FragmentAttr>> types;
  /// Results that their operations produce in another layout.
  SmallVector<std::pair<OpResult, FragmentAttr>> produced;
  /// Operands that need another layout than their value has.
  SmallVector<NeededLayout> needed;
  /// Operations that are cloned for each layout, such as constants.
  SmallVector<Operation *> repeatable;
  SmallVector<InsertedConversion> conversions;
  /// The conversions or clones of a value, by layout and by the role that uses
  /// them, so that each is made once.
  llvm::DenseMap<std::tuple<Value, Attribute, Operation *>, Value> forms;
};
} // namespace

void LayoutWriter::readValue(Value value) {
  if (!isFragment(value))
    return;
  FragmentAttr layout = inference.getLayout(value);
  if (!layout)
    return;
  types.emplace_back(value, layout);
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return;
  if (FragmentAttr own = inference.getProduced(result); own != layout)
    produced.emplace_back(result, own);
}

LogicalResult LayoutWriter::readOp(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isFragment(operand.get()))
      continue;
    FragmentAttr layout = inference.getNeeded(operand);
    std::optional<LayoutCandidate> choice = inference.getChoice(operand.get());
    if (!layout && !choice)
      needed.push_back({&operand, inference.getDefault(operand), {}, {}});
    else if (layout && !choice)
      needed.push_back({&operand, layout, {}, {}});
    else if (layout && layout != choice->layout)
      needed.push_back({&operand, layout, choice->reason,
                        inference.getNeededReason(operand)});
  }
  if (isRepeatable(op) && op->getNumResults() == 1 &&
      isFragment(op->getResult(0)) && !inference.getLayout(op->getResult(0))) {
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (constant && !isa<DenseElementsAttr>(constant.getValue()))
      return constant.emitOpError("expected dense elements, found ")
             << constant.getValue();
    repeatable.push_back(op);
  }
  return success();
}

LogicalResult LayoutWriter::read() {
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value value : op->getResults())
      readValue(value);
    for (mlir::Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          readValue(argument);
    return failed(readOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Lets the operation produce `result` in `layout`, and converts it to the
/// layout that its users expect.
void LayoutWriter::convertResult(OpResult result, FragmentAttr layout) {
  Type own = result.getType();
  result.setType(withLayout(own, layout));
  LayoutReason produced = {LayoutReason::Kind::Result, result.getOwner()};
  builder.setInsertionPointAfterValue(result);
  auto convert = ConvertLayoutOp::create(builder, result.getLoc(), own, result);
  result.replaceAllUsesExcept(convert, convert);
  conversions.push_back({convert, result.getOwner(), produced,
                         inference.getChoice(result)->reason});
}

/// Clones the repeatable operation that defines an operand, in the layout and
/// in the role in which the operand needs it.
Value LayoutWriter::repeat(const NeededLayout &need) {
  Operation *op = need.operand->get().getDefiningOp();
  builder.setInsertionPoint(op);
  auto role = need.operand->getOwner()->getParentOfType<RoleOp>();
  if (role && !role->isAncestor(op))
    builder.setInsertionPointToStart(&role.getBody().front());
  Operation *copy = builder.clone(*op);
  RankedTensorType type = withLayout(op->getResult(0).getType(), need.layout);
  copy->getResult(0).setType(type);
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(
        cast<DenseElementsAttr>(constant.getValue()).reshape(type));
  return copy->getResult(0);
}

/// Replaces an operand by a clone or a conversion in the layout it needs.
void LayoutWriter::adaptOperand(const NeededLayout &need) {
  Value value = need.operand->get();
  Operation *user = need.operand->getOwner();
  Operation *role = user->getParentOfType<RoleOp>();
  Value &form = forms[{value, need.layout, role}];
  if (!form && !need.has) {
    form = repeat(need);
  } else if (!form) {
    builder.setInsertionPointAfterValue(value);
    auto convert = ConvertLayoutOp::create(
        builder, user->getLoc(), withLayout(value.getType(), need.layout),
        value);
    form = convert;
    conversions.push_back({convert, user, *need.has, *need.wants});
  }
  need.operand->set(form);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Checks that every fragment has a layout which spans all threads and covers
/// all elements. An error here is a bug of the inference, not of the input.
static LogicalResult verifyLayouts(gpu::GPUFuncOp kernel) {
  auto verifyValue = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return success();
    auto emitError = [&] {
      return mlir::emitError(value.getLoc(), "layout inference failed for ")
             << type << ": ";
    };
    auto layout = dyn_cast_if_present<FragmentAttr>(type.getEncoding());
    if (!layout)
      return emitError() << "the type has no layout";
    int64_t threads = getNumThreads(value);
    if (layout.getLayout().getNumThreads() != threads)
      return emitError() << "the layout does not span " << threads
                         << " threads";
    return layout.verifyEncoding(type.getShape(), type.getElementType(),
                                 emitError);
  };
  WalkResult result = kernel.walk([&](Operation *op) {
    bool valid = llvm::all_of(op->getResults(), [&](Value value) {
      return succeeded(verifyValue(value));
    });
    for (mlir::Region &region : op->getRegions())
      for (Value argument : region.getArguments())
        valid = valid && succeeded(verifyValue(argument));
    return valid ? WalkResult::advance() : WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Whether a kernel has anything that needs a layout.
static bool needsLayouts(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](Operation *op) {
        bool needs = isa<AllocSharedOp>(op) ||
                     llvm::any_of(op->getOperands(), isFragment) ||
                     llvm::any_of(op->getResults(), isFragment);
        return needs ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Moves layouts chosen by hand from the attribute `tile.layout` to the types
/// of the fragments. The inference keeps layouts that are in types.
static void applyWantedLayouts(gpu::GPUFuncOp kernel) {
  kernel.walk([](Operation *op) {
    auto layout = op->getAttrOfType<FragmentAttr>(TileDialect::kLayout);
    if (!layout)
      return;
    RankedTensorType type = withLayout(op->getResult(0).getType(), layout);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
        constant.setValueAttr(dense.reshape(type));
    op->getResult(0).setType(type);
    op->removeAttr(TileDialect::kLayout);
  });
}

/// Infers the layouts of `kernel` and writes them into its types. With
/// `explain`, emits a remark for each of them.
static LogicalResult inferLayouts(gpu::GPUFuncOp kernel, bool explain) {
  if (!needsLayouts(kernel))
    return success();
  applyWantedLayouts(kernel);
  FailureOr<TargetInfo> target = TargetInfo::get(kernel.getOperation());
  if (failed(target))
    return failure();
  // Report errors in the input before anything changes.
  if (failed(FragmentGraph::get(kernel, *target)))
    return failure();
  kernel->setAttr(
      TileDialect::kThreads,
      Builder(kernel.getContext()).getI32IntegerAttr(getNumThreads(kernel)));
  spillSimtOperands(kernel);

  LayoutInference fragments(kernel, *target);
  if (failed(fragments.run()))
    return failure();
  BufferLayouts buffers(kernel, *target, fragments);
  if (failed(buffers.run()))
    return failure();
  if (explain) {
    explainLayouts(kernel, fragments);
    explainLayouts(buffers.getLayouts(), *target);
  }
  LayoutWriter writer(kernel, fragments);
  if (failed(writer.run()))
    return failure();
  for (auto [buffer, layout] : buffers.getLayouts()) {
    LDBG() << "buffer at " << buffer.getLoc() << ": " << layout;
    buffer.setType(withLayout(buffer.getType(), layout));
  }
  if (failed(verifyLayouts(kernel)))
    return failure();
  for (const InsertedConversion &inserted : writer.getConversions()) {
    ++numConversions;
    ConvertLayoutOp convert = inserted.op;
    LDBG() << "conversion at " << convert.getLoc() << ": from "
           << convert.getSource().getType() << " to " << convert.getType()
           << ", by " << planConversion(convert, *target);
  }
  remarkConversions(writer.getConversions(), *target);
  remarkAccesses(kernel, *target);
  return success();
}

namespace {
struct InferLayoutsPass : tile::impl::InferLayoutsPassBase<InferLayoutsPass> {
  using InferLayoutsPassBase::InferLayoutsPassBase;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](gpu::GPUFuncOp kernel) {
      return failed(inferLayouts(kernel, explain)) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
