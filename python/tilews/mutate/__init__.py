"""Breaks the synchronization of kernels, to measure what finds it.

A mutant is a scheduled kernel with one fault: a wait that is gone, a release that
comes too early, a cursor that is not advanced. The verifier or the simulator has to
find each of them, but for those that are equivalent: an argument, whose premises are
checked, says why they do what the original does.
"""

from ._classes import CLASSES, MutationClass
from ._judge import Judge, Subject, Verdict, judge_all
from ._mutants import Mutant, mutant, mutants

__all__ = [
    "CLASSES",
    "Judge",
    "Mutant",
    "MutationClass",
    "Subject",
    "Verdict",
    "judge_all",
    "mutant",
    "mutants",
]
