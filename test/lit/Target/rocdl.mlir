// LLVM dialect to GCN assembly and a code object.
// RUN: tilews-translate %s --to=asm | FileCheck %s
// RUN: tilews-translate %s --to=object -o %t.o && llvm-readobj --file-header %t.o | FileCheck %s --check-prefix=OBJECT
// RUN: tilews-translate %s --to=hsaco -o %t.hsaco && llvm-readobj --file-header --symbols %t.hsaco | FileCheck %s --check-prefix=HSACO
// RUN: llvm-objdump -d %t.hsaco | FileCheck %s --check-prefix=DISASSEMBLY

// CHECK: .amdgcn_target "amdgcn-amd-amdhsa--gfx942"
// CHECK: .amdhsa_code_object_version 5
// CHECK-LABEL: product:
// CHECK: v_mfma_f32_32x32x8_f16
// OBJECT: Type: Relocatable
// HSACO: Type: SharedObject
// HSACO: EF_AMDGPU_MACH_AMDGCN_GFX942
// HSACO: Name: product.kd
// DISASSEMBLY-LABEL: <product>
// DISASSEMBLY: v_mfma_f32_32x32x8_f16
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  llvm.func @product(%a: !llvm.ptr<1>, %c: !llvm.ptr<1>) attributes {rocdl.kernel} {
    %x = llvm.load %a {alignment = 8 : i64} : !llvm.ptr<1> -> vector<4xf16>
    %acc = llvm.load %c {alignment = 16 : i64} : !llvm.ptr<1> -> vector<16xf32>
    %z = llvm.mlir.constant(0 : i32) : i32
    %d = rocdl.mfma.f32.32x32x8f16 %x, %x, %acc, %z, %z, %z
      : (vector<4xf16>, vector<4xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
    llvm.store %d, %c {alignment = 16 : i64} : vector<16xf32>, !llvm.ptr<1>
    llvm.return
  }
}
