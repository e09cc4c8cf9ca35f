"""Work in other processes, which may crash or hang."""

import os
import signal
import time

from tilews.fuzz import apart


def run(work, items, **options):
    settings = {"jobs": 2, "timeout": 20.0, "lifetime": 100, **options}
    return dict(apart.run(work, items, **settings))


def test_results_belong_to_their_items():
    assert run(lambda item: item * item, range(10)) == {i: i * i for i in range(10)}
    assert run(lambda item: item, []) == {}


def test_a_crash_is_a_result_and_the_others_go_on():
    def work(item):
        if item == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        if item == 5:
            os._exit(7)
        return item

    found = run(work, range(8))
    assert found.pop(3) == apart.ProcessFailure(
        "crash", "the process ended with SIGKILL"
    )
    assert found.pop(5) == apart.ProcessFailure(
        "crash", "the process ended with status 7"
    )
    assert found == {i: i for i in (0, 1, 2, 4, 6, 7)}


def test_a_hang_is_a_result():
    found = run(lambda item: time.sleep(60 * item) or item, [0, 1, 0], timeout=1.0)
    assert found[0] == 0
    assert found[1] == apart.ProcessFailure("hang", "the process took too long")


def test_the_time_of_the_processor_counts():
    def work(item):
        begin = time.process_time()
        while time.process_time() < begin + item:
            pass
        return item

    found = run(work, [0, 60, 0.5], timeout=1.0)
    assert found == {
        0: 0,
        60: apart.ProcessFailure("hang", "the process took too long"),
        0.5: 0.5,
    }


def test_processes_end_after_some_items():
    found = run(lambda item: os.getpid(), range(6), jobs=1, lifetime=2)
    assert found[0] == found[1] != found[2] == found[3] != found[4] == found[5]
    for each in set(found.values()):
        assert not os.path.exists(f"/proc/{each}")
