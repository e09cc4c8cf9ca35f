"""Text that would crash MLIR's parser is one error with a place, in every tool."""

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from tilews import ir

BIN = Path(os.environ["TILEWS_BUILD_DIR"]) / "bin"
ROOT = Path(__file__).parents[3]
FIXTURE = ROOT / "test/lit/Dialect/Tile/Inputs/bytecode-flip-3.mlirbc"
DEEP = "is nested too deeply: the limit is 1024 brackets, operators or aliases"
ARRAY = "the elements of an array attribute are i1, i8, i16, i32, i64, f32 or f64"
DIGITS = "an integer has more than 5000 digits"
BASIS = "the basis of affine.delinearize_index is numbers; use arith.floordivsi"
DIVISOR = "an affine expression is divided by a positive number only; use arith."
#: Texts, the error, and its line and column.
CASES = {
    "lists": (
        '"a"() {\nm = ' + "[" * 10000 + "]" * 10000 + "} : () -> ()",
        DEEP,
        2,
        1028,
    ),
    "regions": ('"a"() ({\n' * 5000 + "}) : () -> ()" * 5000, DEEP, 513, 4),
    "signs": (
        '"a"() {m = affine_map<(d0) -> (' + "-" * 20000 + "d0)>} : () -> ()",
        DEEP,
        1,
        1053,
    ),
    "sum": (
        '"a"() {m = affine_map<(d0) -> (d0' + " + d0" * 20000 + ")>} : () -> ()",
        DEEP,
        1,
        5140,
    ),
    "quotients": (
        '"a"() {m = affine_map<(d0) -> (d0' + "\nfloordiv 2" * 20000 + ")>} : () -> ()",
        DEEP,
        1023,
        1,
    ),
    "aliases": (
        "#a0 = [0]\n" + "".join(f"#a{n} = [#a{n - 1}]\n" for n in range(1, 20000)),
        DEEP,
        513,
        10,
    ),
    "types": (
        "!a0 = i32\n" + "".join(f"!a{n} = ()\n -> !a{n - 1}\n" for n in range(1, 9999)),
        DEEP,
        2051,
        5,
    ),
    "doubled": (
        "#a0 = [0]\n"
        + "".join(f"#a{n} = [#a{n - 1}, #a{n - 1}]\n" for n in range(1, 60)),
        "an alias stands for more than 10000000 tokens",
        22,
        15,
    ),
    "array": (
        '// array<index\n"[array<index" "a"() {m = array <\nindex: 1>}',
        ARRAY,
        3,
        1,
    ),
    "digits": (
        '"a"() {\nm = ' + "9" * 100000 + " : i400000} : () -> ()",
        DIGITS,
        2,
        5,
    ),
    "hexadecimal": (
        '"a"() {m = 0x' + "f" * 100000 + " : i400000} : () -> ()",
        DIGITS,
        1,
        12,
    ),
    "floordiv": (
        '"a"() {m = affine_map<(d0) -> (\n(d0 * -4) floordiv -1)>} : () -> ()',
        DIVISOR,
        2,
        20,
    ),
    "ceildiv": (
        '"a"() {m = affine_map<(d0) -> (\nd0 ceildiv (1 - 2))>} : () -> ()',
        DIVISOR,
        2,
        12,
    ),
    "mod": (
        '"a"() {m = affine_set<(d0) : (d0 mod // 4\n 0x0 == 0)>} : () -> ()',
        DIVISOR,
        2,
        2,
    ),
    "symbol": (
        "#m = affine_map<(d0)[s0] -> (d0 floordiv s0)>\n",
        DIVISOR,
        1,
        42,
    ),
    "value": (
        "func.func @f(%m: memref<9xf32>, %i: index) {\n"
        "%x = affine.load %m[%i floordiv symbol(%i)] : memref<9xf32>\nreturn\n}",
        DIVISOR,
        2,
        33,
    ),
    "basis": (
        "func.func @f(%a: index, %b: index) {\n%v:2 = affine.delinearize_index %a "
        "// :\ninto (3, %b) : index, index\nreturn\n}",
        BASIS,
        3,
        10,
    ),
    "basis in the generic form": (
        "func.func @f(%a: index, %b: index) {\n"
        '%v:2 = "affine.delinearize_index"(%a,\n%b, %b) <{static_basis = '
        f"array<i64: {-(2**63)}, {-(2**63)}>}}> : (index, index, index) -> "
        "(index, index)\nreturn\n}",
        BASIS,
        3,
        1,
    ),
}
#: What resembles the cases, and is read.
VALID = (
    '"a"() {m = "' + "[" * 5000 + '"} : () -> () // ' + "[" * 5000,
    '"a"() {m = ' + "[" * 1000 + "]" * 1000 + "} : () -> ()",
    '"a"() {m = array<i64: ' + ", ".join(["-1"] * 3000) + ">} : () -> ()",
    '"a"() {m = affine_set<(d0) : (' + ", ".join(["d0 >= 0"] * 3000) + ")>} : () -> ()",
    '"a"() {m = () -> ()} : () -> ()\n' * 3000,
    "#a = [0]\n" + '"a"() {m = #a} : () -> ()\n' * 3000,
    "!t = i32\nmodule {\n" + '"a"() {m = !t} : () -> ()\n' * 3000 + "}",
    '"a"() {m = affine_map<(d0) -> (d0 + 1)>} : () -> ()\n' * 3000,
    "func.func private @f(memref<*xf32>)\n",
    '"a"() {m = ' + "9" * 5000 + " : i20000} : () -> ()",
    '"a"() {m = dense<"0x' + "0" * 8000 + '"> : tensor<4000xi8>} : () -> ()',
    '"a"() {m = vector<' + "1x" * 4000 + "f32>} : () -> ()",
    '"a"() {m = affine_map<(d0) -> (d0 floordiv 07 + d0 mod 0x10)>} : () -> ()',
    "func.func @f(%a: index) -> (index, index) {\n%v:2 = affine.delinearize_index %a "
    "into (3, 4) : index, index\nreturn %v#0, %v#1 : index, index\n}",
    '"a"() {mod = -1, ceildiv, floordiv, s = "d0 mod 0"} : () -> () // 1 mod 0',
)
TOOLS = {
    "opt": ["tilews-opt", "--allow-unregistered-dialect"],
    "translate": ["tilews-translate", "--to=ptx"],
    "reduce": ["tilews-reduce", "--reduce-kernel=test=false"],
}


@pytest.fixture
def context():
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        yield context


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tool", TOOLS)
def test_tools(tool, name, tmp_path):
    text, message, line, column = CASES[name]
    file = tmp_path / "case.mlir"
    file.write_text(text)
    command = [BIN / TOOLS[tool][0], *TOOLS[tool][1:], file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert f"case.mlir:{line}:{column}: error: {message}" in done.stderr
    assert done.stderr.count("error:") == 1


@pytest.mark.parametrize("name", CASES)
def test_python(name, context, tmp_path):
    text, message, line, column = CASES[name]
    file = tmp_path / "case.mlir"
    file.write_text(text)
    for parse, argument in (
        (ir.Module.parse, text),
        (ir.Module.parse, text.encode()),
        (ir.Module.parseFile, str(file)),
        (ir.Operation.parse, text),
        (ir.Attribute.parse, text),
        (ir.Type.parse, text),
    ):
        with pytest.raises(ir.MLIRError) as caught:
            parse(argument)
        (error,) = caught.value.error_diagnostics
        assert error.message.startswith(message)
        assert f":{line}:{column}" in str(error.location)


@pytest.mark.parametrize("text", VALID, ids=range(len(VALID)))
def test_what_is_no_nesting_is_read(text, context):
    assert ir.Module.parse(text)


def test_standard_input_of_the_reducer():
    def run(text):
        command = [BIN / "tilews-reduce", "-", "--reduce-kernel=test=/bin/false"]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=60
        )

    for text, message, line, column in CASES.values():
        done = run(text)
        assert done.returncode == 1
        assert f":{line}:{column}: error: {message}" in done.stderr
    done = run("module @kept {\n}\n")
    assert done.returncode == 0, done.stderr
    assert "module @kept" in done.stdout


@pytest.mark.parametrize("divisor", ["-1", "00", "s0"])
def test_divisors_in_bytecode(divisor, context, tmp_path):
    text = "affine_map<(d0)[s0] -> (d0 floordiv 77)>"
    module = ir.Module.parse(f'"a"() {{m = {text}, n = "d0 mod 0"}} : () -> ()')
    file = tmp_path / "map.mlirbc"
    with file.open("wb") as stream:
        module.operation.write_bytecode(stream)
    assert ir.Module.parseFile(str(file))
    content = file.read_bytes().replace(b"div 77", b"div " + divisor.encode())
    file.write_bytes(content)
    for tool, *options in TOOLS.values():
        command = [BIN / tool, *options, file]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert done.stderr.count("error: " + DIVISOR) == 1
        assert done.stderr.isprintable() or done.stderr.isascii()
    with pytest.raises(ir.MLIRError, match="a positive number only"):
        ir.Module.parse(content)
    with pytest.raises(ir.MLIRError, match="a positive number only"):
        ir.Module.parseFile(str(file))


def test_a_file_that_is_missing(context):
    with pytest.raises(ir.MLIRError, match="No such file"):
        ir.Module.parseFile("missing.mlir")


def test_each_part_of_a_split_file_has_its_own_limit():
    part = '"a"() {m = ' + "[" * 600  # not closed
    command = [BIN / "tilews-opt", "--split-input-file", "-"]
    done = subprocess.run(
        command,
        input=f"{part}\n// -----\n{part}",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert "too deeply" not in done.stderr


class Server:
    """A language server, as an editor talks to it."""

    def __init__(self):
        self.process = subprocess.Popen(
            [BIN / "tilews-lsp-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.timer = threading.Timer(60, self.process.kill)
        self.timer.start()
        self.send("initialize", {"capabilities": {}}, id=0)
        assert self.receive()["id"] == 0

    def send(self, method, params, **more):
        body = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self.send_text(json.dumps(body).encode())

    def send_text(self, body):
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        length = None
        while line := self.process.stdout.readline().strip():
            length = int(line.split(b":")[1])
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))

    def open(self, text):
        document = {"uri": URI, "languageId": "mlir", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        return self.receive()["params"]["diagnostics"]

    def change(self, version, *changes):
        document = {"uri": URI, "version": version}
        self.send(
            "textDocument/didChange",
            {"textDocument": document, "contentChanges": list(changes)},
        )
        return self.receive()["params"]["diagnostics"]

    def end(self):
        self.send("shutdown", None, id=1)
        assert self.receive()["id"] == 1
        self.send("exit", None)
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.timer.cancel()


URI = "test:///case.mlir"


@pytest.mark.parametrize("name", CASES)
def test_the_language_server_survives_what_is_opened(name):
    text, message, line, column = CASES[name]
    server = Server()
    (found,) = server.open(text)
    assert message in found["message"]
    assert found["range"]["start"] == {"line": line - 1, "character": column - 1}
    server.end()


def test_the_language_server_survives_changes():
    server = Server()
    assert server.open("module {\n}\n") == []
    inside = {"line": 1, "character": 0}
    insert = {"range": {"start": inside, "end": inside}}
    (found,) = server.change(2, {**insert, "text": "[" * 10000})
    assert DEEP in found["message"]
    assert found["range"]["start"] == {"line": 1, "character": 1023}
    # The brackets are removed again.
    end = {"line": 1, "character": 10000}
    erase = {"range": {"start": inside, "end": end}, "text": ""}
    assert server.change(3, erase) == []
    (found,) = server.change(4, {**insert, "text": '"tile.unknown"() : () -> ()\n'})
    assert "unregistered operation 'tile.unknown'" in found["message"]
    server.end()


def test_the_language_server_survives_messages():
    server = Server()
    server.send_text(b'{"params": ' + b"[" * 100000)
    server.send_text(b"nothing")
    assert server.open("module {\n}\n") == []
    server.end()


@pytest.mark.parametrize(
    "body", [b"{}", b"null", b"[]", b"5", b'"x"', b'{"jsonrpc": "2.0"}']
)
def test_the_language_server_survives_what_is_no_request(body):
    server = Server()
    server.send_text(body)
    assert server.open("module {\n}\n") == []
    server.end()


@pytest.mark.parametrize(
    "more", [{}, {"jsonrpc": "2.0"}, {"jsonrpc": 2, "method": "x"}], ids=str
)
def test_the_language_server_answers_what_is_no_request(more):
    server = Server()
    server.send_text(json.dumps({"id": 7, **more}).encode())
    answer = server.receive()
    assert answer["id"] == 7
    assert answer["error"]["code"] == -32600
    assert "neither a request nor a response" in answer["error"]["message"]
    server.end()


def test_the_language_server_takes_the_last_of_two_lengths():
    server = Server()
    request = b'{"jsonrpc": "2.0", "id": 7, "method": "unknown"}'
    header = b"Content-Length: 2\r\nContent-Length: %d\r\n\r\n" % len(request)
    server.process.stdin.write(header + request)
    server.process.stdin.flush()
    assert server.receive()["id"] == 7
    server.end()


def test_the_language_server_survives_files(tmp_path):
    """An editor shows bytecode by this request."""
    content = bytearray(FIXTURE.read_bytes())
    good, bad, deep = (tmp_path / name for name in ("good", "a bad file", "deep"))
    good.write_bytes(content)
    content[258] ^= 2
    bad.write_bytes(content)
    deep.write_text("[" * 10000)
    server = Server()

    def convert(path):
        server.send("mlir/convertFromBytecode", {"uri": path.as_uri()}, id=5)
        return server.receive()

    text = convert(good)["result"]["output"]
    assert "tile.flip" in text
    message = convert(bad)["error"]["message"]
    assert "a bad file: the bytecode is damaged: MLIR's reader" in message
    assert "is nested too deeply" in convert(deep)["error"]["message"]
    assert "No such file" in convert(tmp_path / "none")["error"]["message"]
    assert all(convert(good)["result"]["output"] == text for _ in range(100))
    server.end()
