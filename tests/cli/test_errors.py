import os
import signal
import subprocess
import sys
import warnings

import pytest
import typer

from weakly import LaplacianRLSClassifier
from weakly.cli._errors import clean_stops, did_you_mean
from weakly.exceptions import FitInterruptedWarning

SLOW_FIT = """
import time
from weakly import LaplacianRLSClassifier
from weakly.cli import main

def fit(self, X, y):
    print("fitting", flush=True)
    time.sleep(60)

LaplacianRLSClassifier.fit = fit
main()
"""


@pytest.fixture
def label(weakly, tmp_path, flowers):
    """Label a table with a method that tests can break; returns the result and the names of all files."""
    flowers.to_csv(tmp_path / "t.csv", index=False)

    def call(*options):
        method = ("--method", "laplacian-rls", "--report", tmp_path / "r.html")
        result = weakly("label", tmp_path / "t.csv", "--target", "name", *method, *options)
        return result, sorted(os.listdir(tmp_path))

    return call


def interrupt_by_warning():
    warnings.warn("interrupted at iteration 7", FitInterruptedWarning, stacklevel=2)


def interrupt_by_error():
    raise KeyboardInterrupt


def interrupt_behind_another_error():
    """As NumPy does where Ctrl-C stops a compiled module that loads."""
    raise ValueError("no valid format string") from KeyboardInterrupt()


INTERRUPTS = [interrupt_by_warning, interrupt_by_error, interrupt_behind_another_error]


@pytest.mark.parametrize("interrupt", INTERRUPTS)
@pytest.mark.parametrize("n_fits", [1, 2, 5], ids=["first fit", "first refit", "later refit"])
def test_interrupted_fits_write_nothing(label, monkeypatch, interrupt, n_fits):
    fit, calls = LaplacianRLSClassifier.fit, []

    def interrupted_fit(self, X, y):
        calls.append(y)
        fitted = fit(self, X, y)
        if len(calls) == n_fits:
            interrupt()
        return fitted

    monkeypatch.setattr(LaplacianRLSClassifier, "fit", interrupted_fit)
    result, files = label()
    assert result.exit_code == 130
    assert result.stderr == "interrupted: no file is left half written.\n"
    assert result.stdout == ""
    assert files == ["t.csv"]
    assert len(calls) == n_fits


@pytest.mark.parametrize("interrupt", INTERRUPTS[1:])
def test_interrupts_outside_fits(interrupt, capsys):
    with pytest.raises(typer.Exit) as leaving, clean_stops():
        interrupt()
    assert leaving.value.exit_code == 130
    assert capsys.readouterr().err == "interrupted: no file is left half written.\n"


def test_other_errors_are_no_interrupts():
    with pytest.raises(ValueError, match="other"), clean_stops():
        raise ValueError("other") from TypeError()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code", "told"), [(signal.SIGINT, 130, 1), (signal.SIGTERM, 143, 0)])
def test_signals_during_a_fit(tmp_path, flowers, number, code, told):
    flowers.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["label", str(tmp_path / "t.csv"), "--target", "name", "--method", "laplacian-rls"]
    command = [sys.executable, "-c", SLOW_FIT, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr.count("\n")) == (code, "", told)
    assert os.listdir(tmp_path) == ["t.csv"]


# A prediction that lasts until it is stopped.
SLOW_PREDICTION = """
import time
from weakly.cli import _predict, main

def load(path):
    print("predicting", flush=True)
    time.sleep(60)

_predict._load = load
main()
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code", "told"), [(signal.SIGINT, 130, 1), (signal.SIGTERM, 143, 0)])
def test_signals_during_a_prediction(tmp_path, number, code, told):
    command = [sys.executable, "-c", SLOW_PREDICTION, "predict", "t.csv", "--model", "m.weakly"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        assert process.stdout.readline() == "predicting\n"
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr.count("\n")) == (code, "", told)


def test_lack_of_memory_is_one_line(label, monkeypatch):
    monkeypatch.setenv("WEAKLY_MEMORY_LIMIT", "1KB")
    result, files = label()
    assert result.exit_code == 1
    assert result.stderr.startswith("error: out of memory: ")
    assert result.stderr.count("\n") == 1
    assert "WEAKLY_MEMORY_LIMIT" in result.stderr
    assert "choose another method with --method." in result.stderr
    assert files == ["t.csv"]


def test_ctrl_c_while_modules_load(monkeypatch, capsys):
    from weakly import cli

    class Interrupting:
        def find_spec(self, name, path=None, target=None):
            if name == "weakly.cli._app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "weakly.cli._app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as leaving:
        cli.main()
    assert leaving.value.code == 130
    assert capsys.readouterr().err == "interrupted.\n"


def test_hints_end_in_one_way():
    assert did_you_mean("zz", ["a", "b"]) == "there are 'a', 'b'."
    assert did_you_mean("zz", list("abcdefghijklm")).endswith("'l', ...")
    assert did_you_mean("rosee", ["rose", "tulip"]) == "did you mean 'rose'?"
