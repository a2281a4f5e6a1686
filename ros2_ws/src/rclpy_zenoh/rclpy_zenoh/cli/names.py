"""Names in the graph: hidden ones, fully qualified ones, and what a mistyped one may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SHOWN = 4
"""Most names that are offered in place of an unknown one."""


def is_hidden(name: str) -> bool:
    """True where a part of the name begins with an underscore, as in /fibonacci/_action/status."""
    return any(part.startswith("_") for part in name.split("/"))


def full_name(name: str, namespace: str = "/") -> str:
    """A name with its namespace: ("talker", "/robot") is /robot/talker; an absolute one stays as it is."""
    return name if name.startswith("/") else f"{namespace.rstrip('/')}/{name}"


def split_node_name(name: str) -> tuple[str, str]:
    """Name and namespace of a fully qualified node name: /robot/talker is ("talker", "/robot")."""
    namespace, _, base = name.rpartition("/")
    return base, namespace or "/"


def instead_of(name: str, known: Iterable[str], what: str) -> str:
    """Half a sentence that offers names similar to an unknown one; all of them where they are few.

    Args:
        name: The name that was asked for.
        known: Names that exist.
        what: The kind of thing they name, in the plural.
    """
    names = sorted(set(known))
    if not names:
        return f"there are no {what}"
    if len(names) <= SHOWN:
        return f"the {what} are {', '.join(names)}"
    near = difflib.get_close_matches(name, names, n=SHOWN, cutoff=0.5) or [
        candidate for candidate in names if name.strip("/").rpartition("/")[2].lower() in candidate.lower()
    ]
    return f"similar {what} are {', '.join(near[:SHOWN])}" if near else f"none of the {len(names)} {what} is similar"
