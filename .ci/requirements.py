"""Print what pyproject.toml requires to build and run tilews from its build tree.

Usage: requirements.py [EXTRA]...
"""

import pathlib
import sys

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib


def main() -> None:
    pyproject = pathlib.Path(__file__).parents[1] / "pyproject.toml"
    config = tomllib.loads(pyproject.read_text())
    project = config["project"]
    requirements = config["build-system"]["requires"] + project["dependencies"]
    for extra in sys.argv[1:]:
        requirements += project["optional-dependencies"][extra]
    print("\n".join(requirements))


if __name__ == "__main__":
    main()
