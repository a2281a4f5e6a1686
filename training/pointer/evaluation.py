"""A pointer against the truth: how often its point is on what was meant, and whether it knows when it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tool_nodes.geometry import pixel
from tool_nodes.perception.learned.backend import SURE, LearnedPointer, PointerAnswer
from tool_nodes.perception.learned.reading import read_phrase
from tool_nodes.perception.learned.weights import CALIBRATED, PointerWeights, uncalibrated
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError
from training.pointer.batch import labels
from training.pointer.data import LEAST_PX, MAX_THINGS, PictureSet

BY_WORDS = ("plain", "held out", "several", "absent", "absent held out")
"""Phrases that name things by words alone."""
ONE_THING = ("plain", "held out", "side", "beside")
"""Phrases that mean one thing: a hit is a point on it."""


@dataclass(frozen=True)
class PointedAt:
    """What came of one phrase.

    Attributes:
        text, kind: See `LabelledPhrase`.
        targets: Names of the products that are meant.
        hit: The surest point is on what is meant.
        certainty: Certainty of that point in [0, 1]; 0 where there is none.
        share: Probability that it is right if one thing is meant, see `PointerAnswer`.
        given: Points that are certain enough to be returned.
        right: All of what is meant has such a point, and nothing else has.
        rated: For each candidate its certainty and whether it is on what is meant.
    """

    text: str
    kind: str
    targets: tuple[str, ...]
    hit: bool
    certainty: float
    share: float
    given: int
    right: bool
    rated: tuple[tuple[float, bool], ...]


def point_at(
    pointer: LearnedPointer, pictures: PictureSet, kinds: Sequence[str] = (), depth: bool = True
) -> Iterator[PointedAt]:
    """Ask about every phrase of every scene whose target is seen.

    Args:
        pointer: Sees colour and depth.
        pictures: With the truth.
        kinds: Kinds of phrases; all where empty.
        depth: Show it depth, too.
    """
    for k in range(len(pictures)):
        frame, ids = pictures.frame(k, depth), pictures.ids[k]
        seen = np.array([np.count_nonzero(ids == thing) >= LEAST_PX for thing in range(MAX_THINGS)])
        for phrase in pictures.phrases[k]:
            meant = labels(phrase, seen)
            if meant is None or (kinds and phrase.kind not in kinds):
                continue
            targets = tuple(name for name, label in zip(pictures.things[k], phrase.meant, strict=False) if label == 1)
            try:
                answer = pointer.answer(frame, phrase.text, least=0.0)
            except ToolError as error:
                if error.code in INFRASTRUCTURE_ERRORS:
                    raise
                answer = PointerAnswer((), 0.0)
            found = answer.candidates
            at = [int(ids[v, u]) for u, v in (pixel(candidate.point, frame.size) for candidate in found)]
            label = [meant[thing] if thing >= 0 else 0 for thing in at]
            sure = [thing for candidate, thing in zip(found, at, strict=True) if candidate.certainty >= SURE]
            wanted = {thing for thing, value in enumerate(meant) if value == 1}
            wrong = [thing for thing in sure if thing < 0 or meant[thing] == 0]
            yield PointedAt(
                phrase.text,
                phrase.kind,
                targets,
                hit=bool(label) and label[0] == 1,
                certainty=found[0].certainty if found else 0.0,
                share=answer.share,
                given=len(sure),
                right=not wrong and wanted <= set(sure),
                rated=tuple((c.certainty, value == 1) for c, value in zip(found, label, strict=True) if value >= 0),
            )


def calibrated(weights: PointerWeights, pictures: PictureSet) -> PointerWeights:
    """The same network with certainties that are right as often as they say, on some pictures (Platt 1999)."""
    rated: dict[str, list[tuple[float, bool]]] = {name: [] for name in CALIBRATED}
    pointer = LearnedPointer(replace(weights, calibration=uncalibrated()))
    for answer in point_at(pointer, pictures):
        tokens = read_phrase(answer.text)
        rated["side" if tokens.side else "beside" if tokens.relation else "thing"] += answer.rated
    for answer in point_at(pointer, pictures, BY_WORDS, depth=False):
        rated["colour"] += answer.rated
    return replace(weights, calibration={name: platt(np.array(pairs)) for name, pairs in rated.items()})


def platt(rated: NDArray[np.float64], iterations: int = 50) -> tuple[float, float]:
    """(a, b) of 1 / (1 + exp(-(a s + b))) fitted to (n, 2) of certainty 1 / (1 + exp(-s)) and right or wrong.

    Maximum likelihood by Newton's method, with Platt's softened targets; (1, 0) where only one of both occurs.
    """
    if len(rated) < 2 or np.ptp(rated[:, 1]) == 0:
        return 1.0, 0.0
    p = np.clip(rated[:, 0], 1e-9, 1.0 - 1e-9)
    x = np.column_stack([np.log(p / (1.0 - p)), np.ones(len(p))])
    right = rated[:, 1].sum()
    y = np.where(rated[:, 1] > 0, (right + 1.0) / (right + 2.0), 1.0 / (len(p) - right + 2.0))
    w = np.array([1.0, 0.0])
    for _ in range(iterations):
        q = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30.0, 30.0)))
        hessian = (x * (q * (1.0 - q))[:, None]).T @ x + 1e-6 * np.eye(2)
        step = np.linalg.solve(hessian, x.T @ (q - y))
        w -= np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-8:
            break
    return float(max(w[0], 1e-3)), float(w[1])


def area_under_roc(scores: Sequence[float], right: Sequence[bool]) -> float | None:
    """Probability that a right answer has a higher score than a wrong one; None where there are not both."""
    s, r = np.asarray(scores, float), np.asarray(right, bool)
    good, bad = s[r], np.sort(s[~r])
    if not len(good) or not len(bad):
        return None
    below = np.searchsorted(bad, good, "left") + np.searchsorted(bad, good, "right")
    return float(below.sum() / (2 * len(good) * len(bad)))


def figures(found: Sequence[PointedAt], without_depth: Sequence[PointedAt] = ()) -> dict[str, Any]:
    """What a model card tells: (hits, n) by kind, and how well certainties tell right from wrong.

    Args:
        found: In pictures with depth.
        without_depth: And in the same without it, where they were asked.
    """
    rows: dict[str, tuple[int, int]] = {}

    def count(kind: str, name: str, right: str, answers: Sequence[PointedAt]) -> None:
        chosen = [getattr(answer, right) for answer in answers if answer.kind == kind]
        rows[f"{kind}{name}"] = sum(chosen), len(chosen)

    for kind in ONE_THING:
        count(kind, ": the surest point is right", "hit", found)
    for kind in ONE_THING:
        count(kind, ", picture without depth: the surest point is right", "hit", without_depth)
    for kind in ONE_THING:
        count(kind, ": exactly the right points are given", "right", found)
    count("several", ": all of them and nothing else are given", "right", found)
    for kind in ("absent", "absent held out"):
        count(kind, ": nothing is given", "right", found)
    pointed = [answer for answer in found if answer.kind in ONE_THING]
    surest = sorted(pointed, key=lambda answer: -answer.share)[: round(0.8 * len(pointed))]
    rows["the surest 80 % of one-thing phrases"] = sum(answer.hit for answer in surest), len(surest)
    return {
        "rows": {name: row for name, row in rows.items() if row[1]},
        "auc": area_under_roc([answer.share for answer in pointed], [answer.hit for answer in pointed]),
        "auc_present": area_under_roc(
            [answer.certainty for answer in found if answer.kind in ("plain", "absent")],
            [answer.kind == "plain" for answer in found if answer.kind in ("plain", "absent")],
        ),
    }


def by_product(found: Sequence[PointedAt], products: Sequence[str]) -> Mapping[str, tuple[int, int]]:
    """(hits, n) of phrases that mean one thing, for some products."""
    rows = {}
    for name in products:
        chosen = [answer.hit for answer in found if answer.kind in ("plain", "held out") and answer.targets == (name,)]
        rows[name] = sum(chosen), len(chosen)
    return rows
