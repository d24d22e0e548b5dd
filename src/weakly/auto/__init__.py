"""One classifier for few labels: every assumption a kernel, chosen with the labels in closed form."""

from weakly.auto._bank import build_bank
from weakly.auto._few_label import Evidence, FewLabelClassifier
from weakly.auto._kernels import Candidate, KernelBank
from weakly.auto._views import Preparation, learn_preparation

__all__ = [
    "Candidate",
    "Evidence",
    "FewLabelClassifier",
    "KernelBank",
    "Preparation",
    "build_bank",
    "learn_preparation",
]
