"""The places that a command has asked for, as areas of the images in which it did."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from toolhand.agent_node.episode import Episode
from toolhand.agent_node.runs.folder import image_path
from toolhand.tool_nodes.language.places import place_words
from toolhand.tool_nodes.perception.place_areas import Outline, place_area
from toolhand.tool_nodes.place_argument import PlaceInImageArgument
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord
from toolhand.tool_nodes.types import ImagePoint

_MOST = 8
"""Most places of a command that are kept, the newest [-]."""


@dataclass(frozen=True)
class AskedPlace:
    """A place that was asked for.

    Attributes:
        words: Words for it.
        image: The image in the run folder.
        point: Normalized point (x, y) that was found there.
        outlines: Normalized corners of closed lines; what an odd number of them surrounds is the place.
    """

    words: str
    image: str
    image_index: int
    point: ImagePoint
    outlines: tuple[Outline, ...]

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: value for name, value in asdict(self).items() if name != "image_index"}


def asked_places(episode: Episode) -> list[AskedPlace]:
    """The places of a command, in order."""
    found: dict[tuple[str, int], AskedPlace] = {}
    for record in episode.records:
        place = _place(record, episode)
        if place is not None:
            found[place.words, place.image_index] = place
    return list(found.values())[-_MOST:]


def _place(record: CallRecord, episode: Episode) -> AskedPlace | None:
    """The place of a call of `robot.find_place` as its image shows it; None of any other call."""
    points, index, session = record.result.facts.get("points"), record.image_index, episode.session
    if record.name != "robot.find_place" or not points or index is None or not 0 <= index < len(session.images):
        return None
    image, item = session.images[index], record.arguments.get("item")
    if image.frame is None or not image.is_whole_frame:
        return None
    try:
        place = PlaceInImageArgument().parse(record.arguments["place"], session)
        at_item = None if item is None else (float(item[0]), float(item[1]))
        outlines = place_area(image.frame, place.request, place.points, at_item)
    except ToolError:  # no area that could be shown
        return None
    point = (round(float(points[0][0]), 4), round(float(points[0][1]), 4))
    words = place_words(place.request)
    return AskedPlace(words, image_path(index), index, point, outlines) if outlines else None
