"""What a tool is given: exactly what its schema says, checked in levels, and the conversation where it asks for it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from tests.tool_nodes.toolbox.toy_tools import ToyTools, refusal
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.arguments import (
    Level,
    TextArgument,
)
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox, ToolSpec

# -- types: nothing is guessed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("say", {"text": 7}, "argument 'text' must be a string, got 7"),
        ("say", {"text": ["a"]}, "argument 'text' must be a string, got ['a']"),
        ("say", {"text": None}, "argument 'text' must be a string, got None"),
        ("move", {"x": "0.5"}, "argument 'x' must be a number, got '0.5'"),
        ("move", {"x": True}, "argument 'x' must be a number, got True"),
        ("points", {"points": "[[0.5, 0.5]]"}, "argument 'points' must be a list of [x, y] points"),
        ("points", {"points": [["0.5", "0.5"]]}, "argument 'points' must be a list of [x, y] points"),
        ("points", {"points": [[True, False]]}, "argument 'points' must be a list of [x, y] points"),
        ("look", {"text": "a", "what": "b"}, "argument 'what' is given twice"),
        ("look", {"what": "b", "text": "a"}, "argument 'text' is given twice"),
        ("look", {"Text": "a"}, "argument 'Text' is unknown; allowed: text"),
    ],
)
def test_no_value_is_turned_into_another_type(box: Toolbox, name: str, arguments: Any, sentence: str) -> None:
    assert sentence in refusal(box, name, arguments)


def test_every_schema_forbids_other_arguments(box: Toolbox) -> None:
    assert box.schemas()
    for schema in box.schemas():
        assert schema["function"]["parameters"]["additionalProperties"] is False


# -- levels -------------------------------------------------------------------------------------------


def test_of_several_problems_only_those_of_the_first_level_are_told_stepwise(box: Toolbox) -> None:
    message = refusal(box, "steps", {"a": int(Level.GEOMETRY), "b": int(Level.TYPE)})
    assert message == "steps: argument 'b' is wrong in TYPE."
    both = refusal(box, "steps", {"a": int(Level.BOUNDS), "b": int(Level.BOUNDS)})
    assert both == "steps: argument 'a' is wrong in BOUNDS; argument 'b' is wrong in BOUNDS."


def test_names_of_arguments_come_before_every_level(box: Toolbox) -> None:
    assert refusal(box, "steps", {"a": int(Level.INDEX)}) == "steps: argument 'b' is missing."


def test_without_steps_every_problem_is_told(box: Toolbox) -> None:
    message = refusal(box, "all_at_once", {"a": int(Level.GEOMETRY), "b": int(Level.INDEX), "c": 1})
    assert message == (
        "all_at_once: argument 'c' is unknown; allowed: a, b; argument 'a' is wrong in GEOMETRY; "
        "argument 'b' is wrong in INDEX."
    )


def test_the_levels_are_in_the_papers_order() -> None:
    assert sorted(Level) == [Level.INDEX, Level.TYPE, Level.CARDINALITY, Level.BOUNDS, Level.GEOMETRY]


# -- the conversation as an argument ------------------------------------------------------------------


def test_the_conversation_is_given_by_the_toolbox_and_shown_to_nobody(box: Toolbox) -> None:
    parameters = box.specs["count_images"].schema()["function"]["parameters"]
    assert list(parameters["properties"]) == ["text"]
    assert parameters["required"] == []
    session = Session(images=[SessionImage(np.zeros((2, 2, 3), np.uint8))] * 3)
    assert box.call("count_images", {}, session).result.value == 3


@pytest.mark.parametrize("value", [None, 1, "$session", Session(), {}])
def test_nobody_else_can_give_the_conversation(box: Toolbox, value: Any) -> None:
    assert "argument 'session' is unknown; allowed: text" in refusal(box, "count_images", {"session": value})


# -- tools from data ----------------------------------------------------------------------------------


class DataTools:
    """Tools that no method stands for."""

    def tool_specs(self) -> Iterable[ToolSpec]:
        def run(**values: Any) -> ToolResult:
            assert isinstance(values.pop("session"), Session)
            return ToolResult(value=values, text=" ".join(values.values()))

        return [
            ToolSpec(
                name=name,
                description="Say words.",
                kinds={"first": TextArgument(), "second": TextArgument()},
                argument_docs={"first": "The first word."},
                required=("first",),
                aliases=(f"{name}_again",),
                renamed={"zeroth": "first"},
                motion=False,
                function=run,
                suite="data",
                given=("session",),
            )
            for name in ("one", "two")
        ]


def test_tools_from_data_are_checked_and_called_as_any_other() -> None:
    box = Toolbox([DataTools()])
    assert sorted(box.specs) == ["one", "two"]
    assert box.call("two_again", {"zeroth": "a", "second": "b"}, Session()).result.text == "a b"
    assert "argument 'first' is missing" in refusal(box, "one", {})
    assert "argument 'session' is unknown" in refusal(box, "one", {"first": "a", "session": 1})
    schema = box.specs["one"].schema()["function"]["parameters"]
    assert schema["properties"]["first"]["description"] == "The first word."
    assert schema["required"] == ["first"]


def test_only_the_tools_of_the_chosen_suites_are_offered() -> None:
    assert sorted(Toolbox([ToyTools(), DataTools()], suites=["data"]).specs) == ["one", "two"]
    assert "say" in Toolbox([ToyTools(), DataTools()], suites=["test"]).specs
    assert Toolbox([ToyTools(), DataTools()], suites=[]).specs == {}
