"""Small random programs of roles that use two barriers: right ones and wrong ones."""

import random

_HEAD = """
gpu.module @m [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @k(%A: memref<4x16xf32>, %out: memref<2xi32>)
      kernel attributes {{tile.threads = {threads} : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %buffer = tile.alloc_shared : !buffer
    %s0 = tile.slot %buffer[%i0] : !buffer, i32 -> !slot
    %s1 = tile.slot %buffer[%i1] : !buffer, i32 -> !slot
    %p = tile.mbarrier {{count = {counts[0]} : i64}} : !b
    %q = tile.mbarrier {{count = {counts[1]} : i64}} : !b
    tile.mbarrier_ready
    tile.specialize {{
"""
_TYPES = """
!b = !tile.mbarrier<1>
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
"""
_TAIL = """
    }
    gpu.return
  }
}
"""
_COPY = "tile.copy %A[%c{n}, 0] to %s{n}"
_OPERATIONS = {
    "arrive": "tile.mbarrier_arrive {b} {{by = #tile.agents<thread>}} : !b",
    "arrive_warps": "tile.mbarrier_arrive {b} {{by = #tile.agents<warps>}} : !b",
    "arrive_bytes": "tile.mbarrier_arrive {b} {{by = #tile.agents<thread>, "
    "bytes = 64 : i64}} : !b",
    "arrive_copies": "tile.mbarrier_arrive {b} {{by = #tile.agents<copies>}} : !b",
    "expect": "tile.mbarrier_expect {b} {{bytes = 64 : i64}} : !b",
    "wait": "tile.mbarrier_wait {b}, %i{n} : !b",
    "tma": _COPY + " signals({b}) {{tile.inst = #tile.inst<tma>}} : "
    "memref<4x16xf32> to !slot, !b",
    "cp_async": _COPY + " {{tile.inst = #tile.inst<cp_async>}} : "
    "memref<4x16xf32> to !slot",
    "atomic": "%x{i} = memref.atomic_rmw addi %i1, %out[%c0] : "
    "(i32, memref<2xi32>) -> i32",
    "observed": "%x{i} = memref.atomic_rmw addi %i1, %out[%c0] : "
    "(i32, memref<2xi32>) -> i32\n        %y{i} = arith.addi %x{i}, %i1 : i32",
}


def make_operation(name: str, barrier: str = "p", n: int = 0, i: int = 0) -> str:
    """The text of one operation; `i` distinguishes its results."""
    return _OPERATIONS[name].format(b=f"%{barrier}[%i0]", n=n, i=i)


def make_program(roles: list[list[str]], counts: tuple[int, int] = (1, 1)) -> str:
    """A kernel of roles of one warp each, with barriers %p and %q."""
    text = _TYPES + _HEAD.format(threads=32 * len(roles), counts=counts)
    for number, operations in enumerate(roles):
        body = "".join(f"        {operation}\n" for operation in operations)
        text += f"      tile.role @r{number} warps(1) {{\n{body}      }}\n"
    return text + _TAIL


def make_random(seed: int) -> str:
    """A kernel of two or three roles with up to three operations each."""
    draw = random.Random(seed)
    names = [*_OPERATIONS, "arrive", "arrive", "wait"]
    roles = [
        [
            make_operation(
                draw.choice(names), draw.choice("pq"), draw.randrange(2), 10 * role + i
            )
            for i in range(draw.randint(1, 3))
        ]
        for role in range(draw.choice([2, 2, 3]))
    ]
    return make_program(roles, (draw.choice([1, 2, 3, 32]), draw.choice([1, 2, 3])))
