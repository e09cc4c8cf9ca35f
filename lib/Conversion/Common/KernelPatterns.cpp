//===- KernelPatterns.cpp - Kernels and their parameters ------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Signatures of kernels. A memref becomes its base pointer, its dynamic extents
// and its dynamic strides, in the order that the launch manifest lists; tensor
// maps of TMA follow the arguments. In the body a memref descriptor is built
// from the parameters, so that upstream's patterns for memref operations apply:
//
//   gpu.func @k(%a: memref<?x64xf16>)  ->  llvm.func @k(%ptr, %extent0)
//
// Descriptors hold generic pointers; LLVM's address space inference turns
// accesses through them into accesses to global memory.
//
//===----------------------------------------------------------------------===//

#include "tilews/Conversion/Common/Patterns.h"
#include "tilews/Dialect/Tile/IR/Kernel.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

/// Checks that an argument can be passed to a kernel.
static LogicalResult verifyArgument(gpu::GPUFuncOp op, Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref) {
    if (type.isIntOrIndexOrFloat())
      return success();
    return op.emitError("cannot pass an argument of type ")
           << type << "; expected a memref in global memory or a scalar";
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  if (isGlobal(memref) &&
      succeeded(memref.getStridesAndOffset(strides, offset)) && offset == 0)
    return success();
  return op.emitError("cannot pass an argument of type ")
         << type
         << "; expected a memref in global memory, strided, with offset 0";
}

static Type getParameterType(const KernelParameter &parameter,
                             const LLVMTypeConverter &converter) {
  switch (parameter.kind) {
  case ParameterKind::Pointer:
    return LLVM::LLVMPointerType::get(&converter.getContext(), 1);
  case ParameterKind::Extent:
  case ParameterKind::Stride:
    return converter.getIndexType();
  case ParameterKind::Scalar:
    return converter.convertType(parameter.type);
  }
  llvm_unreachable("covered switch");
}

/// Builds the value of an argument from the parameters that start at `next`,
/// and advances `next`.
static Value buildArgument(ImplicitLocOpBuilder &b, Type type,
                           const LLVMTypeConverter &converter, Block &block,
                           unsigned &next) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return block.getArgument(next++);
  Location loc = b.getLoc();
  Type index = converter.getIndexType();
  Type descriptorType = converter.convertType(memref);
  auto descriptor = MemRefDescriptor::poison(b, loc, descriptorType);
  // Upstream's memref operations use generic pointers. LLVM's address space
  // inference recovers the address space.
  Value pointer = LLVM::AddrSpaceCastOp::create(
      b, descriptor.getElementPtrType(), block.getArgument(next++));
  descriptor.setAllocatedPtr(b, loc, pointer);
  descriptor.setAlignedPtr(b, loc, pointer);
  descriptor.setConstantOffset(b, loc, 0);

  SmallVector<Value> extents;
  for (auto [dim, extent] : llvm::enumerate(memref.getShape())) {
    extents.push_back(
        ShapedType::isDynamic(extent)
            ? Value(block.getArgument(next++))
            : LLVM::ConstantOp::create(b, b.getIntegerAttr(index, extent)));
    descriptor.setSize(b, loc, dim, extents.back());
  }
  auto [strides, offset] = memref.getStridesAndOffset();
  Value running;
  for (int64_t dim = memref.getRank() - 1; dim >= 0; --dim) {
    Value stride;
    if (!ShapedType::isDynamic(strides[dim]))
      stride =
          LLVM::ConstantOp::create(b, b.getIntegerAttr(index, strides[dim]));
    else if (memref.getLayout().isIdentity())
      stride = running;
    if (stride) {
      descriptor.setStride(b, loc, dim, stride);
      running = LLVM::MulOp::create(b, stride, extents[dim],
                                    LLVM::IntegerOverflowFlags::nsw);
    }
  }
  if (!memref.getLayout().isIdentity())
    for (auto [dim, stride] : llvm::enumerate(strides))
      if (ShapedType::isDynamic(stride))
        descriptor.setStride(b, loc, dim, block.getArgument(next++));
  return descriptor;
}

namespace {

/// Converts a kernel to an llvm.func. A memref becomes its base pointer, its
/// dynamic extents and its dynamic strides; a scalar stays one parameter.
struct KernelPattern : TilePattern<gpu::GPUFuncOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(gpu::GPUFuncOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!op.isKernel() || !op.getBody().hasOneBlock())
      return op.emitError("expected a kernel with structured control flow");
    for (Type type : op.getArgumentTypes())
      if (failed(verifyArgument(op, type)))
        return failure();
    auto *converter = getTypeConverter<LLVMTypeConverter>();
    SmallVector<Type> parameters;
    for (const KernelParameter &parameter :
         getKernelParameters(getKernelArguments(op)))
      parameters.push_back(getParameterType(parameter, *converter));
    unsigned firstMap = parameters.size();
    parameters.append(lowering.tensorMaps.size(),
                      LLVM::LLVMPointerType::get(op.getContext()));

    auto function = LLVM::LLVMFuncOp::create(
        rewriter, op.getLoc(), op.getName(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(op.getContext()),
                                    parameters));
    for (NamedAttribute attr : op->getDialectAttrs())
      if (attr.getName() != gpu::GPUDialect::getKernelFuncAttrName())
        function->setDiscardableAttr(attr.getName(), attr.getValue());
    setKernelArguments(function, op);
    setArgumentPairs(function, TileDialect::kDisjoint, lowering.disjoint);
    if (!lowering.tensorMaps.empty())
      setTensorMaps(function, lowering.tensorMaps);
    getTarget().setKernelAttributes(function, getNumThreads(op));

    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Location> locations(parameters.size(), op.getLoc());
    Block *block =
        rewriter.createBlock(&function.getBody(), {}, parameters, locations);
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    SmallVector<Value> arguments;
    unsigned next = 0;
    for (Type type : op.getArgumentTypes())
      arguments.push_back(buildArgument(b, type, *converter, *block, next));
    getTarget().setTensorMapParameters(
        b, function, block->getArguments().drop_front(firstMap));
    rewriter.mergeBlocks(&op.getBody().front(), block, arguments);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ReturnPattern : TilePattern<gpu::ReturnOp> {
  using TilePattern::TilePattern;

  LogicalResult
  matchAndRewrite(gpu::ReturnOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(op, ValueRange());
    return success();
  }
};

/// The block's coordinates in the grid, or the grid's extents, in the width of
/// indices.
template <typename OpT>
struct GridPattern : TilePattern<OpT> {
  using TilePattern<OpT>::TilePattern;

  LogicalResult
  matchAndRewrite(OpT op, typename OpT::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value place = std::is_same_v<OpT, gpu::BlockIdOp>
                      ? this->getTarget().getBlockId(b, op.getDimension())
                      : this->getTarget().getGridDim(b, op.getDimension());
    Type index =
        this->template getTypeConverter<LLVMTypeConverter>()->getIndexType();
    if (index != place.getType())
      place = LLVM::ZExtOp::create(b, index, place);
    rewriter.replaceOp(op, place);
    return success();
  }
};

} // namespace

void tilews::populateKernelPatterns(const TileTypeConverter &converter,
                                    LoweringContext &lowering,
                                    RewritePatternSet &patterns) {
  patterns.add<KernelPattern, ReturnPattern, GridPattern<gpu::BlockIdOp>,
               GridPattern<gpu::GridDimOp>>(converter, lowering);
}
