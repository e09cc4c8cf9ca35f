"""The fixtures of bytecode hold each operation of the dialect: see docs/policy.md.

The lit tests `bytecode*.mlir` check that the fixtures read as their present text.
"""

import re
from pathlib import Path

from tilews import ir
from tilews.dialects import tile

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "test/lit/Dialect/Tile/Inputs"
DIALECT = ROOT / "dialect/tilews/Dialect/Tile/IR/TileDialect.td"

OPERATIONS = {
    member.OPERATION_NAME
    for member in vars(tile).values()
    if hasattr(member, "OPERATION_NAME")
}


def operations_of(path: Path) -> set[str]:
    """The names of the tile operations in a file."""
    found = set()

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.add(op.name)
        return ir.WalkResult.ADVANCE

    with ir.Context():
        ir.Module.parseFile(str(path)).operation.walk(visit)
    return {name for name in found if name.startswith("tile.")}


def test_fixtures_of_the_present_version_hold_each_operation():
    version = re.search(r"kBytecodeVersion = (\d+)", DIALECT.read_text())[1]
    fixtures = sorted(FIXTURES.glob(f"bytecode*-{version}.mlirbc"))
    assert fixtures, f"no fixture for version {version} of the dialect"
    missing = OPERATIONS - set().union(*map(operations_of, fixtures))
    assert not missing, (
        f"no fixture of bytecode has {', '.join(sorted(missing))}: add each to a text "
        "and its fixture, as docs/policy.md#bytecode describes"
    )


def test_each_fixture_is_read_by_a_test():
    texts = [path.read_text() for path in FIXTURES.parent.glob("bytecode*.mlir")]
    for fixture in FIXTURES.glob("*.mlirbc"):
        assert any(f"%S/Inputs/{fixture.name}" in text for text in texts), fixture
