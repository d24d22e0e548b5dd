"""Where the benchmark data comes from, and how to write it in the layout that ``load`` reads."""

from __future__ import annotations

LAYOUT = (
    "A dataset is one file NAME.npz, written by numpy.savez_compressed without pickled objects. It holds X "
    "(rows x features), or the parts X_data, X_indices, X_indptr, X_shape of a CSR matrix; y (codes 0..C-1) "
    "and classes (the C names); for multi-instance data bags (bag of each row, 0..B-1) and bag_y (label of "
    "each bag) in place of y; and optionally is_train (bool), labeled_L (published splits with L labels, one "
    "row of labeled indices each, or in a file NAME_draws.npz of their own), columns or vocab (names of the "
    "features)."
)

_UCI = "{} of the UCI Machine Learning Repository"
_SSL_BOOK = "{} of the benchmark in Chapelle, Schoelkopf and Zien, Semi-Supervised Learning (2006)"
_LOW_DENSITY = "{} of Chapelle and Zien, Semi-Supervised Classification by Low Density Separation (2005)"
_MIL = "{} of Andrews, Tsochantaridis and Hofmann, Support Vector Machines for Multiple-Instance Learning"

SOURCES = {
    "usps": "the zip-code digits of Hastie, Tibshirani and Friedman, The Elements of Statistical Learning "
    "(zip.train, then zip.test)",
    "mnist": "the MNIST digits of LeCun, Cortes and Burges (mnist_784 in OpenML; training rows, then test)",
    **{
        f"{short}_vae10000": f"1000 {title} of each class, as features of a variational autoencoder that the "
        "package graphlearning publishes"
        for short, title in (("mnist", "MNIST digits"), ("fashion", "Fashion-MNIST pictures"))
    },
    "coil20": "the Columbia Object Image Library COIL-20, scaled to 32 x 32 pixels in [0, 1]",
    "umist": "the face database of UMIST (now Sheffield), cropped and scaled to 28 x 23 pixels",
    "yaleb": "the Extended Yale Face Database B, cropped and scaled to 32 x 32 pixels",
    "news20": "20 Newsgroups, the by-date version prepared for Matlab (18774 documents, word counts)",
    **{f"isolet{part}": _UCI.format(f"ISOLET, part {part}") for part in (1, 5)},
    **{
        f"ssl_{name.lower()}": _SSL_BOOK.format(name)
        for name in ("Digit1", "USPS", "COIL", "BCI", "g241c", "g241d", "Text")
    },
    **{name.lower(): _LOW_DENSITY.format(name) for name in ("g50c", "Text1", "Uspst")},
    "two_moons": "the two moons of Belkin, Niyogi and Sindhwani, Manifold Regularization (2006)",
    "mil_musk1": _UCI.format("Musk, version 1, as bags,"),
    "mil_elephant": _MIL.format("Elephant"),
    "mil_tiger": _MIL.format("Tiger"),
    **{
        name: _UCI.format(title)
        for name, title in {
            "letter": "Letter Recognition",
            "echocardiogram": "Echocardiogram",
            "house": "Congressional Voting Records, complete rows only,",
            "house_votes": "Congressional Voting Records",
            "heart_statlog": "Statlog (Heart)",
            "haberman": "Haberman's Survival",
            "liver_disorders": "Liver Disorders",
            "spectf": "SPECTF Heart",
            "ionosphere": "Ionosphere",
            "clean1": "Musk, version 1, rows without their bags,",
            "australian": "Statlog (Australian Credit Approval)",
            "diabetes": "Pima Indians Diabetes",
            "german": "Statlog (German Credit Data)",
            "kr_vs_kp": "Chess (King-Rook vs. King-Pawn)",
            "sick": "Thyroid Disease (sick)",
        }.items()
    },
}

_READ = {
    "usps": 'rows = np.vstack([np.loadtxt(f"zip.{part}.gz") for part in ("train", "test")])\n'
    "X, labels = rows[:, 1:], rows[:, 0].astype(int)",
    "mnist": 'X, labels = sklearn.datasets.fetch_openml("mnist_784", return_X_y=True, as_frame=False)',
}


def how_to_get(name: str) -> str:
    """Say where a dataset comes from and how to convert it, where that is known."""
    if name not in SOURCES:
        return LAYOUT
    return (
        f"{name!r} is {SOURCES[name]}.\nGet it there and convert it once:\n\n{conversion(name)}\n\n{LAYOUT}"
    )


def conversion(name: str) -> str:
    """Code that writes a dataset."""
    if name.startswith("mil_"):
        return (
            "X, bags, bag_y = ...  # features and bag of each row, label of each bag\n"
            f'np.savez_compressed("{name}.npz", X=X, bags=bags, bag_y=bag_y)'
        )
    return (
        _READ.get(name, "X, labels = ...  # features and label of each row")
        + "\nclasses, y = np.unique(labels, return_inverse=True)\n"
        + f'np.savez_compressed("{name}.npz", X=X, y=y, classes=classes.astype(str))'
    )
