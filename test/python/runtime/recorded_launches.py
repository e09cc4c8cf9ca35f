"""A driver that writes down launches, those of C++ and those of Python alike."""

import contextlib
import ctypes
import dataclasses
import struct
from unittest import mock

from benchmarks.host_time import fake_device
from benchmarks.host_time.fake_device import IdleDriver
from tilews.runtime import cuda
from tilews.runtime.cuda import load_function

c = ctypes


class Attribute(c.Structure):
    _fields_ = (("id", c.c_uint32), ("padding", c.c_uint32), ("value", c.c_uint32 * 16))


class Config(c.Structure):
    _fields_ = (
        ("grid", c.c_uint32 * 3),
        ("block", c.c_uint32 * 3),
        ("shared", c.c_uint32),
        ("stream", c.c_uint64),
        ("attributes", c.POINTER(Attribute)),
        ("num_attributes", c.c_uint32),
    )


@dataclasses.dataclass
class Launch:
    """A launch as the driver gets it."""

    function: int
    grid: tuple
    block: tuple
    cluster: tuple
    shared: int
    stream: int
    parameters: list


def read_words(address, count, kind):
    return list((kind * count).from_address(address)) if count else []


class RecordingDriver:
    """The driver's functions for C++, and its module for Python.

    Attributes:
        launches: all launches.
        native: those of C++.
        sizes: of the parameters of each function, in bytes.
        statuses: what the functions `launch`, `context` and `capture` of C++ return.
        encoded: how many tensor maps C++ encoded.
    """

    def __init__(self):
        self.launches, self.native = [], []
        self.sizes = {}
        self.statuses = {"launch": 0, "context": 0, "encode": 0}
        self.capturing = set()
        self.current = 1
        self.encoded = 0
        self.on_launch = lambda: None
        pointer, integer = c.c_void_p, c.c_int
        words, halves = c.c_uint64, c.c_uint32
        self._functions = (
            c.CFUNCTYPE(integer, c.POINTER(Config), words, words, words)(self._launch),
            c.CFUNCTYPE(integer, c.POINTER(words))(self._get_context),
            c.CFUNCTYPE(integer, words)(self._set_context),
            c.CFUNCTYPE(integer, words, c.POINTER(integer))(self._is_capturing),
            c.CFUNCTYPE(
                integer,
                *(words, integer, halves, words),
                *(pointer, pointer, pointer, pointer),
                *(integer, integer, integer, integer),
            )(self._encode),
        )

    @property
    def points(self):
        """The addresses of the functions."""
        return tuple(c.cast(each, c.c_void_p).value for each in self._functions)

    def load(self, manifest, image, device):
        """Loads a kernel, and keeps the sizes of its parameters."""
        function = load_function(manifest, image, device)
        sizes = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "f16": 2, "bf16": 2, "f32": 4}
        self.sizes[function._function] = [
            128
            if each["kind"] == "tensor_map"
            else 8
            if each["kind"] == "pointer"
            else sizes.get(each["dtype"], 8)
            for each in manifest["parameters"]
        ]
        return function

    def read(self, function, address):
        """The parameters of a launch, as bytes."""
        sizes = self.sizes[function]
        places = read_words(address, len(sizes), c.c_uint64)
        assert all(
            place % 64 == 0
            for place, size in zip(places, sizes, strict=True)
            if size == 128
        )
        return [
            c.string_at(place, size) for place, size in zip(places, sizes, strict=True)
        ]

    def _launch(self, config, function, parameters, extra):
        assert extra is None or extra == 0
        at = config.contents
        cluster = (1, 1, 1)
        if at.num_attributes:
            (attribute,) = at.attributes[: at.num_attributes]
            assert attribute.id == 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            cluster = tuple(attribute.value[:3])
        launch = Launch(
            function,
            tuple(at.grid),
            tuple(at.block),
            cluster,
            at.shared,
            at.stream,
            self.read(function, parameters),
        )
        self.on_launch()
        if self.statuses["launch"] == 0:
            self.launches.append(launch)
            self.native.append(launch)
        return self.statuses["launch"]

    def _get_context(self, out):
        out[0] = self.current
        return self.statuses["context"]

    def _set_context(self, context):
        self.current = context
        return self.statuses["context"]

    def _is_capturing(self, stream, out):
        out[0] = int(stream in self.capturing)
        return 0

    def _encode(self, out, kind, rank, address, *rest):
        extents, strides, box, steps, *kinds = rest
        self.encoded += 1
        if self.statuses["encode"] == 0:
            row = (kind, address, tuple(kinds))
            row += (tuple(read_words(extents, rank, c.c_uint64)),)
            row += (tuple(read_words(strides, max(rank - 1, 1), c.c_uint64)),)
            row += (tuple(read_words(box, rank, c.c_uint32)),)
            row += (tuple(read_words(steps, rank, c.c_uint32)),)
            c.memmove(out, encode(row), 128)
        return self.statuses["encode"]


def encode(row):
    """What a tensor map holds here: a hash of all that it was made of."""
    return struct.pack("<q", hash(row)) * 16


class RecordingModule(IdleDriver):
    """The module of cuda-bindings of a recording driver."""

    def __init__(self, driver):
        super().__init__()
        self._to = driver

    def cuStreamIsCapturing(self, stream):
        return 0, int(stream in self._to.capturing)

    def cuTensorMapEncodeTiled(self, kind, rank, address, *rest):
        extents, strides, box, steps, *kinds = rest
        row = (kind, address, tuple(kinds), *map(tuple, (extents, strides, box, steps)))
        buffer = c.create_string_buffer(encode(row), 128)
        return 0, Pointer(buffer)

    def cuLaunchKernel(self, function, *rest):
        grid, block, (shared, stream, parameters, _) = rest[:3], rest[3:6], rest[6:]
        self._add(function, grid, block, (1, 1, 1), shared, stream, parameters)
        return (0,)

    def CUlaunchAttribute(self):
        return DriverRecord(value=DriverRecord(clusterDim=DriverRecord()))

    def CUlaunchConfig(self):
        return DriverRecord()

    CUlaunchAttributeID = fake_device.DriverNames()

    def cuLaunchKernelEx(self, config, function, parameters, extra):
        grid = (config.gridDimX, config.gridDimY, config.gridDimZ)
        block = (config.blockDimX, config.blockDimY, config.blockDimZ)
        dimension = config.attrs[0].value.clusterDim
        cluster = (dimension.x, dimension.y, dimension.z)
        shared, stream = config.sharedMemBytes, config.hStream
        self._add(function, grid, block, cluster, shared, stream, parameters)
        return (0,)

    def _add(self, *launch):
        *properties, parameters = launch
        read = self._to.read(properties[0], parameters)
        self._to.launches.append(Launch(*properties, read))


class DriverRecord:
    """A structure of the driver."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


class Pointer:
    """A structure of the driver at an address."""

    def __init__(self, buffer):
        self._buffer = buffer

    def getPtr(self):
        return c.addressof(self._buffer)


@contextlib.contextmanager
def recorded():
    """Puts a recording driver in place."""
    driver = RecordingDriver()
    with (
        fake_device.installed(driver.points, RecordingModule(driver)),
        mock.patch.object(cuda, "load_function", driver.load),
    ):
        yield driver
