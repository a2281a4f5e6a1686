"""Fits the small networks of segmentation to generated scenes: `python -m toolhand.bench.perception.fitting`.

Objects of the set `generated` alone, in clutter, as several sensors see them; no product of the catalogue. Seeds stay
below 100000: what lies beyond is kept for measuring. It takes an hour of one core, most of it for settling.

The `parts.json` that comes along was fitted by `learn` to scenes of these kinds but lying and stacked: single 200 to
279 and 5040 to 5079, packed 200 to 259 and 6020 to 6039, pile 200 to 259 and 6020 to 6039, touching 200 to 231 and 6010
to 6019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import tyro
from numpy.typing import NDArray

from toolhand.bench.perception.masks import LEAST_PIXELS, make_images, scene_of
from toolhand.bench.perception.metrics import mask_iou
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.perception.clusters import Cluster, find_clusters
from toolhand.tool_nodes.perception.division import divisible
from toolhand.tool_nodes.perception.fitted import Network, logistic, network, save
from toolhand.tool_nodes.perception.joining import JointJudge, RegionSums, join
from toolhand.tool_nodes.perception.masks import inner_point, widened
from toolhand.tool_nodes.perception.objects import FrameObjects
from toolhand.tool_nodes.perception.parts import FEATURES, Pairs, find_pairs, find_patches
from toolhand.tool_nodes.perception.recognition import Recogniser
from toolhand.tool_nodes.perception.relief import MARGIN_PX, Relief, depth_noise, find_relief, shifted
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.types import FloatArray, Frame
from toolhand.training.networks import STEPS, Array32, Examples, fit

FIRST_SEED = 200
"""Seed of the first scene of each kind."""
CLUTTER_KINDS = {"single": 80, "packed": 60, "pile": 60, "touching": 40, "lying": 20, "stacked": 20}
"""Kinds of clutter that are learned from, and how many scenes of each [-]: the two hard ones and what stands alone."""
SENSORS = ("realsense_d435", "stereo", "clean")
"""Sensors: the first sees each scene, the others take turns."""
HALVED = 3
"""The others' images are learned from at half their width in every so many-th scene [-]."""
_JUDGED = 4
"""Scores are learned from every so many-th scene, which the other networks do not see [-]: their own images would
flatter them."""
_SKIPPED = 3
"""The first judge of joints sees every so many-th cluster [-]; the next ones see all, as the one before joins them."""
_ROUNDS = 1
"""Fits of the judge after the first one [-]: a second one changed little."""


def reliefs(frame: Frame) -> list[tuple[Cluster, Relief, tuple[slice, slice]]]:
    """Every cluster of an image that is no container, its relief, and the window of it."""
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
    """Pairs of pixels: does the object change from one before the pair to one behind it?"""
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


@dataclass(frozen=True)
class Patches:
    """The patches of one cluster, and what they truly show.

    Attributes:
        labels: (h, w) of patches.
        counts: (patches, objects + 1) how many pixels of each patch show nothing, or each object [px].
    """

    relief: Relief
    pairs: Pairs
    labels: NDArray[np.int32]
    counts: FloatArray


def patches(relief: Relief, ids: NDArray[np.int32], border: Network) -> Patches:
    """The patches of a cluster whose pixels show the objects `ids` (h, w)."""
    pairs = find_pairs(relief, border)
    labels = find_patches(relief, pairs)
    counts = np.zeros((int(labels.max()) + 1, int(ids.max()) + 2))
    np.add.at(counts, (labels.ravel(), ids.ravel() + 1), 1.0)
    return Patches(relief, pairs, labels, counts)


def joint_examples(examples: Examples, cluster: Patches, judge: JointJudge, rng: np.random.Generator) -> None:
    """Regions as they are joined: are both mostly the same object?"""
    counts = cluster.counts
    if len(counts) < 3:
        return

    def watch(owner: NDArray[np.intp], first: NDArray[np.intp], second: NDArray[np.intp], features: Array32) -> None:
        sums = np.zeros_like(counts)
        np.add.at(sums, owner, counts)
        a, b = sums[first], sums[second]
        pure = np.minimum(a.max(axis=1) / a.sum(axis=1), b.max(axis=1) / b.sum(axis=1)) > 0.7
        kept = pure & (rng.random(len(first)) < 0.7)
        size = np.sqrt(np.minimum(a.sum(axis=1), b.sum(axis=1)))
        examples.add(features[kept], (a.argmax(axis=1) == b.argmax(axis=1))[kept].astype(float), size[kept])

    join(RegionSums(cluster.relief, cluster.labels, cluster.pairs), judge, watch)


def score_examples(examples: Examples, frame: Frame, ids: NDArray[np.int32]) -> None:
    """Masks of what is pointed at in an image: what is their IoU?"""
    objects = FrameObjects(frame, Recogniser([])).seen()
    for k in range(int(ids.max()) + 1):
        own = ids == k
        if np.count_nonzero(own) < LEAST_PIXELS:
            continue
        u, v = pixel(inner_point(own), frame.size)
        for item in objects:
            if item.cluster.mask[v, u] and item.features is not None:
                examples.add(item.features[None], np.array([mask_iou(item.cluster.mask, own)]), np.ones(1))


def halved(frame: Frame, ids: NDArray[np.int32]) -> tuple[Frame, NDArray[np.int32]]:
    """An image and its ids (H, W) at half the width and height."""
    every = np.s_[::2, ::2]
    K = frame.K.copy()
    K[:2] /= 2.0
    return replace(frame, rgb=frame.rgb[every].copy(), depth=frame.depth[every].copy(), K=K), ids[every]


def _first_guess(features: Array32) -> Array32:
    """Regions are one where no border runs between them: what is shown to the first fit."""
    return logistic(-0.5 * features[:, 0])


def learn(seen: Sequence[tuple[Frame, NDArray[np.int32]]], judged: Sequence[tuple[Frame, NDArray[np.int32]]]) -> None:
    """Write `parts.json` anew.

    Args:
        seen: Images without ids, and the ids (H, W) of what they truly show: for borders and joints.
        judged: The same of other scenes, for scores.
    """
    rng = np.random.default_rng(0)
    parts = [
        (relief, ids[window][:: relief.every, :: relief.every])
        for frame, ids in seen
        for _, relief, window in reliefs(frame)
    ]
    nothing = Network(np.zeros((FEATURES, 1), np.float32), np.zeros(1, np.float32), np.zeros(1, np.float32), 0.0)
    borders, joints, scores = Examples(), Examples(), Examples()
    for relief, ids in parts:
        border_examples(borders, relief, ids, nothing, rng)
    # There are far more pixels than shapes: outlines become worse where these are blurred.
    border = fit(borders, rng, blur=0.0, decay=0.0)
    shown = [patches(relief, ids, border) for relief, ids in parts]
    for cluster in shown[::_SKIPPED]:
        joint_examples(joints, cluster, _first_guess, rng)
    judge = fit(joints, rng)
    for _ in range(_ROUNDS):
        for cluster in shown:
            joint_examples(joints, cluster, judge, rng)
        judge = fit(joints, rng)
    save({"border": border, "joint": judge, "score": network("score")})
    for frame, ids in judged:
        score_examples(scores, frame, ids)
    save({"border": border, "joint": judge, "score": fit(scores, rng, steps=STEPS // 4, hidden=12)})


def main(first_seed: int = FIRST_SEED, share: float = 1.0) -> None:
    """Write `parts.json` anew.

    Args:
        first_seed: Seed of the first scene of each kind.
        share: Share of the scenes of each kind that are used, above 0; less than one for a trial.
    """
    seen: list[tuple[Frame, NDArray[np.int32]]] = []
    judged: list[tuple[Frame, NDArray[np.int32]]] = []
    for kind, scenes in CLUTTER_KINDS.items():
        for seed in range(first_seed, first_seed + max(round(share * scenes), 1)):
            scene = scene_of(kind, seed)
            for sensor in (SENSORS[0], SENSORS[1 + seed // _JUDGED % 2]):
                true, frame = make_images(scene, sensor, seed)
                assert true.ids is not None
                shot = frame, true.ids
                if sensor != SENSORS[0] and seed % HALVED == 0:
                    shot = halved(*shot)
                (judged if seed % _JUDGED == 0 else seen).append(shot)
        print(f"{kind}: {len(seen) + len(judged)} pictures", flush=True)
    learn(seen, judged)


if __name__ == "__main__":
    tyro.cli(main)
