"""The TextReader backend `rapidocr`: PP-OCRv6 by RapidOCR and onnxruntime, with the weights in RapidOCR's wheel.

Nothing is downloaded. A detector finds lines of text at any angle; each is cut out, levelled and read on its own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.perception.prompts import signed
from toolhand.tool_nodes.perception.text.blanks import BlankingDecoder
from toolhand.tool_nodes.perception.text.layout import SCRIPTS, looks_like_mathematics, reading_order, with_scripts
from toolhand.tool_nodes.perception.text.scripts import levels
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import unavailable
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import FloatArray, TextSpan

SEARCHED_PX = 1280
"""Text is searched for in an image of at most this long side [px], which bounds the time; what is found is read with
all the pixels that there are. Print below about 8 px at this size is lost, and found in a crop."""
ENLARGED_PX, ENLARGED_BY = 960, 2.0
"""Smaller images are enlarged up to this long side [px], by this factor at most: print of 10 px is read better."""
LARGEST_PX = 4096
"""Longest side of an image that is read with all its pixels [px]; larger ones are reduced to it."""

MIN_MEAN = {1: 0.97, 2: 0.85, 3: 0.6}
"""Mean confidence from which a text of one, two, or three and more different characters counts as read [-]: a stripe or
a ball looks like one letter. Signs without a letter or digit count as one. Chosen on images of tables without
any print."""
MIN_FOUND = 0.6
"""Confidence of the detector from which text that cannot be read is reported [-]; chosen as above."""

_MARGIN_PX = 24
"""Border put around the image, a copy of its edge [px]: letters that touch the edge are found no worse."""
_TALL, _VERY_TALL = 1.5, 2.5
"""Height over width from which RapidOCR turns a cut line by 90 degrees, and below which it may be one letter."""
_DOUBTFUL = 0.9
"""Mean confidence below which a line is also read the other way up [-]; upside down it is 0.5 to 0.9, see above."""
_UPRIGHT, _UPRIGHT_WHERE_TURNED = 0.1, 0.03
"""So much better must a level line read on its head for it to be taken to stand so [-], and so much where the
classifier says so too: "69" and "SOS" read alike both ways. A round figure."""
_THREADS = 1
"""Threads of onnxruntime: the robot's computer has other work, and one thread always adds in the same order."""
_WEIGHTS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}
"""Files in the wheel of rapidocr 3.10."""
_WIDE_FORMS = {0xFEE0 + code: code for code in range(0x21, 0x7F)} | {0x3000: 0x20}
"""Full-width signs of Chinese typesetting, which now and then come back for plain ones, and what they stand for."""

_lock = threading.Lock()


@dataclass(frozen=True)
class _Line:
    """What one cut line says.

    Attributes:
        text: Without blanks at its ends.
        confidences: Confidence of each character, in [0, 1].
        latex: The line as a formula, where it is one with raised or lowered characters.
    """

    text: str
    confidences: Sequence[float]
    latex: str = ""

    @property
    def mean(self) -> float:
        return float(np.mean(self.confidences)) if self.text else 0.0

    @property
    def score(self) -> float:
        """Of the weakest character; a blank that may be too much or too little makes it weak too."""
        return round(float(min(self.confidences, default=0.0)), 3)

    @property
    def is_read(self) -> bool:
        different = len(set(self.text) - {" "}) if any(c.isalnum() for c in self.text) else 1
        return self.mean >= MIN_MEAN[min(different, max(MIN_MEAN))]

    @property
    def is_drawing(self) -> bool:
        """True for squares, bars and dots: shapes, which the network knows as signs."""
        return bool(self.text) and all("─" <= c <= "◿" or c == " " for c in self.text)


class RapidTextReader:
    """Reads print at any angle, Latin, Chinese and Japanese letters, in any colour; it looks at the pixels alone.

    The score of a text is the confidence of its weakest character. What was found and could not be read has an empty
    text. One image is read at a time.
    """

    backend = "rapidocr"

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        """See ports.TextReader.

        Raises:
            ToolError: UNAVAILABLE where RapidOCR is not installed, with the command that installs it.
        """
        with signed(self.backend), _lock:
            return Answer(_read(_engine(), image.rgb), self.backend)


@functools.cache
def _engine() -> Any:
    """RapidOCR with its three networks, loaded at the first image (about two seconds)."""
    try:
        import rapidocr
        from rapidocr import RapidOCR
    except ImportError as error:
        raise unavailable(
            f"Reading text from pixels needs RapidOCR, which cannot be loaded: {error}.",
            f"Install it with: {install_extra('ocr')}",
        ) from error
    folder = Path(rapidocr.__file__).parent / "models"
    missing = [name for name in _WEIGHTS.values() if not (folder / name).is_file()]
    if missing:  # RapidOCR itself would go and download them
        raise unavailable(
            f"The rapidocr that is installed ships no {missing[0]}.",
            f"Install the version that does: {install_extra('ocr')}",
        )
    settings: dict[str, Any] = {f"{part}.model_path": str(folder / name) for part, name in _WEIGHTS.items()}
    settings |= {
        "Global.log_level": "critical",
        "Global.return_word_box": True,
        "Global.use_vertical_padding": False,
        "Det.limit_type": "max",
        "Det.limit_side_len": SEARCHED_PX,
        "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
        "EngineConfig.onnxruntime.inter_op_num_threads": _THREADS,
    }
    engine = RapidOCR(params=settings)
    recogniser = engine._load_rec_model()
    recogniser.postprocess_op = BlankingDecoder(recogniser.postprocess_op)
    return engine


def _read(engine: Any, rgb: NDArray[np.uint8]) -> list[TextSpan]:
    """Texts of an image (H, W, 3) in reading order."""
    from rapidocr.main import RapidOCRError

    image, scale = _prepared(rgb)
    try:
        cut, found = engine.detect_and_crop(image, {})
    except RapidOCRError:  # so it says that there is no text
        return []
    sides = np.linalg.norm(np.diff(found.boxes, axis=1), axis=2)
    tallness = sides[:, 1] / sides[:, 0]
    turned = _upside_down(engine, cut, tallness >= _TALL)
    lines = _second_look(engine, cut, tallness, turned)
    spans = []
    height, width = rgb.shape[:2]
    for corners, line, certainty in zip((found.boxes - _MARGIN_PX) / scale, lines, found.scores, strict=True):
        left, top = np.maximum(corners.min(axis=0), 0.0)
        right, bottom = np.minimum(corners.max(axis=0), (width, height))
        box = float(left), float(top), float(right), float(bottom)
        if line.is_drawing or right <= left or bottom <= top:
            continue
        if line.is_read:
            kind = "formula" if line.latex else "text"
            spans.append(TextSpan(line.latex or line.text, box, line.score, kind))
        elif certainty >= MIN_FOUND:
            spans.append(TextSpan("", box, round(line.mean, 3)))
    ordered = reading_order(spans)
    return ordered[::-1] if turned.all() and not (tallness >= _TALL).any() else ordered


def _prepared(rgb: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], float]:
    """The image as RapidOCR takes it, BGR with a margin, and its pixels per pixel of the image."""
    height, width = rgb.shape[:2]
    scale = min(max(1.0, min(ENLARGED_BY, ENLARGED_PX / max(height, width))), LARGEST_PX / max(height, width))
    image = Image.fromarray(rgb)
    if scale != 1.0:
        size = max(1, round(width * scale)), max(1, round(height * scale))
        image = image.resize(size, Image.Resampling.BICUBIC if scale > 1.0 else Image.Resampling.BOX)
    around = ((_MARGIN_PX, _MARGIN_PX), (_MARGIN_PX, _MARGIN_PX), (0, 0))
    return np.ascontiguousarray(np.pad(np.asarray(image)[..., ::-1], around, mode="edge")), scale


def _upside_down(engine: Any, cut: Sequence[NDArray[np.uint8]], is_tall: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which cut lines stand on their heads: the level ones together, and the upright ones together.

    The classifier errs about short words, so that the lines of one direction vote, each with its length.
    """
    labels = engine.cls_and_rotate(list(cut))[1].cls_res
    votes = np.array(
        [
            (1.0 if label == "180" else -1.0) * score * c.shape[1] / c.shape[0]
            for c, (label, score) in zip(cut, labels, strict=True)
        ]
    )
    turned = np.zeros(len(cut), bool)
    for group in (is_tall, ~is_tall):
        turned[group] = votes[group].sum() > 0.0
    return turned


def _second_look(
    engine: Any, cut: Sequence[NDArray[np.uint8]], tallness: FloatArray, turned: NDArray[np.bool_]
) -> list[_Line]:
    """What the cut lines say.

    `turned` says which stand on their heads, and is corrected where that reads worse.

    Those that are doubtful or seem to stand on their heads are read the other way up too, short tall ones as a letter.
    """
    ways = [np.rot90(c, 2) if flip else c for c, flip in zip(cut, turned, strict=True)]
    lines = _recognised(engine, ways)
    doubtful = [k for k, line in enumerate(lines) if turned[k] or line.mean < _DOUBTFUL]
    for k, other in zip(doubtful, _recognised(engine, [np.rot90(ways[k], 2) for k in doubtful]), strict=True):
        lead = 0.0 if tallness[k] >= _TALL else -_UPRIGHT_WHERE_TURNED if turned[k] else _UPRIGHT
        if other.mean > lines[k].mean + lead:
            lines[k], turned[k] = other, not turned[k]
    single = [k for k, tall in enumerate(tallness) if _TALL <= tall < _VERY_TALL]
    for k, upright in zip(single, _recognised(engine, [np.rot90(cut[k], -1) for k in single]), strict=True):
        if upright.mean > (_DOUBTFUL if len(upright.text) == 1 else lines[k].mean):
            lines[k] = upright
    return lines


def _recognised(engine: Any, cut: Sequence[NDArray[np.uint8]]) -> list[_Line]:
    if not cut:
        return []
    cut = [np.ascontiguousarray(c) for c in cut]
    read = engine.recognize_txt(cut)
    return [_line(c, text, word_info) for c, text, word_info in zip(cut, read.txts, read.word_results, strict=True)]


def _line(cut: NDArray[np.uint8], text: str, word_info: Any) -> _Line:
    """A line without blanks at its ends and with plain signs; word_info is RapidOCR's: where each character is."""
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())
    plain = text[first:last].translate(_WIDE_FORMS)
    confidences = word_info.confs[first:last] if plain else ()
    latex = _latex(cut, plain, word_info) if looks_like_mathematics(plain) else ""
    return _Line(plain, confidences, latex)


def _latex(cut: NDArray[np.uint8], text: str, word_info: Any) -> str:
    """A line as LaTeX; empty where all of its characters stand on the line."""
    steps = [step for word in word_info.word_cols for step in word]
    signs = [c for c in text if c != " "]
    if len(steps) != len(signs):
        return ""
    stand = levels(cut, signs, [(step + 0.5) * cut.shape[1] / word_info.line_txt_len for step in steps])
    if not any(stand) and not SCRIPTS.keys() & set(signs):
        return ""
    blanks = [index > 0 and text[index - 1] == " " for index, c in enumerate(text) if c != " "]
    return with_scripts(list(zip(signs, stand, blanks, strict=True)))
