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

    def __init__(
        self,
        ambient_penalty=1e-3,
        *,
        graph_penalty=0.1,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=1.0,
        graph="knn",
        n_neighbors=5,
        graph_weights="self-tuning",
        laplacian="symmetric",
        class_prior="labeled",
        approximation="auto",
        n_components=1000,
        device=None,
        solver="auto",
        tol=1e-6,
        max_iter=1000,
        early_stopping=True,
        unlabeled="auto",
        warm_start=False,
        verbose=0,
        random_state=None,
    ):
        parameters = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        vars(self).update(parameters)
