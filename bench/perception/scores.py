"""What detectors are asked about a scene to see whether their scores mean anything, and which answers were right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from toolhand.bench.perception.calibration import Rating
from toolhand.bench.perception.truth import ImageTruth
from toolhand.tool_nodes.backends import Ports
from toolhand.tool_nodes.catalogue import CatalogueItem, load_catalogue
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame

CONFUSION_RATE = 0.3
"""Of the noise with which the simulator's truth is asked for scores: by default it confuses nothing; a round figure."""
SHRINKING = (1, 4)
"""Factors by which images are shrunk before they are asked about: 160x120 shows less than the catalogue tells
apart."""

_ABSENT = 16
"""Products that are not there and are asked for all the same, and as many colours of a kind that has others [-]."""


def ratings(truth: ImageTruth, frame: Frame, ports: Ports, seed: int) -> list[Rating]:
    """Scores of everything that is found for phrases about a scene, and whether it is what the phrase says.

    Args:
        frame: Image to show; its ids are those of the truth wherever it has some.
        seed: Chooses what is asked for that is not there.

    Raises:
        ToolError: UNAVAILABLE or INTERNAL; any other error says that nothing was found.
    """
    found: list[Rating] = []
    for factor in SHRINKING:
        shown, true = shrunk(frame, factor), shrunk(truth.frame, factor).ids
        assert true is not None
        image = SessionImage(shown.rgb, shown)
        for text, products in phrases(truth, seed):
            try:
                detections = ports.detector.detect(image, text).value
            except ToolError as error:
                if error.code in INFRASTRUCTURE_ERRORS:
                    raise
                continue
            for detection in detections:
                left, top, right, bottom = detection.box
                middle = (left + right) / 2 / shown.size[0], (top + bottom) / 2 / shown.size[1]
                u, v = pixel(detection.point or middle, shown.size)
                k = int(true[v, u])
                found.append((detection.score, k >= 0 and truth.scene.objects[k].item in products))
    return found


def phrases(truth: ImageTruth, seed: int) -> Iterator[tuple[str, frozenset[str]]]:
    """What is asked for, and the names of the products that it says: objects that are there and objects that are not.

    Names and kinds of all visible objects; names of others, those first that look like what is there; and colours of
    the visible kinds, as a product of that kind has them or as another kind has.
    """
    catalogue = load_catalogue()
    rng = np.random.default_rng(seed)
    visible = [placed.asset for placed, _ in truth.visible()]
    here, kinds = {item.name for item in visible}, sorted({item.kind for item in visible})
    colours = sorted({item.colour for item in catalogue.values()})
    for name in sorted(here):
        yield name, _called(name)
    for kind in kinds:
        yield kind, frozenset(item.name for item in catalogue.values() if item.kind == kind)
    absent = [item for item in catalogue.values() if item.name not in here]
    for k in rng.permutation(len(absent))[:_ABSENT]:
        yield absent[k].name, _called(absent[k].name)
    for _ in range(_ABSENT):
        kind, colour = kinds[int(rng.integers(len(kinds)))], colours[int(rng.integers(len(colours)))]
        yield f"{colour} {kind}", frozenset(i.name for i in catalogue.values() if i.kind == kind and _shows(i, colour))


def _called(name: str) -> frozenset[str]:
    """The products that a product's name says: itself, and those that list it among their own names."""
    return frozenset(item.name for item in load_catalogue().values() if name in (item.name, *item.synonyms))


def _shows(item: CatalogueItem, colour: str) -> bool:
    """True if the product list calls an item, or its name, so: "blue" for the dark blue one too."""
    return colour in (item.colour, item.colour.split()[-1]) or f"{colour} " in item.name


def shrunk(frame: Frame, factor: int) -> Frame:
    """A frame with each side shorter by a whole factor: colours are averaged, depth and ids are those of one pixel."""
    if factor == 1:
        return frame
    width, height = (side // factor for side in frame.size)
    blocks = frame.rgb[: height * factor, : width * factor].reshape(height, factor, width, factor, 3)
    K = frame.K.copy()
    K[:2] /= factor
    sampled = np.s_[factor // 2 : height * factor : factor, factor // 2 : width * factor : factor]
    return replace(
        frame,
        rgb=np.ascontiguousarray(blocks.mean(axis=(1, 3)).round().astype(np.uint8)),
        depth=np.ascontiguousarray(frame.depth[sampled]),
        K=K,
        ids=None if frame.ids is None else np.ascontiguousarray(frame.ids[sampled]),
    )
