"""The package imports quickly and has all of its files."""

import importlib
import subprocess
import sys

import pytest

import tilews
from tilews import ir

DIALECTS = """affine amdgpu arith builtin cf func gpu index llvm math memref nvgpu
nvvm rocdl scf tensor tile ub vector""".split()


def test_importing_the_package_does_not_load_mlir():
    code = "import sys, tilews; assert not any('_mlir' in m for m in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("before", ["", "import tilews.ir, tilews._launch"])
@pytest.mark.parametrize("name", ["tilews", "tilews.ir", "tilews._mlir_libs._mlir"])
def test_importing_the_package_in_a_subinterpreter(name, before):
    """It ended the process where the main interpreter had imported tilews before."""
    imports = f"""
import sys
try:
    import {name}
except ImportError as error:
    assert str(error).startswith("tilews was imported in a subinterpreter, "), error
    assert not any("_mlir" in m or "_launch" in m for m in sys.modules)
else:
    raise AssertionError("it was imported")
"""
    code = f"""{before}
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
failure = interpreters.run_string(interpreters.create(), {imports!r})
assert failure is None, failure
import tilews.ir
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialect_module_imports(dialect):
    importlib.import_module(f"tilews.dialects.{dialect}")


def test_a_new_context_knows_the_tile_dialect():
    from tilews import ir

    with ir.Context() as context, pytest.raises(ir.MLIRError, match="unregistered"):
        context.allow_unregistered_dialects = False
        ir.Module.parse('"tile.unknown"() : () -> ()')


def test_passes_run_on_a_module():
    from tilews import ir, passmanager

    with ir.Context():
        module = ir.Module.parse("func.func private @f(%x: i32)")
        passmanager.PassManager.parse("builtin.module(symbol-dce)").run(
            module.operation
        )
        assert "@f" not in str(module)


@pytest.mark.parametrize("tool", ["opt", "translate", "lsp_server"])
def test_tool_runs(tool):
    code = f"from tilews import _tools; _tools.{tool}()"
    command = [sys.executable, "-c", code, "--help"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def test_command_line_reports_the_version():
    command = [sys.executable, "-m", "tilews", "--version"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.split()[-1] == tilews.__version__


def test_native_module_has_the_same_version():
    from tilews._mlir_libs import _tilews

    assert _tilews.__version__ == tilews.__version__


def test_locations_of_another_kind_are_refused():
    with ir.Context():
        locations = {
            "unknown": ir.Location.unknown(),
            "file": ir.Location.file("x.mlir", 1, 2),
            "name": ir.Location.name("x"),
        }
        locations["call"] = ir.Location.callsite(locations["file"], [locations["name"]])
        owners = {"callee": "call", "caller": "call", "filename": "file"}
        owners |= {"name_str": "name", "child_loc": "name"}
        for name, owner in owners.items():
            for kind, location in locations.items():
                if kind == owner:
                    assert getattr(location, name)
                    continue
                with pytest.raises(ValueError, match="expected a "):
                    getattr(location, name)
        with pytest.raises(ValueError, match="expected a LocationAttr"):
            ir.Location.from_attr(ir.Attribute.parse("unit"))


def test_uses_between_modules_are_refused():
    text = "%0 = arith.constant 1 : index\n%1 = arith.addi %0, %0 : index"
    with ir.Context(), ir.Location.unknown():
        mine, other = ir.Module.parse(text), ir.Module.parse(text)
        constant, total = mine.body.operations
        theirs, user = other.body.operations
        calls = (
            lambda: total.operands.__setitem__(0, theirs.result),
            lambda: constant.result.replace_all_uses_with(theirs.result),
            lambda: mine.body.append(user),
            lambda: mine.body.append(theirs),
            lambda: user.operation.move_before(total),
            lambda: ir.Operation.create(
                "arith.addi",
                operands=[theirs.result] * 2,
                results=[ir.IndexType.get()],
                ip=ir.InsertionPoint(total),
            ),
        )
        for call in calls:
            with pytest.raises(ValueError, match="a value of another module"):
                call()
        del other, theirs, user, calls, call
        assert mine.operation.verify()


def test_moves_that_would_break_the_ir_are_refused():
    text = "%0 = arith.constant 1 : index\n%1 = arith.addi %0, %0 : index"
    with ir.Context(), ir.Location.unknown():
        module, other = ir.Module.parse(text), ir.Module.parse("")
        constant, total = module.body.operations
        place = ir.InsertionPoint(total)
        calls = (
            (lambda: module.body.append(other.operation), "of a module"),
            (lambda: other.operation.move_before(total), "of a module"),
            (lambda: other.operation.move_after(total), "of a module"),
            (lambda: total.move_before(module.operation), "in no block"),
            (
                lambda: constant.result.replace_all_uses_with(constant.result),
                "cannot replace itself",
            ),
        )
        for call, message in calls:
            with pytest.raises(ValueError, match=message):
                call()
        with pytest.raises(ValueError, match="use a value of the operation"):
            constant.detach_from_parent()
        made = constant.operation.clone(ip=False).operation
        total.detach_from_parent()
        with pytest.raises(ValueError, match="has left its block"):
            place.insert(made)
        assert module.operation.verify()


def test_ir_of_several_contexts_is_not_mixed():
    text = "%0 = arith.constant 1 : index\n%1 = arith.addi %0, %0 : index"
    one, two = (ir.Module.parse(text, ir.Context()) for _ in range(2))
    mine, total = one.body.operations
    theirs, _ = two.body.operations
    detached = mine.operation.clone(ip=False).operation
    place = total.location
    calls = (
        lambda: two.body.append(total),
        lambda: two.body.append(detached),
        lambda: total.move_before(theirs),
        lambda: detached.move_after(theirs),
        lambda: theirs.result.replace_all_uses_with(mine.result),
        lambda: total.attributes.__setitem__("a", theirs.attributes["value"]),
        lambda: ir.Operation.create("a.b", operands=[theirs.result], loc=place),
        lambda: ir.Operation.create("a.b", results=[theirs.result.type], loc=place),
        lambda: ir.Operation.create(
            "a.b", attributes={"a": theirs.attributes["value"]}, loc=place
        ),
    )
    for call in calls:
        with pytest.raises(ValueError, match="of another context"):
            call()
    assert one.operation.verify() and two.operation.verify()


def test_detached_operations_can_be_moved_into_a_block():
    text = "%0 = arith.constant 1 : index\n%1 = arith.addi %0, %0 : index"
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        constant, total = module.body.operations
        first = constant.operation.clone(ip=False).operation
        last = constant.operation.clone(ip=False).operation
        first.move_before(constant)
        last.move_after(total)
        del constant, total
        assert first.attached and last.attached
        found = [each.operation for each in module.body.operations]
        assert found[0] == first and found[3] == last
        module.operation.verify()
