"""Every example runs by itself, without a warning, and leaves its picture."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def run_example(path, picture):
    command = [sys.executable, "-W", "error", str(path), str(picture)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_draw_a_picture(path, tmp_path):
    done = run_example(path, tmp_path / "picture.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_probable_labels_find_the_gap_that_two_bad_labels_hide(tmp_path):
    (path,) = [path for path in EXAMPLES if path.stem == "plot_probabilistic_labels"]
    lines = run_example(path, tmp_path / "picture.png").stdout.splitlines()
    wrong = {name: float(text.split()[0]) for name, text in (line.split(": ") for line in lines)}
    assert wrong["PLSVM"] <= 1.0  # the clouds overlap in a row or two
    assert wrong["LapSVM"] > 10.0
    assert wrong["SVM"] > 25.0


def test_no_optimizer_is_below_the_global_minimum(tmp_path):
    (path,) = [path for path in EXAMPLES if path.stem == "plot_transductive"]
    lines = run_example(path, tmp_path / "picture.png").stdout.splitlines()
    objectives = {name: float(text.split()[1]) for name, text in (line.split(": ") for line in lines)}
    assert objectives["branch_and_bound"] == min(objectives.values())
    assert objectives["branch_and_bound"] < 0.5 * objectives["switching"]


def test_a_search_over_splits_finds_the_gap_that_turns_do_not(tmp_path):
    (path,) = [path for path in EXAMPLES if path.stem == "plot_clusters"]
    lines = run_example(path, tmp_path / "picture.png").stdout.splitlines()
    found = {name: float(text) for name, text in (line.split(": ") for line in lines)}
    assert found.pop("WellSVM") > 0.9
    assert max(found.values()) < 0.2


def test_a_prior_from_neighbours_beats_labels_alone(tmp_path):
    (path,) = [path for path in EXAMPLES if path.stem == "plot_boosting_priors"]
    lines = run_example(path, tmp_path / "picture.png").stdout.splitlines()
    right = {name: float(text.split()[0]) for name, text in (line.split(": ") for line in lines)}
    assert min(right["graph"], right["staged"]) > right["supervised"] + 3
