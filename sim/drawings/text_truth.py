"""The TextReader backend `sim`: the texts stored with a drawn image, as far as a good reader could read them."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace

import numpy as np

from toolhand.sim.drawings.lettering import CAPITAL_EM, X_HEIGHT_EM, plain_text
from toolhand.tool_nodes.perception.text.layout import reading_order
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import TextSpan

LONG_SIDE_PX = 1024
"""The reader looks at an image of at most this long side [px]: a larger one is reduced first, so that small print is
lost in the whole image and read in a crop of it, as in PERIA's figure 12."""
MIN_TEXT_PX = 9.0
"""Font size below which text is not read, in the image as the reader sees it [px]."""
CONFUSED_WITH = dict(zip("0O1lI5S8B2Zmncerugq6vyft", "OOlIlS5B8Z2nmeczgu9bygtf", strict=True)) | {"O": "0"}
"""What each character is taken for."""
LEAST_SEEN = 0.9
"""Part of a formula or cell that a crop must show for it to be read; of a text it may show some letters only."""


@dataclass(frozen=True)
class TextNoise:
    """How far a reader is from the truth.

    Attributes:
        confusion_rate: Probability in [0, 1] that a character is misread, at the smallest size that is read.
        fading_px: By how much larger print is for a misreading to be e times rarer [px of the font size].
    """

    confusion_rate: float = 0.02
    fading_px: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.confusion_rate <= 1.0:
            raise invalid(f"confusion_rate must be between 0 and 1, got {self.confusion_rate}.")
        if not self.fading_px > 0.0:
            raise invalid(f"fading_px must be above 0, got {self.fading_px}.")


class SimTextReader:
    """Knows what is printed, and reads it with the limits of a network.

    It looks at an image of at most `LONG_SIDE_PX` and reads print of at least `MIN_TEXT_PX` in it. The same seed and
    the same image give the same answer.

    Args:
        seed: Seeds the misreadings.
        noise: How far to be from the truth; mild where None.
    """

    backend = "sim"
    reads_truth = True
    sees_photographs = False

    def __init__(self, seed: int = 0, noise: TextNoise | None = None) -> None:
        self._seed = seed
        self._noise = noise or TextNoise()

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        """Texts in reading order, boxes in px of the image; an image of the simulated table has none.

        Raises:
            ToolError: IMAGE_UNUSABLE for an image whose texts are not known.
        """
        frame = image.frame
        if frame is None or (frame.texts is None and frame.ids is None):
            raise ToolError(
                ErrorCode.IMAGE_UNUSABLE,
                "The simulator's reader knows the texts of simulated pictures only, and this is none.",
                "Use the reader 'rapidocr' for other pictures.",
                self.backend,
            )
        factor = min(1.0, LONG_SIDE_PX / max(image.size))
        found = []
        for index, text in enumerate(frame.texts or ()):
            seen = _visible(text, image)
            if seen is None:
                continue
            size = font_size(seen) * factor
            if size >= MIN_TEXT_PX:
                found.append(self._misread(seen, size, self._rng(image, index)))
        return Answer(reading_order(found), self.backend)

    def _rng(self, image: SessionImage, index: int) -> np.random.Generator:
        return np.random.default_rng((self._seed, zlib.crc32(image.rgb.tobytes()), index))

    def _misread(self, span: TextSpan, size: float, rng: np.random.Generator) -> TextSpan:
        rate = self._noise.confusion_rate * math.exp(-(size - MIN_TEXT_PX) / self._noise.fading_px)
        wrong = rng.random(len(span.text)) < rate
        if span.kind == "formula":  # a misread command is no LaTeX
            wrong[:] = False
        text = "".join(CONFUSED_WITH.get(c, c) if bad else c for c, bad in zip(span.text, wrong, strict=True))
        return replace(span, text=text, score=round(1.0 - rate, 3))


def font_size(span: TextSpan) -> float:
    """Font size of a text, from the height of its ink and which letters it has [px]."""
    letters = plain_text(span.text)
    top = max((X_HEIGHT_EM if c in "acegmnopqrsuvwxyz.,:;-+=_~" else CAPITAL_EM for c in letters), default=CAPITAL_EM)
    bottom = 0.2 if any(c in "gjpqy(),;[]{}|_Q" for c in letters) else 0.0
    if letters != span.text:
        top += 0.15
    return (span.box[3] - span.box[1]) / (top + bottom)


def _visible(span: TextSpan, image: SessionImage) -> TextSpan | None:
    """The part of a text of the frame that an image shows, with its box there; None where it shows too little."""
    width, height = image.size
    left, top, right, bottom = span.box
    frame_width, frame_height = image.require_frame().size
    corners = image.from_frame([(left / frame_width, top / frame_height), (right / frame_width, bottom / frame_height)])
    (x0, y0), (x1, y1) = corners * (width, height)
    shown_height = min(y1, height) - max(y0, 0.0)
    if shown_height < LEAST_SEEN * (y1 - y0):
        return None
    shown = (max(x0, 0.0), max(y0, 0.0), min(x1, float(width)), min(y1, float(height)))
    if shown[2] - shown[0] >= LEAST_SEEN * (x1 - x0):
        return replace(span, box=shown)
    if span.kind != "text" or shown[2] <= shown[0]:
        return None
    centres = x0 + (np.arange(len(span.text)) + 0.5) * (x1 - x0) / len(span.text)
    text = "".join(c for c, x in zip(span.text, centres, strict=True) if 0.0 <= x < width).strip()
    return replace(span, text=text, box=shown) if text else None
