//===- MmaLayoutBindings.cpp - Layouts of instructions, for Python --------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions in Python: the fragments of mma.sync, wgmma, mfma and
// wmma, of their sparse forms, and of ldmatrix and stmatrix. An instruction
// owns the layouts of its operands and shares them with Python, so that a
// layout outlives its instruction:
//
//   mma = mma_sync(16); mma.layout("acc", (2, 2), 64, 64)
//
//===----------------------------------------------------------------------===//

#include "AttributeLayouts.h"

using namespace tilews::python;

namespace {
/// A matrix instruction. It shares its layouts with Python.
struct Mma {
  explicit Mma(TilewsMma mma) : mma(mma), lhs(mma.lhs), acc(mma.acc) {
    if (mma.rhs.ptr)
      rhs = PyFragmentLayout(mma.rhs);
  }
  PyFragmentLayout getLayout(const std::string &operand,
                             std::tuple<int64_t, int64_t> grid, int64_t rows,
                             int64_t columns) const {
    TilewsMmaOperand which = TilewsMmaOperandAcc;
    if (operand == "lhs")
      which = TilewsMmaOperandLhs;
    else if (operand == "rhs")
      which = TilewsMmaOperandRhs;
    else
      require(operand == "acc", "expected 'lhs', 'rhs' or 'acc'");
    require(which != TilewsMmaOperandRhs || rhs,
            "the right operand of this instruction is in shared memory");
    auto [m, n] = grid;
    require(m > 0 && n > 0 && rows > 0 && columns > 0,
            "expected positive extents");
    return PyFragmentLayout(
        tilewsMmaGetLayout(mma, which, m, n, rows, columns));
  }
  std::tuple<int64_t, int64_t> getGrid(int64_t groups, int64_t m, int64_t n,
                                       const std::string &policy) const {
    int shape = policy == "full_row" ? 1 : policy == "full_col" ? 2 : 0;
    require(shape != 0 || policy == "square",
            "expected 'square', 'full_row' or 'full_col'");
    require(groups > 0 && m > 0 && n > 0, "expected positive extents");
    int64_t gridM, gridN;
    tilewsMmaGetWarpGrid(mma, groups, m, n, shape, &gridM, &gridN);
    return {gridM, gridN};
  }

  TilewsMma mma;
  PyFragmentLayout lhs, acc;
  std::optional<PyFragmentLayout> rhs;
};

/// A sparse matrix instruction.
struct SparseMma : Mma {
  explicit SparseMma(const TilewsSparseMma &sparse)
      : Mma(sparse.mma), metadata(sparse.metadata), fieldBits(sparse.fieldBits),
        fieldK(sparse.fieldK) {}

  PyFragmentLayout metadata;
  int64_t fieldBits, fieldK;
};

/// An ldmatrix or stmatrix instruction.
struct PyMatrixTransfer {
  explicit PyMatrixTransfer(const TilewsMatrixTransfer &transfer)
      : matrices(transfer.matrices), rows(transfer.rows),
        columns(transfer.columns), registers(transfer.registers),
        addresses(transfer.addresses) {}

  int64_t matrices, rows, columns;
  PyFragmentLayout registers, addresses;
};
} // namespace

static void bindMma(nb::module_ &m) {
  nb::class_<Mma>(m, "Mma",
                  "A matrix instruction and the layouts of its operands:\n"
                  "(m, k) on the left, (k, n) on the right, (m, n) for the\n"
                  "accumulator. `rhs` is None if it is in shared memory.")
      .def_prop_ro("m", [](const Mma &self) { return self.mma.m; })
      .def_prop_ro("n", [](const Mma &self) { return self.mma.n; })
      .def_prop_ro("k", [](const Mma &self) { return self.mma.k; })
      .def_ro("lhs", &Mma::lhs)
      .def_ro("rhs", &Mma::rhs)
      .def_ro("acc", &Mma::acc)
      .def("grid", &Mma::getGrid, nb::arg("groups"), nb::arg("m"), nb::arg("n"),
           nb::arg("policy") = "square",
           "How many warps (or warpgroups) share the rows and the columns.")
      .def("layout", &Mma::getLayout, nb::arg("operand"), nb::arg("grid"),
           nb::arg("rows"), nb::arg("columns"),
           "The layout of an operand of a whole matmul over a grid.");
  m.def(
      "mma_sync",
      [](int64_t bits) {
        require(bits == 8 || bits == 16 || bits == 32 || bits == 64,
                "mma.sync has operands of 8, 16, 32 or 64 bits");
        return Mma(tilewsMmaSync(bits));
      },
      nb::arg("operand_bits"), "NVIDIA's mma.sync.");
  m.def(
      "wgmma",
      [](int64_t n, int64_t bits) {
        require(n >= 8 && n <= 256 && n % 8 == 0,
                "wgmma has 8 to 256 columns, a multiple of 8");
        require(bits == 8 || bits == 16 || bits == 32,
                "wgmma has operands of 8, 16 or 32 bits");
        return Mma(tilewsWgmma(n, bits));
      },
      nb::arg("n"), nb::arg("operand_bits"), "Hopper's wgmma.");
  m.def(
      "mfma",
      [](int64_t size, int64_t k) {
        require(size == 16 || size == 32, "mfma is 16x16 or 32x32");
        require(k >= 64 / size && k % (64 / size) == 0,
                "K has to be a multiple of the lanes along it");
        return Mma(tilewsMfma(size, k));
      },
      nb::arg("size"), nb::arg("k"), "CDNA's mfma.");
  m.def(
      "mfma_small",
      [](int64_t size, int64_t lhsBits, int64_t rhsBits) {
        require(size == 16 || size == 32, "mfma is 16x16 or 32x32");
        for (int64_t bits : {lhsBits, rhsBits})
          require(bits == 8 || bits == 6 || bits == 4,
                  "small operands have 8, 6 or 4 bits");
        return Mma(tilewsMfmaSmall(size, lhsBits, rhsBits));
      },
      nb::arg("size"), nb::arg("lhs_bits"), nb::arg("rhs_bits"),
      "CDNA4's mfma of fp8, fp6 and fp4; operands are in bytes.");
  m.def("mfma_f64", [] { return Mma(tilewsMfmaF64()); }, "CDNA's mfma of f64.");
  m.def("wmma_gfx11", [] { return Mma(tilewsWmmaGfx11()); }, "RDNA3's wmma.");
  m.def("wmma_gfx12", [] { return Mma(tilewsWmmaGfx12()); }, "RDNA4's wmma.");
}

static void bindSparseMma(nb::module_ &m) {
  nb::class_<SparseMma, Mma>(
      m, "SparseMma",
      "A matrix instruction with a sparse left operand: the layout of `lhs`\n"
      "is that of (m, k / 2), and `metadata` has coordinates (row, field).")
      .def_ro("metadata", &SparseMma::metadata)
      .def_ro("field_bits", &SparseMma::fieldBits, "The bits of a field.")
      .def_ro("field_k", &SparseMma::fieldK,
              "The elements along K that a field describes.");
  m.def(
      "mma_sp",
      [](int64_t bits) {
        require(bits == 8 || bits == 16 || bits == 32,
                "mma.sp has operands of 8, 16 or 32 bits");
        return SparseMma(tilewsMmaSp(bits));
      },
      nb::arg("operand_bits"), "NVIDIA's mma.sp.");
  m.def(
      "wgmma_sp",
      [](int64_t n, int64_t bits) {
        require(n >= 8 && n <= 256 && n % 8 == 0,
                "wgmma has 8 to 256 columns, a multiple of 8");
        require(bits == 8 || bits == 16 || bits == 32,
                "wgmma has operands of 8, 16 or 32 bits");
        return SparseMma(tilewsWgmmaSp(n, bits));
      },
      nb::arg("n"), nb::arg("operand_bits"), "Hopper's wgmma.sp.");
  m.def(
      "smfmac",
      [](int64_t size, int64_t k, int64_t bits) {
        require(size == 16 || size == 32, "smfmac is 16x16 or 32x32");
        require(bits == 8 || bits == 16, "smfmac has operands of 8 or 16 bits");
        int64_t run = 128 / bits * (64 / size);
        require(k == run || k == 2 * run,
                "K has to be what lanes hold in one piece or in two");
        return SparseMma(tilewsSmfmac(size, k, bits));
      },
      nb::arg("size"), nb::arg("k"), nb::arg("operand_bits"), "CDNA's smfmac.");
}

static void bindTransfers(nb::module_ &m) {
  nb::class_<PyMatrixTransfer>(
      m, "MatrixTransfer",
      "Matrices that a warp moves between shared memory and registers.")
      .def_ro("matrices", &PyMatrixTransfer::matrices)
      .def_ro("rows", &PyMatrixTransfer::rows, "Rows as in shared memory.")
      .def_ro("columns", &PyMatrixTransfer::columns)
      .def_ro("registers", &PyMatrixTransfer::registers,
              "(matrix, row, column) of what a lane holds.")
      .def_ro("addresses", &PyMatrixTransfer::addresses,
              "(matrix, row) that a lane gives the address of.");
  auto checkCount = [](int64_t matrices, bool allowsFour) {
    require(matrices == 1 || matrices == 2 || (matrices == 4 && allowsFour),
            "expected 1, 2 or (but for 16x16) 4 matrices");
  };
  m.def(
      "matrix_8x8",
      [=](int64_t matrices, bool transposed) {
        checkCount(matrices, true);
        return PyMatrixTransfer(tilewsMatrix8x8(matrices, transposed));
      },
      nb::arg("matrices"), nb::arg("transposed") = false,
      "ldmatrix and stmatrix of 8x8 matrices of 16-bit elements.");
  m.def(
      "matrix_16x16",
      [=](int64_t matrices) {
        checkCount(matrices, false);
        return PyMatrixTransfer(tilewsMatrix16x16(matrices));
      },
      nb::arg("matrices"), "ldmatrix of 16x16 transposed bytes.");
  m.def(
      "matrix_16x8",
      [=](int64_t matrices) {
        checkCount(matrices, true);
        return PyMatrixTransfer(tilewsMatrix16x8(matrices));
      },
      nb::arg("matrices"), "stmatrix of 16x8 transposed bytes.");
  m.def(
      "tensor_memory",
      [](const std::string &shape, int64_t repeat) {
        const char *names[] = {"32x32b", "16x64b", "16x128b", "16x256b",
                               "16x32bx2"};
        require(repeat >= 1 && repeat <= 128, "expected 1 to 128 repeats");
        for (int i = 0; i < 5; ++i)
          if (shape == names[i])
            return PyFragmentLayout(tilewsTensorMemoryTransfer(i, repeat));
        fail("expected '32x32b', '16x64b', '16x128b', '16x256b' or '16x32bx2', "
             "found '" +
             shape + "'");
      },
      nb::arg("shape"), nb::arg("repeat") = 1,
      "(lane, column) of the words of tensor memory that a warp's threads "
      "hold.");
}

void populateMmaLayouts(nb::module_ &layout) {
  bindMma(layout);
  bindSparseMma(layout);
  bindTransfers(layout);
}
