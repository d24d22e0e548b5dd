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
from weakly.cli._account import family_words
from weakly.cli._errors import UserError
from weakly.cli._summary import account_lines, comparison_lines, headline

N_LEAST_SURE = 15
N_KERNELS = 10
MAX_DRAWN = 20_000  # rows of the picture
N_COLUMNS = 8
N_CHARACTERS = 60  # of a cell of the user's table

_MARKED = " Marked: where the supervised baseline says another class."
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
.verdict { background: #e7f0f7; padding: 0.5rem 0.75rem; font-weight: bold; }
.bar { display: inline-block; height: 0.7rem; background: #4c78a8; }
mark { background: #fde2c8; }
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
$account
$comparison
$kernels
<h2>The rows in a plane</h2>
<p>$caption</p>
<p><img alt="rows in a plane, coloured by class" src="data:image/png;base64,$picture"></p>
<h2>What to label next</h2>
<p>The rows the method is least sure of. Row 1 is the first row below the header.$marked</p>
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
    origin = f"{source}, seed {labeling.seed}, weakly {weakly.__version__}, {date.today().isoformat()}"
    drawn = _drawn_rows(labeling)
    page = _PAGE.substitute(
        title=escape(f"Labels of {labeling.target}"),
        summary=escape(headline(labeling)),
        origin=escape(origin),
        notes=_paragraphs((note, True) for note in labeling.notes),
        classes=_classes(labeling),
        account="" if labeling.account is None else _account(labeling),
        comparison=_paragraphs(comparison_lines(labeling)),
        kernels="" if labeling.account is None else _kernels(labeling.account),
        caption=escape(_caption(len(drawn), len(labeling.given))),
        picture=_picture(labeling, drawn),
        marked="" if labeling.account is None else _MARKED,
        least_sure=_least_sure(labeling),
        columns=_grid(
            ["column", "used as"], [(_clip(column.name), column.used_as) for column in labeling.columns]
        ),
    )
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def _classes(labeling):
    n_filled = int(labeling.missing.sum())
    heads = [_clip(labeling.target), "given", "filled", "share of filled"]
    rows = [
        [_clip(label), given, filled, f"{filled / n_filled:.1%}"]
        for label, given, filled in labeling.class_counts()
    ]
    if labeling.account is not None:
        heads.append("filled by the supervised baseline")
        rows = [[*row, count] for row, count in zip(rows, labeling.baseline_counts(), strict=True)]
    return _grid(heads, rows)


def _account(labeling):
    (verdict, _), *others = account_lines(labeling)
    return f'<p class="verdict">{escape(verdict)}</p>\n{_paragraphs(others)}'


def _kernels(account):
    """Tell which kernels the result is an average of, by family in words and the heaviest by name."""
    families = [(*family_words(family), _bar(weight)) for family, weight in account.family_weights().items()]
    heaviest = [
        (kernel.kernel, family_words(kernel.family)[0], f"{kernel.score:.1f}", _bar(kernel.weight))
        for kernel in account.kernels[:N_KERNELS]
    ]
    return "\n".join(
        [
            "<h2>What the result rests on</h2>",
            f"<p>An average of {len(account.kernels)} kernels. A kernel says how alike two rows are; each "
            "stands for an assumption about the classes. The better it foretells every label from all the "
            "others, the more it weighs; those that use the labels alone have a head start.</p>",
            _grid(["assumption", "in words", "weight"], families),
            f"<p>The {len(heaviest)} heaviest kernels. The score is the log probability of the labels, each "
            "foretold from the others.</p>",
            _grid(["kernel", "assumption", "score", "weight"], heaviest),
        ]
    )


def _least_sure(labeling):
    ours = (labeling.target, f"{labeling.target}_confidence")
    places = [place for place, name in enumerate(labeling.frame.columns) if name not in ours][:N_COLUMNS]
    shown = labeling.frame.iloc[:, places]
    heads = ["row", _clip(labeling.target), "confidence", "runner-up"]
    if labeling.account is not None:
        heads.append("supervised baseline")
    rows = [
        (row + 1, *_opinions(labeling, row), *map(_clip, shown.iloc[row]))
        for row in labeling.least_sure(N_LEAST_SURE)
    ]
    return _grid([*heads, *map(_clip, shown.columns)], rows)


def _opinions(labeling, row):
    """Yield the class filled, its probability, the next probable class, and that of the baseline if known."""
    yield _clip(labeling.classes[labeling.filled[row]])
    yield f"{labeling.confidence[row]:.2f}"
    yield _clip(labeling.classes[labeling.runner_up[row]])
    if labeling.account is not None:
        said = _clip(labeling.classes[labeling.account.baseline[row]])
        yield _Markup(f"<mark>{escape(said)}</mark>") if labeling.changed[row] else said


def _drawn_rows(labeling):
    """Return the rows to draw, a random part of many; labelled ones come first, up to half of the picture."""
    n_rows = len(labeling.given)
    if n_rows <= MAX_DRAWN:
        return np.arange(n_rows)
    order = np.random.default_rng(0).permutation(n_rows)
    labeled = order[~labeling.missing[order]][: MAX_DRAWN // 2]
    others = order[~np.isin(order, labeled)]
    return np.sort(np.r_[labeled, others[: MAX_DRAWN - len(labeled)]])


def _caption(n_drawn, n_rows):
    part = "" if n_drawn == n_rows else f" A random {n_drawn} of the {n_rows} rows are drawn."
    return (
        "First two principal components of the features, coloured by class; the fainter a row, the less sure "
        f"the method is of it. Stars carry a given label.{part}"
    )


def _picture(labeling, rows):
    from matplotlib.figure import Figure

    names = np.array([str(label) for label in labeling.classes], dtype=object)
    given = np.where(labeling.missing, None, names[labeling.given])
    figure = Figure(figsize=(9, 6), layout="constrained")
    require_plotting().plot_transduction(
        names[labeling.filled[rows]],
        labeling.features[rows],
        given[rows],
        confidence=labeling.confidence[rows],
        ax=figure.add_subplot(),
    )
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # class names in scripts the font lacks
        figure.savefig(buffer, format="png", dpi=110)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


class _Markup(str):
    """HTML of the report's own making, which is not escaped again."""


def _bar(share):
    return _Markup(f'<span class="bar" style="width: {12 * share:.2f}rem"></span> {share:.1%}')


def _html(value):
    return value if isinstance(value, _Markup) else escape(str(value))


def _paragraphs(lines):
    return "\n".join(
        f'<p class="note">{escape(line[0].upper() + line[1:])}</p>' if is_note else f"<p>{escape(line)}</p>"
        for line, is_note in lines
    )


def _grid(heads, rows):
    head = "".join(f"<th>{_html(text)}</th>" for text in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{_html(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def _clip(value):
    text = str(value)
    return text if len(text) <= N_CHARACTERS else text[: N_CHARACTERS - 1] + "…"
