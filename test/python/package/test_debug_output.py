"""Every type of debug output is printed by a lit test.

Those tests need a build with assertions; this one, which compares their lists with the
sources, does not.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
LIT = ROOT / "test/lit"


def test_every_type_is_printed_by_a_test():
    sources = [*ROOT.glob("lib/**/*.cpp"), *ROOT.glob("lib/**/*.h")]
    defined = {
        name
        for path in sources
        for name in re.findall(r'^#define DEBUG_TYPE "(.*)"', path.read_text(), re.M)
    }
    assert len(defined) > 25
    text = (LIT / "Tools/debug-types.mlir").read_text()
    listed = re.search(r"DEFINE: %{types} = (\S+)$", text, re.M)[1].split(",")
    assert listed == sorted(defined - {"tile-simulator"})
    text += (LIT / "Simulator/debug-output.mlir").read_text()
    checked = set(re.findall(r"^// \w+: {{\^}}\[(\S+) ", text, re.M))
    assert checked == defined
