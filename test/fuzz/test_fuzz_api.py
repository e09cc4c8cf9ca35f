"""A short run of the fuzzer of the Python API; see fuzz_api.py for longer ones."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import api_calls
from fuzz_api import CASES, fuzz
from tilews.fuzz import apart

SCRIPT = Path(__file__).with_name("fuzz_api.py")
#: In parts that run side by side. Threads have a different order each time, so that
#: their sequences run at night only.
NUMBERS = [n for n in range(230) if not api_calls.Sequence.has_threads(n)][:200]
SHARES = [NUMBERS[first : first + 50] for first in range(0, 200, 50)]


@pytest.mark.parametrize("numbers", SHARES, ids=range(4))
def test_no_sequence_of_calls_crashes(numbers):
    calls = Counter()
    for number, result in fuzz(numbers, timeout=60):  # on a busy machine
        assert not isinstance(result, apart.ProcessFailure), f"{number}: {result}"
        calls.update(result)
    # If all calls were refused, or none, the fuzzer would be blind.
    refused = sum(n for name, n in calls.items() if name.endswith("refused"))
    assert len(numbers) < refused < 0.9 * sum(calls.values())
    kinds = {"run_passes", "call_schedule", "simulate", "compile", "call_typed", "make"}
    assert kinds <= set(calls)


def test_a_number_is_a_sequence():
    first = api_calls.Sequence(3, CASES).run()
    assert api_calls.Sequence(3, CASES).run() == first


def test_an_interrupted_run_goes_on(tmp_path):
    state = tmp_path / "state.json"
    command = [sys.executable, SCRIPT, "--jobs", "1", "--state", state, "--count"]
    process = subprocess.Popen(
        [*command, "10000"],
        stdout=subprocess.PIPE,
        # The tests may run in the background of a shell, where it is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 100
    while not state.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert b"interrupted" in process.communicate(timeout=60)[0]
    reached = json.loads(state.read_text())["next"]
    assert 0 < reached < 10000
    subprocess.run([*command, "2"], check=True, timeout=60)
    assert json.loads(state.read_text())["next"] == reached + 2
