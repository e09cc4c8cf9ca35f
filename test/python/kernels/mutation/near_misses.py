"""Right kernels with changes of their text, and mutants of them."""

import functools

from kernels.mutation import mutation_seeds
from tilews import ir, mutate


@functools.cache
def text_of(kernel, form="barriers"):
    subject = next(e for e in mutation_seeds.SUBJECTS if str(e) == kernel)
    return str(subject.forms()[form])


def parse(kernel, changes=(), form="barriers"):
    """A kernel with changes (old, new, how often the old text is there)."""
    text = text_of(kernel, form)
    for old, new, count in changes:
        assert text.count(old) == count, (old, text.count(old))
        text = text.replace(old, new)
    return ir.Module.parse(text, context=ir.Context())


def apply(module, ids):
    edits = []
    for each in ids.split():
        edits.append(mutate.mutant(edits[-1].module if edits else module, each))
    return edits
