"""Draws docs/timeline.svg: some iterations of a warp-specialized matmul.

The kernel is the one of pipeline.py. The simulator runs it, with the latencies of an
H200.
"""

import numpy as np
import pipeline

from tilews import passes, sim

CHIP = "sm_90a"
WIDTH, LEFT, TOP, ROW = 920, 120, 34, 30
#: The classes of boxes, and what they mean.
KINDS = {
    "wait": "waits",
    "work": "works, slot is read",
    "filling": "tile is in flight",
    "ready": "tile waits to be read",
}

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


class Picture:
    """The lanes of a stretch of a trace, and the boxes drawn in them."""

    def __init__(self, first: float, last: float) -> None:
        self.first, self.last = first, last
        self.rows: dict[str, int] = {}
        self.drawn: list[str] = []

    @property
    def height(self) -> int:
        return TOP + ROW * len(self.rows) + 34

    def x(self, time: float) -> float:
        scale = (WIDTH - LEFT - 10) / (self.last - self.first)
        inside = min(max(time, self.first), self.last)
        return round(LEFT + (inside - self.first) * scale, 1)

    def y(self, lane: str) -> int:
        return TOP + ROW * self.rows.setdefault(lane, len(self.rows))

    def box(self, kind: str, lane: str, begin: float, end: float) -> None:
        if end <= self.first or begin >= self.last or end <= begin:
            return
        width = max(round(self.x(end) - self.x(begin), 1), 1)
        self.drawn.append(
            f'  <rect class="{kind}" x="{self.x(begin)}" y="{self.y(lane)}" '
            f'width="{width}" height="20" rx="{min(3, width / 3):.1f}"/>'
        )

    def draw_roles(self, trace: sim.Trace, names: dict[str, str]) -> None:
        for unit, lane in names.items():
            self.y(lane)
            for span in trace.spans:
                if span.lane == unit and span.event.unit == "role":
                    kind = "wait" if span.is_wait else "work"
                    self.box(kind, lane, span.begin, span.end)

    def draw_slots(self, trace: sim.Trace, reader: str) -> None:
        slots = sorted({stay.barrier for stay in trace.stays})
        for stay in trace.stays:
            lane = f"slot {slots.index(stay.barrier)}"
            self.box("filling", lane, stay.filling, stay.ready)
            self.box("ready", lane, stay.ready, stay.used)
            self.box("used", lane, stay.used, stay.free)
            if self.first < stay.used < self.last:
                top, bottom = self.y(reader) + 20, self.y(lane)
                self.drawn.append(
                    f'  <path class="arrow" d="M{self.x(stay.ready)} {bottom}'
                    f'L{self.x(stay.used)} {top}"/>'
                )

    def legend(self) -> list[str]:
        names = [
            f'  <text x="8" y="{TOP + ROW * row + 15}">{lane}</text>'
            for lane, row in self.rows.items()
        ]
        keys, bottom = [], self.height
        for i, (kind, text) in enumerate(KINDS.items()):
            at = LEFT + 170 * i
            keys.append(
                f'  <rect class="{kind}" x="{at}" y="{bottom - 22}" width="14" '
                f'height="12" rx="3"/>\n'
                f'  <text class="soft" x="{at + 20}" y="{bottom - 12}">{text}</text>'
            )
        return [*names, *self.drawn, *keys]


def render() -> str:
    """The picture: the roles, and the state of each slot."""
    trace = make_trace()
    # Two rounds of the slots in the middle: neither the start nor the end.
    rounds = sorted({stay.phase for stay in trace.stays})
    middle = rounds[len(rounds) // 2]
    picture = Picture(
        min(s.filling for s in trace.stays if s.phase == middle - 1),
        max(s.filling for s in trace.stays if s.phase == middle + 1),
    )
    picture.draw_roles(trace, {"load": "producer role", "math": "consumer role"})
    picture.draw_slots(trace, "consumer role")
    cycles = round(picture.last - picture.first)
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {WIDTH} {picture.height}" '
            'font-family="ui-sans-serif, system-ui, sans-serif" font-size="13" '
            'role="img" aria-labelledby="title desc">',
            '  <title id="title">Steady state of a matmul</title>',
            '  <desc id="desc">What the producer role, the consumer role and the '
            f"slots of their channel do in {cycles} cycles.</desc>",
            f"  <style>{STYLE}  </style>",
            f'  <text class="soft" x="{LEFT}" y="20">{cycles} cycles of one block, '
            f"simulated with the rates of {trace.latencies.chip}</text>",
            *picture.legend(),
            "</svg>",
            "",
        ]
    )
