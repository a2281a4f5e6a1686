"""Building blocks of a report: escaped text, badges, and pictures of a bounded size."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np
from PIL import Image

from agent_node.policy import Reply
from agent_node.runs.folder import encode, image_path
from tool_nodes.drawing import RGB

# -- text ----------------------------------------------------------------------------------------


def clip(text: str, limit: int) -> str:
    """At most `limit` characters of a text, with how many more there are."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


_TURNS_TEXT = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of what follows them, also of the page's own words."""


def escaped(value: object, limit: int = 4000) -> str:
    """A value as text that HTML can hold, wherever it came from; what would turn its direction is spelled out."""
    return escape(_TURNS_TEXT.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", clip(str(value), limit)))


def duration(seconds: float) -> str:
    """A time [s] as people read it."""
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def badge_of(label: str, mood: str = "") -> str:
    """A label in a box; the mood is "good", "bad" or empty."""
    return f'<span class="badge {mood}">{escaped(label, 120)}</span>'


def label_of(name: object) -> str:
    """The name of an entry as people read it: `wall_s` is a wall time in seconds."""
    words = str(name).replace("_", " ")
    return f"{words[:-2]} [s]" if words.endswith(" s") else words


def text_of(value: Any) -> str:
    """A value of an entry as people read it."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(text_of(item) for item in value[:50])
    return "none" if value is None else str(value)


def table_of(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values."""
    cells = (f'<tr><th scope="row">{escaped(a, 120)}</th><td dir="auto">{escaped(b, 500)}</td></tr>' for a, b in rows)
    return f"<table><tbody>{''.join(cells)}</tbody></table>"


def usage(replies: Sequence[Reply]) -> str:
    """Tokens and cost of turns, as far as the model reports them; empty for a policy that counts nothing."""
    read, written = sum(r.prompt_tokens for r in replies), sum(r.completion_tokens for r in replies)
    cost = sum(r.cost for r in replies)
    usage = f", {read:,} tokens read and {written:,} written" if read or written else ""
    return f"{usage}, cost {cost:.4g}" if cost else usage


class Room:
    """Bytes that a part of the page may still take."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, html: str) -> bool:
        """True if the text fits, which uses its room up."""
        self._left -= len(encode(html))
        return self._left >= 0


# -- pictures ------------------------------------------------------------------------------------


def _jpeg(rgb: RGB, width: int, quality: int) -> bytes:
    image = Image.fromarray(rgb)
    image.thumbnail((width, width))
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=quality)
    return buffer.getvalue()


def jpegs_of(pictures: Sequence[RGB], room: int, sizes: Iterable[tuple[int, int]]) -> list[bytes]:
    """All pictures in the best (longer side [px], quality) that fits; at worst only the first that fit."""
    encoded: list[bytes] = []
    for width, quality in sizes:
        encoded, left = [], room
        for picture in pictures:
            encoded.append(_jpeg(picture, width, quality))
            left -= len(encoded[-1])
            if left < 0:
                encoded.pop()
                break
        else:
            break
    return encoded


def shown(index: int, rgb: RGB, alt: str, attributes: str = "", drawn: str = "") -> str:
    """The element of a picture (H, W, 3) that lies in the run's folder.

    Args:
        index: Number of the picture in the conversation.
        rgb: The picture, of which the size is written.
        alt: Description of the picture.
        attributes: Further ones of the element.
        drawn: Elements of SVG over it, in the picture's pixels.
    """
    height, width = rgb.shape[:2]
    image = f'<img src="{image_path(index)}" width="{width}" height="{height}" alt="{escaped(alt, 240)}"{attributes}>'
    if not drawn:
        return image
    return f'<span class="over">{image}<svg viewBox="0 0 {width} {height}" aria-hidden="true">{drawn}</svg></span>'


def img_of(rgb: RGB, jpeg: bytes, alt: str, attributes: str = "") -> str:
    """The element of a picture (H, W, 3) that is encoded in `jpeg`, and shown at the picture's own size."""
    height, width = rgb.shape[:2]
    source = f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
    return f'<img src="{source}" width="{width}" height="{height}" alt="{escaped(alt, 240)}"{attributes}>'
