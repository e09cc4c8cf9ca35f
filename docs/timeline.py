"""Draws docs/timeline.svg: a stretch of a warp-specialized matrix product, as the
simulator has it.

The kernel is the one of pipeline.py on an H200, with the latencies of
``tilews.sim``.
"""

import numpy as np
import pipeline

from tilews import passes, sim

CHIP = "sm_90a"
WIDTH, LEFT, TOP, ROW = 920, 120, 34, 30

STYLE = """
    text { fill: #1f2328 }
    .soft { fill: #59636e; font-size: 11.5px }
    .wait { fill: #eaeef2; stroke: #818b98 }
    .work { fill: #dafbe1; stroke: #1a7f37 }
    .copy, .filling { fill: #ddf4ff; stroke: #0969da }
    .ready { fill: #fff8c5; stroke: #9a6700 }
    .used { fill: #dafbe1; stroke: #1a7f37 }
    .arrow { fill: none; stroke: #0969da; stroke-opacity: 0.6 }
    .axis { stroke: #818b98; stroke-opacity: 0.4 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc }
      .soft { fill: #9198a1 }
      .wait { fill: #21262d; stroke: #9198a1 }
      .work, .used { fill: #12261e; stroke: #3fb950 }
      .copy, .filling { fill: #121d2f; stroke: #4493f8 }
      .ready { fill: #272115; stroke: #d29922 }
      .arrow { stroke: #4493f8 }
    }
"""


def make_trace() -> sim.Trace:
    """The trace of one block of the kernel, ready for code generation."""
    module = pipeline.gemm.build(CHIP)
    for step in passes.expand(f"tilews-to-nvvm{{chip={CHIP}}}"):
        if step.startswith("convert-tile-to-nvvm"):
            break
        passes.run(module, step)
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (512, 1024)).astype(np.float16)
    b = random.integers(-3, 4, (1024, 512)).astype(np.float16)
    return sim.trace(module, "gemm", [a, b, np.zeros((512, 512), np.float16)], (1,))


def render() -> str:
    """The picture: roles, the copies under way, and what the slots hold."""
    trace = make_trace()
    # Two rounds of the slots in the middle: neither the start nor the end.
    rounds = sorted({stay.phase for stay in trace.stays})
    middle = rounds[len(rounds) // 2]
    first = min(s.filling for s in trace.stays if s.phase == middle - 1)
    last = max(s.filling for s in trace.stays if s.phase == middle + 1)
    scale = (WIDTH - LEFT - 10) / (last - first)

    def x(time: float) -> float:
        return round(LEFT + (min(max(time, first), last) - first) * scale, 1)

    rows: dict[str, int] = {}

    def y(lane: str) -> int:
        return TOP + ROW * rows.setdefault(lane, len(rows))

    def box(kind: str, lane: str, begin: float, end: float, height: int = 20) -> str:
        if end <= first or begin >= last or end <= begin:
            return ""
        width = max(round(x(end) - x(begin), 1), 1)
        return (
            f'  <rect class="{kind}" x="{x(begin)}" y="{y(lane)}" width="{width}" '
            f'height="{height}" rx="{min(3, width / 3):.1f}"/>'
        )

    parts = []
    units = {"load": "producer role", "math": "consumer role"}
    for lane in units.values():
        y(lane)
    for span in trace.spans:
        lane = units.get(span.lane)
        if lane and span.event.unit == "role":
            kind = "wait" if span.is_wait else "work"
            parts.append((lane, box(kind, lane, span.begin, span.end)))
    drawn = [text for lane in units.values() for at, text in parts if at == lane]
    slots = sorted({stay.barrier for stay in trace.stays})
    for stay in trace.stays:
        lane = f"slot {slots.index(stay.barrier)}"
        for state, until in (("filling", "ready"), ("ready", "used"), ("used", "free")):
            begin, end = getattr(stay, state), getattr(stay, until)
            drawn.append(box(state, lane, begin, end))
        if first < stay.used < last:
            top, bottom = y("consumer role") + 20, y(lane)
            drawn.append(
                f'  <path class="arrow" d="M{x(stay.ready)} {bottom}'
                f'L{x(stay.used)} {top}"/>'
            )
    height = TOP + ROW * len(rows) + 34
    names = [
        f'  <text x="8" y="{TOP + ROW * row + 15}">{lane}</text>'
        for lane, row in rows.items()
    ]
    legend, at = [], LEFT
    for kind, text in (
        ("wait", "waits"),
        ("work", "works, slot is read"),
        ("filling", "tile is on its way"),
        ("ready", "tile waits to be read"),
    ):
        legend.append(
            f'  <rect class="{kind}" x="{at}" y="{height - 22}" width="14" '
            f'height="12" rx="3"/>\n'
            f'  <text class="soft" x="{at + 20}" y="{height - 12}">{text}</text>'
        )
        at += 170
    cycles = round(last - first)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="ui-sans-serif, system-ui, sans-serif" font-size="13" '
            'role="img" aria-labelledby="title desc">',
            '  <title id="title">Steady state of a matrix product</title>',
            '  <desc id="desc">What the producer role, the consumer role and the '
            f"slots of their channel do in {cycles} cycles.</desc>",
            f"  <style>{STYLE}  </style>",
            f'  <text class="soft" x="{LEFT}" y="20">{cycles} cycles of one block, '
            f"simulated with the rates of {trace.latencies.chip}</text>",
            *names,
            *filter(None, drawn),
            *legend,
            "</svg>",
            "",
        ]
    )
