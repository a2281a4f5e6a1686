"""HTML pages that need no network, no server and, to be read, no script: one look, by templates that escape.

Everything that an operator, a model or a tool wrote is hostile until escaped: templates escape whatever they are given,
clip it and spell out the characters that turn its direction. A content security policy stands behind that: images
come from the page's folder and the page itself, and only the page's own script may run.

A template stands beside the module that fills it in, extends `layout.html` and takes its elements from `parts.html`.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from PIL import Image

from toolhand.agent_node.policy import Reply
from toolhand.agent_node.runs.folder import encode, image_path
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.results import ToolError

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
_LONGEST_TEXT = 4000
"""Longest text of a page of which a template does not say how long it may be [characters]."""
_TURNS_TEXT = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that turn the direction of what follows them, also of the page's own words."""


# -- templates -----------------------------------------------------------------------------------


def render(template: Path, title: str, script: str = "", **values: Any) -> str:
    """A page.

    Args:
        template: Extends `layout.html`.
        title: Title as plain text.
        script: The only one that may run; the template's body has it as `script`, in its tag.
        values: Values by the names that the template has for them.
    """
    values |= {"title": title, "script": Markup(script), "digest": digest_of(script)}
    return _environment(template.parent).get_template(template.name).render(values)


def macro(template: Path, name: str, *values: Any) -> Markup:
    """What one macro of a template makes of some values."""
    made: Markup = getattr(_environment(template.parent).get_template(template.name).module, name)(*values)
    return made


def fill(template: Path, **values: Any) -> str:
    """A text that is no page, of a template with some values, as they are: nothing is escaped or clipped."""
    import jinja2

    loader, undefined = jinja2.FileSystemLoader(template.parent), jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=loader, undefined=undefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.get_template(template.name).render(values)


@functools.cache
def _environment(folder: Path) -> Environment:
    import jinja2  # once a page is written: the arm need not wait for it

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, TEMPLATES]),
        autoescape=True,
        finalize=_told,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        extensions=["jinja2.ext.loopcontrols"],
    )
    environment.filters |= {"clip": _clipped, "duration": duration, "pretty": pretty, "usage": usage}
    environment.globals |= {"style": Markup((TEMPLATES / "pages.css").read_text(encoding="utf-8"))}
    environment.globals |= {"image_path": image_path}
    return environment


class _Clipped(str):
    """A text of which a template has said how long it may be."""


def _clipped(value: object, limit: int) -> str:
    return _Clipped(clip(str(value), limit))


def _told(value: object) -> object:
    """What a template shows of a value that is no HTML yet."""
    if hasattr(value, "__html__"):
        return value
    text = value if isinstance(value, _Clipped) else clip(str(value), _LONGEST_TEXT)
    return _TURNS_TEXT.sub(lambda sign: f"[U+{ord(sign[0]):04X}]", text)


def digest_of(script: str) -> str:
    """By which the policy of a page knows its script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


_IMAGES = re.compile(r'src="data:[^"]*"')


class Room:
    """Bytes that the words of a part of a page may still take; images inside it are bounded apart."""

    def __init__(self, size: int) -> None:
        self._left = size

    def take(self, html: str) -> bool:
        """True if the text fits, which uses its room up."""
        self._left -= len(encode(_IMAGES.sub("", html)))
        return self._left >= 0


# -- values as people read them --------------------------------------------------------------------


def clip(text: str, limit: int) -> str:
    """At most `limit` characters of a text, with how many more there are."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def duration(seconds: float) -> str:
    """A time [s]."""
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.0f} ms"


def label_of(name: object) -> str:
    """The name of an entry: `wall_s` is a wall time in seconds."""
    words = str(name).replace("_", " ")
    return f"{words[:-2]} [s]" if words.endswith(" s") else words


def text_of(value: Any) -> str:
    """A value of an entry."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(text_of(item) for item in value[:50])
    return "none" if value is None else str(value)


def pretty(arguments: object) -> str:
    """Arguments of a call as JSON."""
    try:
        return json.dumps(arguments, indent=2, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return "arguments that cannot be shown as JSON"


def usage(replies: Sequence[Reply]) -> str:
    """Tokens and cost of turns, as far as the model reports them; empty for a policy that counts nothing."""
    read, written = sum(r.prompt_tokens for r in replies), sum(r.completion_tokens for r in replies)
    cost = sum(r.cost for r in replies)
    usage = f", {read:,} tokens read and {written:,} written" if read or written else ""
    return f"{usage}, cost {cost:.4g}" if cost else usage


# -- images ------------------------------------------------------------------------------------


def jpegs_of(images: Sequence[RGB], room: int, sizes: Iterable[tuple[int, int]]) -> list[bytes]:
    """All images in the best (longer side [px], quality) that fits; at worst only the first that fit."""
    encoded: list[bytes] = []
    for width, quality in sizes:
        encoded, left = [], room
        for shown in images:
            image, buffer = Image.fromarray(shown), io.BytesIO()
            image.thumbnail((width, width))
            image.save(buffer, format="JPEG", quality=quality)
            encoded.append(buffer.getvalue())
            left -= len(encoded[-1])
            if left < 0:
                encoded.pop()
                break
        else:
            break
    return encoded


def data_url(content: bytes, media_type: str = "image/jpeg") -> Markup:
    """An image as the address of an element."""
    return Markup(f"data:{media_type};base64,{base64.b64encode(content).decode()}")


class Gallery:
    """Images of a store for a page, each in the best (longer side [px], JPEG quality) that fits its room [bytes].

    Args:
        store: Has `get(name)`, which gives an image (H, W, 3) or raises ToolError.
        room: For each image [bytes].
    """

    def __init__(self, store: Any, room: int, sizes: Sequence[tuple[int, int]]) -> None:
        self._store, self._room, self._sizes = store, room, sizes

    def get(self, name: str | None) -> tuple[RGB, Markup] | str:
        """An image with its address; a sentence where it is missing, damaged or did not fit."""
        try:
            rgb = self._store.get(name or "")
        except ToolError as error:
            return str(error)
        jpegs = jpegs_of([rgb], self._room, self._sizes)
        return (rgb, data_url(jpegs[0])) if jpegs else f"The picture {clip(name or '', 12)} did not fit."
