"""Short JSON schemas, for models that are given tools natively: no paper prints them.

Against the full schema of a tool

- its description ends with the `$variables` that a call sets,
- an argument whose example is a `$variable` is a string, described by that variable; any other takes no variable,
- what follows from the image of those variables is left out: see `is_derived`,
- an argument says its unit where its type has one,
- forms that only repeat what the toolbox checks (patterns, lengths of texts, bounds of variables) are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from toolhand.tool_nodes.toolbox.arguments import VARIABLE, ArgumentType

_LEFT_OUT = ("pattern", "maxLength", "minLength", "exclusiveMinimum", "examples")
_NAMED = re.compile(r"\$([A-Za-z]\w*)")
"""A variable in a description."""
_MOST = 1e4
"""Greater bounds than this are there for the toolbox alone [-]; a round figure."""


def is_derived(name: str, kinds: Mapping[str, ArgumentType], variables: Iterable[str]) -> bool:
    """Whether a call may leave out an argument: its type is `derived` from an image, and others are `$variables` of
    one."""
    return getattr(kinds[name], "derived", False) and any(other != name for other in variables)


def shortened(
    schema: Mapping[str, Any], kinds: Mapping[str, ArgumentType], example: Mapping[str, Any], makes: Iterable[str]
) -> dict[str, Any]:
    """The short form of a tool's schema.

    Args:
        schema: The full one, as `ToolSpec.schema` gives it.
        kinds: Types of the arguments by name.
        example: Arguments of a call that shows what the tool does.
        makes: Names of the variables that a call sets; `{argument}` stands for the words of an argument.
    """
    function = schema["function"]
    full = function["parameters"]["properties"]
    variables = {key: value for key, value in example.items() if isinstance(value, str) and VARIABLE.match(value)}
    properties = {}
    for name, described in full.items():
        if is_derived(name, kinds, variables):
            continue
        if name in variables:
            properties[name] = {"type": "string", "description": variables[name]}
            continue
        properties[name] = _short(described)
        said = " ".join(part for part in (described.get("description", ""), _unit(kinds[name])) if part)
        if said:
            properties[name]["description"] = said
    required = [name for name in function["parameters"]["required"] if name in properties]
    names = ", ".join("$" + re.sub(r"\{(\w+)\}", r"<\1>", name) for name in makes)
    return {
        "type": "function",
        "function": {
            "name": function["name"],
            "description": function["description"] + (f" Sets {names}." if names else ""),
            "parameters": {"type": "object", "properties": properties} | ({"required": required} if required else {}),
        },
    }


def without_unmade(schemas: Iterable[dict[str, Any]], made: Collection[str]) -> list[dict[str, Any]]:
    """Short schemas without the arguments that a call may leave out, and that take a `$variable` nothing makes."""
    kept = []
    for schema in schemas:
        parameters = schema["function"]["parameters"]
        properties = {
            name: value
            for name, value in parameters["properties"].items()
            if name in parameters.get("required", ()) or set(_NAMED.findall(value.get("description", ""))) <= set(made)
        }
        kept.append(
            {**schema, "function": {**schema["function"], "parameters": {**parameters, "properties": properties}}}
        )
    return kept


def _short(described: Mapping[str, Any]) -> dict[str, Any]:
    first = described["anyOf"][0] if "anyOf" in described else described
    return {
        key: _short(value) if isinstance(value, Mapping) else value
        for key, value in first.items()
        if key not in (*_LEFT_OUT, "description") and not (key in ("minimum", "maximum") and abs(value) > _MOST)
    }


def _unit(kind: ArgumentType) -> str:
    unit = getattr(kind, "unit", "")
    return f"In {unit}." if unit else ""
