"""Every kernel that a test compiles or runs passes on has to be proved."""

import pytest

from tilews import compiler, passes


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "unverified: the verifier may say that it cannot tell"
    )
    pytest.register_assert_rewrite("support")


@pytest.fixture(autouse=True)
def proved(request, monkeypatch):
    """Fails a test in which the verifier could not tell whether a schedule is right."""
    kernels, messages = [], []
    make, run = compiler.CompiledKernel.__init__, passes._run

    def compiled(kernel, *arguments):
        make(kernel, *arguments)
        kernels.append(kernel)

    def ran(*arguments):
        result = run(*arguments)
        messages.extend(result)
        return result

    monkeypatch.setattr(compiler.CompiledKernel, "__init__", compiled)
    monkeypatch.setattr(passes, "_run", ran)
    yield
    if not request.node.get_closest_marker("unverified"):
        messages += [text for kernel in kernels for text in kernel.messages]
        assert not [text for text in messages if "tile-verify-0001" in text]
