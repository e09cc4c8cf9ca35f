"""Nothing that pages, hints and messages name is missing.

Links and the files with their folders are those of test_pages.py and
test_named_files.py.
"""

import pytest

from support import mentions

#: Names that stand for others in rules and examples, by the text that has them.
MEANT = {
    # The rule for names of tests.
    "CONTRIBUTING.md": {"test_casts_gpu.py"},
    # The page says what happens to names of other systems.
    "docs/language.md": {"tl.program_id"},
    # Attributes between the frontend and the planner of pipelines.
    "python/tilews/frontend/pipelines.py": {"tile.schedule", "tile.statement"},
}
EVERYWHERE = [
    mentions.find_language_names,
    mentions.find_keywords,
    mentions.find_modules,
    mentions.find_passes,
    mentions.find_remarks,
    mentions.find_operations,
    mentions.find_paths,
]
ON_PAGES = [
    mentions.find_functions,
    mentions.find_options,
    mentions.find_files,
    mentions.find_variables,
]


def missing(find, texts: dict[str, str]) -> dict[str, set[str]]:
    found = {name: find(text) - MEANT.get(name, set()) for name, text in texts.items()}
    return {name: names for name, names in found.items() if names}


@pytest.mark.parametrize("find", EVERYWHERE, ids=lambda find: find.__name__)
def test_names(find):
    assert len(mentions.messages()) > 200
    assert missing(find, mentions.texts()) == {}


@pytest.mark.parametrize("find", ON_PAGES, ids=lambda find: find.__name__)
def test_names_on_pages(find):
    assert len(mentions.pages()) > 30
    assert missing(find, mentions.pages()) == {}


@pytest.mark.parametrize(
    "find, right, wrong, named",
    [
        (mentions.find_language_names, "`tl.load(A)`", "`tl.laod(A)`", "tl.laod"),
        (
            mentions.find_keywords,
            "tl.range(f(n, x=1), num_stages=3)",
            "tl.range(n, stages=3)",
            "tl.range(stages=)",
        ),
        (
            mentions.find_modules,
            "tilews.sim.trace, python/tilews/sim/_trace.py",
            "tilews.sim.tracer",
            "tilews.sim.tracer",
        ),
        (mentions.find_functions, "sim.run(m)", "sim.runs(m)", "sim.runs"),
        (
            mentions.find_passes,
            "--tile-plan-pipeline, --tilews-to-nvvm=chip=sm_90a",
            "--tile-plan-pipelines",
            "--tile-plan-pipelines",
        ),
        (
            mentions.find_passes,
            '--tile-verify-schedule="report counterexample=x"',
            '--tile-verify-schedule="reports counterexample=x"',
            "tile-verify-schedule=reports",
        ),
        (
            mentions.find_passes,
            "'tilews-to-nvvm{chip=sm_90a}'",
            "'tilews-to-nvvm{chips=sm_90a}'",
            "tilews-to-nvvm=chips",
        ),
        (mentions.find_remarks, "tile-ws-0001", "tile-ws-9999", "tile-ws-9999"),
        (
            mentions.find_operations,
            "`tile.gemm`, #tile.fragment, !tile.cursor, tile.num_stages",
            "`tile.gem`",
            "tile.gem",
        ),
        (
            mentions.find_options,
            "`tilews-sim a.mlir --dim M=3`",
            "`tilews-sim a.mlir --dims M=3`",
            "tilews-sim --dims",
        ),
        (
            mentions.find_options,
            "\n    tilews-opt a.mlir \\\n        --canonicalize -o b.mlir\n",
            "\n    tilews-opt a.mlir \\\n        --canonize -o b.mlir\n",
            "tilews-opt --canonize",
        ),
        (
            mentions.find_options,
            "`tilews compile a.py:k -D T=1 --to ptx`, `make\nnightly-fuzz`",
            "`tilews compiles a.py`",
            "tilews compiles a.py",
        ),
        (mentions.find_options, "`make docs`", "`make doc`", "make doc"),
        (mentions.find_files, "`cli.py`, `sim/_trace.py`", "`cli2.py`", "cli2.py"),
        (
            mentions.find_paths,
            "see docs/index.md, test/lit/*.mlir and /usr/lib/a.cpp",
            "see docs/indices.md",
            "docs/indices.md",
        ),
        (
            mentions.find_variables,
            "TILEWS_MAX_STEPS",
            "TILEWS_MAX_STEP",
            "TILEWS_MAX_STEP",
        ),
    ],
)
def test_what_is_found(find, right, wrong, named):
    assert find(right) == set()
    assert find(wrong) == {named}
