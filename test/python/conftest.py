"""Every kernel that a test compiles has to be proved, and free of undefined values."""

import re
import signal

import pytest

from support import undefined_values
from tilews import compiler


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "unverified: the verifier may say that it cannot tell, or refuse a first plan",
    )
    # A shell that starts tests in the background lets them and their children ignore
    # Ctrl-C.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def proved(request):
    """Fails a test in which the verifier could not tell, or refused a first plan."""
    messages = []
    with compiler.on_messages(messages.extend):
        yield
    if not request.node.get_closest_marker("unverified"):
        assert not [text for text in messages if re.search("tile-verify-000[14]", text)]


@pytest.fixture(autouse=True)
def defined(monkeypatch):
    """Fails a test that makes code of LLVM IR with undefined values."""
    make = compiler.CompiledKernel._get

    def check(self, output):
        result = make(self, output)
        if output != "LLVM":
            assert not undefined_values.find(self.llvm)
        return result

    monkeypatch.setattr(compiler.CompiledKernel, "_get", check)
