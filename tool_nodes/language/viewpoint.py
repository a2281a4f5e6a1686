"""Whose left: words from the robot's side, said as the camera's picture shows it."""

from __future__ import annotations

import re

BETWEEN = r"(?:(?:own|very|far|extreme|absolute|outer|immediate|upper|lower|near|nearest|front|back|rear) )*"
"""Words that may stand between an owner and the side: "on your far right"."""
BODY = (
    r"(?:arms?|hands?(?! ?side)|grippers?|fingers?|fingertips?|claws?|jaws?|wrists?|elbows?|shoulders?|eyes?|cameras?"
    r"|legs?|foot|feet|ears?)"
)
"""What has a left and a right and is no side of the table: "with your right arm"."""
_SIDE = re.compile(
    rf"\b(?:(?P<whose>my|your|the (?:robot|arm)['’]?s) (?P<between>{BETWEEN}))?"
    rf"(?P<side>left|right)(?=(?:most)?\b)(?! (?:now|away|after|over|alone|{BODY})\b)",
    re.IGNORECASE,
)
"""A side, and whose it is where that is said."""


def in_the_picture(text: str, robots: bool = False) -> str:
    """A text whose left and right are those of the scene camera's picture, as every policy takes them.

    The camera stands opposite the robot, as the operator does: "my left" is the picture's, and "your left" its right.

    Args:
        text: Words of the operator.
        robots: A side of which nobody says whose it is, is the robot's too.
    """

    def seen(found: re.Match[str]) -> str:
        whose, side = (found["whose"] or "").lower(), found["side"]
        other = whose not in ("", "my") or (not whose and robots)
        swapped = ("right" if side.lower() == "left" else "left") if other else side
        between = re.sub(r"\bown ", "", found["between"] or "", flags=re.IGNORECASE)
        return f"the {between}{swapped}" if whose else swapped

    return _SIDE.sub(seen, text)
