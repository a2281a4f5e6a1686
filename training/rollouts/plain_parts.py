"""What the parts of a record hold that its types leave open: tools, truth and labels, which may come from anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.plain_json import PlainJsonError

OBJECTS = "objects"
"""Key of a turn's labels, see `toolhand.training.rollouts.labels`."""

_NAMES_OF_TRUTH = ("reasons", "picked_up", "meant")
"""What a record's truth lists as texts."""


def problem_of_tools(tools: str) -> str:
    """What is wrong with the JSON text of the tools' schemas, as a clause; empty where nothing is."""
    try:
        schemas = plain_json.load(tools)
    except PlainJsonError as error:
        return f"tools holds no schemas of tools ({error})"
    if not isinstance(schemas, list) or not all(map(_is_schema, schemas)):
        return "tools must be a list of schemas in the function-calling form"
    return ""


def problem_of_truth(truth: Mapping[str, Any]) -> str:
    """What is wrong with what the simulator found, as a clause; empty where nothing is."""
    for name in _NAMES_OF_TRUTH:
        if not is_texts(truth.get(name, [])):
            return f"truth.{name} must be a list of texts"
    return "" if type(truth.get("success", False)) is bool else "truth.success must be true or false"


def problem_of_labels(labels: Mapping[str, Any], calls: int) -> str:
    """What is wrong with the labels of a turn with `calls` calls, as a clause; empty where nothing is."""
    objects = labels.get(OBJECTS)
    if objects is None or objects == []:
        return ""
    if isinstance(objects, list) and len(objects) == calls and all(on is None or is_texts(on) for on in objects):
        return ""
    return f"has labels whose objects are not {calls} lists of names or null, one for each call"


def is_texts(value: object) -> bool:
    """Whether it is a list of texts, as JSON has it."""
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)


def _is_schema(schema: object) -> bool:
    function = schema.get("function") if isinstance(schema, Mapping) else None
    return isinstance(function, Mapping) and isinstance(function.get("name"), str)
