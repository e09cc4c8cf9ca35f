"""Names of the IR may be any bytes, and Python's text may not: they are replaced."""

import pytest

from tilews import CompileError, compiler, ir, sim

ODD, SHOWN = "a\\FF", "a\N{REPLACEMENT CHARACTER}"
KERNEL = (
    f'gpu.module @m {{ gpu.func @"{ODD}"() kernel attributes '
    "{tile.grid = affine_map<() -> (1, 1, 1)>} {\n%s\ngpu.return } }"
)


def parse(text):
    return ir.Module.parse(text, ir.Context())


def test_names_of_attributes():
    attributes = parse(f'module attributes {{"m.{ODD}" = 1}} {{}}').operation.attributes
    assert attributes[0].name == f"m.{SHOWN}"
    assert str(attributes[0]) == f"NamedAttribute(m.{SHOWN}=1 : i64)"
    assert list(attributes) == attributes.keys() == [f"m.{SHOWN}"]
    assert [name for name, _ in attributes.items()] == [f"m.{SHOWN}"]


def test_texts_and_symbols():
    context = ir.Context()
    assert ir.Attribute.parse(f'"{ODD}"', context).value == SHOWN
    assert ir.Attribute.parse(f'@"{ODD}"', context).value == SHOWN


def test_prints(capsys):
    module = parse(KERNEL % f'%c = arith.constant true tile.print "{ODD}" %c : i1')
    sim.run(module, None, [])
    assert capsys.readouterr().out == f"block (0, 0, 0): {SHOWN} 1\n"


def test_roles_of_events():
    events = []
    role = f'tile.specialize {{ tile.role @"{ODD}" warps(4) {{ tile.barrier }} }}'
    sim.run(parse(KERNEL % role), None, [], record=events)
    assert SHOWN in {event.role for event in events}


def test_messages():
    module = parse(KERNEL % "")
    with pytest.raises(CompileError, match=f"kernel @{SHOWN}$"):
        compiler.compile_module(module, "gfx942", kernel="x").manifest  # noqa: B018
