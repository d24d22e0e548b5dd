"""Pictures of five kinds of scene, each with one object on scenery that the kinds share."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

SIZE = 160
REGION = 20
CATEGORIES = ("castle", "firework", "mountain", "sunset", "waterfall")

_rows, _cols = np.mgrid[:SIZE, :SIZE].astype(float)

# Sky at the top and at the horizon, and the light that falls on everything below it.
_HOURS = {
    "day": ((0.30, 0.52, 0.82), (0.74, 0.84, 0.94), (0.95, 0.95, 0.95)),
    "evening": ((0.62, 0.32, 0.32), (0.93, 0.52, 0.24), (0.93, 0.82, 0.74)),
    "dusk": ((0.16, 0.12, 0.26), (0.58, 0.26, 0.22), (0.68, 0.58, 0.58)),
    "night": ((0.03, 0.04, 0.10), (0.10, 0.11, 0.22), (0.50, 0.52, 0.62)),
}
# Every hour is shared by at least three categories, so that the light alone says little.
_HOUR_WEIGHTS = {
    "castle": (0.40, 0.35, 0.10, 0.15),
    "firework": (0.0, 0.0, 0.35, 0.65),
    "mountain": (0.40, 0.45, 0.15, 0.0),
    "sunset": (0.0, 0.5, 0.5, 0.0),
    "waterfall": (0.45, 0.30, 0.15, 0.10),
}
_GROUNDS = {"meadow": (0.36, 0.52, 0.22), "forest": (0.15, 0.28, 0.13), "sea": (0.20, 0.34, 0.46)}


def draw_scene(category, n_distractors, rng):
    """Draw a picture, colors in [0, 1], and tell which pixels belong to the object of its category."""
    while True:
        scene = _Scene(category, rng)
        _OBJECTS[category](scene)
        # A small sun may fall between four regions and fill half of none, or be behind a cliff.
        if 2 * count_covered(scene.covered).max() >= REGION**2:
            break
    for _ in range(n_distractors):
        _draw_distractor(scene)
    return scene.canvas, scene.covered


def count_covered(covered):
    """Number of covered pixels in each region of the grid."""
    n = SIZE // REGION
    return covered.reshape(n, REGION, n, REGION).sum(axis=(1, 3))


class _Scene:
    """Canvas with sky and ground, and the pixels that the object takes."""

    def __init__(self, category, rng):
        self.rng = rng
        self.hour = rng.choice(list(_HOURS), p=_HOUR_WEIGHTS[category])
        top, bottom, light = (np.array(colour) for colour in _HOURS[self.hour])
        self.light = np.clip(light * rng.uniform(0.9, 1.08) + rng.normal(0, 0.02, 3), 0.1, 1.05)
        self.horizon = rng.uniform(105, 140)
        self.ground = rng.choice(list(_GROUNDS))
        roughness = {"meadow": 4.0, "forest": 7.0, "sea": 0.0}[self.ground]
        self.skyline = self.horizon + roughness * _ridge(rng)
        self.glow_col = rng.uniform(25, SIZE - 25)
        self.canvas = self._sky(top, bottom)
        self.sky = _rows < self.skyline
        self.covered = np.zeros((SIZE, SIZE), dtype=bool)
        self.has_moon = False
        self._draw_ground()
        if category not in ("mountain", "waterfall") and rng.random_sample() < 0.3:
            self._draw_cliff()

    def paint(self, mask, colour, *, grain=0.06, lit=True):
        """Lay a color over the pixels of a mask, which may be partly see-through."""
        box = _bounds(mask)
        colour = np.asarray(colour)
        colour = np.clip(colour[box] if colour.ndim == 3 else colour, 0, 1) * (self.light if lit else 1.0)
        grains = 1 + grain * (_noise(self.rng, 8, 8, box) + _noise(self.rng, 40, 40, box))[..., None]
        part = self.canvas[box]
        part += mask[box][..., None] * (np.minimum(colour * grains, 1) - part)

    def paint_object(self, mask, colour, **options):
        self.paint(mask, colour, **options)
        self.covered |= mask
        self.sky &= ~mask

    def jitter(self, colour, spread=0.04):
        """Color of one thing of its kind: all channels move together, and each a little."""
        return np.array(colour) * self.rng.uniform(0.9, 1.1) + self.rng.normal(0, spread, 3)

    def _sky(self, top, bottom):
        rng = self.rng
        top = top + rng.uniform(0, 0.9) * (bottom.mean() - top) * (self.hour == "day")
        height = np.clip(_rows[:, :1] / self.horizon, 0, 1)[..., None] ** rng.uniform(0.7, 1.6)
        sky = self.jitter(top) * (1 - height) + self.jitter(bottom) * height
        haze = _noise(rng, 6, 3) + 0.5 * _noise(rng, 14, 6)
        sky = sky * (1 + (0.2 if self.hour == "evening" else 0.1) * haze[..., None])
        if self.hour in ("evening", "dusk"):
            width, height = rng.uniform(25, 70), rng.uniform(12, 32)
            squared = ((_cols - self.glow_col) / width) ** 2 + ((_rows - self.horizon) / height) ** 2
            glow = rng.uniform(0.2, 1.0) * np.exp(-squared)[..., None]
            sky += glow * (self.jitter((0.98, 0.66, 0.28)) - sky)
        if self.hour == "night":
            stars = rng.random_sample((SIZE, SIZE)) < rng.uniform(0, 0.004)
            sky[stars] = rng.uniform(0.4, 0.9)
        return np.clip(sky, 0, 1)

    def _draw_ground(self):
        colour = self.jitter(_GROUNDS[self.ground])
        if self.ground == "sea":
            # Water takes half of its color from the sky above it, and shows ripples.
            ripples = 1 + 0.12 * (_noise(self.rng, 40, 5) + _noise(self.rng, 80, 20))[..., None]
            reflection = self.canvas[int(self.horizon) - 12].mean(axis=0) / self.light
            self.paint(~self.sky, (0.5 * colour + 0.5 * reflection) * ripples)
        else:
            near = np.clip((_rows - self.horizon) / 60, 0, 1)[..., None]
            self.paint(~self.sky, colour * (1 - 0.25 * near), grain=0.18 if self.ground == "forest" else 0.08)

    def _draw_cliff(self):
        """Dark rock at one side, such as falls come down over."""
        rng = self.rng
        inwards = _cols if rng.random_sample() < 0.5 else SIZE - _cols
        reach = rng.uniform(25, 60) + 0.25 * (_rows - 60) + 8 * _ridge(rng)[:, None]
        rock = (inwards < reach) & (_rows > rng.uniform(10, 60) + 6 * _ridge(rng))
        self.paint_rock(rock)

    def paint_rock(self, mask):
        strata = (_noise(self.rng, 12, 4) + _noise(self.rng, 5, 24))[..., None]
        colour = self.jitter((0.30, 0.27, 0.25), 0.02) * self.rng.uniform(0.8, 1.9)
        self.paint(mask, colour * (1 + 0.25 * strata), grain=0.15)
        self.sky &= ~mask


@lru_cache
def _ramp(n_cells):
    """Weights (SIZE, n_cells + 1) that join the values at the ends of cells smoothly."""
    place = np.linspace(0, n_cells, SIZE, endpoint=False)
    left = place.astype(int)
    within = place - left
    within = within**2 * (3 - 2 * within)
    weights = np.zeros((SIZE, n_cells + 1))
    weights[np.arange(SIZE), left] = 1 - within
    weights[np.arange(SIZE), left + 1] = within
    return weights


def _noise(rng, n_rows, n_cols, box=np.s_[:, :]):
    """Random field in [-1, 1] that changes over cells of a grid, on a part of the picture."""
    corners = rng.uniform(-1, 1, size=(n_rows + 1, n_cols + 1))
    return _ramp(n_rows)[box[0]] @ corners @ _ramp(n_cols)[box[1]].T


def _bounds(mask):
    """Slices around the pixels of a mask: most things are small, and the rest need not be computed."""
    found = [np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0)]
    return tuple(slice(at[0], at[-1] + 1) if len(at) else slice(0) for at in found)


def _ridge(rng):
    """Random line over the columns, rough at three scales, within about [-1, 1]."""
    scales = ((4, 0.6), (12, 0.3), (40, 0.2))
    return sum(height * _ramp(n) @ rng.uniform(-1, 1, size=n + 1) for n, height in scales)


def _box(left, right, top, bottom):
    return (_cols >= left) & (_cols < right) & (_rows >= top) & (_rows < bottom)


def _disc(row, col, radius, flatness=1.0):
    return ((_rows - row) * flatness) ** 2 + (_cols - col) ** 2 < radius**2


def _battlements(left, right, top, bottom, tooth):
    """Wall whose upper edge has teeth."""
    gap = ((_cols - left) // tooth) % 2 == 1
    return _box(left, right, top, bottom) & ~(gap & (_rows < top + tooth))


def _draw_castle(scene):
    rng = scene.rng
    width, height = rng.uniform(96, 138), rng.uniform(36, 54)
    left = rng.uniform(4, SIZE - 4 - width)
    base = scene.horizon + rng.uniform(-8, 4)
    hill = base - 3 + 0.012 * np.maximum(np.abs(_cols - left - width / 2) - width / 2, 0) ** 2
    scene.paint(_rows > hill, scene.jitter((0.34, 0.44, 0.22)), grain=0.12)
    scene.sky &= _rows <= hill
    scene.ground = "meadow"
    stone = np.array([0.66, 0.53, 0.40]) * rng.uniform(0.95, 1.1) + rng.normal(0, 0.02, 3)
    if scene.hour in ("dusk", "night"):
        stone *= rng.uniform(1.3, 1.9)  # walls are floodlit
    tooth = rng.uniform(3, 5)
    wall = _battlements(left, left + width, base - height, base + 4, tooth)
    courses = 1 - 0.12 * (_rows % 7 < 1)[..., None]
    scene.paint_object(wall, stone * courses, grain=0.10)
    n_towers = rng.randint(2, 5)
    for place in np.linspace(0, 1, n_towers):
        breadth = rng.uniform(18, 28)
        start = left + place * (width - breadth)
        top = max(base - height - rng.uniform(10, 42), 6)
        tower = _battlements(start, start + breadth, top, base + 5, tooth)
        round_shade = 1.08 - 0.35 * ((_cols - start) / breadth)[..., None]
        scene.paint_object(tower, stone * round_shade * courses, grain=0.10)
        window = _box(start + breadth / 2 - 2, start + breadth / 2 + 2, top + 12, top + 20)
        _paint_opening(scene, window)
    gate = left + width * rng.uniform(0.35, 0.6)
    arch = _box(gate - 6, gate + 6, base - 10, base + 4) | _disc(base - 10, gate, 6)
    scene.paint(arch, (0.14, 0.11, 0.09))


def _paint_opening(scene, mask):
    """Window: dark by day, often lit by night."""
    lit = scene.hour in ("dusk", "night") and scene.rng.random_sample() < 0.6
    scene.paint(mask, (0.98, 0.80, 0.35) if lit else (0.12, 0.10, 0.09), lit=not lit)


def _draw_firework(scene):
    rng = scene.rng
    n_bursts = rng.choice([1, 2, 3], p=[0.35, 0.4, 0.25])
    for _ in range(n_bursts):
        radius = rng.uniform(0.85, 1.15) * 67 / np.sqrt(n_bursts)
        row = rng.uniform(min(radius, 50), max(scene.horizon - 0.7 * radius, 51))
        col = rng.uniform(0.6 * radius, SIZE - 0.6 * radius)
        _draw_burst(scene, row, col, radius)


def _draw_burst(scene, row, col, radius):
    """Sparks that fly from one point and sink a little on their way."""
    rng = scene.rng
    outwards = np.hypot(_rows - row, _cols - col)
    sunk = _rows - row - 0.10 * outwards**2 / radius
    distance, angle = np.hypot(sunk, _cols - col), np.arctan2(sunk, _cols - col)
    n_sparks = rng.randint(26, 46)
    sector = (angle + np.pi) / (2 * np.pi) * n_sparks
    spark = np.minimum(sector.astype(int), n_sparks - 1)
    reach = radius * rng.uniform(0.75, 1.0, n_sparks)[spark]
    off_line = (sector - spark - rng.uniform(0.3, 0.7, n_sparks)[spark]) * distance * 2 * np.pi / n_sparks
    along = distance / reach
    glimmer = np.exp(-((off_line / rng.uniform(1.1, 1.9)) ** 2)) * (0.55 + 0.45 * along) * (along < 1)
    vivid = np.zeros(3) + rng.uniform(0.05, 0.35)
    vivid[rng.permutation(3)[: rng.randint(1, 3)]] = rng.uniform(0.8, 1.0)
    disc = (distance < radius) & (_rows < scene.skyline)
    smoke = rng.uniform(0.12, 0.3) * np.clip(1.3 - distance / radius, 0, 1) * disc
    scene.paint(smoke, 0.75 * vivid, lit=False)
    scene.paint(glimmer * disc, vivid, lit=False)
    heart = np.exp(-((distance / (0.16 * radius)) ** 2)) + 0.35 * glimmer * (along > 0.8)
    scene.paint(np.clip(heart, 0, 1) * disc, 0.4 * vivid + 0.6, lit=False)
    scene.covered |= disc
    scene.sky &= ~disc


def _draw_mountain(scene):
    rng = scene.rng
    rock = np.array([0.50, 0.53, 0.62]) * rng.uniform(0.95, 1.1) + rng.normal(0, 0.015, 3)
    n_peaks = rng.randint(2, 5)
    tops = np.sort(rng.uniform(18, 74, n_peaks))
    cols = (rng.permutation(n_peaks) + rng.uniform(0.2, 0.8, n_peaks)) * SIZE / n_peaks
    snow_line = tops[0] + rng.uniform(16, 34)
    # Nearer peaks are lower and darker, and are drawn last.
    for depth, (top, col) in enumerate(zip(tops, cols, strict=True)):
        flank = np.where(_cols < col, rng.uniform(0.75, 1.4), rng.uniform(0.75, 1.4))
        crest = top + flank * np.abs(_cols - col) + 5 * _ridge(rng)
        body = (crest < _rows) & (_rows < scene.skyline)
        folds = _noise(rng, 5, 9) + 0.6 * _noise(rng, 10, 20)
        sunny = (_cols - col + 10 * folds) * rng.choice([-1, 1]) < 0
        shade = (np.where(sunny, 1.12, 0.78) + 0.12 * folds)[..., None]
        snow = _rows + 7 * folds + 5 * _ridge(rng) < snow_line
        colour = np.where(snow[..., None], 0.6 + 0.32 * shade, rock * shade * (1 - 0.05 * depth))
        scene.paint_object(body, colour, grain=0.05)


def _draw_sunset(scene):
    rng = scene.rng
    radius = rng.uniform(12.5, 19.5)
    row = scene.horizon - radius * rng.uniform(-0.1, 2.2)
    col = np.clip(scene.glow_col + rng.normal(0, 8), 18, SIZE - 18)
    distance = np.hypot(_rows - row, _cols - col)
    covered = (distance < 1.2 * radius) & scene.sky
    colour = np.array([1.0, rng.uniform(0.62, 0.9), rng.uniform(0.15, 0.5)])
    fading = np.exp(-np.maximum(distance - radius, 0) / rng.uniform(4, 20))
    scene.paint(rng.uniform(0.4, 0.9) * fading * scene.sky, colour, lit=False)
    disc = rng.uniform(0.75, 1) * (scene.sky & (distance < radius))
    scene.paint(disc, colour + rng.uniform(0.15, 0.5) * (1 - colour), grain=0.02, lit=False)
    if scene.ground == "sea":
        path = np.abs(_cols - col + 5 * _noise(rng, 50, 4)) < radius * 0.7
        scene.paint(0.75 * (path & (_rows > scene.skyline) & (_rows % 5 < 3)), colour, lit=False)
    scene.covered |= covered
    scene.sky &= ~covered


def _draw_waterfall(scene):
    rng = scene.rng
    brink, foot = rng.uniform(12, 46), rng.uniform(128, 150)
    scene.horizon, scene.ground = foot, "sea"  # the pool is where boats and rocks go
    scene.paint_rock((_rows > brink - 6 + 8 * _ridge(rng)) & (_rows < foot + 6))
    bushes = (_noise(rng, 14, 14) > rng.uniform(0.3, 0.7)) & ~scene.sky & (_rows < foot)
    scene.paint(bushes, scene.jitter(_GROUNDS["forest"]), grain=0.2)
    water = scene.jitter((0.84, 0.90, 0.96), 0.03) * rng.uniform(0.75, 1.0)
    pool = _rows > foot + 2 * _ridge(rng)
    ripples = 1 + 0.15 * _noise(rng, 60, 10)[..., None]
    scene.paint(pool, (0.45 * water + 0.1) * ripples)
    middle, half = rng.uniform(35, SIZE - 35), rng.uniform(19, 36)
    fall_depth = np.clip((_rows - brink) / (foot - brink), 0, 1)
    bend = 6 * _ridge(rng)[:, None] * fall_depth
    edge = half * (0.8 + 0.25 * fall_depth) + 3 * _ridge(rng)[:, None]
    band = (np.abs(_cols - middle - bend) < edge) & (_rows > brink) & (_rows < foot)
    streaks = (_noise(rng, 3, 50) + 0.8 * _noise(rng, 6, 79))[..., None]
    scene.paint_object(band, water * (0.86 + 0.2 * streaks), grain=0.04)
    above, aside = (_rows - foot) / rng.uniform(8, 20), (_cols - middle) / (rng.uniform(1.2, 2.2) * half)
    scene.paint(0.7 * np.exp(-(above**2) - aside**2), water, grain=0.1)  # spray


_OBJECTS = {
    "castle": _draw_castle,
    "firework": _draw_firework,
    "mountain": _draw_mountain,
    "sunset": _draw_sunset,
    "waterfall": _draw_waterfall,
}


def _draw_distractor(scene):
    """Draw a thing that belongs to no category, away from the object or else behind it."""
    rng = scene.rng
    kinds = ["cloud", "cloud", "rock"] + ["moon"] * (not scene.has_moon)
    kinds += ["boat", "boat"] if scene.ground == "sea" else ["house", "tree"]
    kind = rng.choice(kinds)
    scene.has_moon |= kind == "moon"
    parts_of = {"cloud": _cloud, "moon": _moon, "house": _house, "tree": _tree, "rock": _rock, "boat": _boat}
    allowed = scene.sky if kind in ("cloud", "moon") else ~scene.covered
    for _ in range(8):
        parts = parts_of[kind](scene)
        body = parts[0][0]
        if np.sum(body * allowed) > 0.9 * np.sum(body):
            break
    for mask, colour, lit in parts:
        scene.paint(mask * allowed, colour, lit=lit)


def _cloud(scene):
    rng = scene.rng
    row, col = rng.uniform(8, 0.6 * scene.horizon), rng.uniform(0, SIZE)
    width = rng.uniform(18, 46)
    puffs = np.zeros((SIZE, SIZE))
    for _ in range(5):
        offset, size = rng.uniform(-1, 1), rng.uniform(0.3, 0.55) * width
        squared = (1.7 * (_rows - row + rng.uniform(-3, 3))) ** 2 + (_cols - col - offset * width) ** 2
        np.maximum(puffs, 2 - 2 * squared / size**2, out=puffs)
    colour, low_sun = scene.jitter((0.94, 0.95, 0.97), 0.02), scene.hour == "evening"
    if low_sun:  # clouds catch more of it than the ground
        colour = colour * (1.0, rng.uniform(0.65, 0.95), rng.uniform(0.4, 0.8))
    return [(np.minimum(puffs, 0.95), colour, not low_sun)]


def _moon(scene):
    rng = scene.rng
    row, col = rng.uniform(14, scene.horizon - 20), rng.uniform(14, SIZE - 14)
    colour = scene.jitter((0.93, 0.92, 0.86), 0.015)
    if scene.hour == "evening":
        colour *= 0.7 + 0.3 * scene.light
    return [(0.75 * _disc(row, col, rng.uniform(8, 15)), colour, False)]


def _house(scene):
    rng = scene.rng
    base, left = rng.uniform(scene.horizon, 155), rng.uniform(-5, SIZE - 15)
    width, height = rng.uniform(18, 34), rng.uniform(12, 22)
    roof = np.abs(_cols - left - width / 2) < (_rows - base + height + 0.45 * width) * 1.2
    roof &= _box(left - 3, left + width + 3, 0, base - height + 1)
    wall = _box(left, left + width, base - height, base)
    window = _box(left + 4, left + 8, base - height + 4, base - height + 9)
    brown, red = scene.jitter((0.55, 0.43, 0.33)), scene.jitter((0.48, 0.24, 0.18))
    return [(wall, brown, True), (roof, red, True), (window, np.array([0.9, 0.75, 0.4]), True)]


def _tree(scene):
    rng = scene.rng
    base, col = rng.uniform(scene.horizon + 2, 158), rng.uniform(0, SIZE)
    height = rng.uniform(24, 48)
    if rng.random_sample() < 0.5:
        crown = (np.abs(_cols - col) < 0.3 * (_rows - base + height)) & (_rows < base - 4)
    else:
        crown = _disc(base - 0.65 * height, col, 0.33 * height, 0.9)
    trunk = _box(col - 2, col + 2, base - 0.4 * height, base)
    return [(trunk, np.array([0.30, 0.20, 0.13]), True), (crown, scene.jitter((0.17, 0.33, 0.14)), True)]


def _rock(scene):
    rng = scene.rng
    base, col, width = rng.uniform(scene.horizon + 4, 158), rng.uniform(0, SIZE), rng.uniform(12, 26)
    stone = _disc(base, col, width * (1 + 0.15 * _ridge(rng)), 1.5) & (_rows < base + 2)
    return [(stone, scene.jitter((0.48, 0.46, 0.45)) * (1.1 - 0.01 * (_cols - col)[..., None]), True)]


def _boat(scene):
    rng = scene.rng
    base, col, width = rng.uniform(scene.horizon + 8, 154), rng.uniform(15, SIZE - 15), rng.uniform(10, 17)
    hull = (np.abs(_cols - col) < width - (_rows - base + 6)) & (_rows > base - 6) & (_rows <= base)
    sail = (_cols - col > 0) & (_cols - col < 0.5 * (_rows - base + 2 * width + 6)) & (_rows < base - 8)
    return [(hull, scene.jitter((0.40, 0.25, 0.17)), True), (sail, scene.jitter((0.9, 0.88, 0.84)), True)]
