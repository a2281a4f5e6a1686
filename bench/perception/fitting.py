"""Fits the small networks of segmentation to generated scenes: `python -m bench.perception.fitting`.

Things of the set `generated` alone, in clutter, as several sensors see them; no product of the catalogue. Seeds stay
below 100000: what lies beyond is kept for measuring. It takes half an hour of one core, most of it for settling.

The `parts.json` that comes along was fitted by the same functions to pictures of the catalogue too (crowded scenes of
seeds 40 to 59, generated scenes of seeds 20 to 35) and of packed and piled things of the set `foreign`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import tyro
from numpy.typing import NDArray

from bench.perception.masks import LEAST_PIXELS, pictures, scene_of
from bench.perception.metrics import mask_iou
from tool_nodes.geometry import pixel
from tool_nodes.perception.clusters import Cluster, find_clusters
from tool_nodes.perception.division import divisible
from tool_nodes.perception.fitted import Network, logistic, network, save
from tool_nodes.perception.joining import JointJudge, RegionSums, join
from tool_nodes.perception.masks import inner_point, widened
from tool_nodes.perception.parts import FEATURES, find_pairs, find_patches
from tool_nodes.perception.recognition import Recogniser
from tool_nodes.perception.relief import MARGIN_PX, Relief, depth_noise, find_relief, shifted
from tool_nodes.perception.surface import find_surface
from tool_nodes.perception.things import Things
from tool_nodes.types import FloatArray, Frame

Array32 = NDArray[np.float32]


FIRST_SEED, SEEDS = 4, 16
"""Seeds of the scenes of each kind; 0 to 3 were looked at while developing."""
CLUTTER_KINDS = ("pile", "packed", "touching", "single", "lying", "stacked", "bin")
"""Kinds of clutter that are learned from."""
SENSORS = ("clean", "realsense_d435", "stereo", "zed2", "realsense_d435")
"""Sensors, in turn."""
ROUNDS = 2
"""Fits of the judge of joints: in the second it has seen the joints that the first one made [-]."""

_HIDDEN = 32
"""Hidden units of a network [-]: a pile of ten takes some 10 ms with them."""
_BATCH = 512
"""Examples of a step [-]; a usual number."""
_RATE, _DECAY = 5e-3, 1e-4
"""Adam's highest rate, and how much weights shrink in a step, by that rate [-]; usual numbers."""


@dataclass
class Examples:
    """Features (n, F), what they should give in [0, 1], and how much each counts."""

    features: list[Array32] = field(default_factory=list)
    wanted: list[FloatArray] = field(default_factory=list)
    weights: list[FloatArray] = field(default_factory=list)

    def add(self, features: Array32, wanted: FloatArray, weights: FloatArray) -> None:
        """Some more."""
        self.features.append(features)
        self.wanted.append(np.asarray(wanted, float))
        self.weights.append(np.asarray(weights, float))


def fit(examples: Examples, rng: np.random.Generator, steps: int = 4000, hidden: int = _HIDDEN) -> Network:
    """The network of least cross entropy, by Adam with a rate that falls to zero."""
    X = np.concatenate(examples.features).astype(np.float32)
    y = np.concatenate(examples.wanted).astype(np.float32)
    w = np.concatenate(examples.weights).astype(np.float32)
    mean, scale = X.mean(axis=0), X.std(axis=0) + 1e-4
    X = np.clip((X - mean) / scale, -8.0, 8.0)
    parts = [
        (rng.standard_normal((X.shape[1], hidden)) * np.sqrt(2.0 / X.shape[1])).astype(np.float32),
        np.zeros(hidden, np.float32),
        (rng.standard_normal(hidden) * np.sqrt(1.0 / hidden)).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    moments = [(np.zeros_like(part), np.zeros_like(part)) for part in parts]
    for step in range(1, steps + 1):
        rows = rng.integers(len(y), size=_BATCH)
        slopes = _slopes(parts, X[rows], y[rows], w[rows])
        rate = _RATE * min(1.0, 10.0 * step / steps) * 0.5 * (1.0 + np.cos(np.pi * step / steps))
        for k, (part, slope, (first, second)) in enumerate(zip(parts, slopes, moments, strict=True)):
            first += 0.1 * (slope - first)
            second += 0.001 * (slope * slope - second)
            change = (first / (1.0 - 0.9**step)) / (np.sqrt(second / (1.0 - 0.999**step)) + 1e-8)
            parts[k] = part - np.float32(rate) * (change + np.float32(_DECAY) * part)
    first, offset, second, bias = parts
    return Network(first / scale[:, None], offset - (mean / scale) @ first, second, float(bias[0]))


def _slopes(parts: Sequence[Array32], X: Array32, y: Array32, w: Array32) -> list[Array32]:
    """Derivatives of the mean cross entropy by each of the parts."""
    first, offset, second, bias = parts
    hidden = np.maximum(X @ first + offset, 0.0)
    error = w * (logistic(np.clip(hidden @ second + bias, -30, 30)) - y) / w.sum()
    back = np.outer(error, second) * (hidden > 0)
    return [X.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(keepdims=True)]


def reliefs(frame: Frame) -> list[tuple[Cluster, Relief, tuple[slice, slice]]]:
    """Every cluster of a picture that is no container, its relief, and the window of it."""
    surface = find_surface(frame)
    noise = depth_noise(frame, surface)
    clusters = find_clusters(frame, surface)
    taken = np.any([np.zeros_like(surface.inside), *(cluster.mask for cluster in clusters)], axis=0)
    found = []
    for cluster in divisible(surface, clusters).values():
        window = widened(cluster.window, MARGIN_PX)
        found.append((cluster, find_relief(frame, surface, cluster.mask, window, noise, taken), window))
    return found


def border_examples(
    examples: Examples, relief: Relief, ids: NDArray[np.int32], border: Network, rng: np.random.Generator
) -> None:
    """Pairs of pixels: does the thing change from one before the pair to one behind it?"""
    pairs = find_pairs(relief, border)
    down = pairs.second - pairs.first == ids.shape[1]
    changes = []
    for axis in (0, 1):
        before, after = (shifted(ids.astype(np.float32), by, axis).ravel() for by in (-1, 2))
        changes.append((before != after, (before >= 0) | (after >= 0)))
    wanted = np.where(down, changes[0][0][pairs.first], changes[1][0][pairs.first])
    counts = np.where(down, changes[0][1][pairs.first], changes[1][1][pairs.first])
    right, wrong = np.flatnonzero(counts & wanted), np.flatnonzero(counts & ~wanted)
    chosen = np.concatenate([rng.permutation(right)[:400], rng.permutation(wrong)[:800]])
    examples.add(pairs.features[chosen], wanted[chosen].astype(float), np.ones(len(chosen)))


def joint_examples(
    examples: Examples,
    relief: Relief,
    ids: NDArray[np.int32],
    border: Network,
    judge: JointJudge,
    rng: np.random.Generator,
) -> None:
    """Regions as they are joined: are both mostly the same thing?"""
    pairs = find_pairs(relief, border)
    labels = find_patches(relief, pairs)
    if labels.max() < 2:
        return
    regions = RegionSums(relief, labels, pairs)
    counts = np.zeros((regions.count, int(ids.max()) + 2))
    np.add.at(counts, (labels.ravel(), ids.ravel() + 1), 1.0)

    def watch(owner: NDArray[np.intp], first: NDArray[np.intp], second: NDArray[np.intp], features: Array32) -> None:
        sums = np.zeros_like(counts)
        np.add.at(sums, owner, counts)
        a, b = sums[first], sums[second]
        pure = np.minimum(a.max(axis=1) / a.sum(axis=1), b.max(axis=1) / b.sum(axis=1)) > 0.7
        kept = pure & (rng.random(len(first)) < 0.7)
        size = np.sqrt(np.minimum(a.sum(axis=1), b.sum(axis=1)))
        examples.add(features[kept], (a.argmax(axis=1) == b.argmax(axis=1))[kept].astype(float), size[kept])

    join(regions, judge, watch)


def score_examples(examples: Examples, frame: Frame, ids: NDArray[np.int32]) -> None:
    """Masks of what is pointed at in a picture: what is their IoU?"""
    things = Things(frame, Recogniser([])).seen()
    for k in range(int(ids.max()) + 1):
        own = ids == k
        if np.count_nonzero(own) < LEAST_PIXELS:
            continue
        u, v = pixel(inner_point(own), frame.size)
        for thing in things:
            if thing.cluster.mask[v, u] and thing.features is not None:
                examples.add(thing.features[None], np.array([mask_iou(thing.cluster.mask, own)]), np.ones(1))


def _first_guess(features: Array32) -> Array32:
    """Regions are one where no border runs between them: what is shown to the first fit."""
    return logistic(-0.5 * features[:, 0])


def main(seeds: int = SEEDS, first_seed: int = FIRST_SEED) -> None:
    """Write `parts.json` anew.

    Args:
        seeds: Scenes of each kind.
        first_seed: Seed of the first one.
    """
    rng = np.random.default_rng(0)
    seen: list[tuple[Frame, NDArray[np.int32]]] = []
    for kind in CLUTTER_KINDS:
        for seed in range(first_seed, first_seed + seeds):
            scene = scene_of(kind, seed)
            for n in range(2):
                true, frame = pictures(scene, SENSORS[(seed + n) % len(SENSORS)], seed)
                assert true.ids is not None
                seen.append((frame, true.ids))
        print(f"{kind}: {len(seen)} pictures", flush=True)
    parts = [
        (relief, ids[window][:: relief.every, :: relief.every])
        for frame, ids in seen
        for _, relief, window in reliefs(frame)
    ]
    nothing = Network(np.zeros((FEATURES, 1), np.float32), np.zeros(1, np.float32), np.zeros(1, np.float32), 0.0)
    borders, joints, scores = Examples(), Examples(), Examples()
    for relief, ids in parts:
        border_examples(borders, relief, ids, nothing, rng)
    border = fit(borders, rng)
    judge: JointJudge = _first_guess
    for _ in range(ROUNDS):
        for relief, ids in parts:
            joint_examples(joints, relief, ids, border, judge, rng)
        judge = fit(joints, rng)
    assert isinstance(judge, Network)
    save({"border": border, "joint": judge, "score": network("score")})
    for frame, ids in seen:
        score_examples(scores, frame, ids)
    save({"border": border, "joint": judge, "score": fit(scores, rng, steps=2000, hidden=12)})


if __name__ == "__main__":
    tyro.cli(main)
