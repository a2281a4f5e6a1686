"""The places that a command has asked for, as areas of the images in which it did."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from toolhand.agent_node.episode import Episode
from toolhand.agent_node.runs.folder import image_path
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.place_phrases import parse_free_space
from toolhand.tool_nodes.perception.place_areas import ImagePoint, Outline, place_area
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.toolbox import CallRecord

_MOST = 8
"""Most places of a command that are kept, the newest [-]."""


@dataclass(frozen=True)
class AskedPlace:
    """A place that was asked for.

    Attributes:
        words: Words for it, as the tool was given them.
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
    """The places of a command, in order; without those whose objects no call has found in the same image."""
    found: dict[tuple[str, int], AskedPlace] = {}
    for record in episode.records:
        place = _place(record, episode)
        if place is not None:
            found[place.words, place.image_index] = place
    return list(found.values())[-_MOST:]


def _place(record: CallRecord, episode: Episode) -> AskedPlace | None:
    words, index = record.arguments.get("obj_name"), record.arguments.get("image_index")
    points = record.result.facts.get("points")
    if not (points and isinstance(words, str) and isinstance(index, int) and 0 <= index < len(episode.session.images)):
        return None
    image = episode.session.images[index]
    try:
        request = parse_free_space(words)
        if request is None or image.frame is None or not image.is_whole_frame:
            return None
        references = [_points_of(phrase, index, episode) for phrase in request.all_references]
        item = next(iter(_points_of(request.thing, index, episode)), None) if request.thing else None
        if not all(references):
            return None
        outlines = place_area(image.frame, request, references, item)
    except ToolError:  # no area that could be shown
        return None
    point = (round(float(points[0][0]), 4), round(float(points[0][1]), 4))
    return AskedPlace(words, image_path(index), index, point, outlines) if outlines else None


def _points_of(phrase: str, index: int, episode: Episode) -> list[ImagePoint]:
    """Where objects of a phrase were found in an image. Raises ToolError for a phrase that cannot be read."""
    if (own := parse_noun_phrase(phrase).point) is not None:
        return [own]
    for record in episode.records:
        if record.arguments.get("obj_name") == phrase and record.arguments.get("image_index") == index:
            return [(float(x), float(y)) for x, y in record.result.facts.get("points", ())]
    return []
