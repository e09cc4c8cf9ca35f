"""Manifests and arrays for launches without a GPU."""

import ctypes
import enum
import struct
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from tilews.runtime import arrays
from tilews.runtime.launch import Launcher
from tilews.sim.amdgcn import KernelTrap, Simulator


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


class HipStatus(enum.IntEnum):
    hipSuccess = 0
    hipErrorInvalidValue = 1
    hipErrorLaunchFailure = 719


class SimulatedHip:
    """The functions of HIP that launches call, for kernels of one array of f32.

    As on a GPU, the launch of a kernel that fails returns no error; later calls do.

    Attributes:
        memory: what was allocated on the host, by the variable with its address.
        captures: whether a graph captures what comes on a stream.
    """

    hipHostMallocPortable = 0x1
    hipHostMallocMapped = 0x2
    hipHostMallocCoherent = 0x40000000
    hipStreamCaptureStatus = SimpleNamespace(hipStreamCaptureStatusNone=0)

    def __init__(self):
        self.status = HipStatus.hipSuccess
        self.memory, self.captures = {}, False
        self._allocated, self._names = {}, {}

    def hipSetDevice(self, device):
        return (self.status,)

    def hipModuleLoadData(self, image):
        return self.status, Simulator(image)

    def hipModuleUnload(self, module):
        return (self.status,)

    def hipModuleGetFunction(self, module, name):
        return self.status, (module, name.decode())

    def hipModuleGetGlobal(self, module, name):
        address = module.code.variables[name.decode()]
        self._names[address] = name.decode()
        return self.status, address, 8

    def hipHostMalloc(self, size, flags):
        assert flags == 0x40000003  # portable, mapped and coherent
        memory = np.full(size, 255, np.uint8)
        self._allocated[memory.ctypes.data] = memory
        return self.status, memory.ctypes.data

    def hipHostGetDevicePointer(self, host, flags):
        assert host in self._allocated and flags == 0
        return self.status, host

    def hipMemcpyHtoD(self, address, data, size):
        (host,) = struct.unpack("<Q", data)
        self.memory[self._names[address]] = self._allocated[host]
        return (self.status,)

    def hipStreamIsCapturing(self, stream):
        return self.status, int(self.captures)

    def hipStreamSynchronize(self, stream):
        return (self.status,)

    def hipModuleLaunchKernel(self, function, *rest):
        if self.status:
            return (self.status,)
        (simulator, name), grid, parameters = function, rest[:3], rest[8]
        for variable, memory in self.memory.items():
            if variable in simulator.code.variables:
                simulator.add_host_memory(variable, memory)
        places = (ctypes.c_void_p * 2).from_address(parameters)
        address = ctypes.c_int64.from_address(places[0]).value
        count = ctypes.c_int32.from_address(places[1]).value
        data = np.ctypeslib.as_array((ctypes.c_float * count).from_address(address))
        try:
            simulator.launch(name, grid, rest[3], [data, np.int32(count)], rest[6])
        except KernelTrap:
            self.status = HipStatus.hipErrorLaunchFailure
        return (HipStatus.hipSuccess,)
