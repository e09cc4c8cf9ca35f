"""Bytecode with any byte changed, and any part of it, is read or is one error."""

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tilews import ir

ROOT = Path(__file__).parents[3]
BIN = Path(os.environ["TILEWS_BUILD_DIR"]) / "bin"
FIXTURE = ROOT / "test/lit/Dialect/Tile/Inputs/bytecode-flip-3.mlirbc"
CONTENT = FIXTURE.read_bytes()
DAMAGED = "the bytecode is damaged: MLIR's reader "
#: A byte of the fixture, and its bits that change.
CASES = {"exception": (42, 0x01), "crash": (258, 0x02)}
ENDLESS = (250, 0x02)
TOOLS = {
    "opt": ["tilews-opt"],
    "split": ["tilews-opt", "--split-input-file"],
    "ptx": ["tilews-translate", "--to=ptx"],
    "promela": ["tilews-translate", "--to=promela"],
    "reduce": ["tilews-reduce", "--reduce-kernel=test=false"],
}


@pytest.fixture
def context():
    with ir.Context() as context:
        yield context


def change(place: int, bits: int) -> bytes:
    content = bytearray(CONTENT)
    content[place] ^= bits
    return bytes(content)


def parse(content: bytes) -> str:
    """How the bytes are read: "read", "refused", or "damaged"."""
    try:
        str(ir.Module.parse(content))
    except ir.MLIRError as error:
        assert error.error_diagnostics[0].message
        return "damaged" if DAMAGED in str(error) else "refused"
    return "read"


def test_each_byte(context):
    text = str(ir.Module.parse(CONTENT))
    outcomes = [parse(change(place, 0x01)) for place in range(len(CONTENT))]
    assert set(outcomes) == {"read", "refused", "damaged"}
    assert str(ir.Module.parse(CONTENT)) == text


def test_each_beginning(context):
    outcomes = {parse(CONTENT[:size]) for size in range(len(CONTENT))}
    assert "damaged" not in outcomes
    assert parse(CONTENT + b"\0" * 100) == "refused"


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tool", TOOLS)
def test_tools(tool, case, tmp_path):
    file = tmp_path / "case.mlirbc"
    file.write_bytes(change(*CASES[case]))
    for path, content in (file, None), ("-", file.read_bytes()):
        done = subprocess.run(
            [BIN / TOOLS[tool][0], *TOOLS[tool][1:], path],
            input=content,
            capture_output=True,
            timeout=60,
        )
        assert done.returncode == 1
        name = b"<stdin>" if content else b"case.mlirbc"
        assert name + f": error: {DAMAGED}".encode() in done.stderr
        assert done.stderr.endswith(b"; write the file again\n")
        assert done.stderr.count(b"\n") == 1


def test_a_reader_that_does_not_end(context):
    with pytest.raises(ir.MLIRError, match=DAMAGED + "does not end"):
        ir.Module.parse(change(*ENDLESS))


def test_the_simulator(tmp_path):
    file = tmp_path / "case.mlirbc"
    file.write_bytes(change(*CASES["crash"]))
    done = subprocess.run(
        [sys.executable, "-m", "tilews.sim", file], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert DAMAGED in done.stderr
    assert "Traceback" not in done.stderr


def test_python_reads_a_file(context, tmp_path):
    file = tmp_path / "case.mlirbc"
    file.write_bytes(change(*CASES["crash"]))
    with pytest.raises(ir.MLIRError) as caught:
        ir.Module.parseFile(str(file))
    (error,) = caught.value.error_diagnostics
    assert error.message.startswith(DAMAGED)
    assert "case.mlirbc" in str(error.location)
    file.write_bytes(CONTENT)
    assert str(ir.Module.parseFile(str(file))) == str(ir.Module.parse(CONTENT))


def test_threads_read_while_others_compile():
    """The child of one thread does not wait for locks of the others."""
    failures = []

    def work(number):
        for _ in range(20):
            with ir.Context():
                expected = "damaged" if number % 2 else "read"
                place = 42 if number % 2 else 0
                found = parse(change(place, number % 2))
                if found != expected:
                    failures.append(found)

    threads = [threading.Thread(target=work, args=[n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_process_that_does_not_wait_for_children(context):
    """The status of the child is then unknown."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert parse(CONTENT) == "read"
        assert parse(change(42, 1)) == "damaged"
        assert parse(CONTENT[:300]) == "refused"
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_locations_and_resources_are_kept(context):
    stream = io.BytesIO()
    ir.Module.parse(
        'module attributes {t.a = dense_resource<r> : tensor<2xi8>} {} loc("f.py":3:1)'
        '\n{-# dialect_resources: {builtin: {r: "0x010000000102"}} #-}\n'
    ).operation.write_bytecode(stream)
    module = ir.Module.parse(stream.getvalue())
    assert str(module.operation.location) == 'loc("f.py":3:1)'
    assert "0x010000000102" in str(module)


#: Forks children that wait forever, as for a lock that nobody gives back.
WAITING = """
import ctypes, sys, time
from tilews import ir

def add():
    global forks
    forks += 1

forks, limit = 0, int(sys.argv[2])
Handler = ctypes.PYFUNCTYPE(None)
count = Handler(add)
stop = Handler(lambda: time.sleep(3600) if forks <= limit else None)
ctypes.CDLL(None).__register_atfork(count, None, stop, None)
with ir.Context():
    try:
        print(ir.Module.parseFile(sys.argv[1]).operation.name, forks)
    except ir.MLIRError as error:
        print(error.error_diagnostics[0].message, forks)
"""


@pytest.mark.parametrize(("limit", "found"), [(1, "builtin.module 2"), (9, "a lock")])
def test_a_child_that_waits_is_not_damage(limit, found):
    arguments = [sys.executable, "-c", WAITING, FIXTURE, str(limit)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert found in done.stdout, done.stderr
    assert "damaged" not in done.stdout
    assert limit == 1 or done.stdout.endswith("threads are idle 3\n")
