"""Chips: the names that people use for them, and what the frontend knows of each."""

from __future__ import annotations

import re

from ..errors import CompileError

#: GPUs and families, and their chips; without spaces, in lower case.
_GPUS = {
    **{"t4": "sm_75", "a100": "sm_80", "a30": "sm_80", "a10": "sm_86", "a40": "sm_86"},
    **{"rtx3090": "sm_86", "orin": "sm_87", "l4": "sm_89", "l40": "sm_89"},
    **{"l40s": "sm_89", "rtx4090": "sm_89", "h100": "sm_90a", "h200": "sm_90a"},
    **{"h800": "sm_90a", "h20": "sm_90a", "gh200": "sm_90a", "b200": "sm_100a"},
    **{"gb200": "sm_100a", "b300": "sm_103a", "gb300": "sm_103a", "thor": "sm_110a"},
    **{"rtx5090": "sm_120a", "gb10": "sm_121a"},
    **{"mi210": "gfx90a", "mi250": "gfx90a", "mi250x": "gfx90a", "mi300a": "gfx942"},
    **{"mi300x": "gfx942", "mi308x": "gfx942", "mi325x": "gfx942"},
    **{"mi350x": "gfx950", "mi355x": "gfx950", "rx7900xtx": "gfx1100"},
    **{"w7900": "gfx1100", "rx9060xt": "gfx1200", "rx9070xt": "gfx1201"},
    **{"ampere": "sm_80", "ada": "sm_89", "hopper": "sm_90a", "cdna2": "gfx90a"},
    **{"cdna3": "gfx942", "cdna4": "gfx950"},
}
#: GPUs that tilews does not compile for.
_TOO_OLD = (
    "k80",
    "p4",
    "p40",
    "p100",
    "v100",
    "titanv",
    "volta",
    "pascal",
    "mi50",
    "mi100",
)
_NOT_A_CHIP = {
    **dict.fromkeys(
        ("cuda", "gpu", "hip", "rocm", "nvidia", "amd", "nvptx"),
        "leave the target out for the GPU of this machine",
    ),
    **dict.fromkeys(
        ("interpreter", "interpret", "numpy", "host", "simulator"),
        "the reference interpreter is the target 'cpu'",
    ),
}


def find_chip(target: str) -> str:
    """The name of a target as compilers spell it: ``sm_90a`` for ``"H100"``.

    Raises:
        CompileError: it is no name of a chip.
    """
    if not isinstance(target, str):
        raise CompileError(
            f"target: expected the name of a chip such as 'sm_90a', found {target!r}"
        )
    name = re.sub(r"[\s_-]", "", target.lower())
    if name == "cpu":
        return name
    if nvidia := re.fullmatch(r"sm(\d+[af]?)", name):
        return f"sm_{nvidia[1]}"
    if re.fullmatch(r"gfx[0-9a-f]{3,4}", name):
        return name
    if name in _GPUS:
        return _GPUS[name]
    hint = _NOT_A_CHIP.get(name)
    if hint is None:
        import difflib

        close = difflib.get_close_matches(name, _GPUS, n=1)
        if name in _TOO_OLD:
            hint = "the oldest ones are sm_75 (T4) of NVIDIA and gfx90a (MI210) of AMD"
        else:
            hint = f"did you mean '{close[0]}'?" if close else None
    raise CompileError(
        f"unknown target '{target}'; expected 'cpu', a chip of NVIDIA such as 'sm_90a' "
        "or of AMD such as 'gfx942', or a GPU such as 'H100' or 'MI300X'"
        + (f"\nhint: {hint}" if hint else "")
    )


def fp8_family(chip: str) -> str | None:
    """The family of the types of fp8 that a chip multiplies: ``ocp``, ``fnuz``, None.

    See "CDNA3 Instruction Set Architecture" for ``fnuz``.
    """
    if chip in ("gfx940", "gfx941", "gfx942"):
        return "fnuz"
    if nvidia := re.fullmatch(r"sm_(\d+)[af]?", chip):
        return "ocp" if int(nvidia[1]) >= 89 else None
    return "ocp" if chip == "gfx950" or chip.startswith("gfx12") else None
