//===- TileInterfaces.td - Interfaces of tile operations ---*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEINTERFACES_TD
#define TILEWS_DIALECT_TILE_IR_TILEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tile_AccessOpInterface : OpInterface<"AccessOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Operations that read or write a region of a buffer. The schedule, the
    barriers and the memory plan are derived from these regions. They therefore
    work for every operation with this interface, and need no list of operation
    names.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends each buffer region that the operation reads or writes.
      }], "void", "getAccessRegions",
      (ins "::llvm::SmallVectorImpl<::tilews::tile::AccessRegion> &":$regions)>
  ];
}

def Tile_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Operations that can become different instructions. The candidates depend on
    the target, on the threads of the kernel, and on types. They never depend on
    the layout of a fragment, because instructions are chosen before layouts
    exist.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends the instructions that the operation can become on `target`, if
        `threads` threads execute it, best first. Calls `rejected` with the
        reason for each better instruction that the operation cannot become.
      }], "void", "getInstructionCandidates",
      (ins "const ::tilews::TargetInfo &":$target, "int64_t":$threads,
           "::llvm::SmallVectorImpl<::tilews::tile::InstKind> &":$candidates,
           "::tilews::tile::RejectFn":$rejected)>
  ];
}

def Tile_LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Operations whose instruction fixes the layout of an operand or a result.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends the layouts that the instruction in `tile.inst` requires: a
        `#tile.shared` for a buffer, a `#tile.fragment` for a fragment.
      }], "void", "getLayoutRequirements",
      (ins "const ::tilews::TargetInfo &":$target, "int64_t":$threads,
           "::llvm::SmallVectorImpl<::tilews::tile::LayoutRequirement> &":$requirements)>,
    InterfaceMethod<[{
        Returns an error with the reason if the instruction in `tile.inst`
        cannot use the shared buffer `operand` with `layout`. Layouts other than
        the required one may succeed, too.
      }], "::llvm::Error", "checkSharedLayout",
      (ins "const ::tilews::TargetInfo &":$target, "int64_t":$threads,
           "::mlir::OpOperand &":$operand,
           "const ::tilews::SharedLayout &":$layout),
      "", "return ::llvm::Error::success();">
  ];
}

def Tile_AtomicOpInterface : OpInterface<"AtomicOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Accesses that other blocks may make at the same time. Passes do not move
    other accesses across one that acquires or releases.
  }];
  let methods = [
    InterfaceMethod<"Which other accesses it orders.",
      "::tilews::tile::MemoryOrder", "getOrder">,
    InterfaceMethod<"Between which threads; none for the default.",
      "std::optional<::tilews::tile::MemoryScope>", "getScope">,
    InterfaceMethod<"The memory that it accesses; null for a fence.",
      "::mlir::Value", "getAtomicBuffer", (ins), "", "return {};">
  ];
  let extraClassDeclaration = [{
    /// Whether later accesses stay after it.
    bool acquires() {
      return getOrder() == MemoryOrder::Acquire ||
             getOrder() == MemoryOrder::AcqRel;
    }
    /// Whether earlier accesses stay before it.
    bool releases() {
      return getOrder() == MemoryOrder::Release ||
             getOrder() == MemoryOrder::AcqRel;
    }
    bool orders() { return getOrder() != MemoryOrder::Relaxed; }
    /// The scope, with its default.
    ::tilews::tile::MemoryScope getEffectiveScope();
  }];
}

def Tile_IndexedOpInterface : OpInterface<"IndexedOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Accesses whose elements have indices along some dimensions of the buffer, or
    a mask or a limit: `tile.gather`, `tile.scatter` and `tile.atomic_scatter`.
    Indices and mask have the rank of the accessed fragment, and the extent 1
    where they do not change.
  }];
  let methods = [
    InterfaceMethod<"The buffer.", "::mlir::OpOperand &", "getBufferOperand">,
    InterfaceMethod<"The first operand of the indices.", "unsigned",
      "getFirstIndex">,
    InterfaceMethod<"The indices, one fragment for each indexed dimension.",
      "::mlir::OperandRange", "getIndices">,
    InterfaceMethod<"The indexed dimensions of the buffer.",
      "::llvm::ArrayRef<int64_t>", "getIndexDims">,
    InterfaceMethod<"The mask; null if all elements are accessed.",
      "::mlir::Value", "getMask">,
    InterfaceMethod<"The index at which the buffer ends; null if there is no "
                    "limit.", "::mlir::Value", "getLimit">,
    InterfaceMethod<"The dimension that the limit is along.",
      "::std::optional<uint64_t>", "getLimitDim">,
    InterfaceMethod<"The region; along an indexed dimension, its offset is "
                    "added to the indices.",
      "::tilews::tile::TileRegion", "getRegion">,
    InterfaceMethod<"The fragment that is stored; null for a load.",
      "::mlir::Value", "getStored">
  ];
  let extraClassDeclaration = [{
    /// The fragment that is loaded or stored.
    ::mlir::Value getAccessed() {
      if (::mlir::Value stored = getStored())
        return stored;
      return getOperation()->getResult(0);
    }
    /// Whether an operand is an index or the mask.
    bool isPlacement(::mlir::OpOperand &operand) {
      unsigned number = operand.getOperandNumber();
      unsigned count = getIndices().size() + (getMask() ? 1 : 0);
      return number >= getFirstIndex() && number < getFirstIndex() + count;
    }
  }];
}

def Tile_MatmulOpInterface : OpInterface<"MatmulOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Matmuls, with a dense or a 2:4 sparse left operand. Passes treat both
    through this interface.
  }];
  let methods = [
    InterfaceMethod<"The rows of the result.", "int64_t", "getM">,
    InterfaceMethod<"The columns of the result.", "int64_t", "getN">,
    InterfaceMethod<[{
        The extent of the dimension that is summed. A sparse left operand is
        stored with half as many columns.
      }], "int64_t", "getK">,
    InterfaceMethod<[{
        The type of the elements, also of those that are packed in bytes.
      }], "::mlir::Type", "getLhsElementType">,
    InterfaceMethod<"", "::mlir::Type", "getRhsElementType">,
    InterfaceMethod<"", "::mlir::RankedTensorType", "getAccType">,
    InterfaceMethod<"", "::mlir::OpOperand &", "getLhsMutable">,
    InterfaceMethod<"", "::mlir::OpOperand &", "getRhsMutable">,
    InterfaceMethod<"", "::mlir::OpOperand &", "getAccMutable">,
    InterfaceMethod<[{
        The operand with the places of the elements that a sparse left operand
        stores; null if the left operand is dense.
      }], "::mlir::OpOperand *", "getMetadataOperand">,
    InterfaceMethod<[{
        The factors of 32 elements along K, of the left and of the right
        operand; empty without.
      }], "::llvm::MutableArrayRef<::mlir::OpOperand>", "getScaleOperands">,
    InterfaceMethod<"", "bool", "getTransposeLhs">,
    InterfaceMethod<"", "bool", "getTransposeRhs">,
    InterfaceMethod<"", "bool", "getClearAccumulator">,
    InterfaceMethod<"", "void", "setClearAccumulator", (ins "bool":$clear)>,
    InterfaceMethod<"", "bool", "getAllowTf32">,
    InterfaceMethod<"", "::tilews::tile::WarpPolicy", "getPolicy">,
    InterfaceMethod<"", "bool", "getAsync">,
    InterfaceMethod<"", "void", "setAsync", (ins "bool":$async)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Value getLhs() { return getLhsMutable().get(); }
    ::mlir::Value getRhs() { return getRhsMutable().get(); }
    ::mlir::Value getAcc() { return getAccMutable().get(); }
    /// The accumulator after the matmul.
    ::mlir::OpResult getAccResult() { return getOperation()->getResult(0); }
    bool isSparse() { return getMetadataOperand() != nullptr; }
    /// The extents along K in memory: fewer than K if the operand is sparse or
    /// packed.
    int64_t getLhsK() { return getExtent(getLhs(), getTransposeLhs() ? 0 : 1); }
    int64_t getRhsK() { return getExtent(getRhs(), getTransposeRhs() ? 1 : 0); }
    /// Whether no instruction but that for small types computes it: an operand
    /// is packed, or the operands are scaled.
    bool needsSmallTypes();

  private:
    static int64_t getExtent(::mlir::Value matrix, unsigned dim) {
      return ::llvm::cast<::mlir::ShapedType>(matrix.getType()).getDimSize(dim);
    }

  public:
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILEINTERFACES_TD
