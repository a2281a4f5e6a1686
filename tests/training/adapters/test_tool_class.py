"""Tools as methods: what engines read from signatures and docstrings."""

import inspect
from typing import Any, Literal

import pytest

from toolhand.tool_nodes.results import ToolError
from toolhand.training.adapters.tool_class import class_of_tools, hint_of

VARIABLE = {"type": "string", "pattern": r"^\$[A-Za-z_]\w*$", "description": "variable holding a picture"}


def schema(name: str, required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": f"Do\n  {name}.", "parameters": parameters}}


class Base:
    """Keeps what is called."""

    def __init__(self) -> None:
        self.called: list[Any] = []

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        self.called.append((name, arguments))
        return "done"


def test_a_tool_is_a_method_that_calls_it_by_its_own_name() -> None:
    made = class_of_tools("Robot", Base, [schema("robot.look"), schema("zoom", box={"type": "array"})])()
    assert made.robot__look() == "done"
    assert made.zoom(box=[1], more=2) == "done", "what is wrong with a call is for the toolbox to say"
    assert made.called == [("robot.look", {}), ("zoom", {"box": [1], "more": 2})]
    methods = {name for name, _ in inspect.getmembers(type(made), predicate=inspect.isfunction) if name[0] != "_"}
    assert methods == {"robot__look", "zoom"}


def test_signature_and_docstring_say_what_the_schema_says() -> None:
    index = {"anyOf": [{"type": "integer", "minimum": 0}, VARIABLE], "description": "Which\npicture."}
    share = {"type": "number", "minimum": 0.0, "maximum": 1.0, "description": "How sure."}
    method = class_of_tools("Robot", Base, [schema("a.b", ("index",), index=index, share=share)]).a__b  # type: ignore[attr-defined]
    signature = inspect.signature(method)
    assert list(signature.parameters) == ["self", "index", "share"]
    assert signature.parameters["index"].annotation == int | str
    assert signature.parameters["index"].default is inspect.Parameter.empty
    assert signature.parameters["share"].default is None
    assert method.__doc__ == (
        "Do a.b.\n\nArgs:\n    index: Which picture. 0 or more. As a string like $name.\n"
        "    share: How sure. From 0 to 1."
    )


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"type": "string"}, str),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, list[list[float]]),
        ({"enum": ["a", "b"]}, Literal["a", "b"]),
        ({"type": "boolean"}, bool),
        ({}, Any),
    ],
)
def test_hints_are_those_of_the_types(given: dict[str, Any], hint: Any) -> None:
    assert hint_of(given) == hint


def test_two_tools_of_one_name_and_a_name_of_the_base_are_refused() -> None:
    with pytest.raises(ToolError, match="taken or not allowed"):
        class_of_tools("Robot", Base, [schema("a.b"), schema("a__b")])
    with pytest.raises(ToolError, match="'_call' cannot be a method of Robot"):
        class_of_tools("Robot", Base, [schema("_call")])
