"""Lists of edits of kernels: what they do, and how they fail when they do not fit."""

import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

from support import edited_kernels

ROOT = pathlib.Path(__file__).parents[3]
BASE = """\
// A comment of the base.
gpu.module @kernels {
  gpu.func @pair(%n: index) kernel {
    %c1 = arith.constant 1 : index
    tile.specialize {
      tile.role @first warps(1) {
        tile.wait %a
        scf.for %i = %c1 to %n step %c1 {
          tile.load %a
        }
        tile.release %a
      }
      tile.role @second warps(1) {
        tile.wait %b
        tile.release %b
      }
    }
    gpu.return
  }
}
"""
PROVED = "// expected-remark @below {{tile-verify-0002: schedule of @it is proved}}"


def read(tmp_path: pathlib.Path, text: str) -> dict[str, edited_kernels.EditedCase]:
    inputs = tmp_path / "Inputs"
    inputs.mkdir(exist_ok=True)
    (inputs / "pair.mlir").write_text(BASE)
    path = tmp_path / "cases.edits"
    path.write_text(textwrap.dedent(text))
    return edited_kernels.read(path)


def edited(tmp_path: pathlib.Path, edits: str) -> list[str]:
    """The lines of the roles after some edits, without their indentation."""
    edits = textwrap.dedent(edits)
    case = read(tmp_path, f"BASE pair\nCASE it\n{edits}\nPROVED\n")["it"]
    lines = [line.strip() for line in case.kernel.lines]
    return lines[lines.index("tile.specialize {") + 1 : lines.index("gpu.return") - 1]


FIRST = [
    "tile.role @first warps(1) {",
    "tile.wait %a",
    "scf.for %i = %c1 to %n step %c1 {",
    "tile.load %a",
    "}",
    "tile.release %a",
    "}",
]
SECOND = ["tile.role @second warps(1) {", "tile.wait %b", "tile.release %b", "}"]


@pytest.mark.parametrize(
    "edits, roles",
    [
        ("drop `scf.for`", FIRST[:2] + FIRST[5:] + SECOND),
        ("drop `tile.wait` in @first to `scf.for`", FIRST[:1] + FIRST[5:] + SECOND),
        ("drop `tile.wait` #2", FIRST + SECOND[:1] + SECOND[2:]),
        (
            "replace `wait` with `acquire` in @second",
            [*FIRST, SECOND[0], "tile.acquire %b", *SECOND[2:]],
        ),
        (
            "replace `%b` with `%c` at `tile.release` in @second",
            [*FIRST, *SECOND[:2], "tile.release %c", "}"],
        ),
        (
            "move `scf.for` after `tile.release %a`",
            [*FIRST[:2], FIRST[5], *FIRST[2:5], FIRST[6], *SECOND],
        ),
        (
            "copy `tile.wait %a` before `tile.wait %b`",
            [*FIRST, SECOND[0], "tile.wait %a", *SECOND[1:]],
        ),
        (
            """\
            insert after `scf.for`
              + scf.if %x {
              +   tile.load %b
              + }
            """,
            [*FIRST[:5], "scf.if %x {", "tile.load %b", "}", *FIRST[5:], *SECOND],
        ),
        (
            """\
            rewrite `tile.wait` in @first to `scf.for`
              + tile.barrier
            """,
            [FIRST[0], "tile.barrier", *FIRST[5:], *SECOND],
        ),
    ],
)
def test_edits(tmp_path, edits, roles):
    assert edited(tmp_path, edits) == roles


def test_inserted_lines_are_indented(tmp_path):
    text = """\
        BASE pair
        CASE it
          insert before `tile.load`
            + scf.if %x {
            +   tile.load %b
            + }
          PROVED
        """
    lines = read(tmp_path, text)["it"].kernel.lines
    place = lines.index("          scf.if %x {")
    assert lines[place + 1 : place + 3] == ["            tile.load %b", "          }"]


def test_verdicts(tmp_path):
    cases = read(
        tmp_path,
        """\
        BASE pair

        // The base is proved, too.
        CASE it
          drop `tile.load`
          PROVED
        CASE other FROM it
          drop `tile.wait %b`
          WRONG at `tile.release %b`: no (wait)
          NOTE at `tile.wait`: of the other
        CASE unknown
          drop `tile.wait %b`
          UNPROVED at `tile.release %b`: too hard
        CASE refused
          drop `tile.wait %b`
          ERROR at `tile.release %b`: refused
        """,
    )
    assert list(cases) == ["pair", "it", "other", "unknown", "refused"]
    assert [case.is_wrong for case in cases.values()] == [False] * 2 + [
        True,
        False,
        True,
    ]
    assert f"  {PROVED}\n  gpu.func @it(" in cases["it"].text()
    assert "// expected-remark @below {{tile-verify-0002: schedule of @pair is" in (
        cases["pair"].text()
    )
    assert "tile.load" not in cases["other"].text()
    assert cases["other"].text().splitlines()[-8:-4] == [
        "      tile.role @second warps(1) {",
        "        // expected-error-re @below "
        "{{{{^}}schedule of @other is wrong: no (wait){{$}}}}",
        "        tile.release %b",
        "      }",
    ]
    assert "@below {{{{^}}of the other{{$}}}}\n        tile.wait" in (
        cases["other"].text()
    )
    assert (
        "expected-remark-re @below {{{{^}}tile-verify-0001: schedule of @unknown is "
        "not verified: too hard{{$}}}}" in cases["unknown"].text()
    )
    assert "error-re @below {{{{^}}refused{{$}}}}" in cases["refused"].text()


@pytest.mark.parametrize(
    "text, line, message",
    [
        ("", "", "a BASE has to come first"),
        ("CASE it", ":1", "there is no base or case None before"),
        ("drop `x`", ":1", "a BASE has to come first"),
        ("BASE triple", ":1", "there is no base Inputs/triple.mlir"),
        ("BASE pair\nCASEit", ":2", "expected BASE, CASE, an edit or a verdict"),
        ("BASE pair\nCASE it\ndorp `x`", ":3", "expected BASE, CASE, an edit or a"),
        ("BASE pair\nCASE it\ndrop tile.wait", ":3", "expected BASE, CASE, an edit"),
        ("BASE pair\nCASE it\nWRONG `x`: y", ":3", "expected BASE, CASE, an edit or"),
        ("BASE pair\nCASE it FROM this", ":2", "there is no base or case this before"),
        ("BASE pair\nCASE pair\ndrop `x`", ":2", "there are two cases pair"),
        ("BASE pair\nBASE pair", ":2", "there are two cases pair"),
        ("BASE pair\nPROVED", ":2", "a base has no verdict of its own"),
        ("BASE pair\ndrop `tile.load`", ":2", "an edit comes after CASE and before"),
        ("BASE pair\n+ tile.wait", ":1", "only `insert` and `rewrite` take lines"),
        ("BASE pair\nCASE it\nPROVED", ":3", "the case it has no edits"),
        (
            "BASE pair\nCASE it\ndrop `tile.load`\nCASE other",
            ":4",
            "the case it has no verdict",
        ),
        (
            "BASE pair\nCASE it\ndrop `tile.load`\nPROVED\nPROVED",
            ":5",
            "a case has one verdict",
        ),
        (
            "BASE pair\nCASE it\ndrop `tile.load`\nNOTE at `scf.for`: x",
            ":4",
            "a case has one verdict, and notes after it",
        ),
        (
            "BASE pair\nCASE it\ndrop `tile.load`\nPROVED\ndrop `scf.for`",
            ":5",
            "an edit comes after CASE and before its verdict",
        ),
        (
            "BASE pair\nCASE it\ndrop `tile.load`\nWRONG at `scf.for`: {{x}}",
            ":4",
            "a message cannot contain {{ or }}",
        ),
        (
            "BASE pair\nCASE it\ndrop `tile.load`\nWRONG at `scf.for`: x\n"
            "CASE other FROM it",
            ":5",
            "the case it is not proved",
        ),
    ],
)
def test_files_that_are_refused(tmp_path, text, line, message):
    with pytest.raises(edited_kernels.EditError, match=re.escape(message)) as error:
        read(tmp_path, text)
    assert str(error.value).startswith(f"cases.edits{line}: ")


@pytest.mark.parametrize(
    "edit, message",
    [
        ("drop `tile.gemm`", "`tile.gemm` is on 0 lines, expected 1"),
        ("drop `tile.wait`", "on 2 lines, expected 1\n    tile.wait %a\n    tile.wait"),
        ("drop `tile.wait` #3", "`tile.wait` is on 2 lines, expected #3"),
        ("drop `tile.wait` #0", "`tile.wait` is on 2 lines, expected #0"),
        ("drop `tile.load` in @second", "`tile.load` in @second is on 0 lines"),
        ("drop `tile.wait` in @third", "`tile.role @third ` is on 0 lines"),
        (
            "drop `scf.for` to `tile.wait %a`",
            "`tile.wait %a` does not follow `scf.for`",
        ),
        (
            "drop `scf.for` to `tile.wait %b`",
            "`tile.wait %b` does not follow `scf.for`",
        ),
        ("move `tile.load` after `tile.load`", "`tile.load` is on 0 lines"),
        ("replace `%c1` with `%c2`", "`%c1` is on 2 lines"),
        ("replace `%c1` with `%c2` at `scf.for`", "`%c1` is 2 times on the line"),
        ("replace `%i` with `%i` at `scf.for`", "the edit changes nothing"),
        ("insert before `tile.load`", "this edit needs lines of IR"),
        ("drop `tile.load`\n+ tile.wait", "this edit takes no lines of IR"),
        ("drop `tile.load`\nWRONG at `tile.load`: x", "`tile.load` is on 0 lines"),
        ("drop `tile.load`\nWRONG at `tile.wait`: x", "`tile.wait` is on 2 lines"),
    ],
)
def test_edits_that_do_not_fit(tmp_path, edit, message):
    with pytest.raises(edited_kernels.EditError, match=re.escape(message)):
        read(tmp_path, f"BASE pair\nCASE it\n{edit}\nPROVED")


def test_command():
    path = ROOT / "test/lit/Verifier/channels/transactions.edits"

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, edited_kernels.__file__, path, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    whole = run().stdout
    one = run("--emit", "missing_wait").stdout
    assert len(whole.split("// -----\n")) == len(edited_kernels.read(path))
    assert one in whole and "gpu.func @missing_wait(" in one
    verified = run("--run", "missing_wait")
    assert verified.returncode == 1
    assert "error: schedule of @missing_wait is wrong: role @math" in verified.stderr
    assert "tile-verify-0002" in run("--run", "two_buffers").stderr
    unknown = run("--emit", "nothing")
    assert unknown.returncode == 1
    assert "error: no case nothing, only: two_buffers" in unknown.stderr
