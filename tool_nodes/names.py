"""Names: the number that stands for one, and what a mistyped one was probably meant to be."""

from __future__ import annotations

import difflib
import zlib
from collections.abc import Iterable

_ALIKE = 0.6
"""Least likeness of two names, difflib's ratio [-]; its default: "rnu" is near "run", and "foo" near nothing."""
_COMPARED = 60
"""Characters of a name that are compared [-]: what a person types is shorter, and time grows with the square."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean A or B?" with the names that are most like a name that is none; empty where none is like it."""
    near = difflib.get_close_matches(name[:_COMPARED].lower(), list(known), n=2, cutoff=_ALIKE)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def stream_of(name: str) -> int:
    """A number for the seed of what belongs to a name, 32 bits: it does not depend on which other names there are."""
    return zlib.crc32(name.encode())
