"""Every kernel that a test compiles or runs passes on has to be proved."""

import re

import pytest

from tilews import compiler


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "unverified: the verifier may say that it cannot tell, or refuse a first plan",
    )
    pytest.register_assert_rewrite("support")


@pytest.fixture(autouse=True)
def proved(request):
    """Fails a test in which the verifier could not tell, or refused a first plan."""
    messages = []
    with compiler.on_messages(messages.extend):
        yield
    if not request.node.get_closest_marker("unverified"):
        assert not [text for text in messages if re.search("tile-verify-000[14]", text)]
