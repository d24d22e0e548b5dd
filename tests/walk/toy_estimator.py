"""Step 4 of "Adding a method": an estimator, here with a loss that bounds the pull of each label."""

from tests.walk.toy_loss import PSEUDO_HUBER
from weakly._compat import StrOptions
from weakly.manifold._base import LaplacianClassifierBase


class RobustLaplacianClassifier(LaplacianClassifierBase):
    """Laplacian classifier with the pseudo-Huber loss."""

    _parameter_constraints: dict = {
        **LaplacianClassifierBase._parameter_constraints,
        "solver": [StrOptions({"auto", "cg"})],
    }
    _labeled_loss = PSEUDO_HUBER

    # Parameters of the base class that this one leaves at their defaults.
    kernel, gamma, degree, coef0 = "rbf", "median", 3, 1.0
    graph, n_neighbors, graph_weights, laplacian = "knn", 5, "self-tuning", "symmetric"
    approximation, n_components, random_state, device = "auto", 1000, None, None
    tol, max_iter, early_stopping, warm_start, verbose = 1e-6, 1000, True, False, 0

    def __init__(
        self,
        ambient_penalty=1e-3,
        *,
        graph_penalty=0.1,
        class_prior="labeled",
        solver="auto",
        unlabeled="auto",
    ):
        self.ambient_penalty = ambient_penalty
        self.graph_penalty = graph_penalty
        self.class_prior = class_prior
        self.solver = solver
        self.unlabeled = unlabeled
