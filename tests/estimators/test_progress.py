from weakly.estimators._base import Progress


def test_progress_tells_stages_and_steps_on_standard_error(capsys):
    progress = Progress("LaplacianSVC", verbose=1)
    with progress.stage("graph"):
        progress.count()
    out, err = capsys.readouterr()
    assert out == ""
    started, step, ended = err.split("\r")
    assert "[LaplacianSVC] graph ..." in started
    assert "[LaplacianSVC] iteration 1 " in step
    assert ended.startswith("[LaplacianSVC] graph: 0.0")
    assert ended.endswith("\n")


def test_progress_is_silent_unless_asked(capsys):
    progress = Progress("LaplacianSVC", verbose=0)
    with progress.stage("graph"):
        progress.count()
    assert capsys.readouterr() == ("", "")
