"""Multi-class semi-supervised boosting (Saffari et al., 2009)."""

from benchmarks.papers._model import Paper
from benchmarks.papers.rmsboost._figures import FIGURES
from benchmarks.papers.rmsboost._tables import GAINS, GENERATED, OTHERS, TABLE2, TABLE3

PAPER = Paper(
    key="rmsboost",
    title="Regularized Multi-Class Semi-Supervised Boosting",
    reference="A. Saffari, C. Leistner and H. Bischof, CVPR 2009",
    tables=(TABLE2, GENERATED, TABLE3, *FIGURES, OTHERS, GAINS),
)
