"""The benchmark of new processes: with a full cache they load no compiler."""

import json

from click.testing import CliRunner

from benchmarks.host_time.startup import main


def test_warm_processes_are_measured(tmp_path):
    results = tmp_path / "startup.json"
    run = CliRunner().invoke(main, ["--count", "1", "--results", str(results)])
    assert run.exit_code == 0, run.output
    assert "| tilews | " in run.output
    (row,) = json.loads(results.read_text())["processes"]
    assert len(row["cold"]) == len(row["warm"]) == 1
    assert row["warm"][0] < row["cold"][0]
