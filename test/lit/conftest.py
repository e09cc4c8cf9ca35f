"""Makes every lit test a pytest test, so that one command runs everything."""

import functools
import pathlib

import lit.LitTestCase
import lit.Test
import pytest

ROOT = pathlib.Path(__file__).parent


def pytest_collect_file(parent, file_path):
    if file_path.suffix in (".edits", ".mlir") and "Inputs" not in file_path.parts:
        return LitFile.from_parent(parent, path=file_path)


class LitFile(pytest.File):
    def collect(self):
        yield LitItem.from_parent(self, name="lit")


class LitItem(pytest.Item):
    def runtest(self):
        case = lit_cases()[self.path]
        result = case._test.config.test_format.execute(case._test, case._lit_config)
        if result.code is lit.Test.UNSUPPORTED:
            pytest.skip(result.output)
        if result.code.isFailure:
            raise LitFailure(result.output)

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, str(self.path.relative_to(ROOT))


class LitFailure(Exception):
    """Carries the output of a failed test."""


@functools.cache
def lit_cases():
    """All lit tests by their path, with the suite's configuration loaded once."""
    suite = lit.LitTestCase.load_test_suite([str(ROOT)])
    return {pathlib.Path(case._test.getSourcePath()): case for case in suite}
