"""Pointing by words, for every backend that can list what it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.place_phrases import parse_free_space
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.language.vocabulary import Lexicon
from toolhand.tool_nodes.perception.free_space import find_free_space
from toolhand.tool_nodes.types import BoolArray, Frame, ObjectView


class SceneView(Protocol):
    """What a backend sees in one frame; `views` and `masks` belong together."""

    @property
    def views(self) -> Sequence[ObjectView]:
        """Every object seen."""

    @property
    def masks(self) -> Sequence[BoolArray]:
        """Its visible pixels (H, W)."""


def point_by_words(
    frame: Frame, text: str, scene: SceneView, lexicon: Lexicon | None = None
) -> list[tuple[float, float]]:
    """Normalized (x, y) of what a phrase means: one point per matching object, or one point of free space.

    The table is pointed at where it is free.

    Raises:
        ToolError: OBJECT_NOT_FOUND, naming what can be seen; NOT_RECOGNISED, see `refer`; PLACE_BLOCKED or
            OUT_OF_WORKSPACE without room; NOT_UNDERSTOOD or INVALID_ARGUMENT for a phrase that means nothing.
    """
    request = parse_free_space(text)
    if request is None and names_table(text):
        request = FreeSpaceRequest("anywhere")
    if request is None:
        return [scene.views[k].point for k in refer(text, scene.views, lexicon=lexicon, masks=scene.masks)]
    named = [(view.name, mask) for view, mask in zip(scene.views, scene.masks, strict=True)]

    references = [[scene.masks[k] for k in _meant(phrase, scene, lexicon)] for phrase in request.references]
    return [find_free_space(frame, request, references, named=named)]


def names_table(text: str) -> bool:
    """True for a phrase that means the table itself, none of the objects on it."""
    phrase = parse_noun_phrase(text)
    return phrase.setting == "table" and not (phrase.words or phrase.selectors or phrase.relation or phrase.excluded)


def _meant(phrase: str, scene: SceneView, lexicon: Lexicon | None) -> list[int]:
    """All of a group, or the one that a phrase in the singular fits best."""
    found = refer(phrase, scene.views, lexicon=lexicon, masks=scene.masks, alike=True)
    group = parse_noun_phrase(phrase)
    return found if group.plural or group.count else found[:1]
