"""Pictures of five kinds: where each method of seven sees what makes a picture one of its kind.

Run ``python examples/plot_regions.py picture.png``.
"""

import sys

import numpy as np
from matplotlib.figure import Figure
from sklearn.preprocessing import StandardScaler

import weakly
from weakly.datasets import make_pictures
from weakly.multi_instance import success_rates
from weakly.plotting import plot_regions

METHODS = {
    "DD": weakly.DiverseDensityClassifier(scale=0.5),
    "EM-DD": weakly.EMDDClassifier(scale=0.5),
    "CkNN-ROI": weakly.CitationKNNClassifier(distance="average"),
    "MI-SVM": weakly.BagMarginSVC(gamma="median"),
    "mi-SVM": weakly.InstanceMarginSVC(),
    "MI-Kernel": weakly.MultiInstanceKernelSVC(gamma="median"),
    "WellSVM": weakly.WellMultiInstanceSVC(gamma="median", early_stopping=False, max_labels=1),
}


def make_draw(n_train=10, n_test=10, random_state=0):
    """Pictures, their regions as standardised bags, and which pictures are for training."""
    data = make_pictures(n_train + n_test, random_state=random_state)
    rank = np.array([np.sum(data.bag_y[:picture] == y) for picture, y in enumerate(data.bag_y)])
    is_train = rank < n_train
    scaler = StandardScaler().fit(data.features[is_train[data.bags]])
    return data, weakly.Bags.from_ids(scaler.transform(data.features), data.bags), is_train


def locate(data, bags, is_train):
    """Success rate of each method in each category, and the regions it locates in a test picture."""
    is_key, found = bags.split(data.is_key), {}
    for method, model in METHODS.items():
        for code, category in enumerate(data.target_names):
            is_one = data.bag_y == code
            model.fit(bags[is_train], is_one[is_train])
            test = bags[~is_train]
            keys = [keys for keys, kept in zip(is_key, is_train, strict=True) if not kept]
            regions = model.key_instances(test)
            rates = success_rates(is_one[~is_train], model.predict(test), regions, keys, positive_class=True)
            shown = np.flatnonzero(is_one[~is_train])[0]
            found[method, category] = rates.harmonic, regions[shown]
    return found


def draw(data, is_train, found):
    """A row of pictures for each category, a column for each method."""
    figure = Figure(figsize=(14, 10.5), layout="constrained")
    axes = figure.subplots(len(data.target_names), len(METHODS), squeeze=False)
    pictures = np.flatnonzero(~is_train)
    for code, (category, row) in enumerate(zip(data.target_names, axes, strict=True)):
        picture = pictures[data.bag_y[pictures] == code][0]
        keys = data.is_key[data.bags == picture]
        for method, ax in zip(METHODS, row, strict=True):
            rate, region = found[method, category]
            plot_regions(data.images[picture], data.shape, located=region, is_key=keys, ax=ax)
            ax.set_title(f"{method}: {rate:.2f}", fontsize=10)
    return figure


if __name__ == "__main__":
    data, bags, is_train = make_draw(n_train=6, n_test=6)
    found = locate(data, bags, is_train)
    for method in METHODS:
        mean = np.mean([rate for (name, _), (rate, _) in found.items() if name == method])
        print(f"{method}: mean success rate {mean:.2f}")
    draw(data, is_train, found).savefig(sys.argv[1] if len(sys.argv) > 1 else "regions.png")
