import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from weakly import FewLabelClassifier
from weakly.cli._app import app
from weakly.cli._features import TablePreparation
from weakly.cli._tables import read_table


@pytest.fixture
def weakly():
    """Call the command line; the result has ``exit_code``, ``stdout`` and ``stderr``."""
    runner = CliRunner(env={"COLUMNS": "200"})
    return lambda *arguments, **options: runner.invoke(app, [str(each) for each in arguments], **options)


@pytest.fixture
def flowers():
    """Two clusters far apart, of which the name tells the cluster; 6 of the 60 names are known."""
    rng = np.random.default_rng(0)
    cluster = np.tile([0, 1], 30)
    truth = np.array(["rose", "tulip"], dtype=object)[cluster]
    frame = pd.DataFrame(
        {
            "height": np.round(10 * cluster + rng.normal(size=60), 3),
            "width": np.round(5 * cluster + rng.normal(size=60), 3),
            "color": np.where(cluster == 0, "red", "white"),
            "name": truth,
        }
    )
    frame.loc[6:, "name"] = None
    frame.attrs["truth"] = truth.tolist()
    return frame


@pytest.fixture
def fit_again():
    """Fit the default method by hand on the columns of a text table, without the command line."""

    def fit(path, target="name"):
        cells = read_table(path).cells
        codes = pd.factorize(cells[target].replace("", None), sort=True)[0]
        features = TablePreparation().fit_transform(cells.drop(columns=target))
        return FewLabelClassifier(random_state=0).fit(features, codes)

    return fit
