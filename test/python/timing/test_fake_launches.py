"""The benchmark of calls on a GPU that is not there."""

from click.testing import CliRunner

from benchmarks.host_time import fake_launches


def test_calls_are_measured_and_none_is_launched_by_python():
    found = CliRunner().invoke(fake_launches.main, ["--rounds", "1"])
    assert found.exit_code == 0, found.output
    _, _, *rows = found.output.splitlines()
    times = {row.split("|")[1].strip(): float(row.split("|")[2]) for row in rows}
    assert len(times) == 8
    assert 0 < times["a kernel with three tensors"] < times["torch.empty"] * 10
