"""Options that commands share: the names in their help are those that are registered; numbers too small are refused."""

from __future__ import annotations

import inspect

import pytest

from agent_node.console import options
from agent_node.protocol import protocol_names
from tool_nodes import registry
from tool_nodes.results import ErrorCode, ToolError
from toolhand.commands import BENCHMARKS

LEAST = {"n": 1, "seeds": 1, "scenes": 1, "jobs": 1, "first_seed": 0}
"""Smallest values of the options that say how much is measured."""

MEASURED = [
    (name, option)
    for name in ("manipulation", "grasp", "planning", "foreign", "crowded", "perception", "rollouts", "tasks")
    for option in LEAST
    if option in inspect.signature(BENCHMARKS[name].load()).parameters
]


def help_of(annotation: object) -> str:
    """The help of an annotated option."""
    return str(annotation.__metadata__[0].help)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        (options.Perception, registry.names("perception")),
        (options.PolicySpec, registry.names("policy")),
        (options.RobotName, registry.names("robot")),
        (options.ProtocolName, protocol_names()),
    ],
)
def test_help_lists_every_name_that_is_registered(annotation: object, names: list[str]) -> None:
    listed = help_of(annotation).partition(": ")[2].replace(";", ",").split(", ")
    found = {part.split(" ")[0].partition(":")[0].rstrip(".") for part in listed}
    assert found >= set(names)


@pytest.mark.parametrize(("known", "port"), [(options._PRESETS, "perception"), (options._POLICIES, "policy")])
def test_every_name_that_help_describes_is_registered(known: dict[str, str], port: str) -> None:
    assert set(known) <= set(registry.names(port))


@pytest.mark.parametrize(("command", "option"), MEASURED)
def test_a_benchmark_refuses_a_number_that_is_too_small(command: str, option: str) -> None:
    least = LEAST[option]
    sentence = f"--{option.replace('_', '-')} must be {least} or more, got {least - 1}."
    with pytest.raises(ToolError) as caught:
        BENCHMARKS[command].load()(**{option: least - 1})
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_ARGUMENT, sentence)
