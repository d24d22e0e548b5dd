"""What is said under the tables: where the numbers come from, and what they are no proof of."""

from __future__ import annotations

from collections.abc import Mapping

METHOD = (
    "FewLabelClassifier is at its defaults on all sets, with random state 0. Both modes and the supervised "
    "kernels, its own baseline, are answers of the same bank of kernels to the same labels. Its constants "
    "were chosen in earlier trials, partly on these data sets, with other draws of labels of the same rows "
    "(seeds from 2000 to 9000): the labels are new to it, the rows may not be. One rule was added after a "
    "look at the draws reported, and chosen on others: that the supervised kernels decide alone where the "
    "log odds are below 0. Without it the UCI sets had shown four significant losses to them, two of less "
    "than 0.1 points. "
)
MACHINES = (
    "The SVM with cross-validation has C of 10, 1 or 100, and a linear kernel or an RBF kernel of a quarter "
    "to four times the root of the mean squared distance between labelled rows. It has as many folds as the "
    "scarcest class has labels, five at most; with a single label it has C = 10 and that distance for the "
    "width. C = 10 comes first since, on two of the reported splits, the SVM with C = 1 gave all of COIL to "
    "one class with 10 labels; on other draws, seeds from 6000, it was better than C = 1 on the sets of the "
    "book by 0.8 points and worse on the UCI sets by 0.2. The other SVM is scikit-learn's at its defaults. "
    "Both see the labelled rows alone. Laplacian RLS is at its defaults. "
)
AS_THEY_COME = "The other methods get the rows as they come; rows of text have length 1 already. "


def book(published: Mapping[str, tuple[float, ...]], seen: str, note: str = "") -> str:
    """Say what differs in a table of the book's sets.

    Parameters
    ----------
    published : mapping of str to tuple of float
        Published numbers of each row.
    seen : str
        Which of the splits an earlier version had been measured on.
    note : str, default=""
        What is true of this table only.

    Returns
    -------
    str
        With the means of the published rows.
    """
    means = "; ".join(f"{row}: {sum(values) / len(values):.1f}" for row, values in published.items())
    return (
        f"Errors are over the unlabelled rows of the 12 published splits. {METHOD}An earlier version of the "
        f"method had been measured on {seen}. {AS_THEY_COME}{MACHINES}{note}The published numbers of "
        "Laplacian RLS and LDS are those of the benchmark in the book (Chapelle, Schölkopf and Zien, 2006), "
        "whose methods have parameters chosen each in its own way. Means of the published rows over the "
        f"seven sets: {means}."
    )


TEN = (
    "In COIL a class always has a single label, so that nothing is chosen for the SVM. The numbers of Li et "
    "al. are those of the WellSVM paper. "
)
UCI = (
    "Our own protocol, without published numbers. Labelled rows are drawn at random within the classes, at "
    "least one of each; nothing is held out, and errors are over the unlabelled rows. Missing values become "
    "the mean of their column over all rows. FewLabelClassifier then prepares rows by itself; for the other "
    f"methods columns are standardised over all rows. {METHOD}{MACHINES}"
).strip()
FIFTY = (
    f"Errors are over the unlabelled rows of the 10 published splits. {METHOD}{AS_THEY_COME}{MACHINES}The "
    "published numbers are those of the WellSVM paper, which chooses parameters set by set."
)
DIGITS = f"Pixels are divided by 16; the draws are those of the table of defaults. {METHOD}{MACHINES}".strip()
MNIST = (
    f'Single precision, pixels divided by 255. {METHOD}Its effort is "fast", which on so many rows takes '
    "fewer landmarks, eigenvectors and components, and approximate neighbours. The draws are the first three "
    "of those with 10 labels of each class in the table mnist70000 of defaults."
)
