"""PERIA's suite: reading text, perception, and drawing in images."""

from __future__ import annotations

from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.ports import TextReader
from toolhand.tool_nodes.tools.peria.interaction import PeriaInteractionTools
from toolhand.tool_nodes.tools.peria.perception import PeriaPerceptionTools
from toolhand.tool_nodes.tools.peria.text_reading import TextTools


def peria(reader: TextReader, finder: ObjectFinder) -> list[object]:
    """The providers of the suite; the arguments are those of `toolhand.tool_nodes.tools.suites.Backends`."""
    return [TextTools(reader), PeriaPerceptionTools(finder), PeriaInteractionTools()]
