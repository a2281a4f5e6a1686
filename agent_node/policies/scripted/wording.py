"""Phrases of the scripted policy: what it asks the pointer and reports to the operator."""

from __future__ import annotations

import re

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.scripted.commands import Command
from toolhand.agent_node.policies.scripted.points import at
from toolhand.agent_node.policies.scripted.refusals import EXAMPLES
from toolhand.agent_node.policies.scripted.transcript import PicturePoint
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.places import FreeSpaceRequest, length_words
from toolhand.tool_nodes.results import ErrorCode, ToolError

FROM_NOWHERE = "what I hold stands nowhere, so I do not know from where that way begins: say where to put it"
"""Why an object that is held cannot be moved by so much."""


def untagged(text: str) -> str:
    """Text from tools and pictures is data: it must not open or close a tag of a turn."""
    return text.replace("<", "(").replace(">", ")")


def refusal(error: ToolError) -> str:
    """The error's sentence and hint; where it has none, examples of what is understood."""
    return str(error) if error.hint or error.code is not ErrorCode.NOT_UNDERSTOOD else f"{error} {EXAMPLES}"


def pointable(reference: NounPhrase, relation: str | None) -> str:
    """Words for the pointer. Of "a bowl" it is to choose the same one each time; one puts things in containers."""
    if reference.point is not None:
        return reference.plain
    bare = not (reference.selectors or reference.relation or reference.excluded)
    if relation == "in" and bare and not reference.head and reference.words:
        return f"{' '.join(reference.words)} container"
    return f"leftmost {reference.plain}" if reference.indefinite and bare else reference.text


def is_measured(form: FreeSpaceRequest | None) -> bool:
    """True for a place that only a look at the table with the thing on it tells."""
    return form is not None and (form.is_exact or form.relation == "moved")


def put_at(command: Command, where: str, spot: PicturePoint) -> str:
    """Where a thing was put, in words.

    Args:
        command: Command of the operator.
        where: The place in its words.
        spot: The point of the picture where it was put.
    """
    if command.form is None:
        return where
    if command.relation == "moved":
        step = f", by about {length_words(command.form.distance_m or 0.0)}" if command.form.loosely else ""
        where = re.sub(r"where .+ stands", f"where it stood{step}", where)
    return where if command.relation == "at" else f"{where}, at {at(spot)}"


def grasp_call(image: int | None) -> ToolCall:
    """The call that computes a grasp of what was segmented in a picture."""
    arguments = {name: f"${name}" for name in ("point_cloud", "focal_length_px")}
    return ToolCall("grasp_generator.compute_grasp", {**arguments, "mask": "$segmentation_mask", "image_index": image})
