"""The words that prose in this project does without, and what to say instead."""

from __future__ import annotations

import dataclasses
import re

#: What may not stand right before or after a word: then it is part of an
#: identifier, a flag, a path or a call.
_BEFORE = r"(?<![\w\-./%#@$&:<])"
_AFTER = r"(?![\w(]|-\w|\.\w|::|/\w)"


@dataclasses.dataclass(frozen=True)
class Rule:
    """A word or a phrase, what to say instead, and where it is right.

    `allow` are regular expressions: a match of `word` that lies inside a match of one
    of them is fine. `except_in` are regular expressions of paths, relative to the root
    of the repository, where the word means something else.
    """

    word: re.Pattern[str]
    say: str
    allow: tuple[re.Pattern[str], ...] = ()
    except_in: re.Pattern[str] | None = None

    def find(self, text: str, path: str) -> list[re.Match[str]]:
        """The uses of the word in a paragraph of the file `path` that are wrong."""
        if self.except_in and self.except_in.search(path):
            return []
        found = list(self.word.finditer(text))
        if not found:
            return []
        fine = [m.span() for allowed in self.allow for m in allowed.finditer(text)]
        return [
            m
            for m in found
            if not any(a <= m.start() and m.end() <= b for a, b in fine)
        ]


def _rule(
    word: str, say: str, *allow: str, except_in: str | None = None, start: bool = False
) -> Rule:
    pattern = word if start else f"{_BEFORE}(?:{word}){_AFTER}"
    return Rule(
        re.compile(pattern, 0 if start else re.IGNORECASE),
        say,
        tuple(re.compile(a, re.IGNORECASE) for a in allow),
        re.compile(except_in) if except_in else None,
    )


#: The algebra of layouts has products of layouts.
_LAYOUT_FILES = (
    r"^(lib|dialect/tilews|unittests)/Layout/|^python/tilews/(bindings/)?_?layout"
    r"|LayoutAlgebra|^docs/layouts\.md$|^test/python/(layout|test_layout)"
)
#: The hardware counters that waits on AMD name; the counters of Philox.
_COUNTER_FILES = r"amdgcn|ROCDL|(random|dropout)\.py$"

RULES = (
    _rule(
        "turns?",
        "iteration(s); for agents: alternate, one after the other",
        r"\bturns?( \S+){0,8}? into\b",
        r"\bturns? (on|off|out|around)\b",
        r"\bturns? (it|them|this|each|\w+) (on|off|around)\b",
    ),
    _rule("behind", "after"),
    _rule(
        "products?",
        "matmul(s), or matrix product(s)",
        r"\b(matrix|dot|inner|outer|cross|cartesian|logical|blocked|raked|zipped|tiled"
        r"|flat|layout|partial|running|scalar|elementwise|element-wise|integer"
        r"|async(?:hronous)?-matmul) products?\b",
        r"\bproducts? construction\b",
        r"\bproducts? of (the |its |their |all |two |both |these |those |a |an |some "
        r"|other |such |any |known |static |dynamic |constant |affine )*"
        r"(extents?|sizes?|strides?|shapes?|modes?|dimensions?|numbers?|integers?"
        r"|constants?|factors?|layouts?|counts?|values?|elements?|automata|machines?"
        r"|terms?|variables?|symbols?|divisors?|steps?|atoms?|expressions?)\b",
        r"\bsums?(, \w+)*,? and products?\b",
        r"\bproducts?,? and sums?\b",
        except_in=_LAYOUT_FILES,
    ),
    _rule(
        "meets?|met",
        "synchronize (threads), join (paths), touch (accesses)",
        r"\b(requirement|condition|constraint|demand|precondition|limit|deadline"
        r"|criterion|criteria|need|bound)s?( \S+){0,4}? (meet|met)\b",
        r"\b(meets?|met) (\S+ ){0,4}?(requirement|condition|constraint|demand|limit"
        r"|precondition|deadline|need|bound|criterion|criteria)s?\b",
    ),
    _rule("meeting", "synchronization, synchronizing"),
    _rule(
        "counters?",
        "induction variable (of a loop); a hardware counter is called that",
        r"\b(hardware|performance|program|event|atomic|global|profiler|wait|instruction"
        r"|work|tile|arrival|pending|reference|memory|finite|clock|cycle|time|GPU|GPU's"
        r"|Nsight) counters?\b",
        r"\bcounters? of (an?|the) \S+ ?(GPU|H100|H200|A100|hardware|chip|profiler)\b",
        except_in=_COUNTER_FILES,
    ),
    _rule(
        "ways",
        "paths (through code)",
        r"\bin (\w+ ){0,2}?ways\b",
        r"\b(two|three|four|several|both|other|many|these|such|different) ways (to|of)"
        r"\b",
    ),
    _rule(
        "(?:(?:the|each|every|another|either|same) )?way (?:through|around)"
        "|goes? (?:different|another) way|which way",
        "path",
        r"\bthe (other|wrong|right) way around\b",
    ),
    _rule("the begin|at begin|from begin", "the start"),
    _rule("for ever", "forever"),
    _rule("whoever|everybody", "name the agent: the role, thread, reader"),
    _rule(
        "(?:tells?|told|telling|known?|knows)(?: \\S+){0,4}? apart",
        "distinguish",
    ),
    _rule(
        "(?:nothing|what|which|that|it) tells (?:it|them|one|whether|that|which)",
        "infer, is ordered after, happens-before",
    ),
    _rule(
        "(?:tasks?|threads?|roles?|paths?|waiters?|readers?|waits?|agents?) knows?",
        "happens-before, is ordered after, has inferred",
    ),
    _rule(
        r"(?:^|(?<=[.!?;] ))Of (?!course\b)(?:an? |the |each |all |its |their |several "
        r"|two |those |these |such |what |which |whose )\w*",
        "put the subject first: 'Each lane of a warp …'",
        start=True,
    ),
)
