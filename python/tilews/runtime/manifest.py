"""Checks of launch manifests.

``manifest.schema.json`` says what each key holds. What has to hold between keys is
checked here: numbers of arguments and dimensions, and the list of parameters, which
follows from the arguments.
"""

from __future__ import annotations

import functools
import json
import math
import pathlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._support import files
from .launch_errors import LaunchError
from .schema import SchemaError, check, show

FORMAT = 1
"""The version of the manifest that this package reads."""

_MAX_THREADS = 1024
_MAX_THREADS_Z = 64
_MAX_CLUSTER = 16
_MAX_MAP_RANK = 5
_FLOATS = (
    "f16",
    "bf16",
    "f32",
    "f64",
    "f8E4M3FN",
    "f8E5M2",
    "f8E4M3FNUZ",
    "f8E5M2FNUZ",
    "f8E8M0FNU",
    "f6E2M3FN",
    "f6E3M2FN",
    "f4E2M1FN",
)

Manifest = dict[str, Any]


@functools.cache
def _schema() -> Mapping[str, Any]:
    path = pathlib.Path(__file__).with_name("manifest.schema.json")
    schema: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def read_manifest(path: pathlib.Path) -> Any:
    """The JSON value of a file, unchecked.

    Raises:
        OSError: the file cannot be read.
        LaunchError: it holds no JSON, an object with two values for a key, or text that
            cannot be printed.
    """
    try:
        read = json.loads(files.read_text(path), object_pairs_hook=_make_object)
        # An escape may be half of a character.
        json.dumps(read, ensure_ascii=False).encode()
        return read
    except (ValueError, RecursionError) as error:
        raise LaunchError(f"{path} is no launch manifest: {error}") from None


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Python's parser would keep the last value of a key."""
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {show(twice)} is there twice")
    return made


def check_manifest(manifest: Any) -> None:
    """Checks all of a manifest.

    Raises:
        LaunchError: something is wrong; the text names the key.
    """
    if isinstance(manifest, dict) and manifest.get("format") != FORMAT:
        raise LaunchError(
            f"format: expected a launch manifest of format {FORMAT}, found "
            f"{show(manifest.get('format'))}: compile the kernel with this version"
        )
    try:
        check(manifest, _schema())
        for i, argument in enumerate(manifest["arguments"]):
            _check_argument(argument, f"arguments[{i}]")
        _check_disjoint(manifest)
        for i, recipe in enumerate(manifest["tensor_maps"]):
            _check_tensor_map(recipe, manifest["arguments"], f"tensor_maps[{i}]")
        _check_parameters(manifest)
        for i, expression in enumerate(manifest["grid"] or ()):
            _check_expression(
                expression, manifest["arguments"], f"grid[{i}]", ("extent", "scalar")
            )
        _check_threads(manifest)
        _check_prints(manifest)
    except SchemaError as error:
        raise LaunchError(f"the launch manifest is wrong: {error}") from None


# --- Arguments -------------------------------------------------------------------

_INTEGER = re.compile(r"i([1-9]|[1-5][0-9]|6[0-4])")
_BUFFER_KEYS = ("shape", "strides", "divisible", "alignment")


def _check_argument(argument: Manifest, path: str) -> None:
    if argument["kind"] == "scalar":
        for key in (*_BUFFER_KEYS, "reach"):
            if key in argument:
                raise SchemaError(f"{path}.{key}: is no key of a scalar")
        dtype = argument["dtype"]
        integer = _INTEGER.fullmatch(dtype)
        if not integer and dtype not in (*_FLOATS, "index"):
            raise SchemaError(
                f"{path}.dtype: expected index, an integer of up to 64 bits or one of "
                f"{', '.join(_FLOATS)}, found {show(dtype)}"
            )
        if "unsigned" in argument and not integer:
            raise SchemaError(f"{path}.unsigned: is no key of {dtype}")
        return
    if "unsigned" in argument:
        raise SchemaError(f"{path}.unsigned: is no key of a buffer")
    for key in _BUFFER_KEYS:
        if key not in argument:
            raise SchemaError(f"{path}.{key}: is missing")
    rank = len(argument["shape"])
    for key in ("strides", "divisible", "reach"):
        if argument.get(key) is not None and len(argument[key]) != rank:
            raise SchemaError(
                f"{path}.{key}: expected {rank} entries, one for each dimension, found "
                f"{len(argument[key])}"
            )
    alignment = argument["alignment"]
    if alignment & (alignment - 1):
        raise SchemaError(
            f"{path}.alignment: expected a power of two, found {alignment}"
        )


def _get_buffer(arguments: list[Manifest], number: int, path: str) -> Manifest:
    if number >= len(arguments):
        raise SchemaError(
            f"{path}: expected the number of one of {len(arguments)} arguments, found "
            f"{number}"
        )
    if arguments[number]["kind"] != "buffer":
        raise SchemaError(
            f"{path}: expected the number of a buffer, found {number}, a scalar"
        )
    return arguments[number]


def _check_disjoint(manifest: Manifest) -> None:
    for i, pair in enumerate(manifest.get("disjoint") or ()):
        for j, number in enumerate(pair):
            _get_buffer(manifest["arguments"], number, f"disjoint[{i}][{j}]")


# --- Expressions -----------------------------------------------------------------


def _check_expression(
    expression: Any, arguments: list[Manifest], path: str, leaves: tuple[str, ...]
) -> None:
    """Checks the keys of an expression, and the arguments that it names."""
    if isinstance(expression, int):
        return
    keys = sorted(expression)
    if keys == ["args", "op"]:
        for i, operand in enumerate(expression["args"]):
            _check_expression(operand, arguments, f"{path}.args[{i}]", leaves)
        return
    if len(keys) != 1 or keys[0] not in leaves:
        raise SchemaError(
            f"{path}: expected a number, an object with the key "
            f"{' or '.join(leaves)}, or one with op and args, found the keys "
            f"{', '.join(keys)}"
        )
    (key,) = keys
    path = f"{path}.{key}"
    if key == "scalar":
        number = expression["scalar"]
        if number >= len(arguments) or not re.match(
            "i", arguments[number]["dtype"] * (arguments[number]["kind"] == "scalar")
        ):
            raise SchemaError(
                f"{path}: expected the number of a scalar integer argument, found "
                f"{number}"
            )
        return
    number, dimension = expression[key]
    rank = len(_get_buffer(arguments, number, f"{path}[0]")["shape"])
    if dimension >= rank:
        raise SchemaError(
            f"{path}[1]: expected one of {rank} dimensions, found {dimension}"
        )


# --- Tensor maps and parameters ----------------------------------------------------


def _check_tensor_map(recipe: Manifest, arguments: list[Manifest], path: str) -> None:
    argument = _get_buffer(arguments, recipe["argument"], f"{path}.argument")
    for key, expected in (
        ("dtype", argument["dtype"]),
        ("rank", len(argument["shape"])),
    ):
        if recipe[key] != expected:
            raise SchemaError(
                f"{path}.{key}: expected {expected}, that of argument "
                f"'{argument['name']}', found {recipe[key]}"
            )
    rank = len(recipe["dims"])
    for key, expected in (
        ("extents", rank),
        ("strides", rank - 1),
        ("box", rank),
        ("element_strides", rank),
    ):
        if len(recipe[key]) != expected:
            raise SchemaError(
                f"{path}.{key}: expected {expected} entries for {rank} dims, found "
                f"{len(recipe[key])}"
            )
    if sorted(set(recipe["dims"])) != sorted(recipe["dims"]) or (
        max(recipe["dims"]) >= recipe["rank"]
    ):
        raise SchemaError(
            f"{path}.dims: expected different dimensions below {recipe['rank']}, found "
            f"{recipe['dims']}"
        )
    if "window" in recipe and not recipe["window"]["position"] < rank < _MAX_MAP_RANK:
        raise SchemaError(
            f"{path}.window: expected a position below the {rank} dims, of which a map "
            f"with a window has at most {_MAX_MAP_RANK - 1}, found "
            f"{recipe['window']['position']}"
        )
    if "outside" in recipe and "window" not in recipe:
        raise SchemaError(f"{path}.outside: is no key of a map without a window")
    for key in ("extents", "strides"):
        for i, expression in enumerate(recipe[key]):
            where = f"{path}.{key}[{i}]"
            _check_expression(expression, arguments, where, ("extent", "stride"))


def _expect_parameters(manifest: Manifest) -> Iterator[Manifest]:
    """The parameters that follow from the arguments and the tensor maps."""
    index_type = f"i{manifest['index_bitwidth']}"
    for i, argument in enumerate(manifest["arguments"]):
        dtype = argument["dtype"]
        if argument["kind"] == "scalar":
            dtype = index_type if dtype == "index" else dtype
            yield {"kind": "scalar", "argument": i, "dtype": dtype}
            continue
        yield {"kind": "pointer", "argument": i, "dtype": dtype}
        for kind, values, is_static in (
            ("extent", argument["shape"], lambda value: isinstance(value, int)),
            ("stride", argument["strides"] or (), lambda value: value is not None),
        ):
            for d, value in enumerate(values):
                if not is_static(value):
                    place = {"argument": i, "dimension": d}
                    yield {"kind": kind, "dtype": index_type, **place}
    for i, recipe in enumerate(manifest["tensor_maps"]):
        yield {"kind": "tensor_map", "argument": recipe["argument"], "map": i}


def _check_parameters(manifest: Manifest) -> None:
    parameters = manifest["parameters"]
    expected = list(_expect_parameters(manifest))
    for i, (found, wanted) in enumerate(zip(parameters, expected, strict=False)):
        for key in wanted | found:
            if found.get(key) != wanted.get(key):
                raise SchemaError(
                    f"parameters[{i}].{key}: expected {show(wanted.get(key))}, as the "
                    f"arguments say, found {show(found.get(key))}"
                )
    if len(parameters) != len(expected):
        raise SchemaError(
            f"parameters: expected {len(expected)} entries, as the arguments say, "
            f"found {len(parameters)}"
        )


def _check_threads(manifest: Manifest) -> None:
    block, cluster = manifest["block"], manifest["cluster"]
    if math.prod(block) > _MAX_THREADS or block[2] > _MAX_THREADS_Z:
        raise SchemaError(
            f"block: expected at most {_MAX_THREADS} threads, {_MAX_THREADS_Z} of them "
            f"in z, found {block}"
        )
    if cluster and math.prod(cluster) > _MAX_CLUSTER:
        raise SchemaError(
            f"cluster: expected at most {_MAX_CLUSTER} blocks, found {cluster}"
        )
    if manifest["target"]["vendor"] == "nvidia":
        return
    for key in ("cluster", "tensor_maps"):
        if manifest[key]:
            raise SchemaError(f"{key}: an AMD kernel has none")


def _check_prints(manifest: Manifest) -> None:
    vendor = manifest["target"]["vendor"]
    for key, owner in (("prints", "nvidia"), ("print_records", "amd")):
        if key in manifest and vendor != owner:
            raise SchemaError(f"{key}: is a key of kernels for {owner}, not {vendor}")
    for i, each in enumerate(manifest.get("print_records", ())):
        for j, value in enumerate(each["values"]):
            path, dtype = f"print_records[{i}].values[{j}]", value["dtype"]
            integer = _INTEGER.fullmatch(dtype)
            if not integer and dtype not in _FLOATS:
                raise SchemaError(
                    f"{path}.dtype: expected an integer of up to 64 bits or one of "
                    f"{', '.join(_FLOATS)}, found {show(dtype)}"
                )
            if "unsigned" in value and not integer:
                raise SchemaError(f"{path}.unsigned: is no key of {dtype}")
