"""TILEWS_JIT: what a call does that would have to compile."""

import numpy as np
import pytest
from test_cached_kernels import scale

import tilews.language as tl
from tilews.errors import CompileError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWS_CACHE", "on")
    monkeypatch.setenv("TILEWS_CACHE_DIR", str(tmp_path / "cache"))


def call(kernel, **options):
    x = np.ones(64, np.float32)
    kernel(x, target="gfx942", run="sim", **options)
    return x


def test_a_call_that_has_to_compile_is_an_error(monkeypatch):
    monkeypatch.setenv("TILEWS_JIT", "error")
    with pytest.raises(
        CompileError, match=r"a call of scale has to compile it for gfx942.*TILEWS_JIT"
    ):
        call(scale())


def test_a_call_that_has_to_compile_is_a_warning(monkeypatch):
    monkeypatch.setenv("TILEWS_JIT", "warn")
    kernel = scale()
    with pytest.warns(RuntimeWarning, match="a call of scale has to compile it"):
        first = call(kernel)
    assert (first != 1).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("mode", ["warn", "error"])
def test_what_was_compiled_before_runs(monkeypatch, mode):
    monkeypatch.setenv("TILEWS_JIT", mode)
    # To compile ahead of calls is what the mode asks for.
    x = np.ones(64, np.float32)
    assert scale().compile_for(x, target="gfx942").binary
    kernel = scale()
    expected = call(scale())
    assert (call(kernel) == expected).all()
    assert (call(kernel) == expected).all()


def test_other_constants_are_another_kernel(monkeypatch):
    assert scale().compile("gfx942", T=tl.f32).binary
    monkeypatch.setenv("TILEWS_JIT", "error")
    with pytest.raises(CompileError, match="has to compile"):
        call(scale(), shift=9)


def test_the_interpreter_compiles_nothing(monkeypatch):
    monkeypatch.setenv("TILEWS_JIT", "error")
    x = np.ones(64, np.float32)
    scale()(x)
    assert (x != 1).all()


def test_a_wrong_mode_is_an_error(monkeypatch):
    monkeypatch.setenv("TILEWS_JIT", "off")
    with pytest.raises(CompileError, match="TILEWS_JIT: expected on, warn or error"):
        call(scale())
