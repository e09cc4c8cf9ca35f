"""The functions of the language are loaded with the first one, in any order."""

import pathlib
import subprocess
import sys

import pytest

import tilews.language as tl

FOLDER = pathlib.Path(tl.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(FOLDER).with_suffix("").parts)
    for path in FOLDER.rglob("*.py")
    if path.name != "__init__.py"
)


def run(code):
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("module", MODULES)
def test_each_module_can_be_imported_first(module):
    """Modules of the language need each other."""
    run(
        f"import tilews.language.{module}, tilews.language as tl\n"
        "assert all(getattr(tl, name) is not None for name in dir(tl))"
    )


def test_types_are_there_without_the_functions():
    run(
        "import sys, tilews.language as tl\n"
        "assert tl.f32.bits == 32 and tl.Tensor['8', tl.bf16] and tl.constexpr\n"
        "assert 'tilews.language.values' not in sys.modules\n"
        "assert 'ml_dtypes' not in sys.modules\n"
        "assert tl.bf16.numpy.itemsize == 2 and 'ml_dtypes' in sys.modules"
    )


def test_a_name_that_the_language_lacks_loads_nothing():
    run(
        "import sys, tilews.language as tl\n"
        "assert not hasattr(tl, 'laod') and not hasattr(tl, '__wrapped__')\n"
        "assert 'tilews.language.values' not in sys.modules"
    )


def test_all_names_can_be_imported_at_once():
    run(
        "from tilews.language import *\n"
        "import tilews.language as tl\n"
        "assert load is tl.load and {*dir(tl)} <= {*globals()}"
    )
