"""A report that is one file: no script, no network, every piece of the user's text escaped."""

from __future__ import annotations

import base64
import io
import warnings
from datetime import date
from html import escape
from string import Template

import numpy as np

import weakly
from weakly.cli._errors import UserError
from weakly.cli._summary import comparison_lines, headline

N_LEAST_SURE = 15
N_COLUMNS = 8
N_CHARACTERS = 60  # of a cell of the user's table

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>$title</title>
<style>
body { font: 16px/1.5 sans-serif; color: #222; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; padding: 0.25rem 0.75rem; border-bottom: 1px solid #ddd; vertical-align: top; }
th { border-bottom: 2px solid #888; }
img { max-width: 100%; }
.scroll { overflow-x: auto; }
.origin { color: #666; font-size: 0.9rem; }
.note { background: #fff3cd; padding: 0.5rem 0.75rem; }
</style>
</head>
<body>
<h1>$title</h1>
<p>$summary</p>
<p class="origin">$origin</p>
$notes
<h2>Classes</h2>
$classes
<h2>How far to trust it</h2>
$comparison
<h2>The rows in a plane</h2>
<p>First two principal components of the features, coloured by class; stars carry a given label.</p>
<p><img alt="rows in a plane, coloured by class" src="data:image/png;base64,$picture"></p>
<h2>What to label next</h2>
<p>The rows the method is least sure of. Row 1 is the first row below the header.</p>
$least_sure
<h2>Columns</h2>
$columns
</body>
</html>
""")


def require_plotting():
    """Import the plotting module or say how to install what it needs."""
    try:
        import weakly.plotting as plotting
    except ImportError as error:
        raise UserError(str(error)) from None
    return plotting


def write_report(labeling, path, *, source):
    """Write the account of a labelling of the file ``source`` as one HTML file."""
    n_filled = int(labeling.missing.sum())
    origin = f"{source}, seed {labeling.seed}, weakly {weakly.__version__}, {date.today().isoformat()}"
    page = _PAGE.substitute(
        title=escape(f"Labels of {labeling.target}"),
        summary=escape(headline(labeling)),
        origin=escape(origin),
        notes=_paragraphs((note, True) for note in labeling.notes),
        classes=_grid(
            [_clip(labeling.target), "given", "filled", "share of filled"],
            [
                (_clip(label), given, filled, f"{filled / n_filled:.1%}")
                for label, given, filled in labeling.class_counts()
            ],
        ),
        comparison=_paragraphs(comparison_lines(labeling)),
        picture=_picture(labeling),
        least_sure=_least_sure(labeling),
        columns=_grid(
            ["column", "used as"], [(_clip(column.name), column.used_as) for column in labeling.columns]
        ),
    )
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def _least_sure(labeling):
    ours = (labeling.target, f"{labeling.target}_confidence")
    places = [place for place, name in enumerate(labeling.frame.columns) if name not in ours][:N_COLUMNS]
    shown = labeling.frame.iloc[:, places]
    rows = [
        (
            row + 1,
            _clip(labeling.classes[labeling.filled[row]]),
            f"{labeling.confidence[row]:.2f}",
            *map(_clip, shown.iloc[row]),
        )
        for row in labeling.least_sure(N_LEAST_SURE)
    ]
    return _grid(["row", _clip(labeling.target), "confidence", *map(_clip, shown.columns)], rows)


def _picture(labeling):
    from matplotlib.figure import Figure

    names = np.array([str(label) for label in labeling.classes], dtype=object)
    given = np.where(labeling.missing, None, names[labeling.given])
    figure = Figure(figsize=(9, 6), layout="constrained")
    require_plotting().plot_transduction(
        names[labeling.filled], labeling.features, given, ax=figure.add_subplot()
    )
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # class names in scripts the font lacks
        figure.savefig(buffer, format="png", dpi=110)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _paragraphs(lines):
    return "\n".join(
        f'<p class="note">{escape(line[0].upper() + line[1:])}</p>' if is_note else f"<p>{escape(line)}</p>"
        for line, is_note in lines
    )


def _grid(heads, rows):
    head = "".join(f"<th>{escape(str(text))}</th>" for text in heads)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(str(text))}</td>" for text in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def _clip(value):
    text = str(value)
    return text if len(text) <= N_CHARACTERS else text[: N_CHARACTERS - 1] + "…"
