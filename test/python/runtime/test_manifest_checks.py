"""Launch manifests that are wrong: refused before anything else, with the key."""

import copy
import json

import pytest

from support.launches import add_tensor_map, buffer, make_manifest
from tilews import runtime
from tilews.runtime import LaunchError
from tilews.runtime.launch import Launcher

SCALAR = {"name": "n", "kind": "scalar", "dtype": "i32"}
#: The parameters are A, its extents, n, and the tensor map.
VALID = add_tensor_map(
    make_manifest([buffer("A"), SCALAR], grid=[{"extent": [0, 1]}, {"scalar": 1}, 1])
)
VALID["disjoint"] = []
GONE = object()


def edit(*path, value):
    """A manifest with another value at a path."""
    manifest = copy.deepcopy(VALID)
    holder = manifest
    for key in path[:-1]:
        holder = holder[key]
    if value is GONE:
        del holder[path[-1]]
    elif isinstance(holder, list) and path[-1] == len(holder):
        holder.append(value)
    else:
        holder[path[-1]] = value
    return manifest


def nest(levels):
    value = 1
    for _ in range(levels):
        value = {"op": "add", "args": [value, 1]}
    return value


def test_the_manifest_without_edits():
    Launcher(VALID)


CASES = [
    # Missing and unknown keys, and values of another type.
    (("block",), GONE, "block: is missing"),
    (("target", "vendor"), GONE, r"target\.vendor: is missing"),
    (("targets",), 1, "targets: is no key"),
    (("format",), 2, "format: expected .* 1, found 2"),
    (("format",), True, "format: expected 1, found True"),
    (("kernel",), 5, "kernel: expected string, found 5"),
    (("kernel",), "a\0b", "kernel: expected a text"),
    (("kernel",), "\ud800", r"kernel: .* halves of characters, found '\\ud800'"),
    (("arguments",), {}, "arguments: expected array, found an object"),
    (("grid", 2), 1.5, r"grid\[2\]: expected integer or object, found 1\.5"),
    (("target", "vendor"), "intel", r"target\.vendor: expected 'nvidia' or 'amd'"),
    # Sizes.
    (("block", 1), 0, r"block\[1\]: expected at least 1, found 0"),
    (("block", 1), -1, r"block\[1\]: expected at least 1, found -1"),
    (("block", 1), 1.0, r"block\[1\]: expected integer, found 1\.0"),
    (("block",), [], "block: expected at least 3 entries, found 0"),
    (("block",), [1024, 2, 1], "block: expected at most 1024 threads"),
    (("block",), [1, 1, 128], "block: expected at most 1024 threads, 64 of them in z"),
    (("cluster",), [16, 2, 1], "cluster: expected at most 16 blocks"),
    (("shared_bytes",), -1, "shared_bytes: expected at least 0"),
    (("shared_bytes",), 10**5000, "shared_bytes: expected at most 2147483647"),
    (("arguments", 0, "divisible", 0), 0, r"arguments\[0\]\.divisible\[0\]: .* 1"),
    (("arguments", 0, "alignment"), 3, r"arguments\[0\]\.alignment: .* power of two"),
    (("arguments", 0, "shape", 0), -1, r"arguments\[0\]\.shape\[0\]: .* at least 0"),
    (("arguments", 0, "strides"), [1], r"arguments\[0\]\.strides: expected 2 entries"),
    (("arguments", 0, "reach"), [1], r"arguments\[0\]\.reach: expected 2 entries"),
    (("arguments", 0, "reach"), [1, -1], r"arguments\[0\]\.reach\[1\]: .* at least 0"),
    (("arguments", 1, "reach"), [1], r"arguments\[1\]\.reach: is no key of a scalar"),
    (("arguments", 0, "divisible"), GONE, r"arguments\[0\]\.divisible: is missing"),
    (("arguments", 1, "shape"), [], r"arguments\[1\]\.shape: is no key of a scalar"),
    (("arguments", 1, "unsigned"), False, r"arguments\[1\]\.unsigned: expected"),
    (("arguments", 0, "unsigned"), True, r"\[0\]\.unsigned: is no key of a buffer"),
    (("arguments", 1, "dtype"), "i65", r"arguments\[1\]\.dtype: .* up to 64 bits"),
    # Numbers of arguments and dimensions.
    (("grid", 0), {"extent": [2, 0]}, r"grid\[0\]\.extent\[0\]: .* 2 arguments"),
    (("grid", 0), {"extent": [1, 0]}, r"grid\[0\]\.extent\[0\]: .* a scalar"),
    (("grid", 0), {"extent": [0, 2]}, r"grid\[0\]\.extent\[1\]: .* 2 dimensions"),
    (("grid", 0), {"extent": [-1, 0]}, r"grid\[0\]\.extent\[0\]: expected at least 0"),
    (("grid", 0), {"scalar": 0}, r"grid\[0\]\.scalar: .* scalar integer argument"),
    (("grid", 0), {"stride": [0, 0]}, r"grid\[0\]: expected .* found the keys stride"),
    (("grid", 0), {"op": "add"}, r"grid\[0\]: expected .* found the keys op"),
    (("grid", 0), {}, r"grid\[0\]: expected at least 1 keys"),
    (("grid", 0), nest(10_000), r"grid\[0\]\.args.*: expected at most 200 levels"),
    (("disjoint",), [[0, 1]], r"disjoint\[0\]\[1\]: .* a scalar"),
    # Parameters.
    (("parameters", 0), GONE, r"parameters\[0\]\.kind: expected 'pointer'"),
    (("parameters", 4), GONE, "parameters: expected 5 entries, .* found 4"),
    (("parameters", 5), {"kind": "pointer", "argument": 0}, "expected 5 .* found 6"),
    (("parameters", 1, "dimension"), 1, r"parameters\[1\]\.dimension: expected 0"),
    (("parameters", 3, "dtype"), "i64", r"parameters\[3\]\.dtype: expected 'i32'"),
    (("parameters", 4, "map"), 1, r"parameters\[4\]\.map: expected 0"),
    # Tensor maps.
    (("tensor_maps", 0, "argument"), 1, r"tensor_maps\[0\]\.argument: .* a scalar"),
    (("tensor_maps", 0, "dtype"), "f32", r"tensor_maps\[0\]\.dtype: expected f16"),
    (("tensor_maps", 0, "rank"), 3, r"tensor_maps\[0\]\.rank: expected 2"),
    (("tensor_maps", 0, "dims"), [1, 1], r"tensor_maps\[0\]\.dims: .* different"),
    (("tensor_maps", 0, "box"), [64], r"tensor_maps\[0\]\.box: expected 2 entries"),
    (("tensor_maps", 0, "outside"), True, r"\[0\]\.outside: is no key of .* window"),
    (("tensor_maps", 0, "outside"), False, r"\[0\]\.outside: expected True, found"),
    (("target", "vendor"), "amd", "tensor_maps: an AMD kernel has none"),
]


@pytest.mark.parametrize(
    "path, value, message", CASES, ids=[case[2].split(":")[0] for case in CASES]
)
def test_refused(path, value, message):
    with pytest.raises(LaunchError, match=message):
        Launcher(edit(*path, value=value))


@pytest.mark.parametrize("manifest", [None, [], 1, "x", {}])
def test_values_that_are_no_object(manifest):
    with pytest.raises(LaunchError, match="expected"):
        Launcher(manifest)


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff", b"[" * 100_000, b'{"format": 1' + b"0" * 5000 + b"}"]
)
def test_files_without_a_manifest(tmp_path, text):
    (tmp_path / "k.cubin").write_bytes(b"")
    (tmp_path / "k.json").write_bytes(text)
    with pytest.raises(LaunchError, match=r"k\.json is no launch manifest"):
        runtime.load(tmp_path / "k.cubin")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('"format"', '"block": [1, 1, 1], "format"', "the key 'block' is there twice"),
        ('"name": "', r'"name": "\ud800', "surrogates not allowed"),
    ],
)
def test_values_that_a_reader_could_take_for_others(tmp_path, old, new, message):
    text = json.dumps(VALID)
    assert old in text
    (tmp_path / "k.cubin").write_bytes(b"")
    (tmp_path / "k.json").write_text(text.replace(old, new, 1))
    with pytest.raises(LaunchError, match=message):
        runtime.load(tmp_path / "k.cubin")


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_paths_that_name_no_file(tmp_path, name):
    for paths in ((name,), (tmp_path / "k.cubin", name)):
        with pytest.raises(LaunchError, match="load: expected the path of a file"):
            runtime.load(*paths)


def test_later_edits_have_no_effect():
    manifest = json.loads(json.dumps(VALID))
    launcher = Launcher(manifest)
    manifest["block"][0] = "x"
    assert launcher.manifest["block"] == [128, 1, 1]
