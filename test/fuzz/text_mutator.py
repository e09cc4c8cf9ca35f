"""Mutations of .mlir text: of tokens, numbers, types and whole lines."""

import random
import re
from pathlib import Path

TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[A-Za-z_][\w.$-]*|%\d+|-?\d+|->|\s+|.')

ELEMENTS = (
    "i1 i4 i8 i16 i32 i64 index f16 bf16 f32 f64 f8E4M3FN f8E5M2 f8E4M3FNUZ "
    "f8E5M2FNUZ i24 i128 f80 complex<f32> vector<4xf32> none"
).split()
NUMBERS = (
    "0 1 -1 2 3 4 7 8 15 16 24 32 33 64 127 128 255 256 1000 1024 65536 "
    "2147483647 -2147483648 4294967296 9223372036854775807 -9223372036854775808"
).split()
CHIPS = "sm_80 sm_90 sm_90a sm_100a gfx942 gfx950 gfx1100 gfx1201 sm_75 none".split()
WORDS = (
    "row col square full_row full_col simt cp_async tma mma wgmma mfma wmma sum max "
    "min absmax absmin and or xor any all add exchange transpose_lhs transpose_rhs "
    "clear_accumulator allow_tf32 reverse pad drain_copies proxy_fence none span32"
).split()
SHAPE = re.compile(r"(?:\?|\d+)(?:x(?:\?|\d+))*x?(?=[a-z])|\d+(?:x\d+)+x?")


def read_seeds(folder: Path) -> list[str]:
    """The functions of all .mlir files below `folder`, each in its module.

    Comments are removed, because mutations of them change nothing. Files of invalid
    input come once, the others several times.
    """
    valid, invalid = [], []
    for path in sorted(folder.rglob("*.mlir")):
        seeds = invalid if "invalid" in path.name else valid
        for part in re.split(r"^// -----.*$", path.read_text(), flags=re.M):
            text = re.sub(r"^\s*//.*\n", "", part, flags=re.M).strip()
            seeds += _split_functions(text + "\n")
    return valid * 6 + invalid


def _split_functions(text: str) -> list[str]:
    aliases = "".join(re.findall(r"^[#!]\w+ = .*\n", text, flags=re.M))
    seeds = []
    for module in re.findall(r"^gpu\.module.*?^}$", text, flags=re.M | re.S):
        head = module.splitlines()[0]
        functions = re.findall(r"^  gpu\.func.*?^  }$", module, flags=re.M | re.S)
        seeds += [f"{aliases}{head}\n{function}\n}}\n" for function in functions]
    functions = re.findall(r"^func\.func[^\n]*{$.*?^}$", text, flags=re.M | re.S)
    seeds += [f"{aliases}{function}\n" for function in functions]
    return seeds or [text]


class Mutator:
    """Makes inputs by number. The same seeds and number give the same input."""

    def __init__(self, seeds: list[str]):
        self.seeds = seeds
        self.lines = sorted({line for seed in seeds for line in seed.splitlines()})
        self.actions = [
            self.change_number,
            self.change_number,
            self.change_element,
            self.change_element,
            self.change_shape,
            self.change_shape,
            self.change_word,
            self.change_number,
            self.change_shape,
            self.change_word,
            self.swap_tokens,
            self.delete_token,
            self.copy_token,
            self.delete_line,
            self.delete_line,
            self.copy_line,
            self.copy_line,
            self.swap_lines,
            self.insert_line,
            self.change_chip,
            self.swap_values,
        ]

    def make(self, number: int) -> str:
        """Returns input `number`: a seed after one to four mutations."""
        rng = random.Random(number)
        text = rng.choice(self.seeds)
        for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
            # A deletion can leave nothing of a short input.
            text = rng.choice(self.actions)(rng, text.strip() or "module {}")
        return text

    @staticmethod
    def _replace(rng, text: str, pattern: str, choices) -> str:
        """Replaces one match of `pattern`, and often all matches of the same text."""
        found = list(re.finditer(pattern, text))
        if not found:
            return text
        match, new = rng.choice(found), rng.choice(choices)
        if rng.random() < 0.7:
            exact = re.escape(match.group())
            return re.sub(rf"(?<![\w.#]){exact}(?!\w)", lambda _: new, text)
        return text[: match.start()] + new + text[match.end() :]

    def change_number(self, rng, text: str) -> str:
        return self._replace(rng, text, r"(?<![\w.%@#])-?\d+(?![\w.])", NUMBERS)

    def change_element(self, rng, text: str) -> str:
        pattern = r"(?:(?<=x)|\b)(?:[if]\d+|bf16|index|f8E\w+)\b"
        found = sorted(set(re.findall(pattern, text)))
        if not found or rng.random() < 0.3:
            return self._replace(rng, text, pattern, ELEMENTS)
        old, new = rng.choice(found), rng.choice(ELEMENTS)
        return re.sub(rf"(?:(?<=x)|\b){old}\b", new, text)

    def change_word(self, rng, text: str) -> str:
        return self._replace(rng, text, rf"\b(?:{'|'.join(WORDS)})\b", WORDS)

    def change_chip(self, rng, text: str) -> str:
        return self._replace(rng, text, r"sm_\w+|gfx\w+", CHIPS)

    def swap_values(self, rng, text: str) -> str:
        values = sorted(set(re.findall(r"%\w+", text))) or ["%0"]
        return self._replace(rng, text, r"%\w+", values)

    def change_shape(self, rng, text: str) -> str:
        found = list(SHAPE.finditer(text))
        if not found:
            return text
        match = rng.choice(found)
        extents = match.group().rstrip("x").split("x")
        place = rng.randrange(len(extents))
        action = rng.randrange(3)
        if action == 0:
            extents[place] = rng.choice(["?", "0", "1", "3", "17", "24", "96", "4096"])
        elif action == 1:
            extents.insert(place, rng.choice(["1", "2", "?"]))
        else:
            del extents[place]
        new = "".join(extent + "x" for extent in extents)
        if not match.group().endswith("x"):
            new = new[:-1]
        if rng.random() < 0.8:
            return text.replace(match.group(), new)
        return text[: match.start()] + new + text[match.end() :]

    @staticmethod
    def _tokens(text: str) -> list[str]:
        return TOKEN.findall(text)

    def swap_tokens(self, rng, text: str) -> str:
        tokens = self._tokens(text)
        a, b = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[a], tokens[b] = tokens[b], tokens[a]
        return "".join(tokens)

    def delete_token(self, rng, text: str) -> str:
        tokens = self._tokens(text)
        del tokens[rng.randrange(len(tokens))]
        return "".join(tokens)

    def copy_token(self, rng, text: str) -> str:
        tokens = self._tokens(text)
        tokens.insert(rng.randrange(len(tokens)), rng.choice(tokens))
        return "".join(tokens)

    def delete_line(self, rng, text: str) -> str:
        lines = text.splitlines()
        del lines[rng.randrange(len(lines))]
        return "\n".join(lines) + "\n"

    def copy_line(self, rng, text: str) -> str:
        lines = text.splitlines()
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
        return "\n".join(lines) + "\n"

    def swap_lines(self, rng, text: str) -> str:
        lines = text.splitlines()
        a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
        return "\n".join(lines) + "\n"

    def insert_line(self, rng, text: str) -> str:
        lines = text.splitlines()
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(self.lines))
        return "\n".join(lines) + "\n"
