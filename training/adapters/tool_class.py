"""Tools as methods of a class, for engines that read a tool's schema from a method's signature and docstring.

    Robot = class_of_tools("Robot", Base, session.tools())      # Robot().robot__capture_image()

`Base` has `_call(name, arguments)`, which each method calls with the tool's own name and what it was given.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from toolhand.agent_node.policies.chat import ToolNames
from toolhand.tool_nodes.results import invalid

_PLAIN: Mapping[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "object": dict}


def class_of_tools(name: str, base: type, schemas: Sequence[Mapping[str, Any]]) -> type:
    """A class with one method for each tool; dots in names become `__`.

    Args:
        base: Class that the methods are added to.
        schemas: JSON schemas of the tools, in the function-calling form.

    Raises:
        ToolError: INVALID_ARGUMENT where a tool has no name that a method can have, or one of the base's.
    """
    names = ToolNames(schemas)
    methods = {}
    for schema in schemas:
        method = names.sent(schema["function"]["name"])
        if not method.isidentifier() or hasattr(base, method):
            raise invalid(f"The tool {method!r} cannot be a method of {name}.")
        methods[method] = _method(schema["function"], method)
    return type(name, (base,), methods)


def _method(function: Mapping[str, Any], name: str) -> Callable[..., Any]:
    tool, parameters = function["name"], function["parameters"]

    def call(self: Any, **arguments: Any) -> Any:
        return self._call(tool, arguments)

    required = parameters.get("required", ())
    hints = {argument: hint_of(schema) for argument, schema in parameters["properties"].items()}
    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    signature += [
        inspect.Parameter(
            argument,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hint,
            default=inspect.Parameter.empty if argument in required else None,
        )
        for argument, hint in hints.items()
    ]
    call.__name__ = call.__qualname__ = name
    call.__annotations__ = hints
    call.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    call.__doc__ = _docstring(function["description"], parameters["properties"])
    return call


def hint_of(schema: Mapping[str, Any]) -> Any:
    """The type hint that says the same as a JSON schema, without its limits."""
    if "anyOf" in schema:
        return functools.reduce(operator.or_, [hint_of(branch) for branch in schema["anyOf"]])
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema.get("type") == "array":
        return list[hint_of(schema["items"])] if "items" in schema else list  # type: ignore[misc]
    return _PLAIN.get(schema.get("type", ""), Any)


def _docstring(description: str, properties: Mapping[str, Mapping[str, Any]]) -> str:
    """In Google's form, which is what engines read; a hint has no limits, so the words have them."""
    lines = [_line(description)]
    if properties:
        lines += ["", "Args:", *(f"    {name}: {_told(schema)}" for name, schema in properties.items())]
    return "\n".join(lines)


def _told(schema: Mapping[str, Any]) -> str:
    words = [_line(schema.get("description", "")), *map(_limits, (schema, *schema.get("anyOf", ())))]
    return " ".join(word for word in words if word) or "See above."


def _limits(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum", schema.get("exclusiveMinimum")), schema.get("maximum")
    fewest, most = schema.get("minItems"), schema.get("maxItems")
    if str(schema.get("pattern", "")).startswith(r"^\$"):
        return "As a string like $name."
    if low is not None and high is not None:
        return f"From {low:g} to {high:g}."
    if low is not None:
        return f"{low:g} or more."
    if fewest is not None and fewest == most:
        return f"{fewest} of them."
    return ""


def _line(text: str) -> str:
    return " ".join(text.split())
