"""Machines taught by probable labels of all rows, two classes and several (Qian, Nie and Zhang, 2009)."""

from benchmarks.papers._model import Paper
from benchmarks.papers.plsvm._digits import FLIPS, NOVELTY
from benchmarks.papers.plsvm._pairs import TABLE2, TABLE3
from benchmarks.papers.plsvm._several import TABLE4

PAPER = Paper(
    key="plsvm",
    title="Probabilistic Labeled Semi-supervised SVM",
    reference="M. Qian, F. Nie and C. Zhang, IEEE International Conference on Data Mining Workshops, 2009",
    tables=(TABLE2, TABLE3, TABLE4, NOVELTY, FLIPS),
)
