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
    Operations that read or write a region of a buffer. Schedules, barriers and
    the memory plan see operations only through their regions, so that they
    hold for every operation, not for those they know by name.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends each region of a buffer that the operation reads or writes.
      }], "void", "getAccessRegions",
      (ins "::llvm::SmallVectorImpl<::tilews::tile::AccessRegion> &":$regions)>
  ];
}

def Tile_InstructionOpInterface : OpInterface<"InstructionOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Operations that can become different instructions. The candidates depend on
    the target, the kernel's threads, and the types, never on a fragment's
    layout: instructions are chosen before layouts exist.
  }];
  let methods = [
    InterfaceMethod<[{
        Appends the instructions this operation can become on `target` when
        `threads` threads execute it, best first. Each candidate that the types
        rule out is reported through `rejected` with the reason.
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
        Appends the layouts that the instruction in `tile.inst` demands: a
        `#tile.shared` for a buffer, a `#tile.fragment` for a fragment.
      }], "void", "getLayoutRequirements",
      (ins "const ::tilews::TargetInfo &":$target, "int64_t":$threads,
           "::llvm::SmallVectorImpl<::tilews::tile::LayoutRequirement> &":$requirements)>,
    InterfaceMethod<[{
        Why the instruction in `tile.inst` cannot use the shared buffer
        `operand` if it has `layout`; success if it can, which may hold for
        others than the demanded layout too.
      }], "::llvm::Error", "checkSharedLayout",
      (ins "const ::tilews::TargetInfo &":$target, "int64_t":$threads,
           "::mlir::OpOperand &":$operand,
           "const ::tilews::SharedLayout &":$layout),
      "", "return ::llvm::Error::success();">
  ];
}

def Tile_MatmulOpInterface : OpInterface<"MatmulOpInterface"> {
  let cppNamespace = "::tilews::tile";
  let description = [{
    Matrix products, dense ones and those whose left operand is 2:4 sparse.
    Planning, schedules and lowering see both alike.
  }];
  let methods = [
    InterfaceMethod<"The rows of the product.", "int64_t", "getM">,
    InterfaceMethod<"The columns of the product.", "int64_t", "getN">,
    InterfaceMethod<[{
        The elements that are multiplied and added up. A sparse left operand is
        stored with half as many columns.
      }], "int64_t", "getK">,
    InterfaceMethod<"", "::mlir::Type", "getLhsElementType">,
    InterfaceMethod<"", "::mlir::Type", "getRhsElementType">,
    InterfaceMethod<"", "::mlir::RankedTensorType", "getAccType">,
    InterfaceMethod<"", "::mlir::OpOperand &", "getLhsMutable">,
    InterfaceMethod<"", "::mlir::OpOperand &", "getRhsMutable">,
    InterfaceMethod<"", "::mlir::OpOperand &", "getAccMutable">,
    InterfaceMethod<[{
        The operand that says which elements a sparse left operand holds; null
        for a dense one.
      }], "::mlir::OpOperand *", "getMetadataOperand">,
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
    ::mlir::OpResult getProduct() { return getOperation()->getResult(0); }
    bool isSparse() { return getMetadataOperand() != nullptr; }
    /// The columns of the left operand as it is stored.
    int64_t getLhsK() { return isSparse() ? getK() / 2 : getK(); }
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILEINTERFACES_TD
