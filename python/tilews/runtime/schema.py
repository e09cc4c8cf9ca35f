"""Checks of JSON values against a schema.

A part of JSON Schema: the keywords of ``manifest.schema.json``. Libraries for all of it
take 0.1 s to start, accept 1.0 as an integer, and do not bound the depth of a value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: How deep values may be nested.
MAX_DEPTH = 200

_NAMES = {
    dict: "object",
    list: "array",
    str: "string",
    int: "integer",
    type(None): "null",
}


class SchemaError(Exception):
    """A value that does not fit; the text names the key, what was expected and found.

    For example ``block[1]: expected at least 1, found 0``.
    """


def check(value: Any, schema: Mapping[str, Any]) -> None:
    """Checks a value.

    Raises:
        SchemaError: it does not fit the schema.
    """
    _check(value, schema, schema, "", 0)


def _fail(path: str, expected: str, found: Any) -> SchemaError:
    return SchemaError(f"{path or 'the manifest'}: expected {expected}, found {found}")


def show(value: Any) -> str:
    """A value for a message: short, and never its whole content."""
    if isinstance(value, (dict, list)):
        kind = "an object" if isinstance(value, dict) else "a list"
        return f"{kind} with {len(value)} entries"
    if isinstance(value, int) and not isinstance(value, bool):
        # Python refuses to print very long integers.
        return str(value) if abs(value) < 2**70 else f"{value:#x}"[:20] + "..."
    try:
        return f"{value!r:.60}"
    except Exception:  # A class of the user may raise anything.
        return f"an object of {type(value).__name__!r:.60}"


def _check(
    value: Any,
    schema: Mapping[str, Any],
    root: Mapping[str, Any],
    path: str,
    depth: int,
) -> None:
    if depth > MAX_DEPTH:
        raise _fail(path, f"at most {MAX_DEPTH} levels", "more")
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    allowed = [schema["const"]] if "const" in schema else schema.get("enum")
    if allowed is not None:
        if not any(type(value) is type(each) and value == each for each in allowed):
            raise _fail(path, " or ".join(map(repr, allowed)), show(value))
        return
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if _NAMES.get(type(value)) not in types:
        raise _fail(path, " or ".join(types), show(value))
    if isinstance(value, dict):
        _check_object(value, schema, root, path, depth)
    elif isinstance(value, list):
        _check_size(len(value), "entries", schema, "Items", path)
        for i, each in enumerate(value):
            _check(each, schema["items"], root, f"{path}[{i}]", depth + 1)
    elif isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise _fail(path, "text without halves of characters", ascii(value)[:60])
        _check_size(len(value), "characters", schema, "Length", path)
        if "pattern" in schema and not re.search(schema["pattern"], value):
            raise _fail(path, f"a text like {schema['pattern']}", show(value))
    elif value is not None:
        if "minimum" in schema and value < schema["minimum"]:
            raise _fail(path, f"at least {schema['minimum']}", show(value))
        if "maximum" in schema and value > schema["maximum"]:
            raise _fail(path, f"at most {schema['maximum']}", show(value))


def _check_object(
    value: dict[Any, Any],
    schema: Mapping[str, Any],
    root: Mapping[str, Any],
    path: str,
    depth: int,
) -> None:
    prefix = f"{path}." if path else ""
    for name in schema.get("required", ()):
        if name not in value:
            raise SchemaError(f"{prefix}{name}: is missing")
    _check_size(len(value), "keys", schema, "Properties", path)
    for name, each in value.items():
        if name not in schema["properties"]:
            known = ", ".join(schema["properties"])
            raise SchemaError(f"{prefix}{name!s:.60}: is no key; expected {known}")
        _check(each, schema["properties"][name], root, f"{prefix}{name}", depth + 1)


def _check_size(
    size: int, unit: str, schema: Mapping[str, Any], keyword: str, path: str
) -> None:
    if size < schema.get(f"min{keyword}", 0):
        raise _fail(path, f"at least {schema[f'min{keyword}']} {unit}", size)
    if size > schema.get(f"max{keyword}", size):
        raise _fail(path, f"at most {schema[f'max{keyword}']} {unit}", size)
