"""Fits what a product's name needs: `python -m toolhand.bench.perception.naming`.

Known are the products of random scenes. Unknown are the same objects where the list of products lacks theirs, and
objects of the set `generated`. Seeds stay below 100000: what lies beyond is kept for measuring. Minutes of one core.
The `naming.json` that comes along was fitted to all of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tyro
from numpy.typing import NDArray
from scipy.optimize import minimize

from toolhand.bench.perception.masks import LEAST_PIXELS, make_images, scene_of
from toolhand.bench.perception.metrics import mask_iou
from toolhand.bench.perception.scores import SHRINKING, shrunk
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.perception.naming import SURE, save
from toolhand.tool_nodes.perception.objects import FrameObjects
from toolhand.tool_nodes.perception.recognition import Look, Recogniser
from toolhand.tool_nodes.types import FloatArray, Frame

KINDS = {"apart": (1000, 16), "packed": (200, 20)}
"""Kinds of scenes, their first seeds and how many of each [-]: products, and unknown objects."""
SENSORS = ("stereo", "realsense_d435", "clean")
"""Sensors that see each scene."""
_GOOD = 0.5
"""Overlap from which on a mask shows the object that it mostly shows [-]."""
_STIFFNESS = 5.0
"""How much squares of weights count against the log likelihood of `_WORTH` examples of each class [-]: with five times
less, the same objects are named in other scenes."""
_WORTH = 200.0
"""Examples that each class is worth [-]; a round figure, about how many products there are."""


def looks(frame: Frame, ids: NDArray[np.int32], recogniser: Recogniser, least: float) -> list[tuple[int, Look]]:
    """The objects of an image that are seen well enough, with what they truly are.

    Args:
        ids: (H, W) what it truly shows, negative for nothing.
        recogniser: The products that may be there.
        least: Visible pixels of an object, at least [px].
    """
    found = []
    for item in FrameObjects(frame, recogniser).seen():
        shown = ids[item.cluster.mask]
        shown = shown[shown >= 0]
        if not len(shown):
            continue
        k = int(np.bincount(shown).argmax())
        own = ids == k
        if np.count_nonzero(own) >= least and mask_iou(item.cluster.mask, own) > _GOOD:
            found.append((k, item.look))
    return found


def examples(kind: str, seed: int, sensor: str, factor: int) -> list[tuple[FloatArray, bool]]:
    """Evidence for the product that each object of a scene looks most like, and whether it is that product."""
    scene = scene_of(kind, seed)
    true, frame = make_images(scene, sensor, seed)
    assert true.ids is not None
    frame = shrunk(replace(frame, ids=true.ids), factor)
    ids = frame.ids
    assert ids is not None
    recogniser = Recogniser(list(load_catalogue().values()))
    names = [item.name for item in recogniser.items]
    found = []
    for k, look in looks(replace(frame, ids=None), ids, recogniser, LEAST_PIXELS / factor**2):
        scores, item = recogniser.log_likelihood(look), scene.objects[k].item
        best = int(np.argmax(scores))
        found.append((recogniser.evidence(look, best), names[best] == item))
        if item in names:
            scores[names.index(item)] = -np.inf
            best = int(np.argmax(scores))
            found.append((recogniser.evidence(look, best), False))
    return found


def fit(evidence: FloatArray, known: FloatArray) -> tuple[FloatArray, float]:
    """Weights (F,) and bias of a logistic regression on evidence (N, F); known (N,) is 1 or 0, and both weigh alike."""
    mean, scale = evidence.mean(axis=0), evidence.std(axis=0) + 1e-6
    rows = np.column_stack([(evidence - mean) / scale, np.ones(len(known))])
    worth = _WORTH * np.where(known > 0.5, 1.0 / known.sum(), 1.0 / (1.0 - known).sum())

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        logits = rows @ weights
        slopes = rows.T @ (worth * (1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0))) - known))
        slopes[:-1] += _STIFFNESS * weights[:-1]
        cost = worth @ (np.logaddexp(0.0, logits) - known * logits) + 0.5 * _STIFFNESS * weights[:-1] @ weights[:-1]
        return float(cost), slopes

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B").x
    weights = found[:-1] / scale
    return weights, float(found[-1] - weights @ mean)


def main(share: float = 1.0) -> None:
    """Write `naming.json` anew.

    Args:
        share: Share of the scenes of each kind that are used, above 0; less than one for a trial.
    """
    found: list[tuple[FloatArray, bool]] = []
    for kind, (first, scenes) in KINDS.items():
        for seed in range(first, first + max(round(share * scenes), 1)):
            for sensor in SENSORS:
                for factor in SHRINKING:
                    found += examples(kind, seed, sensor, factor)
        print(f"{kind}: {len(found)} examples", flush=True)
    evidence, known = np.array([row for row, _ in found]), np.array([float(right) for _, right in found])
    weights, bias = fit(evidence, known)
    save(weights, bias)
    named = evidence @ weights + bias > np.log(SURE / (1.0 - SURE))
    print(f"named: {named[known > 0.5].mean():.1%} of what is known, {named[known < 0.5].mean():.1%} of what is not")


if __name__ == "__main__":
    tyro.cli(main)
