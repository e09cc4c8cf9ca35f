"""Helpers of the interpreter's tests: small kernels, data and rounding."""

import ml_dtypes
import numpy as np

from tilews import ir, sim

FLOATS = {
    "f64": np.dtype("float64"),
    "f32": np.dtype("float32"),
    "f16": np.dtype("float16"),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
}
INTS = {f"i{w}": np.dtype(f"int{w}") for w in (8, 16, 32, 64)}
DTYPES = {
    **FLOATS,
    **INTS,
    "i1": np.dtype(bool),
    "i4": np.dtype(ml_dtypes.int4),
    "index": np.dtype("int64"),
}
SMALL_FLOATS = [name for name in FLOATS if name != "f64"]
SHARED = "#gpu.address_space<workgroup>"

# Constants that most bodies need.
CONSTANTS = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
"""

GEMM = """
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @gemm(%a: memref<?x?xf16>, %b: memref<?x?xf16>, %c: memref<?x?xf32>)
      kernel attributes {tile.threads = 128 : i32, tile.grid =
        affine_map<()[m, k, k2, n, m2, n2] -> (n ceildiv 32, m ceildiv 64)>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %x = gpu.block_id x
    %y = gpu.block_id y
    %m = arith.muli %y, %c64 : index
    %n = arith.muli %x, %c32 : index
    %depth = memref.dim %a, %c1 : memref<?x?xf16>
    %as = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %bs = tile.alloc_shared : memref<64x32xf16, #gpu.address_space<workgroup>>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32>
    %r = scf.for %k = %c0 to %depth step %c64 iter_args(%acc = %zero)
        -> tensor<64x32xf32> {
      tile.copy %a[%m, %k] to %as
        : memref<?x?xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
      tile.copy %b[%k, %n] to %bs
        : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
      %d = tile.gemm %as, %bs, %acc
        : memref<64x64xf16, #gpu.address_space<workgroup>>,
          memref<64x32xf16, #gpu.address_space<workgroup>> -> tensor<64x32xf32>
      scf.yield %d : tensor<64x32xf32>
    }
    tile.store %r to %c[%m, %n] : tensor<64x32xf32> to memref<?x?xf32>
    gpu.return
  }
}"""


def run(body, args, grid=1, attributes="", **options):
    """Runs a kernel given by its body and its arguments' `name: type` and values."""
    signature = ", ".join(f"%{name}: {type_}" for name, type_, _ in args)
    text = f"""
      gpu.module @m {{
        gpu.func @k({signature}) kernel attributes {{{attributes}}} {{
          {body}
          gpu.return
        }}
      }}"""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        sim.run(module, "k", [value for _, _, value in args], grid, **options)


def memref(array, type_=None):
    type_ = type_ or next(k for k, v in DTYPES.items() if v == array.dtype)
    return f"memref<{'x'.join([*map(str, array.shape), type_])}>"


def fragment(shape, type_):
    return f"tensor<{'x'.join([*map(str, shape), type_])}>"


def apply(operation, inputs, result_type, shape=None, scalars=False):
    """The result of an operation on fragments.

    `operation` names its operands {0}, {1}, ... and its type is written with
    {t0}, {t1}, ... for operands and {r} for the result. With `scalars` it runs
    element by element instead, in a loop.
    """
    types = [t for t, _ in inputs]
    arrays = [a for _, a in inputs]
    shape = arrays[0].shape if shape is None else shape
    result = np.zeros(shape, DTYPES[result_type])
    names = [f"%x{i}" for i in range(len(inputs))]
    args = [
        (f"a{i}", memref(a, t), a)
        for i, (t, a) in enumerate(zip(types, arrays, strict=True))
    ]
    args.append(("r", memref(result, result_type), result))
    if scalars:
        texts = {f"t{i}": t for i, t in enumerate(types)} | {"r": result_type}
        loads = [
            f"{n} = memref.load %a{i}[%i] : {memref(a, t)}"
            for i, (n, t, a) in enumerate(zip(names, types, arrays, strict=True))
        ]
        body = f"""
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = arith.constant {len(result)} : index
          scf.for %i = %c0 to %n step %c1 {{
            {chr(10).join(loads)}
            %y = {operation.format(*names, **texts)}
            memref.store %y, %r[%i] : {memref(result, result_type)}
          }}"""
    else:
        texts = {f"t{i}": fragment(a.shape, t) for i, (t, a) in enumerate(inputs)}
        texts["r"] = fragment(shape, result_type)
        loads = [
            f"{n} = tile.load %a{i} : {memref(a, t)} -> {fragment(a.shape, t)}"
            for i, (n, t, a) in enumerate(zip(names, types, arrays, strict=True))
        ]
        body = f"""
          {chr(10).join(loads)}
          %y = {operation.format(*names, **texts)}
          tile.store %y to %r : {texts["r"]} to {memref(result, result_type)}"""
    run(body, args)
    return result


def round_to(values, type_):
    """Rounds float64 values to nearest even, without going through float32.

    Formats of 8 bits saturate, infinities included.
    """
    values = np.asarray(values, np.float64)
    dtype = FLOATS[type_]
    if type_ == "f64":
        return values
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(values)[1] - 1, int(info.minexp))
        quantum = np.ldexp(1.0, exponent - int(info.nmant))
        rounded = np.rint(values / quantum) * quantum
        overflow = float(info.max) if dtype.itemsize == 1 else np.inf
        rounded = np.where(
            np.abs(np.where(np.isinf(values), values, rounded)) > float(info.max),
            np.copysign(overflow, values),
            np.where(np.isfinite(values), np.copysign(rounded, values), values),
        )
        return rounded.astype(dtype)


def check_equal(actual, expected):
    """Compares values and the signs of zeros; all NaNs are equal."""
    assert actual.dtype == expected.dtype
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(actual, expected)
    number = ~np.isnan(actual)
    np.testing.assert_array_equal(
        np.signbit(actual[number]), np.signbit(expected[number])
    )


def unsigned(a):
    """The same bits as unsigned integers."""
    return a.view(f"u{a.dtype}")


def random_floats(type_, count, seed=0, special=True):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(count) * 2.0 ** rng.integers(-8, 8, count)
    if special:
        places = rng.permutation(count)[:8]
        tiny = float(ml_dtypes.finfo(FLOATS[type_]).smallest_subnormal)
        large = float(ml_dtypes.finfo(FLOATS[type_]).max)
        values[places] = [0.0, -0.0, np.nan, np.inf, -np.inf, tiny, -large, large]
    return round_to(values, type_)


def random_ints(type_, count, seed=0):
    rng = np.random.default_rng(seed)
    info = np.iinfo(INTS[type_])
    values = rng.integers(info.min, info.max, count, INTS[type_], endpoint=True)
    values[: count // 2] = rng.integers(-5, 6, count // 2)
    values[-3:] = [info.min, info.max, 0]
    return values
