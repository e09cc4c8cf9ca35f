"""Manifests and arrays for launches without a GPU."""

from dataclasses import dataclass, field

import numpy as np

from tilews.runtime import arrays
from tilews.runtime.launch import Launcher


def buffer(name, dtype="f16", shape=("M", "K"), **options):
    return {
        "name": name,
        "kind": "buffer",
        "dtype": dtype,
        "shape": list(shape),
        "strides": None,
        "divisible": [1] * len(shape),
        "alignment": 16,
        **options,
    }


def make_manifest(arguments, grid=(1, 1, 1), **options):
    parameters = []
    index_type = f"i{options.get('index_bitwidth', 32)}"
    for i, argument in enumerate(arguments):
        if argument["kind"] == "scalar":
            parameters.append(
                {"kind": "scalar", "argument": i, "dtype": argument["dtype"]}
            )
            continue
        parameters.append(
            {"kind": "pointer", "argument": i, "dtype": argument["dtype"]}
        )
        for kind, extents in (
            ("extent", argument["shape"]),
            ("stride", argument["strides"] or ()),
        ):
            parameters += [
                {"kind": kind, "argument": i, "dimension": d, "dtype": index_type}
                for d, extent in enumerate(extents)
                if not isinstance(extent, int)
            ]
    return {
        "format": 1,
        "kernel": "k",
        "target": {"chip": "sm_90a", "vendor": "nvidia", "warp_size": 32},
        "index_bitwidth": 32,
        "arguments": arguments,
        "parameters": parameters,
        "grid": list(grid) if grid else None,
        "block": [128, 1, 1],
        "cluster": None,
        "shared_bytes": 0,
        "tensor_maps": [],
        "resources": None,
        **options,
    }


def add_tensor_map(manifest, **recipe):
    """Adds a tensor map of the first argument, dimension 1 innermost."""
    manifest["parameters"].append({"kind": "tensor_map", "argument": 0, "map": 0})
    manifest["tensor_maps"] = [
        {
            "argument": 0,
            "dtype": "f16",
            "rank": 2,
            "dims": [1, 0],
            "extents": [{"extent": [0, 1]}, {"extent": [0, 0]}],
            "strides": [{"op": "mul", "args": [{"stride": [0, 0]}, 2]}],
            "box": [64, 128],
            "element_strides": [1, 1],
            "swizzle": 128,
            "l2_promotion": 256,
            "out_of_bounds": "zero",
            **recipe,
        }
    ]
    return manifest


@dataclass
class Device:
    id: int = 0


@dataclass
class FakeArray:
    """An array on an imaginary GPU."""

    shape: tuple = (256, 64)
    typestr: str = "<f2"
    strides: tuple | None = None
    pointer: int = 1 << 20
    device: Device = field(default_factory=Device)
    more: dict = field(default_factory=dict)

    @property
    def __cuda_array_interface__(self):
        return {
            "data": (self.pointer, False),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.typestr,
            "version": 3,
            **self.more,
        }


class HipArray:
    """An array that says it is on an AMD GPU, with elements in memory of the host."""

    ROCM = 10  # DLPack's number.

    def __init__(self, elements=None):
        if elements is None:
            elements = np.zeros((256, 64), np.float16)
        self.elements = elements

    def __dlpack_device__(self):
        return self.ROCM, 0

    def __dlpack__(self, stream):
        capsule = self.elements.__dlpack__()
        address = arrays._capsule_pointer(capsule, b"dltensor")
        arrays._DLTensor.from_address(address).device_type = self.ROCM
        return capsule


def prepare(manifest, *args, grid=None):
    return Launcher(manifest).prepare(args, grid)
