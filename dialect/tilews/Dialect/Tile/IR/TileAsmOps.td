//===- TileAsmOps.td - Inline assembly ---------------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEASMOPS_TD
#define TILEWS_DIALECT_TILE_IR_TILEASMOPS_TD

include "tilews/Dialect/Tile/IR/TileOpBase.td"
include "mlir/IR/SymbolInterfaces.td"

/// A value that assembly computes with.
def Tile_AsmValue : Type<
    CPred<"::tilews::tile::isAsmType($_self)">,
    "scalar or fragment of i16, i32, i64, f16, bf16, f32 or f64">;

def Tile_AsmOp : Tile_Op<"asm", ElementwiseMappable.traits # [
    ConditionallySpeculatable,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "inline assembly for each element";
  let description = [{
    Executes a template of assembly for each element of the inputs, which are
    fragments of one shape and scalars. Without fragments it executes the template
    once in each thread, and results must be the same in all threads.

    `variants` has a template for each vendor (`nvidia`, `amd`), or for a chip,
    which precedes that of its vendor. Constraints name these registers:

    | vendor | constraint | register of |
    |---|---|---|
    | NVIDIA | `h` | 16 bits |
    | NVIDIA | `r`, `l` | an integer of 32, of 64 bits |
    | NVIDIA | `f`, `d` | floating point of 32, of 64 bits |
    | AMD | `v` | 32 bits, or a pair for 64; the upper half is 0 for inputs of 16 bits and ignored for results |

    Elements whose class differs from that of the register keep their bits: an
    i32 can be in an `f`.

    With `pure`, the results depend on the inputs alone, and nothing else happens.
    Otherwise the operation stays where it is, in order with others of its kind, but
    it must not access buffers. A template may be executed more than once for an
    element, by threads that hold copies of it, and with undefined inputs by registers
    that hold no element. What it needs of waits and of distance to the instructions
    around it is its own business.

    `defined_by` names a `func.func` with the same meaning: elementwise operations on
    scalars. It is what the operation computes in the interpreter, in the simulator,
    and on chips without a template. Without it, these are errors.

    ```mlir
    %y = tile.asm(%x) {nvidia = #tile.assembly<"ex2.approx.ftz.f32 $0, $1;", "=f,f">,
                       amd = #tile.assembly<"v_exp_f32 $0, $1", "=v,v">}
      pure : (tensor<128x64xf32>) -> tensor<128x64xf32>
    ```

    The same with a definition, in a `gpu.module`:

    ```mlir
    func.func private @exp2(%x: f32) -> f32 {
      %y = math.exp2 %x : f32
      return %y : f32
    }
    ...
    %y = tile.asm(%x) {nvidia = #tile.assembly<"ex2.approx.ftz.f32 $0, $1;", "=f,f">}
      pure defined_by @exp2 : (tensor<128x64xf32>) -> tensor<128x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Tile_AsmValue>:$inputs, DictionaryAttr:$variants,
                       UnitAttr:$pure,
                       OptionalAttr<FlatSymbolRefAttr>:$definition);
  let results = (outs Variadic<Tile_AsmValue>:$results);
  let assemblyFormat = [{
    `(` $inputs `)` $variants (`pure` $pure^)? (`defined_by` $definition^)?
    attr-dict `:` functional-type($inputs, $results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Speculation::Speculatability getSpeculatability();
    /// The template for a target; null if there is none.
    ::tilews::tile::AssemblyAttr getVariant(const ::tilews::TargetInfo &target);
    /// The function that defines it; null if there is none.
    ::mlir::Operation *lookupDefinition();
    /// Emits the error that there is neither a template for a target nor a
    /// definition.
    ::mlir::InFlightDiagnostic
    emitMissing(const ::tilews::TargetInfo &target);
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILEASMOPS_TD
