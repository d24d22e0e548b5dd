"""Fitted models as files, written and read with skops: loading one runs no code that the file brings.

A file is a zip archive: arrays as ``.npy``, all else as JSON with the name of every type, and the versions
that wrote it. Before anything is built, the names are held against one list, :func:`trusted_types`.
"""

from __future__ import annotations

import copy
import json
import warnings
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from tokenize import TokenError
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile
from zlib import error as ZlibError

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

import weakly
from weakly._files import draft_of
from weakly.rows._arrays import is_collection

__all__ = ["load", "save", "trusted_types"]

_FORMAT = 1
_RECORD = "weakly.json"  # beside the members that skops writes
_LEVEL = 1  # of compression: higher ones take longer and save little

# What fitted estimators are made of, beside estimators. tests/test_io.py fits them all and proves that the
# list is complete, and that nothing is on it without need.
_PARTS = {
    "weakly.graphs._anchor_map": ("AnchorMap",),
    "weakly.graphs._anchors": ("AnchorGraph",),
    "weakly.estimators._calibration": ("Moments",),
    "weakly.auto._anchor_kernels": ("AnchorLinks",),
    "weakly.auto._bank": ("NeighborLinks",),
    "weakly.auto._blend": ("BlendFunction",),
    "weakly.auto._few_label": ("Evidence",),
    "weakly.auto._spectra": ("Clusterings", "DistanceKernel"),
    "weakly.auto._views": ("Carried", "Columns", "FirstDirections", "Preparation", "Projection", "Reference"),
    "weakly.boosting._boost": ("Ensemble",),
    "weakly.boosting._forest": ("Forest", "TreeRules"),
    "weakly.boosting._learners": ("Bins", "EstimatorLearner", "FittedEstimator", "TreeLearner"),
    "weakly.boosting._priors": ("graph_prior", "kmeans_prior"),
    "weakly.cli._features": ("Column", "TablePreparation"),
    "weakly.cli._predict": ("TableModel",),
    "weakly.cluster._kernel_means_solver": ("BestRun",),
    "weakly.graphs._graph": ("Graph",),
    "weakly.kernels": ("Kernel",),
    "weakly.manifold._labeled_step": ("CutDetail",),
    "weakly.model_selection._kfold": ("PartiallyLabeledKFold",),
    "weakly.model_selection._partially_labeled": ("PartiallyLabeled", "_Member", "_Pool", "_WeightedMember"),
    "weakly.model_selection._scoring": ("_score_labeled_rows",),
    "weakly.multi_instance._bags": ("Bags",),
    "weakly.multi_instance._diverse_density_solver": ("StartEnergies",),
    "weakly.solvers._anchor_walk": ("AnchorWalk",),
    "weakly.solvers._cutting_plane": ("LabelingMixture",),
    "weakly.solvers._result": ("DualPoint", "HeldOutScores", "Labeling", "SolverResult"),
    "weakly.spaces._base": ("ScoreFunction",),
    "weakly.spaces._build": ("KernelMap",),
    "weakly.svm._anchor_walks": ("WalkedRows",),
    "weakly.svm._probabilistic": ("NoveltyNearby",),
}

# What they need of others and skops does not trust by itself. A forged file can have what is listed called
# while it is loaded: only what deals with numbers alone may be on the list.
_OTHERS = {
    "functools": ("partial",),  # of functions on this list
    "numpy": ("clip", "dtype"),
    "scipy.sparse._csr": ("csr_array", "csr_matrix"),
    "sklearn.calibration": ("_CalibratedClassifier", "_SigmoidCalibration"),
    "sklearn.kernel_approximation": ("RBFSampler", "RBFSampler.transform"),
    "sklearn.metrics._classification": ("accuracy_score", "balanced_accuracy_score", "f1_score", "log_loss"),
    "sklearn.metrics._ranking": ("average_precision_score", "roc_auc_score"),
    "sklearn.metrics._regression": ("mean_absolute_error", "mean_squared_error", "r2_score"),
    "sklearn.metrics._scorer": ("_PassthroughScorer", "_Scorer"),
    "sklearn.tree._tree": ("Tree",),  # of boosting with estimator=DecisionTreeClassifier()
    "sklearn.utils._bunch": ("Bunch",),  # of voting
}

# What reading raises where bytes are damaged or were never a model; found by changing bytes at random.
_DAMAGED = (
    AttributeError, BadZipFile, EOFError, ImportError, LookupError, RuntimeError, SyntaxError, TokenError,
    TypeError, ValueError, ZlibError,
)  # fmt: skip
# What skops raises for objects that it cannot take apart.
_NOT_WRITTEN = (AttributeError, NotImplementedError, RecursionError, TypeError, ValueError)


def trusted_types():
    """List the names of all types and functions that a file of a model may hold.

    These are the estimators of the package, the parts that fitted ones are made of, and what they need of
    other packages beyond the types that skops trusts by itself: scikit-learn's estimators, arrays, numbers,
    text and containers of them.

    Returns
    -------
    list of str
        Dotted names, sorted, as ``skops.io.load(..., trusted=...)`` and
        ``mlflow.sklearn.save_model(..., skops_trusted_types=...)`` take them.

    See Also
    --------
    load : Refuses a file that holds anything else.

    Examples
    --------
    >>> from weakly.io import trusted_types
    >>> "weakly.manifold._laplacian_svc.LaplacianSVC" in trusted_types()
    True
    >>> any("eval" in name.split(".") for name in trusted_types())
    False
    """
    public = [getattr(weakly, name) for name in weakly._HOME]
    estimators = [thing for thing in public if isinstance(thing, type) and issubclass(thing, BaseEstimator)]
    names = {f"{kind.__module__}.{kind.__name__}" for kind in estimators}
    for listed in (_PARTS, _OTHERS):
        names |= {f"{module}.{name}" for module, members in listed.items() for name in members}
    return sorted(names)


def save(model, path):
    """Write a fitted model to a file.

    The file is written under another name first and takes its place when it is complete, so that a file that
    was there is either kept or replaced as a whole. Whatever is written can be read by :func:`load`.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package; a scikit-learn pipeline or search around one; or a table model of
        ``weakly label --save``.
    path : path-like
        Name of the file, by convention with the suffix ``.weakly``.

    Raises
    ------
    ValueError
        If the model holds something that a file cannot hold: a function of your own as ``kernel`` or
        ``prior``, or an object of a type that is not among :func:`trusted_types`.
    ImportError
        If skops (extra ``io``) is not installed.

    See Also
    --------
    load : The way back.

    Notes
    -----
    A model on a device is saved as its copy in NumPy (``to_numpy()``), and the kernels of a warm start stay
    behind. Of a model that was fitted to a Dask collection, attributes about the training samples are lazy,
    and belong to a cluster: they are left out with a warning that names them. To keep one, compute it
    first: ``model.transduction_ = model.transduction_.compute()``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from weakly import LaplacianSVC
    >>> from weakly.datasets import make_two_moons
    >>> from weakly.io import load, save
    >>> moons = make_two_moons(200, n_per_class=2, random_state=0)
    >>> model = LaplacianSVC().fit(moons.X, moons.y_partial)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "moons.weakly")
    ...     again = load(Path(folder) / "moons.weakly")
    >>> bool((again.predict(moons.X) == model.predict(moons.X)).all())
    True
    """
    skops = require_skops()
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model is of type {type(model).__name__}: pass a fitted estimator.")
    name, lazy = type(model).__name__, set()
    portable = _portable(model, lazy, {})
    if lazy:
        warnings.warn(
            f"{name} was fitted to a Dask collection: {', '.join(sorted(lazy))} are lazy and not saved.",
            UserWarning,
            stacklevel=2,
        )
    _refuse_functions(skops, model)
    with draft_of(Path(path)) as draft:
        try:
            skops.dump(portable, draft, compression=ZIP_DEFLATED, compresslevel=_LEVEL)
        except _NOT_WRITTEN as error:
            raise ValueError(f"{name} cannot be saved: {error}") from error
        with ZipFile(draft, "a") as archive:
            archive.writestr(_RECORD, json.dumps({"format": _FORMAT, "versions": _versions()}))
        foreign = _foreign_types(skops, file=draft)
        if foreign:
            raise ValueError(
                f"{name} cannot be saved: it holds {', '.join(foreign)}, which a file may not hold. Only "
                "types of weakly, scikit-learn's estimators, arrays, numbers and text are read back."
            )


def load(path):
    """Read a model that :func:`save` wrote.

    Parameters
    ----------
    path : path-like
        Name of the file.

    Returns
    -------
    estimator
        The fitted model; of ``weakly label --save``, a table model, whose ``predict`` takes a dataframe.

    Raises
    ------
    ValueError
        If the file is damaged, is not a model, was written in a format of a later version, or names a type
        that is not among :func:`trusted_types`.
    ImportError
        If skops (extra ``io``) is not installed or, for a table model, what the command line needs.

    Warns
    -----
    UserWarning
        If another minor version of weakly or scikit-learn wrote the file: predictions may differ.

    See Also
    --------
    save : Write one.
    trusted_types : What a file may hold.

    Notes
    -----
    Names are checked before anything is imported or built, and nothing on the list reaches files, programs or
    the network. The numbers of a model are not checked: those of a forged file can give any predictions, and
    those of trees can end the process. Load models of people whose predictions you would use.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from weakly import KernelKMeans
    >>> from weakly.io import load, save
    >>> model = KernelKMeans(2, random_state=0).fit(np.array([[0.0], [0.1], [5.0], [5.1]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "clusters.weakly")
    ...     again = load(Path(folder) / "clusters.weakly")
    >>> bool((again.labels_ == model.labels_).all())
    True
    """
    skops = require_skops()
    path = Path(path)
    with _naming(path):
        with ZipFile(path) as archive:
            record = json.loads(archive.read(_RECORD))
        version, written = int(record["format"]), dict(record["versions"])
    _check_versions(path, version, written)
    with _naming(path), warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # told once, above
        try:
            return skops.load(path, trusted=trusted_types())
        except skops.exceptions.UntrustedTypesFoundException:
            foreign = _foreign_types(skops, file=path)
    raise ValueError(f"{path} is not loaded: it holds {', '.join(foreign)}, which a model may not hold.")


def require_skops():
    """Import the part of skops that reads and writes files, or say how to install it."""
    try:
        import skops.io
        import skops.io.exceptions
    except ImportError:
        raise ImportError("files of models need skops: pip install 'weakly[io]'") from None
    return skops.io


def _versions():
    return {"weakly": weakly.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__}


def _check_versions(path, version, written):
    """Refuse a later format; warn where another minor version wrote the file."""
    if version > _FORMAT:
        raise ValueError(
            f"{path} has format {version}, written by weakly {written.get('weakly')}, and weakly "
            f"{weakly.__version__} reads formats up to {_FORMAT}: pip install --upgrade weakly."
        )
    ours = _versions()
    differ = [
        f"{name} {written.get(name)} (here {ours[name]})"
        for name in ("weakly", "scikit-learn")
        if _minor(written.get(name)) != _minor(ours[name])
    ]
    if differ:
        warnings.warn(
            f"{path} was written with {' and '.join(differ)}: predictions may differ. Fit and save it anew "
            "to be sure.",
            UserWarning,
            stacklevel=3,
        )


def _minor(version):
    return str(version).split(".")[:2]


def _foreign_types(skops, **source):
    """What a file or bytes of skops hold beyond what is trusted."""
    return sorted(set(skops.get_untrusted_types(**source)) - set(trusted_types()))


def _refuse_functions(skops, model):
    """Name the parameter that is a function of the user's own."""
    for name, value in model.get_params().items():
        if callable(value) and not isinstance(value, BaseEstimator) and _is_foreign(skops, value):
            raise ValueError(
                f"{type(model).__name__} cannot be saved: its parameter {name} is a function of your own, "
                "which a file cannot hold. Use one by name or, for a kernel, fit with kernel='precomputed' "
                "to the matrix that it gives."
            )


def _is_foreign(skops, value):
    try:
        return bool(_foreign_types(skops, data=skops.dumps(value)))
    except _NOT_WRITTEN:
        return True


def _portable(value, lazy, known):
    """The same without devices and lazy attributes, whose names are added to ``lazy``.

    Estimators in ``known``, by identity, are not taken apart again: voting holds each of its members twice.
    """
    if isinstance(value, BaseEstimator):
        if id(value) not in known:
            known[id(value)] = model = value.to_numpy() if hasattr(value, "to_numpy") else copy.copy(value)
            for name, part in list(vars(model).items()):
                if _is_lazy(part):
                    lazy.add(name)
                    delattr(model, name)
                else:
                    setattr(model, name, _portable(part, lazy, known))
        return known[id(value)]
    if type(value) in (list, tuple):
        return type(value)(_portable(part, lazy, known) for part in value)
    if isinstance(value, dict):
        # They are text in JSON, from which they would come back as true.
        if any(isinstance(key, bool | np.bool_ | None) for key in value):
            raise ValueError(
                f"a mapping with the keys {list(value)} cannot be saved: use text or numbers as keys."
            )
        changed = copy.copy(value)
        changed.update({key: _portable(part, lazy, known) for key, part in value.items()})
        return changed
    return value


def _is_lazy(value):
    """Whether something is, or holds, what a cluster has yet to compute."""
    if isinstance(value, list | tuple):
        return any(map(_is_lazy, value))
    if is_dataclass(value) and not isinstance(value, type):
        return any(_is_lazy(getattr(value, field.name)) for field in fields(value))
    return is_collection(value) or type(value).__module__.startswith("weakly.distributed")


@contextmanager
def _naming(path):
    """Errors of reading with the path, and with what to do where there is something."""
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).startswith("weakly"):  # what an older version had
            raise ValueError(f"{path} cannot be read as a model: {error}") from error
        raise ImportError(f"{path} needs {error.name}: pip install 'weakly[cli]'") from None
    except OSError as error:
        if error.filename is not None:  # absent, or not ours to read
            raise
        raise ValueError(f"{path} cannot be read as a model of weakly: {error}") from error
    except _DAMAGED as error:
        raise ValueError(f"{path} cannot be read as a model of weakly: {error}") from error
