// RUN: tilews-opt %s -split-input-file -mlir-print-debuginfo -mlir-print-local-scope \
// RUN:   --pass-pipeline="builtin.module(gpu.module(tile-add-line-tables))" \
// RUN:   | FileCheck %s
// RUN: tilews-opt %s -split-input-file --tilews-statistics \
// RUN:   --pass-pipeline="builtin.module(gpu.module(tile-add-line-tables))" \
// RUN:   -o /dev/null 2>&1 | FileCheck %s --check-prefix=COUNT

// COUNT-DAG: 4 tile-add-line-tables {{.*}} Functions that got lines
// COUNT-DAG: 2 tile-add-line-tables {{.*}} Inlined functions that got lines

// A function that was inlined twice is one subprogram; calls can be nested.
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: llvm.func @scale
  llvm.func @scale(%x: f32) -> f32 {
    // CHECK: llvm.fmul %{{.*}} loc(callsite(fused<#llvm.di_subprogram<id = distinct[[SQUARE:.*]]<>,
    // CHECK-SAME: emissionKind = DebugDirectivesOnly, nameTableKind = None>
    // CHECK-SAME: name = "square", file = <"k.py" in "/home/user">, subprogramFlags = "Definition|Optimized"
    // CHECK-SAME: >["/home/user/k.py":6:9] at "/home/user/k.py":13:9))
    %a = llvm.fmul %x, %x : f32 loc(callsite("square"("/home/user/k.py":6:9) at "/home/user/k.py":13:9))
    // CHECK: llvm.fmul %{{.*}} loc(callsite(fused<#llvm.di_subprogram<id = distinct[[SQUARE]]<>,
    // CHECK-SAME: name = "square",
    // CHECK-SAME: ["/home/user/k.py":6:9] at callsite(fused<
    // CHECK-SAME: name = "twice",
    // CHECK-SAME: ["/home/user/k.py":8:3] at "/home/user/k.py":13:9)))
    %b = llvm.fmul %a, %a : f32 loc(callsite("square"("/home/user/k.py":6:9) at callsite("twice"("/home/user/k.py":8:3) at "/home/user/k.py":13:9)))
    // The kernel's own places stay.
    // CHECK: llvm.fmul %{{.*}} : f32 loc("/home/user/k.py":14:5)
    %c = llvm.fmul %b, %b : f32 loc("/home/user/k.py":14:5)
    // The first of several places is taken.
    // CHECK: llvm.fmul %{{.*}} : f32 loc("/home/user/k.py":13:9)
    %d = llvm.fmul %c, %c : f32 loc(fused[unknown, "/home/user/k.py":13:9, "/home/user/k.py":6:9])
    // CHECK: llvm.return %{{.*}} : f32 loc("/home/user/k.py":15:5)
    llvm.return %d : f32 loc("/home/user/k.py":15:5)
  // CHECK-NEXT: loc(fused<#llvm.di_subprogram<
  // CHECK-SAME: sourceLanguage = DW_LANG_C, file = <"k.py" in "/home/user">, producer = "tilews", isOptimized = true,
  // CHECK-SAME: name = "scale", file = <"k.py" in "/home/user">, line = 10, scopeLine = 10,
  // CHECK-SAME: ["/home/user/k.py":10:1])
  } loc("/home/user/k.py":10:1)
}

// -----

#file = #llvm.di_file<"own.py" in "">
#unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #file, isOptimized = true, emissionKind = Full>
#own = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #unit, scope = #file, name = "own", file = #file, line = 3, scopeLine = 3, subprogramFlags = Definition>
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // CHECK-LABEL: llvm.func @other_file
  llvm.func @other_file(%x: f32) -> f32 {
    // A scope has one file.
    // CHECK: llvm.fmul %{{.*}} loc(fused<#llvm.di_lexical_block_file<scope =
    // CHECK-SAME: emissionKind = LineTablesOnly
    // CHECK-SAME: name = "other_file", file = <"a.py" in "">
    // CHECK-SAME: file = <"b.py" in "">, discriminator = 0>>["b.py":6:9])
    %a = llvm.fmul %x, %x : f32 loc("b.py":6:9)
    // CHECK: llvm.fmul %{{.*}} : f32 loc(unknown)
    %b = llvm.fmul %a, %a : f32 loc(unknown)
    llvm.return %b : f32 loc("a.py":15:5)
  } loc("a.py":10:1)

  // A function without a place stays as it is.
  // CHECK-LABEL: llvm.func @nowhere
  llvm.func @nowhere(%x: f32) -> f32 {
    // CHECK: llvm.return %{{.*}} loc("a.py":2:5)
    llvm.return %x : f32 loc("a.py":2:5)
  // CHECK-NEXT: loc(unknown)
  } loc(unknown)

  // So does one that has debug information.
  // CHECK-LABEL: llvm.func @own
  llvm.func @own() {
    llvm.return loc("own.py":4:5)
  // CHECK: loc(fused<
  // CHECK-SAME: emissionKind = Full
  // CHECK-SAME: ["own.py":3:1])
  } loc(fused<#own>["own.py":3:1])

  // A declaration has no code.
  // CHECK: llvm.func @printf(!llvm.ptr{{.*}}) -> i32 loc("a.py":1:1)
  llvm.func @printf(!llvm.ptr) -> i32 loc("a.py":1:1)
}

// -----

// LLVM refuses calls without a place in functions that have lines.
// CHECK-LABEL: gpu.module @calls
gpu.module @calls [#nvvm.target<chip = "sm_90a">] {
  llvm.func @callee() {
    llvm.return loc("c.py":2:5)
  } loc("c.py":1:1)
  llvm.func @caller() {
    // CHECK: llvm.call @callee() : () -> () loc("c.py":4:1)
    llvm.call @callee() : () -> () loc(unknown)
    llvm.return loc("c.py":6:5)
  } loc("c.py":4:1)
}
