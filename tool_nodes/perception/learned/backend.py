"""Pointing by what was learned from pictures; outlines and depth as `pixels`, free space by the rules.

The network sees the scene camera's frames, colour and depth, brought to 160 x 120 px. It never reads what the simulator
stores with a frame. A point comes with its certainty, measured on scenes that it was not trained on. Of a picture
without depth it says what things are, and not which of them is left of what: that is judged on the table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tool_nodes.geometry import pixel
from tool_nodes.language.phrases import parse_noun_phrase
from tool_nodes.language.place_phrases import parse_free_space
from tool_nodes.language.places import FreeSpaceRequest
from tool_nodes.language.pointed import at_point
from tool_nodes.perception.certainty import LEAST, Candidate
from tool_nodes.perception.frames import FrameCache
from tool_nodes.perception.learned.forward import PICTURE_PX, Encoded, network_input
from tool_nodes.perception.learned.peaks import CellScores, cell_point, mass_around, mostly_around, peaks, summed_around
from tool_nodes.perception.learned.reading import PhraseTokens, tokens_of
from tool_nodes.perception.learned.weights import PointerWeights, shipped_weights
from tool_nodes.perception.pixels import PixelPerception
from tool_nodes.perception.word_pointer import free_place, names_table
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import BoolArray, FloatArray, Frame

SURE = 0.5
"""A point is given from this certainty on [-]: below it, it is more likely wrong."""

_CAMERA = "scene"
"""The camera that the network was trained on."""


@dataclass(frozen=True, eq=False)
class ShrunkFrame:
    """A frame at the network's size.

    Attributes:
        rgb: (120, 160, 3) uint8, each pixel the mean of those that it covers.
        depth: (120, 160) [m] of the pixel in their middle, NaN where unknown.
        K: (3, 3) [px].
        corner, share: Where the frame lies in that picture, normalized: it is padded where it is not 4:3.
    """

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    K: FloatArray
    corner: tuple[float, float] = (0.0, 0.0)
    share: tuple[float, float] = (1.0, 1.0)


def shrunk(frame: Frame) -> ShrunkFrame:
    """A frame of any size at the network's; one that is not 4:3 gets grey borders without depth."""
    (width, height), (to_width, to_height) = frame.size, PICTURE_PX
    K = np.array(frame.K, float)
    if (width, height) == PICTURE_PX:
        return ShrunkFrame(frame.rgb, frame.depth, K)
    scale = max(width / to_width, height / to_height)
    across, down = round(to_width * scale), round(to_height * scale)
    left, top = (across - width) // 2, (down - height) // 2
    rgb = np.full((down, across, 3), 127, np.uint8)
    depth = np.full((down, across), np.nan, np.float32)
    rgb[top : top + height, left : left + width] = frame.rgb
    depth[top : top + height, left : left + width] = frame.depth
    small = np.asarray(Image.fromarray(rgb).resize(PICTURE_PX, Image.Resampling.BOX))
    rows = ((np.arange(to_height) + 0.5) * down / to_height).astype(int)
    columns = ((np.arange(to_width) + 0.5) * across / to_width).astype(int)
    K[:2, 2] += (left + 0.5, top + 0.5)
    K[:2] *= np.array([[to_width / across], [to_height / down]])
    K[:2, 2] -= 0.5
    place = (left / across, top / down), (width / across, height / down)
    return ShrunkFrame(small, depth[rows][:, columns], K, *place)


@dataclass(frozen=True)
class PointerAnswer:
    """What is said to a phrase.

    Attributes:
        candidates: Every place that may be meant, surest first.
        share: Probability, in [0, 1], that the surest one is right if one thing is meant: what the softmax over all
            cells gives to its surroundings. 0 without candidates.
    """

    candidates: tuple[Candidate, ...]
    share: float


class LearnedPointer:
    """Points at things of a scene camera's frames by words.

    Args:
        weights: A trained network; the shipped one where None.
    """

    def __init__(self, weights: PointerWeights | None = None) -> None:
        weights = weights or shipped_weights()
        self._network = weights.network
        self._calibration = weights.calibration
        self._seen = FrameCache(self._look)

    def candidates(self, frame: Frame, text: str, least: float = LEAST) -> list[Candidate]:
        """The candidates of `answer`, in a list."""
        return list(self.answer(frame, text, least).candidates)

    def answer(self, frame: Frame, text: str, least: float = LEAST) -> PointerAnswer:
        """Every place that may be what a phrase means, with the probability that it is, surest first.

        Args:
            frame: Colour and depth.
            text: Kinds of things, by a side or beside another thing at most.
            least: Certainty of the least sure candidate that is reported.

        Raises:
            ToolError: NOT_RECOGNISED for words or a grammar that were never trained on; PICTURE_UNUSABLE for a frame
                of another camera, or for a place in one without depth; NOT_UNDERSTOOD for a phrase that means nothing.
        """
        tokens = tokens_of(parse_noun_phrase(text))
        unknown = self._network.unknown(tokens)
        if unknown:
            raise ToolError(
                ErrorCode.NOT_RECOGNISED,
                f"I have never learned what '{' '.join(unknown)[:80]}' looks like, so I cannot say whether "
                f"'{text[:80]}' is here.",
                "Use other words for it, or another pointer.",
            )
        seen, small = self._seen(frame)
        placed = bool(tokens.side or tokens.relation)
        log_p, found = self._by_place(seen, tokens) if placed else self._by_words(seen, tokens)
        if seen.known.any():
            known = mostly_around(seen.known)  # a border, or what no camera measures, is no thing
            found = [(cell, sure) for cell, sure in found if known[cell]]
        points = [(_in_frame(cell_point(cell), small), sure) for cell, sure in found if sure >= least]
        inside = tuple(Candidate(point, sure) for point, sure in points if min(point) >= 0.0 and max(point) < 1.0)
        return PointerAnswer(inside, mass_around(log_p, found[0][0]) if inside else 0.0)

    def _by_words(self, seen: Encoded, tokens: PhraseTokens) -> tuple[CellScores, list[tuple[int, float]]]:
        """Log probability of each cell to be the one that is meant, and (cell, certainty) of the candidates."""
        scores = self._network.what(seen, tokens.thing)
        of = "thing" if seen.known.any() else "colour"
        around = summed_around(scores)
        found = [(cell, self._certainty(of, float(around[cell]))) for cell in peaks(scores, -10.0)]
        return scores - np.logaddexp.reduce(scores), sorted(found, key=lambda one: -one[1])

    def _by_place(self, seen: Encoded, tokens: PhraseTokens) -> tuple[CellScores, list[tuple[int, float]]]:
        """As `_by_words`; certainties are of all together: it is such a thing, it is the one there, and what it is
        beside is seen."""
        if not seen.known.any():
            raise ToolError(
                ErrorCode.PICTURE_UNUSABLE,
                "The learned pointer judges where a thing stands by depth, and this picture has none.",
                "Name the thing alone, or look again.",
            )
        there = summed_around(self._network.what(seen, tokens.thing))
        log_probability, reference = self._network.where(seen, tokens)
        found = []
        for cell in peaks(log_probability, -6.0):
            exists = 1.0 / (1.0 + math.exp(-float(there[cell])))
            p = mass_around(log_probability, cell) * exists * math.exp(reference)
            p = min(max(p, 1e-6), 1.0 - 1e-6)
            found.append((cell, self._certainty("side" if tokens.side else "beside", math.log(p / (1.0 - p)))))
        return log_probability, sorted(found, key=lambda one: -one[1])

    def _certainty(self, of: str, score: float) -> float:
        a, b = self._calibration[of]
        return 1.0 / (1.0 + math.exp(-min(max(a * score + b, -30.0), 30.0)))

    def _look(self, frame: Frame) -> tuple[Encoded, ShrunkFrame]:
        if frame.camera != _CAMERA:
            raise ToolError(
                ErrorCode.PICTURE_UNUSABLE,
                f"The learned pointer has only ever seen the scene camera's pictures, not the {frame.camera} camera.",
                "Use the scene camera's picture, or another pointer.",
            )
        small = shrunk(frame)
        return self._network.encode(network_input(small.rgb, small.depth, small.K, frame.T_base_camera)), small


def _in_frame(point: tuple[float, float], small: ShrunkFrame) -> tuple[float, float]:
    (x, y), (left, top), (width, height) = point, small.corner, small.share
    return (x - left) / width, (y - top) / height


class LearnedPerception(PixelPerception):
    """Points by the network, outlines and depth as `PixelPerception`.

    Args:
        weights: A trained network; the shipped one where None.
    """

    backend = "learned"

    def __init__(self, weights: PointerWeights | None = None) -> None:
        super().__init__()
        self._pointer = LearnedPointer(weights)

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized (x, y) of every thing that is more likely meant than not, surest first; of free space one.

        Raises:
            ToolError: OBJECT_NOT_FOUND where nothing is; NOT_RECOGNISED for words or a grammar that were never trained
                on; PICTURE_UNUSABLE for a frame of another camera or without depth; PLACE_BLOCKED or OUT_OF_WORKSPACE
                without room.
        """
        place = self._free_space(frame, text)
        if place is not None:
            return [place]
        found = self._pointer.candidates(frame, text)
        points = [candidate.point for candidate in found if candidate.certainty >= SURE]
        phrase = parse_noun_phrase(text)
        wanted = phrase.count or 1
        if points and phrase.point is not None:
            return [points[at_point(phrase, points, self._under(frame, points))]]
        if len(points) < wanted:
            raise _not_found(text, found, len(points), wanted)
        return points

    def candidates(self, frame: Frame, text: str) -> list[Candidate]:
        """Everything that may be meant, with its probability; free space is one for sure. Raises as `points`."""
        place = self._free_space(frame, text)
        if place is not None:
            return [Candidate(place, 1.0)]
        found = self._pointer.candidates(frame, text)
        if not found:
            raise _not_found(text, found, 0, 1)
        phrase = parse_noun_phrase(text)
        if phrase.point is None:
            return found
        points = [candidate.point for candidate in found]
        return [found[at_point(phrase, points, self._under(frame, points))]]

    def _under(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[BoolArray | None]:
        """The pixels (H, W) of the thing under each point; None where none is outlined."""
        masks = [segmentation.mask for segmentation in self.masks(frame)]
        pixels = [pixel(point, frame.size) for point in points]
        return [next((mask for mask in masks if mask[v, u]), None) for u, v in pixels]

    def _free_space(self, frame: Frame, text: str) -> tuple[float, float] | None:
        """A free place by the rules, beside what the network points at; None for a phrase that means a thing."""
        request = parse_free_space(text)
        if request is None and names_table(text):
            request = FreeSpaceRequest("anywhere")
        if request is None:
            return None
        things = [("thing there", segmentation.mask) for segmentation in self.masks(frame)]
        return free_place(frame, request, lambda phrase: self._outlines(frame, phrase), things)

    def _outlines(self, frame: Frame, phrase: str) -> list[BoolArray]:
        """All of a group, or the surest one that a phrase in the singular names."""
        points = self.points(frame, phrase)
        group = parse_noun_phrase(phrase)
        chosen = points if group.plural or group.count else points[:1]
        return [self.masks_at(frame, [point])[0].mask for point in chosen]


def _not_found(text: str, found: Sequence[Candidate], count: int, wanted: int) -> ToolError:
    if wanted > 1:
        return ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see {count} of '{text[:80]}', not {wanted}.")
    best = f": what looks most like it is so with a probability of {found[0].certainty:.0%}" if found else ""
    return ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see no '{text[:80]}' here{best}.")
