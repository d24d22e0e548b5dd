"""A report that is one file: no script, no network, every piece of the user's text escaped."""

from __future__ import annotations

from datetime import date
from html import escape
from string import Template

import weakly
from weakly.cli._account import family_words
from weakly.cli._console import visible
from weakly.cli._files import replacing
from weakly.cli._pictures import MAX_CLASSES, drawn_rows, picture_confusion, picture_samples
from weakly.cli._summary import account_lines, class_table, comparison_lines, headline, verdict

N_LEAST_SURE = 15
N_KERNELS = 10
N_COLUMNS = 8

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
td { max-width: 40rem; overflow-wrap: break-word; white-space: pre-wrap; }
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
<p class="verdict">$verdict</p>
<p class="origin">$origin</p>
$notes
<h2>Classes</h2>
$classes
<h2>Accuracy on hidden labels</h2>
$confusion
$comparison
$kernels
<h2>The samples in a plane</h2>
<p>$caption</p>
<p><img alt="samples in a plane, colored by class" src="data:image/png;base64,$picture"></p>
$least_sure
<h2>Columns</h2>
$columns
</body>
</html>
""")


def write_report(labeling, path, *, source):
    """Write the account of a labeling of the file ``source`` as one HTML file."""
    page = report_page(labeling, source=source).encode("utf-8")
    with replacing(path) as file:
        file.write(page)


def report_page(labeling, *, source):
    """Return the report as HTML."""
    origin = f"{source}, seed {labeling.seed}, weakly {weakly.__version__}, {date.today().isoformat()}"
    drawn = drawn_rows(labeling)
    return _PAGE.substitute(
        title=_html(f"Labels of {labeling.target}"),
        summary=_html(headline(labeling)),
        origin=_html(origin),
        notes=_paragraphs((note, True) for note in labeling.notes),
        classes=_classes(labeling),
        verdict=_html(verdict(labeling)),
        confusion="" if labeling.leave_out is None else _confusion(labeling),
        comparison=_paragraphs([*account_lines(labeling), *comparison_lines(labeling)]),
        kernels="" if labeling.account is None else _kernels(labeling.account),
        caption=_html(_caption(labeling, len(drawn))),
        picture=picture_samples(labeling, drawn),
        least_sure=_least_sure(labeling) if labeling.missing.any() else "",
        columns=_grid(["column", "used as"], [(column.name, column.used_as) for column in labeling.columns]),
    )


def _classes(labeling):
    heads, rows = class_table(labeling)
    if labeling.account is not None and labeling.missing.any():
        heads.append("filled by the supervised baseline")
        rows = [[*row, count] for row, count in zip(rows, labeling.baseline_counts(), strict=True)]
    return _grid(heads, rows)


def _confusion(labeling):
    n_tested = int((labeling.leave_out.per_class[:, 1] > 0).sum())
    part = ""
    if n_tested > MAX_CLASSES:
        part = f" The {MAX_CLASSES} classes with the most hidden labels are drawn."
    return (
        "<p>A line of the matrix is a class; its numbers say as which classes its hidden labels were filled "
        f"in, on average over the refits. The diagonal is right.{part}</p>\n"
        '<p><img alt="confusion matrix of the hidden labels" src="data:image/png;base64,'
        f'{picture_confusion(labeling)}"></p>'
    )


def _kernels(account):
    """Tell which kernels the result is an average of, by family in words and the heaviest by name."""
    families = [(*family_words(family), _bar(weight)) for family, weight in account.family_weights().items()]
    heaviest = [
        (name, family_words(family)[0], f"{score:.1f}", _bar(weight))
        for name, family, score, weight in account.kernels[:N_KERNELS].tolist()
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
    heads = ["row", labeling.target, "confidence", "runner-up"]
    if labeling.account is not None:
        heads.append("supervised baseline")
    rows = [
        (row + 1, *_opinions(labeling, row), *shown.iloc[row]) for row in labeling.least_sure(N_LEAST_SURE)
    ]
    marked = "" if labeling.account is None else _MARKED
    return (
        "<h2>What to label next</h2>\n<p>The samples the method is least sure of. Row 1 is the first row "
        f"below the header.{marked}</p>\n{_grid([*heads, *shown.columns], rows)}"
    )


def _opinions(labeling, row):
    """Yield the class filled, its probability, the next probable class, and that of the baseline if known."""
    yield labeling.classes[labeling.filled[row]]
    yield f"{labeling.confidence[row]:.2f}"
    yield labeling.classes[labeling.runner_up[row]]
    if labeling.account is not None:
        said = labeling.classes[labeling.account.baseline[row]]
        yield _Markup(f"<mark>{_html(said)}</mark>") if labeling.changed[row] else said


def _caption(labeling, n_drawn):
    n_samples = len(labeling.given)
    part = "" if n_drawn == n_samples else f" A random {n_drawn} of the {n_samples} samples are drawn."
    if not labeling.missing.any():
        return f"First two principal components of the features, colored by class.{part}"
    return (
        "First two principal components of the features, colored by class; the fainter a sample, the less "
        f"sure the method is of it. Stars carry a given label.{part}"
    )


class _Markup(str):
    """HTML of the report's own making, which is not escaped again."""


def _bar(share):
    return _Markup(f'<span class="bar" style="width: {12 * share:.2f}rem"></span> {share:.1%}')


def _html(value):
    return value if isinstance(value, _Markup) else escape(visible(value, keep="\n\t"))


def _paragraphs(lines):
    return "\n".join(
        f'<p class="note">{_html(line[0].upper() + line[1:])}</p>' if is_note else f"<p>{_html(line)}</p>"
        for line, is_note in lines
    )


def _grid(heads, rows):
    head = "".join(f"<th>{_html(text)}</th>" for text in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{_html(text)}</td>" for text in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'
