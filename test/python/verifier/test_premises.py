"""Proofs that use what the signature of a kernel and its assertions say."""

import re

import pytest

import tilews
import tilews.language as tl
from support.verifying import verify_steps
from tilews import passes

#: A sum of tiles. The roles have loops of their own; LOAD and MATH are their bounds.
KERNEL = """
def kernel(A: tl.Tensor["{A}", tl.f32], B: tl.Tensor["{B}", tl.f32],
           C: tl.Tensor["16:16", tl.f32], n: tl.index, m: tl.index):
    tl.grid(1)
    {premise}
    As = tl.alloc_shared((2, 16), tl.f32)
    channel = tl.channel(As)
    with tl.specialize():
        with tl.role("math", warps=4):
            q = channel.cursor()
            acc = tl.zeros((16,), tl.f32)
            for k in tl.range({math}):
                channel.wait(q)
                acc = acc + tl.load(As[q])
                channel.release(q)
                q = q.advance()
            C[0] = acc
        with tl.role("load", warps=1):
            p = channel.cursor()
            for k in tl.range({load}):
                channel.acquire(p)
                tl.copy(A[k * 16], As[p])
                channel.commit(p)
                p = p.advance()
"""
