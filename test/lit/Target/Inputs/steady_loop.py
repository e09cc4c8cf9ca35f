"""Prints the steady loop of each kernel in assembly of an AMD GPU, read from stdin.

That is the loop with the most matrix instructions. A line has the number of them, of
those before the first load from global memory, and of those before the first wait for
one. "pending" are the loads that the waits leave in flight, and "loads before waits"
those before the first wait. The others count instructions, among them those that a fast
loop does not have.
"""

import re
import sys

COUNTED = {
    "narrow reads": r"ds_(read|load)_[ui](8|16)",
    "reads": r"ds_(read|load)",
    "writes": r"ds_(write|store)",
    "copies": r"v_accvgpr",
    "scratch": r"scratch_",
}


def find_loop(lines: list[str]) -> list[str]:
    """The loop, from a label to a branch back to it, with the most of them."""
    labels: dict[str, int] = {}
    loops: list[list[str]] = [[]]
    for i, line in enumerate(lines):
        if label := re.match(r"(\.LBB\w+):", line):
            labels[label[1]] = i
        branch = re.match(r"\s+s_c?branch\w* (\.LBB\w+)", line)
        if branch and branch[1] in labels:
            loops.append([text.strip() for text in lines[labels[branch[1]] + 1 : i]])
    return max(loops, key=count_matrix)


def count_matrix(lines: list[str]) -> int:
    return sum(line.startswith("v_mfma") for line in lines)


def count_before(loop: list[str], pattern: str) -> int:
    """The matrix instructions before the first instruction that has `pattern`."""
    first = next((i for i, line in enumerate(loop) if re.search(pattern, line)), None)
    return count_matrix(loop[:first])


for kernel in re.split(r"^(?=\w+:$)", sys.stdin.read(), flags=re.MULTILINE)[1:]:
    lines = kernel.splitlines()
    loop = find_loop(lines)
    print(
        f"{lines[0]} matrix instructions {count_matrix(loop)},"
        f" before loads {count_before(loop, 'buffer_load')},"
        f" before waits {count_before(loop, 'vmcnt')}"
    )
    waits = [i for i, line in enumerate(loop) if "vmcnt" in line]
    pending = [re.search(r"vmcnt\((\d+)\)", loop[i])[1] for i in waits]
    early = sum("buffer_load" in line for line in loop[: waits[0]])
    print(f"  pending: {' '.join(pending)}; loads before waits: {early}")
    for name, pattern in COUNTED.items():
        print(f"  {name}: {sum(bool(re.match(pattern, line)) for line in loop)}")
