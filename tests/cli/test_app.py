import importlib.util
import sys

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import weakly as package
from weakly import cli
from weakly.cli import _methods


def test_version(weakly):
    assert weakly("--version").stdout == f"weakly {package.__version__}\n"


@pytest.mark.parametrize("command", [(), ("label",), ("predict",), ("methods",), ("demo",)])
def test_help(weakly, command):
    result = weakly(*command, "--help")
    assert result.exit_code == 0
    assert f"Usage: {' '.join(['root', *command])} " in result.stdout


def test_all_commands_are_listed(weakly):
    listing = weakly("--help").stdout
    assert all(f" {name} " in listing for name in ("label", "predict", "methods", "demo"))


def test_methods_table(weakly):
    listing = weakly("methods").stdout
    assert "laplacian-rls" in listing
    assert "LaplacianRLSClassifier" in listing
    assert "laplacian-svc" in listing
    assert "Regressor" not in listing


def test_later_classifiers_appear_by_themselves(weakly, monkeypatch):
    class RMSBoostClassifier(ClassifierMixin, BaseEstimator):
        """Boost with a margin.

        More.
        """

        def __init__(self, unlabeled="auto"):
            self.unlabeled = unlabeled

    monkeypatch.setattr(package, "RMSBoostClassifier", RMSBoostClassifier, raising=False)
    monkeypatch.setattr(package, "__all__", [*package.__all__, "RMSBoostClassifier"])
    line = next(line for line in weakly("methods").stdout.splitlines() if "RMSBoost" in line)
    assert "rms-boost" in line
    assert "Boost with a margin." in line
    assert "More" not in line


def test_classifiers_of_bags_are_no_methods_for_tables(weakly):
    assert "MultiInstance" not in weakly("methods").stdout


@pytest.mark.parametrize(
    ("class_name", "command_name"),
    [
        ("LaplacianRLSClassifier", "laplacian-rls"),
        ("LaplacianSVC", "laplacian-svc"),
        ("TransductiveLinearSVC", "transductive-linear-svc"),
        ("FewLabelClassifier", "few-label"),
        ("RMSBoostClassifier", "rms-boost"),
    ],
)
def test_command_names(class_name, command_name):
    assert _methods._command_name(type(class_name, (), {})) == command_name


def test_neighbours_fit_the_table():
    estimator = _methods.make_estimator("laplacian-rls", n_rows=4, seed=5)
    assert estimator.n_neighbors == 3


def test_without_the_extra_one_line_names_the_command(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(cli, "find_spec", lambda name: None if name == "rich" else real(name))
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    assert leaving.value.code == "weakly: the command line needs rich: pip install 'weakly[cli]'"


def test_entry_point_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["weakly", "--version"])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    assert leaving.value.code == 0
    assert capsys.readouterr().out.startswith("weakly ")


def test_unknown_command(weakly):
    assert weakly("labels").exit_code == 2
