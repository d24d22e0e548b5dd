"""Models go to files and come back the same; what is not a model does not come back at all."""

import io as streams
import json
import os
import shutil
import sys
import warnings
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import StrOptions

import weakly
from weakly import (
    AdaBoostMLClassifier,
    BagMarginSVC,
    Bags,
    CitationKNNClassifier,
    EMDDClassifier,
    FewLabelClassifier,
    InstanceTransformer,
    KernelKMeans,
    LaplacianRLSClassifier,
    LaplacianRLSRegressor,
    LaplacianSVC,
    ProbabilisticLabelSVC,
    RMSBoostClassifier,
    SERBoostClassifier,
    TotalVariationSVC,
    TransductiveLinearSVC,
    WellSVC,
    WestonWatkinsSVC,
)
from weakly.boosting import graph_prior, kmeans_prior
from weakly.cli._labeling import label_table
from weakly.cli._tables import Table
from weakly.datasets import make_two_moons
from weakly.graphs import neighbor_graph
from weakly.io import load, save, trusted_types
from weakly.kernels import Kernel
from weakly.model_selection import PartiallyLabeled, PartiallyLabeledKFold, labeled_scorer

TRUTH = np.arange(36) % 3
X = np.abs(np.random.default_rng(0).normal(size=(36, 3))) + 4 * np.eye(3)[TRUTH]
Y = np.where(np.arange(36) < 12, TRUTH, -1)
BAGS = Bags(X, np.arange(0, 37, 3))
BAG_Y = np.arange(12) % 2
MOONS = make_two_moons(60, n_per_class=3, random_state=0)
SMALL = {"n_components": 10, "n_estimators": 3, "n_neighbors": 3, "n_start_bags": 2, "random_state": 0}

ESTIMATORS = [
    thing
    for thing in (getattr(weakly, name) for name in weakly._HOME)
    if isinstance(thing, type) and issubclass(thing, BaseEstimator)
]
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:.*parts of the graph:UserWarning"
)


def settings_of(kind):
    """The defaults, and every other value of every parameter that has a list of values."""
    default = kind(StandardScaler()) if kind is InstanceTransformer else kind()
    yield {}
    for name, value in default.get_params(deep=False).items():
        rules = (
            default._parameter_constraints.get(name, ()) if hasattr(kind, "_parameter_constraints") else ()
        )
        for rule in rules if rules != "no_validation" else ():
            if isinstance(rule, StrOptions):
                yield from ({name: option} for option in sorted(rule.options) if option != value)
            elif rule == "boolean":
                yield {name: not value}


SETTINGS = [(kind, setting) for kind in ESTIMATORS for setting in settings_of(kind)]
NAMES = [
    "-".join([kind.__name__, *(f"{name}={value}" for name, value in setting.items())])
    for kind, setting in SETTINGS
]


def make(kind, **setting):
    model = kind(StandardScaler(), **setting) if kind is InstanceTransformer else kind(**setting)
    if setting.get("graph_weights") == "reconstruction":
        setting["graph"] = "anchor"
    small = {name: value for name, value in SMALL.items() if name in model.get_params(deep=False)}
    return model.set_params(**small | setting)


def fit(model):
    """Fit a model to data of its kind; return it with samples to predict."""
    module = type(model).__module__
    is_kernel = getattr(model, "kernel", None) == "precomputed"
    if "multi_instance" in module:
        bags = (X @ X.T, BAGS.bag_of) if is_kernel else BAGS
        return model.fit(bags, BAG_Y), bags
    rows = X @ X.T if is_kernel else X
    if "cluster" in module:
        return model.fit(rows), rows
    if isinstance(model, LaplacianRLSRegressor):
        return model.fit(rows, np.where(Y >= 0, TRUTH, np.nan)), rows
    return model.fit(rows, TRUTH if isinstance(model, WestonWatkinsSVC) else Y), rows


def assert_same(one, other):
    """The whole state of two objects is equal, bit by bit."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray) and one.dtype != object:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif sp.issparse(one):
        assert_same(one.toarray(), other.toarray())
    elif isinstance(one, list | tuple | np.ndarray):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert_same(list(one.values()), list(other.values()))
    elif hasattr(one, "__self__"):  # a bound method
        assert_same(one.__self__, other.__self__)
    elif one is None or (callable(one) and hasattr(one, "__name__")):
        assert one is other
    elif isinstance(one, str | int | float | np.generic):
        assert one == other or (one != one and other != other)
    elif "operator" in type(one).__module__:
        assert repr(one) == repr(other)
    elif is_dataclass(one):  # without what a cached property has put beside the fields
        assert_same(*([getattr(each, field.name) for field in fields(each)] for each in (one, other)))
    else:
        assert_same(one.__getstate__(), other.__getstate__())


def through_file(model, folder):
    save(model, folder / "model.weakly")
    again = load(folder / "model.weakly")
    assert [path.name for path in folder.iterdir()] == ["model.weakly"]
    return again


def assert_predicts_the_same(model, again, new):
    found = [name for name in ("predict", "predict_proba", "decision_function") if hasattr(model, name)]
    assert found or hasattr(model, "transform")
    for name in found:
        assert_same(getattr(model, name)(new), getattr(again, name)(new))


@pytest.mark.parametrize(("kind", "setting"), SETTINGS, ids=NAMES)
def test_every_estimator_and_setting_comes_back(kind, setting, tmp_path):
    model, new = fit(make(kind, **setting))
    before = through_file(model, tmp_path)
    assert_predicts_the_same(model, before, new)  # which may leave something behind in the model
    again = through_file(model, tmp_path)
    assert_same(model.__getstate__(), again.__getstate__())
    assert_predicts_the_same(model, again, new)
    for name in ("transduction_", "labels_"):
        assert hasattr(model, name) == hasattr(again, name)


def test_all_public_estimators_predict():
    """None labels its training samples only."""
    assert [kind.__name__ for kind in ESTIMATORS if not hasattr(kind, "predict")] == ["InstanceTransformer"]


SCORES = ["accuracy", "balanced_accuracy", "f1_macro", "neg_log_loss", "average_precision", "roc_auc_ovr"]
ERRORS = ["neg_mean_absolute_error", "neg_mean_squared_error", "r2"]


def search(estimator, y, scoring=None, **options):
    cv = PartiallyLabeledKFold(2, stratify=y.dtype.kind == "i")
    grid = {f"{options.pop('step', '')}graph_penalty": [0.1, 1.0]}
    return GridSearchCV(estimator, grid, cv=cv, scoring=scoring, **options).fit(X, y)


def table_model(method="few-label"):
    story = [" ".join(np.random.default_rng(row).choice(["ab", "cd", "ef", "gh"], 4)) for row in range(36)]
    cells = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "color": np.array(["red", "blue", "blue"])[TRUTH]})
    cells["story"] = story
    cells.loc[::7, "x"] = np.nan
    cells["kind"] = pd.Series([f"kind {code}" if code >= 0 else None for code in Y], dtype=object)
    return label_table(Table(cells, None), "kind", method=method, max_refits=0).model, cells


GRAPH = neighbor_graph(X, n_neighbors=3)
NUMBERS = np.where(Y >= 0, TRUTH, np.nan)
TREE = DecisionTreeClassifier(max_depth=2)
NOVELTY = {"alpha_labeled": 0.5, "novelty_threshold": 0.8, "n_neighbors": 3}
PRIOR = {0: 0.2, 1: 0.3, 2: 0.5}
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
MEMBERS = [("graph", LaplacianSVC(n_neighbors=3)), ("auto", FewLabelClassifier(random_state=0))]

# Models around models, and parameters that are objects.
COMPOSED = {
    "pipeline": lambda: make_pipeline(StandardScaler(), LaplacianSVC(n_neighbors=3)).fit(X, Y),
    "search": lambda: search(
        make_pipeline(StandardScaler(), LaplacianSVC(n_neighbors=3)), Y, step="laplaciansvc__"
    ),
    "scores": lambda: search(LaplacianSVC(n_neighbors=3), Y, SCORES, refit="accuracy"),
    "labeled score": lambda: search(LaplacianSVC(n_neighbors=3), Y, labeled_scorer("accuracy")),
    "errors": lambda: search(LaplacianRLSRegressor(n_neighbors=3), NUMBERS, ERRORS, refit="r2"),
    "graph": lambda: LaplacianSVC(graph=GRAPH).fit(X, Y),
    "affinity": lambda: LaplacianSVC(graph=sp.csr_matrix(GRAPH.affinity)).fit(X, Y),
    "kernel": lambda: LaplacianSVC(kernel=Kernel("rbf", gamma=0.1), n_neighbors=3).fit(X, Y),
    "fourier": lambda: make(LaplacianSVC, approximation="fourier").fit(X, Y),
    "means": lambda: make(RMSBoostClassifier, prior=partial(kmeans_prior, n_clusters=3)).fit(X, Y),
    "walks": lambda: make(SERBoostClassifier, prior=graph_prior).fit(X, Y),
    "RMS of trees": lambda: make(RMSBoostClassifier, estimator=TREE).fit(X, Y),
    "SER of trees": lambda: make(SERBoostClassifier, estimator=TREE).fit(X, Y),
    "Ada of others": lambda: make(AdaBoostMLClassifier, estimator=LogisticRegression()).fit(X, Y),
    "random state": lambda: AdaBoostMLClassifier(3, random_state=np.random.RandomState(0)).fit(X, Y),
    "novelty": lambda: ProbabilisticLabelSVC(**NOVELTY).fit(X, Y),
    "novelty of anchors": lambda: make(ProbabilisticLabelSVC, graph="anchor", **NOVELTY).fit(X, Y),
    "class prior": lambda: make(FewLabelClassifier, class_prior=PRIOR).fit(X, Y),
    "voting": lambda: PartiallyLabeled(VotingClassifier(MEMBERS)).fit(FRAME, Y),
    "calibration": lambda: PartiallyLabeled(CalibratedClassifierCV(MEMBERS[0][1], cv=2)).fit(X, Y),
    "anchors": lambda: make(FewLabelClassifier, graph="anchor").fit(MOONS.X, MOONS.y_partial),
    "bags": lambda: CitationKNNClassifier().fit(BAGS, BAG_Y),
}

# A method of each kind of detail that a solver reports, beside those of the models above.
DETAILED = [BagMarginSVC, EMDDClassifier, KernelKMeans, TotalVariationSVC, WellSVC]


@pytest.mark.parametrize("name", COMPOSED)
def test_composed_models_come_back(name, tmp_path):
    model = COMPOSED[name]()
    again = through_file(model, tmp_path)
    new = {"bags": BAGS, "anchors": MOONS.X, "voting": FRAME}
    assert_predicts_the_same(model, again, new.get(name, X))
    assert clone(again).get_params().keys() == model.get_params().keys()


def test_no_type_is_listed_without_need(tmp_path):
    found = {f"{kind.__module__}.{kind.__name__}" for kind in ESTIMATORS}
    detailed = [fit(make(kind))[0] for kind in DETAILED]
    for model in [*(compose() for compose in COMPOSED.values()), *detailed, table_model()[0]]:
        save(model, tmp_path / "model.weakly")
        found |= set(skops.io.get_untrusted_types(file=tmp_path / "model.weakly"))
    assert sorted(set(trusted_types()) - found) == []


def test_listed_names_exist():
    for name in trusted_types():
        module, _, member = name.rpartition(".")
        place = sys.modules.get(module) or getattr(
            sys.modules[module.rpartition(".")[0]], module.split(".")[-1]
        )
        assert hasattr(place, member), name


@pytest.mark.parametrize("kind", [FewLabelClassifier, LaplacianSVC, TransductiveLinearSVC])
def test_text_labels_names_of_features_and_sparse_samples(kind, tmp_path):
    names = np.array(["cat", "dog", "eel"], dtype=object)
    text = pd.Series([names[code] if code >= 0 else None for code in Y], dtype=object)
    model = make(kind).fit(FRAME, text)
    again = through_file(model, tmp_path)
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_predicts_the_same(model, again, FRAME)
    sparse = sp.csr_array(np.where(X > 1, X, 0).astype(np.float32))
    model = make(kind, unlabeled="?").fit(sparse, np.where(Y < 0, "?", names[Y].astype(str)))
    again = through_file(model, tmp_path)
    assert again.unlabeled == "?"
    assert_same(model.__getstate__(), again.__getstate__())
    assert_predicts_the_same(model, again, sparse)


def test_missing_numbers_as_markers(tmp_path):
    model = LaplacianSVC(n_neighbors=3, unlabeled=np.nan).fit(X, np.where(Y < 0, np.nan, Y))
    again = through_file(model, tmp_path)
    assert np.isnan(again.unlabeled)
    assert_same(model.transduction_, again.transduction_)


def test_bags_of_a_dataframe(tmp_path):
    bags = Bags.from_frame(FRAME.assign(bag=BAGS.bag_of), "bag")
    model = CitationKNNClassifier().fit(bags, BAG_Y)
    assert_predicts_the_same(model, through_file(model, tmp_path), bags)


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    model = make(LaplacianRLSClassifier, warm_start=True).fit(X, Y)
    again = through_file(model, tmp_path)
    assert "_warm" not in vars(again)
    assert_same(model.fit(X, Y).label_distributions_, again.fit(X, Y).label_distributions_)


def stored_arrays(path):
    with ZipFile(path) as archive:
        return {name: archive.getinfo(name).file_size for name in archive.namelist() if name.endswith(".npy")}


def test_samples_are_stored_once(tmp_path):
    rows = np.random.default_rng(0).normal(size=(300, 20))
    np.save(tmp_path / "rows.npy", rows)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    y = np.where(np.arange(300) < 20, rows[:, 0] > 0, -1).astype(int)
    for model in (FewLabelClassifier(random_state=0), LaplacianSVC(), ProbabilisticLabelSVC()):
        model.fit(mapped, y).predict(rows)  # builds the index of a search
        save(model, tmp_path / "model.weakly")
        sizes = list(stored_arrays(tmp_path / "model.weakly").values())
        assert sum(rows.nbytes <= size < 1.1 * rows.nbytes for size in sizes) == 1
        assert_predicts_the_same(model, load(tmp_path / "model.weakly"), rows)


def own_kernel(A, B):
    return rbf_kernel(A, B)


def own_prior(X, y):
    return np.full((len(X), 3), 1 / 3)


class OwnKernel:
    def __call__(self, A, B):
        return rbf_kernel(A, B)


class OwnEstimator(BaseEstimator):
    def fit(self, X, y):
        return self


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LaplacianSVC(kernel=own_kernel), "kernel"),
        (LaplacianSVC(kernel=lambda A, B: A @ B.T), "kernel"),
        (LaplacianSVC(kernel=partial(own_kernel)), "kernel"),
        (LaplacianSVC(kernel=OwnKernel()), "kernel"),
        (LaplacianSVC(kernel=OwnKernel().__call__), "kernel"),
        (WellSVC(kernel=own_kernel), "kernel"),
        (make_pipeline(StandardScaler(), WestonWatkinsSVC(kernel=own_kernel)), "westonwatkinssvc__kernel"),
        (RMSBoostClassifier(3, prior=own_prior), "prior"),
        (SERBoostClassifier(3, prior=own_prior), "prior"),
        (
            make_pipeline(FunctionTransformer(np.log1p), LaplacianSVC(kernel=own_kernel)),
            "laplaciansvc__kernel",
        ),
    ],
)
def test_functions_of_the_user_are_refused_by_name(model, name, tmp_path):
    (tmp_path / "model.weakly").write_text("mine")
    with pytest.raises(ValueError, match=f"its parameter {name} is a function of your own"):
        save(model, tmp_path / "model.weakly")
    assert (tmp_path / "model.weakly").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (make_pipeline(OwnEstimator(), LaplacianSVC()), "it holds tests.test_io.OwnEstimator"),
        (LaplacianSVC(graph=pd.DataFrame(np.eye(36))), "pandas"),
        (FewLabelClassifier(class_prior={True: 0.2, False: 0.8}), r"keys \[True, False\]"),
        (FewLabelClassifier(class_prior={(0, 1): 0.2}), "FewLabelClassifier cannot be saved: .*tuple"),
        (GridSearchCV(LaplacianSVC(), {"kernel": [own_kernel]}), "tests.test_io.own_kernel"),
        (GridSearchCV(LaplacianSVC(), {}, scoring=make_scorer(own_prior)), "its parameter scoring"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(model, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        save(model, tmp_path / "model.weakly")
    assert not list(tmp_path.iterdir())


def test_functions_of_numpy_and_of_the_package_are_kept(tmp_path):
    model = make_pipeline(FunctionTransformer(np.log1p), LaplacianSVC(n_neighbors=3)).fit(X, Y)
    assert_predicts_the_same(model, through_file(model, tmp_path), X)


@pytest.mark.parametrize("model", [None, "model", LaplacianSVC, {"a": LaplacianSVC()}])
def test_only_estimators_are_saved(model, tmp_path):
    with pytest.raises(TypeError, match="pass a fitted estimator"):
        save(model, tmp_path / "model.weakly")


def test_a_directory_that_does_not_exist(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        save(LaplacianSVC(), tmp_path / "nowhere" / "model.weakly")


def forged(thing, path, **record):
    """Write what ``save`` would refuse to write."""
    skops.io.dump(thing, path)
    versions = {"weakly": weakly.__version__, "scikit-learn": __import__("sklearn").__version__}
    with ZipFile(path, "a") as archive:
        archive.writestr("weakly.json", json.dumps({"format": 1, "versions": versions} | record))
    return path


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (FunctionTransformer(os.system), f"{os.system.__module__}.system"),
        (FunctionTransformer(eval), "builtins.eval"),
        (OwnEstimator(), "tests.test_io.OwnEstimator"),
        (make_pipeline(StandardScaler(), OwnEstimator()), "tests.test_io.OwnEstimator"),
        (FunctionTransformer(partial(os.system, "touch x")), "system"),
        (FunctionTransformer(shutil.rmtree), "shutil.*rmtree"),
    ],
)
def test_foreign_types_are_refused_by_name(thing, name, tmp_path):
    path = forged(thing, tmp_path / "model.weakly")
    with pytest.raises(ValueError, match=f"model.weakly is not loaded: it holds .*{name}"):
        load(path)


def test_refused_files_run_nothing(tmp_path, monkeypatch):
    """Not even the import of a module that a file names."""
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    monkeypatch.syspath_prepend(tmp_path)
    path = forged(OwnEstimator(), tmp_path / "model.weakly")
    with ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content.replace(b"tests.test_io", b"evil"))
    with pytest.raises(ValueError, match=r"evil.OwnEstimator"):
        load(path)
    assert "evil" not in sys.modules


@pytest.fixture(scope="module")
def stored():
    """Bytes of a saved model."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        save(make(LaplacianSVC).fit(X, Y), Path(folder) / "model.weakly")
        return (Path(folder) / "model.weakly").read_bytes()


def rewritten(stored, path, **record):
    with ZipFile(streams.BytesIO(stored)) as old, ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "weakly.json":
                content = json.dumps(json.loads(content) | record).encode()
            new.writestr(name, content)
    return path


def test_versions_are_stored(stored):
    with ZipFile(streams.BytesIO(stored)) as archive:
        record = json.loads(archive.read("weakly.json"))
    assert record["format"] == 1
    assert record["versions"].keys() == {"weakly", "scikit-learn", "numpy"}
    assert record["versions"]["weakly"] == weakly.__version__


def test_a_later_format_is_refused(stored, tmp_path):
    path = rewritten(stored, tmp_path / "m.weakly", format=2, versions={"weakly": "9.1.0"})
    with pytest.raises(ValueError, match=r"format 2, written by weakly 9.1.0.*--upgrade weakly"):
        load(path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"weakly": "9.1.0"}, ["weakly 9.1.0"]),
        ({"scikit-learn": "0.9.1"}, ["scikit-learn 0.9.1"]),
        ({"weakly": "9.1.0", "scikit-learn": "0.9.1"}, ["weakly 9.1.0", "scikit-learn 0.9.1"]),
        ({"weakly": f"{weakly.__version__.rpartition('.')[0]}.99"}, []),  # a patch
    ],
)
def test_other_minor_versions_are_told_in_one_warning(stored, tmp_path, change, named):
    with ZipFile(streams.BytesIO(stored)) as archive:
        versions = json.loads(archive.read("weakly.json"))["versions"]
    path = rewritten(stored, tmp_path / "m.weakly", versions=versions | change)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path)
    assert len(caught) == bool(named)
    assert all(part in str(caught[0].message) for part in named)
    assert not caught or (caught[0].category is UserWarning and caught[0].filename == __file__)


def test_a_pipeline_of_another_scikit_learn_gives_one_warning(tmp_path, monkeypatch):
    """Its own steps would each warn."""
    with monkeypatch.context() as older:
        older.setattr("sklearn.__version__", "0.9.1")
        older.setattr("sklearn.base.__version__", "0.9.1")
        save(make_pipeline(StandardScaler(), LaplacianSVC(n_neighbors=3)).fit(X, Y), tmp_path / "m.weakly")
    with pytest.warns(UserWarning, match=r"scikit-learn 0\.9\.1") as caught:
        load(tmp_path / "m.weakly")
    assert len(caught) == 1


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"PK\x03\x04 torn", b"\x80\x04\x95 a pickle"], ids=range(4)
)
def test_other_files_are_named(tmp_path, content):
    (tmp_path / "model.weakly").write_bytes(content)
    with pytest.raises(ValueError, match=r"model.weakly cannot be read as a model"):
        load(tmp_path / "model.weakly")


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b'{"format": "x", "versions": {}}', b'{"format": 1}'])
def test_other_archives_are_named(tmp_path, record):
    with ZipFile(tmp_path / "model.weakly", "w") as archive:
        if record:
            archive.writestr("weakly.json", record)
    with pytest.raises(ValueError, match=r"model.weakly cannot be read as a model"):
        load(tmp_path / "model.weakly")


def test_a_file_of_skops_without_a_record_is_named(tmp_path):
    skops.io.dump(LaplacianSVC(), tmp_path / "model.skops")
    with pytest.raises(ValueError, match=r"weakly\.json"):
        load(tmp_path / "model.skops")


def test_a_table_model_needs_what_the_command_line_needs(stored, tmp_path, monkeypatch):
    def fail(path, trusted):
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    (tmp_path / "model.weakly").write_bytes(stored)
    monkeypatch.setattr(skops.io, "load", fail)
    with pytest.raises(ImportError, match=r"model.weakly needs pandas: pip install 'weakly\[cli\]'"):
        load(tmp_path / "model.weakly")


def test_absent_files_are_absent(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model.weakly"):
        load(tmp_path / "model.weakly")


@pytest.mark.parametrize("seed", range(3))
def test_damaged_files_are_named(stored, tmp_path, seed):
    """Torn anywhere or with a byte changed anywhere; a few bytes, such as dates, do not matter."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "model.weakly"
    for place in rng.integers(len(stored), size=15):
        path.write_bytes(stored[:place])
        with pytest.raises(ValueError, match=r"model.weakly cannot be read as a model"):
            load(path)
        changed = bytearray(stored)
        changed[place] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        with suppress(ValueError):
            load(path)


@pytest.mark.parametrize(("old", "new"), [(b"), }", b"(, }"), (b"'<f8'", b"'(f8'"), (b"'<f8'", b"'(,)'")])
def test_damaged_headers_of_arrays_are_named(stored, tmp_path, old, new):
    """The checksum, of a file changed as a whole, says nothing of them."""
    with ZipFile(streams.BytesIO(stored)) as archive, ZipFile(tmp_path / "m.weakly", "w") as changed:
        for name in archive.namelist():
            changed.writestr(name, archive.read(name).replace(old, new))
    with pytest.raises(ValueError, match=r"m.weakly cannot be read as a model"):
        load(tmp_path / "m.weakly")


def test_types_that_are_gone_are_named(stored, tmp_path):
    for old, new in ((b"_laplacian_svc", b"_laplacian_old"), (b'"Graph"', b'"Grapf"')):
        with ZipFile(streams.BytesIO(stored)) as archive, ZipFile(tmp_path / "m.weakly", "w") as changed:
            for name in archive.namelist():
                changed.writestr(name, archive.read(name).replace(old, new))
        with pytest.raises(ValueError, match=r"m.weakly is not loaded: it holds weakly"):
            load(tmp_path / "m.weakly")


def test_the_old_file_stays_until_the_new_one_is_on_the_disk(stored, tmp_path, monkeypatch):
    path, done = tmp_path / "model.weakly", []
    path.write_bytes(stored)
    monkeypatch.setattr(os, "fsync", lambda descriptor: done.append("on disk"))

    def fail(source, target):
        done.append("replace")
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no"):
        save(LaplacianSVC(), path)
    assert done == ["on disk", "replace"]
    assert path.read_bytes() == stored
    assert [file.name for file in tmp_path.iterdir()] == ["model.weakly"]


def test_links_are_followed(tmp_path):
    (tmp_path / "real").mkdir()
    save(LaplacianSVC(), tmp_path / "real" / "model.weakly")
    (tmp_path / "link.weakly").symlink_to(tmp_path / "real" / "model.weakly")
    save(WellSVC(), tmp_path / "link.weakly")
    assert (tmp_path / "link.weakly").is_symlink()
    assert isinstance(load(tmp_path / "real" / "model.weakly"), WellSVC)


@pytest.mark.parametrize("kind", [LaplacianSVC, FewLabelClassifier, ProbabilisticLabelSVC])
def test_models_on_a_device_are_saved_without_it(kind, tmp_path):
    pytest.importorskip("torch")
    model = make(kind, device="cpu").fit(X, Y)
    again = through_file(model, tmp_path)
    assert (model.device, again.device) == ("cpu", None)
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda member: make_pipeline(StandardScaler(), member),
        lambda member: VotingClassifier([("a", member)]),
    ],
)
def test_models_around_models_on_a_device(wrap, tmp_path):
    pytest.importorskip("torch")
    model = wrap(LaplacianSVC(n_neighbors=3, device="cpu")).fit(X, TRUTH)
    np.testing.assert_array_equal(model.predict(X), through_file(model, tmp_path).predict(X))


@pytest.mark.parametrize(
    ("model", "lazy"),
    [
        (LaplacianSVC(graph="anchor", n_components=10, n_neighbors=3, random_state=0), "graph_, label_dist"),
        (FewLabelClassifier(random_state=0), "label_distributions_, supervised_, transduction_ are lazy"),
        (WellSVC(kernel="linear"), "label_distributions_, results?_, transduction_ are lazy"),
    ],
)
def test_lazy_attributes_of_a_dask_fit_stay_behind(model, lazy, tmp_path):
    da = pytest.importorskip("dask.array")
    model = clone(model).fit(da.from_array(X, chunks=(12, 3)), da.from_array(Y, chunks=12))
    with pytest.warns(UserWarning, match=lazy):
        save(model, tmp_path / "model.weakly")
    again = load(tmp_path / "model.weakly")
    assert not hasattr(again, "transduction_")
    assert hasattr(model, "transduction_")
    assert_predicts_the_same(model, again, X)
    model.transduction_ = model.transduction_.compute()
    with pytest.warns(UserWarning, match="label_distributions_"):
        save(model, tmp_path / "model.weakly")
    assert_same(load(tmp_path / "model.weakly").transduction_, model.transduction_)


def test_a_table_model_comes_back(tmp_path):
    model, cells = table_model()
    again = through_file(model, tmp_path)
    assert_same(model.predict_proba(cells), again.predict_proba(cells))
    assert again.predict(cells).tolist() == model.predict(cells).tolist()


@pytest.mark.parametrize("kind", [FewLabelClassifier, LaplacianSVC, RMSBoostClassifier, WellSVC])
def test_skops_and_cloudpickle_store_models_by_themselves(kind):
    """As other packages call them: with a list of types to trust, and without any."""
    cloudpickle = pytest.importorskip("cloudpickle")
    model, new = fit(make(kind))
    model.predict(new)
    for again in (
        skops.io.loads(skops.io.dumps(model), trusted=trusted_types()),
        cloudpickle.loads(cloudpickle.dumps(model)),
    ):
        assert_predicts_the_same(model, again, new)
