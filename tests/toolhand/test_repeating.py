"""A run's record holds every option that shaped it, and the command line in it gives them all again."""

import json
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from toolhand.agent_node.policies.options import ModelSettings
from toolhand.cli import main as cli
from toolhand.cli.repeating import NOT_RECORDED, RECORDED_AS, command_line, recorded
from toolhand.cli.replay import replay
from toolhand.cli.run import run
from toolhand.cli.run_command import RunCommand
from toolhand.tool_nodes.port_names import PortNames

DEFAULTS: dict[str, Any] = {option.name: option.default for option in fields(RunCommand) if option.name != "text"}
OTHER: dict[str, Any] = {
    "text": 'don\'t "drop" it; $HOME `ls`',
    "scene": "my scenes/3.yaml",
    "objects": "my things:generated",
    "perception": "pixels",
    "ports": PortNames(segmenter="drawings"),
    "policy": "openai:m@http://127.0.0.1:1/v1",
    "protocol": "native",
    "seed": 7,
    "suite": "spacetools,last",
    "advice": False,
    "picture": Path("shown.png"),
    "role": "observer",
    "approval": "dry-run",
    "turns": 5,
    "runs_dir": Path("other"),
    "keep_runs": 9,
    "animation": False,
    "record_depth": True,
    "transport": "ros",
    "own_graph": True,
    "truth": "entities",
    "simulator": "isaac",
    "robot": "jaco2_j2s7s300",
    "package_path": "packages",
    "model": ModelSettings(max_tokens=99, cost_budget=0.5),
    "as_json": False,
}


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """(folder, result.json) of an observer's run."""
    runs = tmp_path_factory.mktemp("runs")
    run(RunCommand("pick up the red box", role="observer", seed=2, turns=9, animation=False, runs_dir=runs))
    (folder,) = runs.iterdir()
    return folder, json.loads((folder / "result.json").read_text())


@pytest.mark.parametrize("option", sorted(set(OTHER) - {"as_json"}))
def test_every_option_of_a_run_is_in_its_result(option: str, observed: tuple[Path, dict[str, Any]]) -> None:
    assert list(OTHER) == [option.name for option in fields(RunCommand)]
    assert RECORDED_AS.get(option, option) in observed[1]


def test_what_is_recorded_is_what_was_given(observed: tuple[Path, dict[str, Any]]) -> None:
    _, result = observed
    told = {key: result[key] for key in ("role", "seed", "turn_budget", "animation", "transport", "policy")}
    assert told == {
        "role": "observer",
        "seed": 2,
        "turn_budget": 9,
        "animation": False,
        "transport": "process",
        "policy": "scripted",
    }
    assert result["model"]["max_tokens"] == ModelSettings().max_tokens
    assert result["command"].startswith("toolhand run 'pick up the red box' --seed 2 --role observer --turns 9")


def test_an_observers_run_is_carried_out_again_as_an_observers(
    observed: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(observed[0], again=True) == 0
    assert "the same as recorded" in capsys.readouterr().out


def test_a_command_line_gives_every_option_again() -> None:
    line = command_line(RunCommand(**OTHER))
    words = shlex.split(line)
    assert words[:2] == ["toolhand", "run"]
    bound = cli._parse(words[1:])
    assert (*bound.args, *bound.keywords.values()) == (RunCommand(**OTHER),)  # type: ignore[attr-defined]


def test_a_command_line_leaves_out_what_is_the_default() -> None:
    assert command_line(RunCommand("pick up the can", **DEFAULTS)) == "toolhand run 'pick up the can'"


def test_options_are_recorded_as_plain_data() -> None:
    entries = recorded(RunCommand(**OTHER))
    assert json.loads(json.dumps(entries)) == entries
    assert not NOT_RECORDED & set(entries)
