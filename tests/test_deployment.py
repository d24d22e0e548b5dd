"""The package where users put it: without a writable directory, in forked processes, in several threads."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import TimeoutError as TooLate
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import weakly
from tests.every_estimator import answers_of, arguments_of, every_estimator, make
from weakly import LaplacianSVC

ROOT = Path(__file__).parents[1]
PACKAGE = Path(weakly.__file__).parent
NOBODY = 65534
NAMES = [name for name, *_ in every_estimator()]

needs_fork = pytest.mark.skipif(sys.platform != "linux", reason="forks are the way of Linux")


@pytest.fixture
def unwritable(tmp_path):
    """A copy of the package in which no directory takes machine code, whoever the user is."""
    copy = tmp_path / "site" / "weakly"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for directory in [copy, *filter(Path.is_dir, copy.rglob("*"))]:
        (directory / "__pycache__").touch()  # a file, where a directory is to be made
    return copy.parent


def run_from(site, code, temporary):
    """Run code with that copy and without a home."""
    settings = {"PYTHONPATH": str(site), "HOME": os.devnull, "TMPDIR": str(temporary)}
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", code], env=kept | settings, capture_output=True, text=True, check=False
    )


# The name of a compiled function, what it gives, and whether its code was read from a file.
KEYS = """
import numpy as np
import weakly
from weakly.rows import _blocks
for name in weakly.__all__:
    getattr(weakly, name)
_blocks.row_keys(np.eye(3))
print(weakly.__file__, sum(_blocks._dense_keys.stats.cache_hits.values()))
"""


@pytest.mark.skipif(os.name != "posix", reason="elsewhere the temporary directory is the user's own")
def test_without_a_writable_directory_code_is_kept_in_a_private_temporary_one(unwritable, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for n_hits in (0, 1):
        done = run_from(unwritable, KEYS, temporary)
        assert (done.stdout, done.stderr) == (f"{unwritable / 'weakly' / '__init__.py'} {n_hits}\n", "")
    (kept,) = temporary.iterdir()
    assert kept.name == f"weakly-{os.getuid()}"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert list(kept.rglob("_blocks._dense_keys-*.nbc"))


def test_without_any_writable_directory_code_is_compiled_again(unwritable, tmp_path):
    code = f"import tempfile; tempfile.tempdir = {os.devnull!r}\n{KEYS}"
    done = run_from(unwritable, code, tmp_path)
    assert (done.stdout, done.stderr) == (f"{unwritable / 'weakly' / '__init__.py'} 0\n", "")


def test_code_is_kept_beside_the_sources_where_they_are_writable(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "weakly", ignore=shutil.ignore_patterns("__pycache__"))
    done = run_from(tmp_path, KEYS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "weakly" / "rows" / "__pycache__").glob("_blocks._dense_keys-*.nbc"))
    assert not list(tmp_path.glob("weakly-*"))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can act as another user")
def test_an_unprivileged_user_fits_every_estimator_of_the_wheel():
    with tempfile.TemporaryDirectory() as directory:  # one that others can reach, unlike pytest's
        place = Path(directory)
        place.chmod(0o755)
        python = _installed(place)
        shutil.copy(ROOT / "tests" / "every_estimator.py", place)
        temporary = place / "temporary"
        temporary.mkdir()
        temporary.chmod(0o1777)
        done = _as_nobody([python, place / "every_estimator.py"], temporary)
        assert done.stdout == f"{len(NAMES)} estimators fitted\n", done.stderr
        assert list((temporary / f"weakly-{NOBODY}").rglob("*.nbc"))


def _installed(place):
    """Build the wheel and install it, without extras, where only root can write; return its interpreter."""
    python = next((path for path in (sys.executable, "/usr/bin/python3") if _is_for_all(path)), None)
    if python is None:
        pytest.skip("no interpreter that other users can run")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", place / "dist", ROOT], check=True)
    subprocess.run([python, "-m", "venv", "--without-pip", place / "venv"], check=True)
    inside = place / "venv" / "bin" / "python"
    (wheel,) = (place / "dist").iterdir()
    subprocess.run([*pip, "--python", inside, "install", wheel], check=True)
    subprocess.run(["chmod", "-R", "a+rX,a-w", place], check=True)
    return inside


def _is_for_all(python):
    try:
        return _as_nobody([python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]).returncode == 0
    except PermissionError:
        return False


def _as_nobody(command, temporary="/tmp"):
    settings = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "TMPDIR": str(temporary)}
    return subprocess.run(
        command, env=settings, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_package_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "weakly", "--version"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"weakly {weakly.__version__}\n", "")


# Those whose loops run on several threads, or that search for neighbors by OpenMP.
PARALLEL = [
    "AdaBoostMLClassifier", "CheegerRLSClassifier", "CheegerSVC", "FewLabelClassifier",
    "IterativeSVRClustering", "LaplacianSVC", "MultiInstanceKernelSVC", "ProbabilisticLabelSVC",
    "RMSBoostClassifier", "SERBoostClassifier", "TotalVariationRLSClassifier", "TotalVariationSVC",
]  # fmt: skip


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr("weakly._threads._most_threads", lambda: 2)
    with threadpool_limits(2, user_api="openmp"):
        yield


@needs_fork
@pytest.mark.usefixtures("two_threads")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_children_of_a_process_that_has_fitted_fit_too():
    expected = [answers_of(name) for name in PARALLEL]
    with get_context("fork").Pool(2) as pool:
        try:
            found = pool.map_async(answers_of, PARALLEL, chunksize=1).get(timeout=120)
        except TooLate:
            pytest.fail("a forked child hangs, or was ended")
    for ours, theirs in zip(expected, found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.usefixtures("two_threads")
def test_several_threads_fit_at_the_same_time():
    expected = [answers_of(name) for name in PARALLEL]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(answers_of, 2 * PARALLEL))
    for ours, theirs in zip(2 * expected, found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.filterwarnings("ignore::weakly.exceptions.ConvergenceWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", [*NAMES, "hinge"])
def test_fits_leave_the_global_random_state_alone(name):
    estimator = LaplacianSVC(loss="hinge") if name == "hinge" else make(name)
    name = "LaplacianSVC" if name == "hinge" else name
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    estimator.fit(*arguments_of(name, weakly._HOME[name]))
    np.testing.assert_equal(np.random.get_state(legacy=False), before)  # noqa: NPY002
