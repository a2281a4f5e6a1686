"""`param list`, `get`, `set`, `describe` and `dump`, as ros2 prints them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

TALKER = "/robot/talker"


def test_parameters_of_a_node_are_listed(ros: Any) -> None:
    lines = ros("param", "list", TALKER).lines
    assert lines == sorted(lines)
    assert {"  grip.limits", "  grip.soft", "  name", "  speed", "  use_sim_time"} <= set(lines)


def test_parameters_of_all_nodes_are_listed_under_their_names(ros: Any) -> None:
    lines = ros("param", "list").lines
    assert [line for line in lines if not line.startswith("  ")] == ["/robot/talker:", "/twin:"]


def test_a_list_is_filtered_and_has_types_where_asked_for(ros: Any) -> None:
    assert ros("param", "list", TALKER, "--param-prefixes", "grip").lines == ["  grip.limits", "  grip.soft"]
    assert ros("param", "list", TALKER, "--filter", "sp", "--param-type").lines == ["  speed (type: double)"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("speed", "Double value is: 0.5"),
        ("name", "String value is: arm"),
        ("grip.limits", "Integer values are: [1, 2]"),
        ("use_sim_time", "Boolean value is: False"),
    ],
)
def test_a_parameter_is_read(ros: Any, name: str, line: str) -> None:
    assert ros("param", "get", TALKER, name).out == f"{line}\n"


def test_only_the_value_is_printed_where_asked_for(ros: Any) -> None:
    assert ros("param", "get", TALKER, "grip.limits", "--hide-type").out == "[1, 2]\n"


@pytest.mark.parametrize(("value", "shown"), [("1.5", "1.5"), ("0.5", "0.5")])
def test_a_parameter_is_set(ros: Any, value: str, shown: str) -> None:
    assert ros("param", "set", TALKER, "speed", value).out == "Set parameter successful\n"
    assert ros("param", "get", TALKER, "speed").out == f"Double value is: {shown}\n"


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("speed", "fast", "Setting parameter failed: "),
        ("speed", "3.0", "Setting parameter failed: "),
        ("name", "hand", "Setting parameter failed: "),
        ("grip.soft", "false", "Setting parameter failed: grip.soft stays on"),
        ("colour", "red", "Setting parameter failed: "),
    ],
)
def test_a_value_that_the_node_refuses_is_told_with_its_reason(ros: Any, name: str, value: str, part: str) -> None:
    outcome = ros("param", "set", TALKER, name, value)
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith(part)


def test_parameters_are_described(ros: Any) -> None:
    assert ros("param", "describe", TALKER, "speed", "name").lines == [
        "Parameter name: speed",
        "  Type: double",
        "  Description: How fast [m/s].",
        "  Constraints:",
        "    Min value: 0.0",
        "    Max value: 2.0",
        "    Step: 0.5",
        "Parameter name: name",
        "  Type: string",
        "  Constraints:",
        "    Read only: true",
        "    Additional constraints: short",
    ]


def test_all_parameters_are_dumped_as_a_parameter_file(ros: Any) -> None:
    out = ros("param", "dump", TALKER).out
    parameters = yaml.safe_load(out)[TALKER]["ros__parameters"]
    assert parameters["grip"] == {"limits": [1, 2], "soft": True}
    assert (parameters["name"], parameters["use_sim_time"]) == ("arm", False)
    assert "unset" not in parameters
    assert out.startswith("/robot/talker:\n  ros__parameters:\n    grip:\n      limits:\n      - 1\n      - 2\n")


@pytest.mark.parametrize("verb", ["get", "describe"])
def test_an_unknown_parameter_is_answered_with_similar_ones(ros: Any, verb: str) -> None:
    outcome = ros("param", verb, TALKER, "sped")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err.startswith("Parameter not set: 'sped' of /robot/talker; ")
    assert "speed" in outcome.err


def test_a_parameter_without_a_value_is_told_from_an_unknown_one(ros: Any) -> None:
    outcome = ros("param", "get", TALKER, "unset")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "Parameter not set: 'unset' of /robot/talker is declared and has no value yet.\n"


@pytest.mark.parametrize(
    "words",
    [
        ["get", "/nobody", "x"],
        ["set", "/nobody", "x", "1"],
        ["list", "/nobody"],
        ["describe", "/nobody", "x"],
        ["dump", "/nobody"],
    ],
    ids=" ".join,
)
def test_an_unknown_node_is_answered_with_those_that_there_are(ros: Any, words: list[str]) -> None:
    outcome = ros("param", *words, "--timeout", "0.05")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "Unable to find node '/nobody'; the nodes are /robot/talker, /twin.\n"


def test_a_hidden_node_is_found_only_where_asked_for(ros: Any) -> None:
    assert ros("param", "get", "/_hidden", "use_sim_time", "--timeout", "0.05").status == 1
    assert ros("param", "get", "/_hidden", "use_sim_time", "--include-hidden-nodes").status == 0
