"""Breaks the synchronization of kernels, to measure what finds it.

A mutant is a scheduled kernel with one fault: a missing wait, a release that comes too
early, a cursor that is not advanced. The verifier or the simulator has to find each
mutant, except for equivalent ones. A mutant counts as equivalent if a rule explains why
it behaves like the original, and the rule's premises hold in the mutant.
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
