"""Small pictures in which regions of interest are to be found."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from sklearn.utils import Bunch, check_random_state

from weakly.datasets._common import check_integer, check_number
from weakly.datasets._scenes import CATEGORIES, REGION, SIZE, count_covered, draw_scene
from weakly.estimators._docstrings import fill_doc


@fill_doc
def make_pictures(n_per_class=100, *, categories=CATEGORIES, noise=0.03, n_distractors=2, random_state=None):
    """Draw pictures of five categories, each with known regions of interest.

    A picture is a bag of 64 regions of 20 x 20 pixels. Its category comes from one object, and the regions
    that the object covers are the regions of interest. Skies, hours of the day, ground and small things such
    as clouds, houses and trees are shared by the categories, so that the rest of a picture says little.

    Parameters
    ----------
    n_per_class : int, default=100
        Pictures of each category.
    categories : sequence of str, default=("castle", "firework", "mountain", "sunset", "waterfall")
        Categories to draw, at least one of the five, in the order of their codes.
    noise : float, default=0.03
        Standard deviation of the noise of pixels, and of the color cast that all pixels of a picture share,
        in units of the full range of a color.
    n_distractors : float, default=2
        Mean number of clouds, moons, houses, trees, rocks and boats in a picture; the numbers are Poisson.
    %(bunch)s

        - ``images`` : ndarray of uint8, shape (n_pictures, 160, 160, 3), in random order;
        - ``features`` of shape (n_pictures * 64, 15), what :func:`region_features` makes of them: regions
          picture after picture, row by row;
        - ``bags``, the picture of each region; ``bag_y``, the category of each picture, a position in
          ``target_names``;
        - ``is_key``, whether a region is of interest: the object covers at least half of its pixels. Every
          picture has such a region;
        - ``shape``, rows and columns of the grid of regions, (8, 8).

    See Also
    --------
    region_features : Features of other pictures.
    make_bags : Bags with one planted key instance, in any dimension.

    Notes
    -----
    The pictures stand in for the photographs on which methods that locate regions of interest are compared.
    On average about 19 regions of a castle, 27 of a firework, 25 of a mountain, 2.3 of a sunset and 14 of a
    waterfall are of interest, as in these photographs. The object of a firework is the disc that its sparks
    fill, that of a sunset is the sun and its glow.

    Examples
    --------
    >>> from weakly.datasets import make_pictures
    >>> pictures = make_pictures(2, categories=("castle", "sunset"), random_state=0)
    >>> pictures.images.shape, pictures.features.shape
    ((4, 160, 160, 3), (256, 15))
    >>> [pictures.target_names[code] for code in pictures.bag_y]
    ['sunset', 'sunset', 'castle', 'castle']
    >>> pictures.is_key.reshape(4, 64).sum(axis=1).tolist()
    [3, 4, 15, 18]
    """
    check_integer("n_per_class", n_per_class, at_least=1)
    names = _check_categories(categories)
    check_number("noise", noise, at_least=0, below=np.inf)
    check_number("n_distractors", n_distractors, at_least=0, below=np.inf)
    rng = check_random_state(random_state)

    bag_y = rng.permutation(np.repeat(np.arange(len(names)), n_per_class))
    n_distracting = rng.poisson(n_distractors, size=len(bag_y))
    n_across = SIZE // REGION
    images = np.empty((len(bag_y), SIZE, SIZE, 3), dtype=np.uint8)
    n_covered = np.empty((len(bag_y), n_across, n_across), dtype=np.intp)
    for i, code in enumerate(bag_y):
        canvas, covered = draw_scene(names[code], n_distracting[i], rng)
        # The same numbers are drawn at every level of noise, so that it does not change what is drawn.
        strays = rng.normal(size=canvas.shape) + rng.normal(size=3)
        images[i] = np.round(255 * np.clip(canvas + noise * strays, 0, 1))
        n_covered[i] = count_covered(covered)
    return Bunch(
        images=images,
        features=region_features(images, REGION),
        bags=np.repeat(np.arange(len(bag_y)), n_across**2),
        bag_y=bag_y,
        target_names=names,
        is_key=(2 * n_covered >= REGION**2).ravel(),
        shape=(n_across, n_across),
    )


def region_features(images, region=20):
    """Mean colors of the square regions of pictures, and how those of their neighbors differ.

    Parameters
    ----------
    images : array-like of shape (n_pictures, height, width, 3)
        Pictures of red, green and blue: integers from 0 to 255, or real numbers from 0 to 1.
    region : int, default=20
        Width of a region in pixels; it must divide the width and the height of the pictures.

    Returns
    -------
    ndarray of shape (n_pictures * n_regions, 15)
        A row for each region, picture after picture, row by row. The first three columns are the mean red,
        green and blue, from 0 to 1; then come, in threes, the means of the upper, lower, left and right
        neighbor less these. A neighbor beyond the border counts as equal.

    See Also
    --------
    make_pictures : Pictures with known regions of interest.

    Notes
    -----
    These are the features "single blob with neighbors" of Maron and Ratan.

    Examples
    --------
    >>> import numpy as np
    >>> from weakly.datasets import region_features
    >>> left_half_red = np.zeros((1, 2, 4, 3))
    >>> left_half_red[:, :, :2, 0] = 1.0
    >>> region_features(left_half_red, region=2)[:, [0, 9, 12]]  # red: own, left and right neighbour
    array([[ 1.,  0., -1.],
           [ 0.,  1.,  0.]])
    """
    images = _check_images(images)
    check_integer("region", region, at_least=1)
    n_pictures, height, width, _ = images.shape
    if height % region or width % region:
        raise ValueError(
            f"region={region} must divide the height and the width of the pictures, {height} and {width}: "
            "crop the pictures or choose another region."
        )
    n_down, n_across = height // region, width // region
    tiles = images.reshape(n_pictures, n_down, region, n_across, region, 3)
    # [ratan1998], "single blob with neighbors"
    means = tiles.mean(axis=(2, 4), dtype=float) / _full_range(images)
    framed = np.pad(means, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    neighbours = (framed[:, :-2, 1:-1], framed[:, 2:, 1:-1], framed[:, 1:-1, :-2], framed[:, 1:-1, 2:])
    return np.concatenate([means, *(other - means for other in neighbours)], axis=3).reshape(-1, 15)


def _check_categories(categories):
    names = list(categories) if isinstance(categories, Iterable) else []
    unknown = [name for name in names if name not in CATEGORIES]
    if isinstance(categories, str) or not names or unknown or len(set(names)) < len(names):
        raise ValueError(
            f"categories must be a sequence of different names out of {', '.join(CATEGORIES)}, "
            f"got {categories!r}."
        )
    return names


def _full_range(images):
    return 1.0 if images.dtype.kind == "f" else 255.0


def _check_images(images):
    images = np.asarray(images)
    if images.ndim != 4 or images.shape[3] != 3:
        raise ValueError(
            f"images must have the shape (n_pictures, height, width, 3), got {images.shape}; "
            "pass image[None] for a single picture."
        )
    known = images.dtype.kind in "uif"
    if not known or (images.size and not (images.min() >= 0 and images.max() <= _full_range(images))):
        raise ValueError("images must hold integers from 0 to 255 or real numbers from 0 to 1: rescale them.")
    return images
