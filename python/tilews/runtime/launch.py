"""From a manifest and arguments to a launch, without any driver.

A :class:`Launcher` checks the arguments of a call against the kernel's manifest,
evaluates the grid and packs the parameters. What it found for arrays of the same
types, shapes, strides and devices is kept, so that a repeated call only has to
read the addresses.
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .arrays import (
    ArrayInfo,
    check_strides,
    describe,
    element_bits,
    fingerprint,
    row_major,
    show_type,
)
from .grid_expressions import evaluate, scalars_in, with_shapes
from .launch_errors import LaunchError
from .manifest import check_manifest
from .overlaps import Distance, byte_span, describe_overlap, find_distances
from .reach import find_distance, max_distance
from .scalars import read_grid, read_integer, scalar_packer
from .tensor_maps import BYTES as TENSOR_MAP_BYTES
from .tensor_maps import TensorMap, align, make_tensor_map

_MAX_PLANS = 256

# --- plans ---------------------------------------------------------------------


@dataclass
class Plan:
    """What a launch with certain arguments needs besides addresses and scalars.

    Attributes:
        grid: blocks in x, y and z.
        device: position of the device of all arrays; None without arrays.
        values: storage of the parameters, eight bytes each.
        parameters: the addresses of the values, as drivers want them.
        parameters_address: the address of `parameters`.
        tensor_maps: what the driver has to encode before the launch.
        distances: between pointers, at which arrays overlap that must not.
        producers: streams whose work the launch has to wait for.
        grid_expressions: the grid as expressions of numbers among the arguments.
    """

    grid: tuple[int, int, int]
    device: int | None
    values: ctypes.Array[ctypes.c_uint64]
    parameters: ctypes.Array[ctypes.c_void_p]
    parameters_address: int
    tensor_maps: list[TensorMap]
    distances: list[Distance]
    producers: list[int]
    grid_expressions: list[Any]

    @property
    def is_empty(self) -> bool:
        """Whether there is no block to run."""
        return 0 in self.grid


class Launcher:
    """Checks and packs the arguments of one kernel."""

    def __init__(self, manifest: dict[str, Any], device: str | None = None) -> None:
        """Takes a launch manifest.

        Args:
            manifest: of the kernel.
            device: where arrays have to be: ``cuda``, ``hip``, or ``cpu`` for a
                simulator; by default on a GPU of the kernel's vendor.

        Raises:
            LaunchError: something is wrong in it.
        """
        check_manifest(manifest)
        # What was checked stays as it is.
        self.manifest = manifest = copy.deepcopy(manifest)
        self.kernel: str = manifest["kernel"]
        self.arguments: list[dict[str, Any]] = manifest["arguments"]
        self.vendor: str = manifest["target"]["vendor"]
        self._device_kind = device or ("cuda" if self.vendor == "nvidia" else "hip")
        self._grid = manifest["grid"]
        #: The positions of the integers that the grid depends on.
        self.grid_scalars = sorted(
            set().union(*map(scalars_in, self._grid)) if self._grid else ()
        )
        # Where the parameters that change with every call go.
        parameters = manifest["parameters"]
        self._arrays = [
            (i, p["argument"], self.arguments[p["argument"]])
            for i, p in enumerate(parameters)
            if p["kind"] == "pointer"
        ]
        self._scalars = [
            (
                i,
                p["argument"],
                self.arguments[p["argument"]]["name"],
                scalar_packer(
                    p["dtype"], self.arguments[p["argument"]].get("unsigned", False)
                ),
            )
            for i, p in enumerate(parameters)
            if p["kind"] == "scalar"
        ]
        self._alignments = [
            (i, position, argument["alignment"], argument["name"])
            for i, position, argument in self._arrays
        ]
        self._pointers = {position: slot for slot, position, _ in self._arrays}
        # Pairs of pointers, by their position among the pointers; the key is optional.
        order = {position: n for n, (_, position, _) in enumerate(self._arrays)}
        self._disjoint = [
            (order[written], order[other])
            for written, other in manifest.get("disjoint") or ()
        ]
        self._written = {written for written, _ in manifest.get("disjoint") or ()}
        self._plans: dict[Any, Plan] = {}

    @property
    def array_slots(self) -> list[tuple[int, int, int]]:
        """For each array its parameter, argument and alignment."""
        return [(slot, i, alignment) for slot, i, alignment, _ in self._alignments]

    @property
    def number_slots(self) -> list[tuple[int, int, tuple[str, bool], Any, str]]:
        """For each number its parameter, argument, type, packer and name.

        The type is its name and whether it is unsigned.
        """
        return [
            (
                slot,
                position,
                (
                    self.manifest["parameters"][slot]["dtype"],
                    self.arguments[position].get("unsigned", False),
                ),
                pack,
                name,
            )
            for slot, position, name, pack in self._scalars
        ]

    @property
    def map_slots(self) -> list[int]:
        """The parameter of each tensor map."""
        slots = {
            parameter["map"]: slot
            for slot, parameter in enumerate(self.manifest["parameters"])
            if parameter["kind"] == "tensor_map"
        }
        return [slots[n] for n in range(len(self.manifest["tensor_maps"]))]

    def prepare(
        self, args: Sequence[Any], grid: int | Sequence[int] | None = None
    ) -> Plan:
        """Checks ``args`` and fills in the plan for them.

        The plan is used again by the next call with like arguments: launch it before
        anybody else prepares.

        Args:
            args: the kernel's arguments, in order.
            grid: blocks in up to three dimensions, instead of the kernel's own grid.

        Raises:
            LaunchError: if an argument does not fit; it names the argument, what was
                found and what was expected.
        """
        if len(args) != len(self.arguments):
            raise LaunchError(
                f"kernel '{self.kernel}': expected {len(self.arguments)} arguments "
                f"({', '.join(a['name'] for a in self.arguments)}), found {len(args)}"
            )
        blocks = None if grid is None else read_grid(grid, self.kernel)
        pointers = []
        key: list[Any] = [blocks]
        for _, position, _, name in self._alignments:
            pointer, like = fingerprint(args[position], name)
            pointers.append(pointer)
            key.append(like)
        # The grid is a function of integers that fit.
        for _, position, name, pack in self._scalars:
            pack(args[position], name)
        if self.grid_scalars:
            # They are read once: an object may give another number the next time.
            args = [*args]
            for position in self.grid_scalars:
                args[position] = read_integer(args[position])
                key.append(args[position])
        whole = tuple(key)
        plan = self._plans.get(whole)
        if plan is None:
            plan = self._make_plan(args, blocks)
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            self._plans[whole] = plan
        self.fill(plan, args, pointers)
        return plan

    def fill(self, plan: Plan, args: Sequence[Any], pointers: Sequence[int]) -> None:
        """Fills in a plan that was made for arguments like `args`.

        Args:
            plan: the plan.
            args: the kernel's arguments, in order.
            pointers: the addresses of the arrays among them.

        Raises:
            LaunchError: a number does not fit, an address is not aligned, or arrays
                overlap that must not.
        """
        values = plan.values
        for (slot, _, alignment, name), pointer in zip(
            self._alignments, pointers, strict=True
        ):
            if pointer % alignment:
                raise LaunchError(
                    f"argument '{name}': expected an address aligned to {alignment} "
                    f"bytes, found {pointer:#x}"
                )
            values[slot] = pointer
        for slot, position, name, pack in self._scalars:
            values[slot] = pack(args[position], name)
        for first, second, low, high in plan.distances:
            if low < pointers[first] - pointers[second] < high:
                raise self._overlap_error(args, pointers)

    def _overlap_error(
        self, args: Sequence[Any], pointers: Sequence[int]
    ) -> LaunchError:
        """The error about arrays that overlap."""
        names = [name for _, _, _, name in self._alignments]
        spans = []
        for (_, position, argument), pointer in zip(
            self._arrays, pointers, strict=True
        ):
            begin, end = get_span(describe(args[position], argument["name"]))
            spans.append((pointer + begin, pointer + end))
        return LaunchError(describe_overlap(self._disjoint, spans, names))

    def _make_plan(
        self, args: Sequence[Any], grid: tuple[int, int, int] | None
    ) -> Plan:
        infos = {
            position: describe(args[position], argument["name"])
            for _, position, argument in self._arrays
        }
        for position, info in infos.items():
            self._check_array(self.arguments[position], info)
            if info.is_read_only and position in self._written:
                raise LaunchError(
                    f"argument '{self.arguments[position]['name']}': expected an array "
                    "that may be written, found a read-only one"
                )
        self._check_symbols(infos)
        device = self._check_devices(infos)
        parameters = self.manifest["parameters"]
        values = (ctypes.c_uint64 * max(len(parameters), 1))()
        for slot, parameter in enumerate(parameters):
            if parameter["kind"] in ("extent", "stride"):
                info = infos[parameter["argument"]]
                of = info.shape if parameter["kind"] == "extent" else info.strides
                values[slot] = of[parameter["dimension"]] & (2**64 - 1)
        base = ctypes.addressof(values)
        addresses = (ctypes.c_void_p * max(len(parameters), 1))(
            *(base + 8 * slot for slot in range(len(parameters)))
        )
        tensor_maps = self._make_tensor_maps(infos)
        for slot, parameter in enumerate(parameters):
            if parameter["kind"] == "tensor_map":
                addresses[slot] = tensor_maps[parameter["map"]].address
        blocks = self._get_grid(args, infos, grid)
        shapes = {position: info.shape for position, info in infos.items()}
        expressions = self._grid if grid is None else blocks
        return Plan(
            blocks,
            device,
            values,
            addresses,
            ctypes.addressof(addresses),
            tensor_maps,
            find_distances(
                self._disjoint,
                [get_span(infos[position]) for _, position, _ in self._arrays],
            ),
            sorted({info.stream for info in infos.values() if info.stream}),
            [with_shapes(each, shapes) for each in [*expressions, 1, 1][:3]],
        )

    def _make_tensor_maps(self, infos: Mapping[int, ArrayInfo]) -> list[TensorMap]:
        recipes = self.manifest["tensor_maps"]
        if not recipes:
            return []
        shapes = {position: info.shape for position, info in infos.items()}
        strides = {position: info.strides for position, info in infos.items()}
        storage = ctypes.create_string_buffer((len(recipes) + 1) * TENSOR_MAP_BYTES)
        base = align(ctypes.addressof(storage))
        return [
            make_tensor_map(
                recipe,
                extents=[evaluate(e, shapes, {}, strides) for e in recipe["extents"]],
                strides=[evaluate(e, shapes, {}, strides) for e in recipe["strides"]],
                name=self.arguments[recipe["argument"]]["name"],
                slot=self._pointers[recipe["argument"]],
                address=base + i * TENSOR_MAP_BYTES,
                storage=storage,
            )
            for i, recipe in enumerate(recipes)
        ]

    def _check_array(self, argument: Mapping[str, Any], info: ArrayInfo) -> None:
        """Checks what one array is by itself."""
        name = argument["name"]

        def fail(expected: str, found: object) -> LaunchError:
            return LaunchError(f"argument '{name}': expected {expected}, found {found}")

        if element_bits(argument["dtype"]) is None:
            raise LaunchError(
                f"argument '{name}': arrays of {argument['dtype']} cannot be passed; "
                "pass packed i8 and view it in the kernel"
            )
        if info.dtype != argument["dtype"]:
            wanted = show_type(argument["dtype"])
            raise fail(f"elements of {wanted}", show_type(info.dtype))
        if len(info.shape) != len(argument["shape"]):
            raise fail(f"{len(argument['shape'])} dimensions", f"shape {info.shape}")
        for d, (extent, wanted) in enumerate(
            zip(info.shape, argument["shape"], strict=True)
        ):
            if isinstance(wanted, int) and extent != wanted:
                raise fail(f"extent {wanted} in dimension {d}", f"shape {info.shape}")
            divisor = argument["divisible"][d]
            if extent % divisor:
                raise fail(
                    f"a multiple of {divisor} in dimension {d}", f"shape {info.shape}"
                )
        self._check_strides(argument, info, fail)

    def _check_strides(
        self,
        argument: Mapping[str, Any],
        info: ArrayInfo,
        fail: Callable[[str, object], LaunchError],
    ) -> None:
        wanted = argument["strides"]
        if wanted is None:
            wanted = row_major(info.shape)
        check_strides(argument["name"], info, wanted)
        last = sum(
            (extent - 1) * abs(stride)
            for extent, stride in zip(info.shape, info.strides, strict=True)
        )
        if last >= 2**31 and self.manifest["index_bitwidth"] == 32:
            raise fail(
                "fewer than 2^31 elements, for which this kernel's 32-bit indices do "
                "(compile with index_bitwidth=64)",
                last + 1,
            )
        distance = find_distance(argument, info.shape, info.strides)
        if distance >= max_distance(argument):
            raise fail(
                f"fewer than {max_distance(argument)} bytes between elements of one "
                "region, for which this kernel's 32-bit offsets do (compile with "
                "index_bitwidth=64)",
                distance,
            )

    def _check_symbols(self, infos: Mapping[int, ArrayInfo]) -> None:
        """Extents of one name are equal."""
        first: dict[str, tuple[int, str]] = {}
        for position, info in infos.items():
            argument = self.arguments[position]
            for d, symbol in enumerate(argument["shape"]):
                if not isinstance(symbol, str):
                    continue
                extent, where = first.setdefault(
                    symbol, (info.shape[d], f"'{argument['name']}'")
                )
                if extent != info.shape[d]:
                    raise LaunchError(
                        f"argument '{argument['name']}': expected extent {symbol} = "
                        f"{extent} in dimension {d}, as in argument {where}, found "
                        f"shape {info.shape}"
                    )

    def _check_devices(self, infos: Mapping[int, ArrayInfo]) -> int | None:
        """All arrays are on one device of the kernel's vendor."""
        device = None
        for position, info in infos.items():
            name = self.arguments[position]["name"]
            if info.device != self._device_kind:
                hint = (
                    "; move it there, or compile for the target 'cpu'"
                    if info.device == "cpu"
                    else ""
                )
                raise LaunchError(
                    f"argument '{name}': expected an array on a {self._device_kind} "
                    f"device, found one on {info.device}{hint}"
                )
            if device is None:
                device = info.index
            elif device != info.index:
                raise LaunchError(
                    f"argument '{name}': expected an array on device {device} like the "
                    f"others, found one on device {info.index}"
                )
        return device

    def _get_grid(
        self,
        args: Sequence[Any],
        infos: Mapping[int, ArrayInfo],
        blocks: tuple[int, int, int] | None,
    ) -> tuple[int, int, int]:
        if blocks is None and self._grid is None:
            raise LaunchError(
                f"kernel '{self.kernel}' has no grid of its own: pass grid=(x, y, z)"
            )
        if blocks is None:
            shapes = {position: info.shape for position, info in infos.items()}
            scalars = {i: args[i] for i in self.grid_scalars}
            blocks = read_grid(
                [evaluate(e, shapes, scalars) for e in self._grid], self.kernel
            )
        cluster = self.manifest["cluster"] or (1, 1, 1)
        if any(b % c for b, c in zip(blocks, cluster, strict=True)):
            raise LaunchError(
                f"kernel '{self.kernel}': expected a grid of whole clusters of "
                f"{tuple(cluster)} blocks, found {tuple(blocks)}"
            )
        return blocks


def get_span(info: ArrayInfo) -> tuple[int, int]:
    """The bytes of an array: the first and the end, relative to its address."""
    itemsize = (element_bits(info.dtype) or 8) // 8
    strides = [stride * itemsize for stride in info.strides]
    return byte_span(info.shape, strides, itemsize)
