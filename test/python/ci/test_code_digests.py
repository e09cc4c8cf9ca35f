"""The script that compares the code of two builds, on one small kernel."""

import importlib
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from amdgcn.binaries import machine_code

SCRIPT = Path(__file__).parents[3] / ".ci/code_digests.py"
KERNEL = "example-gemm"


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, SCRIPT, "--jobs", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def digests(monkeypatch):
    """The script as a module."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    return importlib.import_module("code_digests")


def test_a_kernel_has_a_digest_of_each_form():
    result = run("--kernels", KERNEL, "--targets", "sm_80", "gfx942")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines == sorted(lines)
    forms = {"sm_80": "ptx", "gfx942": "code"}
    assert {line.split()[1] for line in lines} == set(forms)
    for line in lines:
        name, target, *outputs = line.split()
        assert KERNEL in name
        found = dict(output.split(":") for output in outputs)
        assert {"tile", forms[target]} <= set(found)
        assert all(re.fullmatch(r"[0-9a-f]{16}", digest) for digest in found.values())


def test_digests_leave_positions_out_and_nothing_else(digests, monkeypatch):
    def digest(ptx: str) -> str:
        monkeypatch.setattr(digests, "_outputs", lambda name, target: [("ptx", ptx)])
        return digests.digest("kernel", "sm_80")

    first = digest("\t.loc 1 2 3\n  add.s32 %r1, %r2, 1; // a.py:4:5\n")
    assert first == digest("\t.loc 1 9 3\n  add.s32 %r1, %r2, 1; // a.py:6:7\n")
    assert first != digest("\t.loc 1 2 3\n  add.s32 %r1, %r2, 2; // a.py:4:5\n")


def test_a_kernel_that_does_not_compile_has_its_error(digests, monkeypatch):
    def fail(name, target):
        raise ValueError("notes\n/tmp/a.py:3:4: error: no such layout\nmore")
        yield

    monkeypatch.setattr(digests, "_outputs", fail)
    found = digests.digest("kernel", "sm_80")
    assert found == "kernel sm_80 ValueError: error: no such layout"


def test_machine_code_is_text_and_constants():
    """An ELF file with four sections; symbols and notes are no code."""
    contents = {".note": b"built today", ".text": b"code", ".rodata": b"data"}
    names = b"\0" + b"".join(name.encode() + b"\0" for name in contents)
    names += b".shstrtab\0"
    image, headers = bytearray(64), []
    for name, content in [*contents.items(), (".shstrtab", names)]:
        place = names.index(name.encode() + b"\0")
        headers.append((place, 1, 0, 0, len(image), len(content)))
        image += content
    offset = len(image)
    for header in headers:
        image += struct.pack("<IIQQQQ", *header).ljust(64, b"\0")
    struct.pack_into("<Q", image, 40, offset)
    struct.pack_into("<HHH", image, 58, 64, len(headers), len(headers) - 1)
    assert machine_code(bytes(image)) == b"datacode"


def test_unknown_kernels_are_refused():
    result = run("--kernels", "no-such-kernel")
    assert result.returncode == 2
    assert "no kernel has 'no-such-kernel' in its name" in result.stderr
