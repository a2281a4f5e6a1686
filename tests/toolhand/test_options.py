"""Options that commands share: the names in their help are those that are registered; numbers too small are refused."""

import inspect
from typing import get_type_hints

import pytest

from toolhand.agent_node.console import options
from toolhand.agent_node.protocol import protocol_names
from toolhand.cli.commands import BENCHMARKS
from toolhand.cli.rollouts_collect import CollectOptions
from toolhand.sim.world import TIMESTEPS_S
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.worlds import WORLDS
from toolhand.training.recipes import RECIPES
from toolhand.training.rollouts.options import BACKENDS_HERE
from toolhand.training.rollouts.plan import GRADERS
from toolhand.training.tasks.kinds import TASK_KINDS
from toolhand.training.tasks.splits import SPLITS

LEAST = {"n": 1, "seeds": 1, "scenes": 1, "jobs": 1, "first_seed": 0}
"""Smallest values of the options that say how much is measured."""

MEASURED = [
    (name, option)
    for name in BENCHMARKS
    if name != "redteam"  # its calls by chance may be none
    for option in LEAST
    if option in inspect.signature(BENCHMARKS[name].load()).parameters
]


def help_of(annotation: object) -> str:
    """The help of an annotated option."""
    return " ".join(str(entry.help) for entry in annotation.__metadata__ if isinstance(entry, type(options.POLICY)))  # type: ignore[attr-defined]


def help_of_collect(option: str) -> str:
    """The help of an option of `toolhand rollouts collect`."""
    return help_of(get_type_hints(CollectOptions, include_extras=True)[option])


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


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("reward", [*GRADERS, *RECIPES]),
        ("recipe", list(RECIPES)),
        ("tasks", list(TASK_KINDS)),
        ("split", list(SPLITS)),
        ("world", list(WORLDS)),
        ("backend", list(BACKENDS_HERE)),
        ("timestep", [f"{step:g}" for step in TIMESTEPS_S]),
    ],
)
def test_help_of_collected_rollouts_lists_every_name_that_is_registered(option: str, names: list[str]) -> None:
    words = {word.rstrip(".,:") for word in help_of_collect(option).split()}
    assert words >= set(names)


@pytest.mark.parametrize(
    ("options", "protocol"),
    [
        ({}, "spacetools"),
        ({"policy": "smollm2"}, "compact"),
        ({"policy": "smollm2", "protocol": "peria"}, "peria"),
        ({"policy": "smollm2", "protocol": "own"}, "compact"),
        ({"recipe": "peria"}, "peria"),
    ],
)
def test_rollouts_are_written_in_the_protocol_of_the_policy_the_recipe_or_the_command(
    options: dict[str, str], protocol: str
) -> None:
    assert CollectOptions(n=4, **options).plan().protocol == protocol  # type: ignore[arg-type]


@pytest.mark.parametrize(("known", "port"), [(options._PRESETS, "perception"), (options._POLICIES, "policy")])
def test_every_name_that_help_describes_is_registered(known: dict[str, str], port: str) -> None:
    assert set(known) <= set(registry.names(port))


@pytest.mark.parametrize(("command", "option"), MEASURED)
def test_a_benchmark_refuses_a_number_that_is_too_small(command: str, option: str) -> None:
    least = LEAST[option]
    sentence = f"--{option.replace('_', '-')} must be {least} or more, got {least - 1}."
    with pytest.raises(ToolError) as caught:
        BENCHMARKS[command].load()(**{option: least - 1})()
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_ARGUMENT, sentence)
