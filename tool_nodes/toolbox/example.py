"""The example call of a tool, which stands with the tool itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Example:
    """A call that shows what a tool does: tests run it, and the page of tools shows its answer.

    Attributes:
        arguments: Arguments in JSON. Image 0 is the one of `image`; `$variables` come from the calls before.
        before: Tools whose own examples are called first, in this order.
        image: Image 0: "table", the example scene as its camera sees it, or a drawing of
            `toolhand.sim.tool_examples.DRAWN`.
    """

    arguments: Mapping[str, Any]
    before: tuple[str, ...] = ()
    image: str = "table"
