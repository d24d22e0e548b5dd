"""Rules of the project that no single module can keep by itself."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
from numpydoc.validate import validate

import weakly
from weakly.estimators._docstrings import TEXTS, fill_doc

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "weakly"
MODULES = sorted(SOURCE.rglob("*.py"))

# A part imports parts of the layers above it in this list, and of its own layer nothing but itself.
LAYERS = (
    {"_compat", "_compile", "_files", "_threads", "exceptions"},
    {"_random_kernels"},
    {"rows"},
    {"distributed", "graphs", "kernels", "losses"},
    {"regularizers", "spaces"},
    {"solvers"},
    {"estimators"},
    {"manifold", "svm", "boosting", "multi_instance", "cluster", "model_selection", "plotting", "io"},
    {"auto", "datasets"},
    {"cli"},
    {"__main__"},
)


def imports_of(path):
    """Parts of the package that a module imports, at whatever depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "weakly":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("weakly.")}
    return found


def part_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_imports_point_one_way():
    below = {part: set().union(*LAYERS[:place]) for place, layer in enumerate(LAYERS) for part in layer}
    wrong = {}
    for path in MODULES:
        part = part_of(path)
        if part != "__init__":
            front_door = {*weakly._HOME, "__version__"} if part in ("cli", "io") else set()
            wrong[path.relative_to(SOURCE)] = imports_of(path) - below[part] - front_door - {part}
    assert {path: names for path, names in wrong.items() if names} == {}


def test_modules_fit_a_sitting():
    lengths = {path.relative_to(SOURCE): len(path.read_text().splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length > 420} == {}  # about 400


def test_private_names_of_scikit_learn_stay_in_one_file():
    pattern = re.compile(r"from sklearn[\w.]*\._|from sklearn[\w.]* import .*\b_\w+")
    users = [path.name for path in MODULES if pattern.search(path.read_text())]
    assert users == ["_compat.py"]


def test_numba_is_set_up_in_one_place():
    users = [path.name for path in MODULES if re.search(r"^\s*(import|from) numba\b", path.read_text(), re.M)]
    assert users == ["_compile.py", "_threads.py"]


def test_pytorch_is_known_by_name_in_one_place():
    """Algorithms are written once, for the arrays that they are given."""
    pattern = re.compile(r"^\s*(import|from) torch\b", re.M)
    assert [path.name for path in MODULES if pattern.search(path.read_text())] == ["_device.py"]
    assert [path for path in MODULES if "torch" in path.stem] == []


def test_solvers_ask_what_a_space_can_do_and_not_its_class():
    asking = set()
    for path in (path for path in MODULES if part_of(path) != "spaces"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                kinds = {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])}
                if any(kind.endswith(("Space", "CenteredRows")) for kind in kinds):
                    asking.add(path.relative_to(SOURCE).as_posix())
    assert asking == set()


def test_cited_works_are_in_the_bibliography():
    known = set(re.findall(r"@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text()))
    cited = set()
    for path in MODULES:
        cited |= set(re.findall(r"\[([a-z]+\d*)\](?:_\b| Eq\.| section)", path.read_text()))
    assert cited
    assert cited <= known


def public_objects():
    """Names that users import."""
    for name in weakly.__all__:
        thing = getattr(weakly, name)
        if inspect.ismodule(thing):
            for member in getattr(thing, "__all__", [n for n in vars(thing) if not n.startswith("_")]):
                value = getattr(thing, member)
                if getattr(value, "__module__", "").startswith("weakly") and callable(value):
                    yield f"{value.__module__}.{member}"
        else:
            yield f"{thing.__module__}.{name}"


def docstrings():
    """Source docstrings, before shared texts are filled in, with the path and the node of each."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module) and ast.get_docstring(node):
                yield path.relative_to(SOURCE).as_posix(), node, ast.get_docstring(node)


def test_shared_texts_are_written_once_and_used():
    """What several docstrings say of a parameter is in one table, see ``weakly.estimators._docstrings``."""
    places = {}
    for path, node, text in docstrings():
        for entry in re.findall(r"^(\w.* : .+(?:\n {4,}.*){4,})", text, re.M):
            places.setdefault(entry, []).append((path, getattr(node, "name", "")))
    assert [found for found in places.values() if len(found) > 1] == []
    texts = [*(text for *_, text in docstrings()), *TEXTS.values()]
    used = Counter(name for text in texts for name in re.findall(r"^ *%\((\w+)\)s$", text, re.M))
    assert set(used) == set(TEXTS)
    assert [name for name, count in used.items() if count < 2] == []


def test_shared_texts_are_filled_in():
    for name in set(public_objects()):
        module, _, member = name.rpartition(".")
        thing = getattr(importlib.import_module(module), member)
        members = [getattr(thing, key) for key in dir(thing) if not key.startswith("_")]
        unfilled = [each for each in [thing, *members] if "%(" in (inspect.getdoc(each) or "")]
        assert unfilled == []


def test_unknown_shared_texts_are_errors():
    class Wrong:
        """Summary.

        %(no_such_text)s
        """

    with pytest.raises(KeyError, match="no_such_text"):
        fill_doc(Wrong)


# Left out: extended summaries, See Also and examples, which short functions do not need.
PASSED_OVER = {"ES01", "SA01", "SA04", "EX01"}
PROTOCOLS = {
    "weakly.losses._labeled.ScoreLoss",
    "weakly.spaces._protocols.Space",
    "weakly.spaces._protocols.BaseSpace",
    "weakly.spaces._smoother.Smoother",
    "weakly.solvers._label_machine.LabelMachine",
    "weakly.solvers._label_sets.LabelSet",
}


def documented():
    """Public functions and classes, and the public methods of estimators."""
    for name in sorted(set(public_objects()) - PROTOCOLS):
        yield name
        module, _, member = name.rpartition(".")
        thing = getattr(importlib.import_module(module), member)
        if hasattr(thing, "fit"):
            own = [
                key for key in dir(thing) if key in ("fit", "predict", "predict_proba", "decision_function")
            ]
            yield from (f"{name}.{key}" for key in own)


@pytest.mark.parametrize("name", list(documented()))
def test_docstrings_follow_numpydoc(name):
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in PASSED_OVER]
    assert not errors


# Records that are shown by the function that makes them.
SHOWN_ELSEWHERE = {
    "Callback", "Candidate", "Cell", "Comparison", "Evidence", "Ground", "LabelDraw", "NormalEquations",
    "Outcome", "Paper", "Preparation", "Restriction", "RidgePath", "RowFit", "Store", "SuccessRates",
    "Summary", "Table",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(public_objects()) - PROTOCOLS))
def test_public_names_have_an_example(name):
    module, _, member = name.rpartition(".")
    if member not in SHOWN_ELSEWHERE:
        assert ">>>" in inspect.getdoc(getattr(importlib.import_module(module), member))


def test_tools_are_pinned_once():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pins = [line for line in settings["project"]["optional-dependencies"]["dev"] if "==" in line]
    assert {line.split("==")[0] for line in pins} == {"codespell", "mypy", "numpydoc", "ruff", "torch"}
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"repo: (\S+)", hooks) == ["local"]
    assert "rev:" not in hooks


BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("matplotlib", "typer", "rich", "pandas", "pyarrow", "pynndescent", "cvxpy",
                                  "torch", "dask", "distributed", "skops"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import numpy as np
import weakly
"""


def run_without_extras(code):
    return subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)


def test_import_is_light():
    code = "import sys; before = set(sys.modules); import weakly; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "importlib.metadata" not in loaded
    assert {name.partition(".")[0] for name in loaded} <= {"weakly", "importlib", "warnings"}


def test_version_is_that_of_the_installed_package(monkeypatch):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert weakly.__version__ == settings["project"]["version"]

    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert weakly.__version__ == "unknown"


def test_core_works_without_extras():
    code = """
from weakly import *
X = np.random.default_rng(0).normal(size=(30, 3))
y = np.array([0, 1] + [-1] * 28)
assert set(weakly.LaplacianRLSClassifier().fit(X, y).transduction_) <= {0, 1}
"""
    done = run_without_extras(code)
    assert done.returncode == 0, done.stderr


def test_a_look_around_works_without_extras():
    code = """
import inspect, pydoc
for module in (weakly, weakly.distributed, weakly.plotting):
    assert {name for name, _ in inspect.getmembers(module)} >= set(module.__all__)
    page = pydoc.render_doc(module.__name__, renderer=pydoc.plaintext)
    assert all(name in page for name in module.__all__)
    assert not hasattr(module, "no_such_name")
assert weakly.plotting.project(np.eye(3)).shape == (3, 2)
"""
    done = run_without_extras(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("from weakly.cli import main; main()", "cli"),
        ("weakly.plotting.plot_transduction([0, 1], np.eye(2))", "plot"),
        ("weakly.plotting.plot_regions(np.eye(2), (1, 1))", "plot"),
        ("weakly.graphs.neighbor_graph(np.eye(9), search='approximate')", "ann"),
        ("weakly.distributed.connect('here')", "dask"),
        ("weakly.io.save(weakly.LaplacianSVC(), 'model.weakly')", "io"),
        ("weakly.io.load('model.weakly')", "io"),
        ("weakly.distributed.DaskBlocks(np.eye(2))", "dask"),
        ("from weakly.distributed import rows_of; rows_of(np.eye(2))", "dask"),
        ("weakly.LaplacianSVC(device='cuda').fit(np.eye(9), [0, 1] + 7 * [-1])", "gpu"),
        ("weakly.FewLabelClassifier(device='cpu').fit(np.eye(9), [0, 1] + 7 * [-1])", "gpu"),
    ],
)
def test_missing_extras_name_the_command(code, extra):
    done = run_without_extras(code)
    assert done.returncode != 0
    assert f"pip install 'weakly[{extra}]'" in done.stderr + done.stdout
