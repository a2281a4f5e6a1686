"""What engines are given needs none of them: settings, rows, turns, and the files that verl reads."""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tests.refusals import refused
from toolhand.agent_node.policy import Message
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters import verl_files
from toolhand.training.adapters.episodes import Episodes, require_sound, shared_episodes, words_of
from toolhand.training.adapters.turns import TokenRollout, or_gigpo_tokens, turn_document
from toolhand.training.env.session import EpisodeSession
from toolhand.training.rollouts.plan import tasks_of
from toolhand.training.tasks.kinds import task_document

SETTINGS: dict[str, Any] = {"backend": "mock", "image_size": [320, 240], "turns": 4}
ROW = {"task": task_document("point", 5), "seed": 5}


def test_a_row_opens_the_episode_that_it_names() -> None:
    episodes = Episodes(SETTINGS)
    with episodes.open(ROW, 2) as session, episodes.open({"task": json.dumps(ROW["task"]), "seed": 5}) as other:
        assert (session.seed, session.rollout) == (5, 2)
        assert session.messages()[-1].words == other.messages()[-1].words
        assert session.messages()[-1].image is not None
    episodes.close()


def test_settings_of_a_recipe_can_be_overridden() -> None:
    assert Episodes({"recipe": "peria"}).protocol.name == "peria"
    assert Episodes({"recipe": "peria", "protocol": "native"}).protocol.name == "native"
    assert shared_episodes(SETTINGS) is shared_episodes(dict(reversed(SETTINGS.items())))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"colour": "red"}, "no setting 'colour'"),
        ({"policy": "scripted"}, "no setting 'policy'"),
        ({"recipe": "nobody's"}, "no recipe"),
        ({"backend": "moon"}, "'?moon"),
    ],
)
def test_other_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, said):
        Episodes(settings)


@pytest.mark.parametrize("row", [{}, {"task": 3}, {"task": "{"}, {"task": {"kind": "point"}}])
def test_rows_without_a_task_are_refused(row: dict[str, Any]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        Episodes(SETTINGS).open(row)


def test_no_image_is_let_go_so_that_prompts_only_grow() -> None:
    with Episodes(SETTINGS | {"turns": 30}).open(ROW) as session:
        for k in range(12):
            session.call("robot.capture_image", {})
            session.call("vlm.detect_all", {"obj_name": f"thing {k}", "image_index": k})
        imaged = [message for message in session.messages() if message.image_index is not None]
        assert len(imaged) > 12
        assert all(message.image is not None for message in imaged)


def test_words_name_the_image_that_comes_with_them() -> None:
    with Episodes(SETTINGS).open(ROW) as session:
        assert words_of(session.call("robot.capture_image", {})).endswith("<image 1>")


def test_a_session_that_cannot_be_trusted_is_dropped() -> None:
    with Episodes(SETTINGS).open(ROW) as session:
        require_sound(session)
        session._sound = False
        with pytest.raises(ToolError) as error:
            require_sound(session)
    assert error.value.code is ErrorCode.UNAVAILABLE
    assert isinstance(session, EpisodeSession)


# -- turns ---------------------------------------------------------------------------------------------


def rollout(prompt: str, said: list[tuple[int, int, str]], total: float, length: int) -> TokenRollout:
    turns = [turn_document([Message("user", text)], start, end) for start, end, text in said]
    return TokenRollout(prompt, turns, total, length)


def test_a_turns_advantage_stands_on_its_tokens_alone() -> None:
    first = rollout("q", [(0, 3, "Pick it up."), (5, 7, "GRIPPER_EMPTY")], 1.0, 8)
    second = rollout("q", [(0, 2, "Pick it up."), (4, 6, "GRIPPER_EMPTY")], 0.0, 6)
    other = rollout("p", [(0, 2, "Pick it up.")], 1.0, 2)
    tokens, found = or_gigpo_tokens([first, second, other])
    assert [len(row) for row in tokens] == [8, 6, 2]
    assert tokens[0] == pytest.approx([found.total[0][0]] * 3 + [0, 0] + [found.total[0][1]] * 2 + [0])
    assert (tokens[0][:3] > 0).all()
    assert (tokens[1][:2] < 0).all()
    assert (tokens[2] == 0).all()  # alone in its group


def test_turns_beyond_a_cut_length_have_no_tokens() -> None:
    cut = rollout("q", [(0, 3, "a"), (5, 9, "b")], 1.0, 6)
    tokens, _ = or_gigpo_tokens([cut, rollout("q", [(0, 1, "a")], 0.0, 1)])
    assert len(tokens[0]) == 6
    assert np.flatnonzero(tokens[0]).tolist() == [0, 1, 2, 5]


@pytest.mark.parametrize("settings", [{"speed": 3}, {"gamma": 2.0}, {"delta": 0.0}])
def test_other_settings_of_or_gigpo_are_refused(settings: dict[str, Any]) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT):
        or_gigpo_tokens([rollout("q", [(0, 1, "a")], 1.0, 1)], settings)


def test_documents_that_are_no_turns_are_refused() -> None:
    with pytest.raises(ToolError, match="keys digest, end, start, text"):
        TokenRollout("q", [{"start": 0}], 1.0, 1).scored()


# -- files for verl ------------------------------------------------------------------------------------


def test_the_files_of_a_run_name_tasks_loops_and_tools(tmp_path: Path) -> None:
    tasks = tasks_of(["point", "pick"], 3, 5)
    files = verl_files.write_files(tmp_path / "run", SETTINGS, tasks, seed=9, turn_tokens=512)
    rows = [json.loads(line) for line in files["train"].read_text("utf-8").splitlines()]
    assert [json.loads(row["extra_info"]["task"]) for row in rows] == [dict(task) for task in tasks]
    assert [row["extra_info"]["seed"] for row in rows] == [9, 10, 11]
    assert {row["agent_name"] for row in rows} == {"toolhand"}
    loops = yaml.safe_load(files["agent_loops"].read_bytes())
    assert [loop["name"] for loop in loops] == ["toolhand", "toolhand_tools"]
    assert loops[0]["settings"] == SETTINGS
    assert loops[0]["turn_tokens"] == 512
    assert loops[1]["settings"]["protocol"] == "native"
    tools = yaml.safe_load(files["tools"].read_bytes())["tools"]
    with Episodes(SETTINGS).open(ROW) as session:
        ours = session.tools()
    assert [tool["config"]["schema"]["function"]["parameters"] for tool in tools] == [
        schema["function"]["parameters"] for schema in ours
    ]
    names = [tool["config"]["schema"]["function"]["name"] for tool in tools]
    assert "robot__capture_image" in names
    assert all("." not in name for name in names)
    assert f"data.train_files={files['train']}" in verl_files.overrides(files)


def test_files_of_settings_that_there_are_not_are_not_begun(tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        verl_files.write_files(tmp_path / "run", {"colour": "red"}, tasks_of(["pick"], 1))
    assert not (tmp_path / "run").exists()


# -- without an engine ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "engine"), [("on_verl", "verl"), ("on_verl_trainer", "verl"), ("on_verifiers", "verifiers")]
)
def test_an_adapter_without_its_engine_says_which_command_makes_it(
    module: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, engine, None)
    monkeypatch.delitem(sys.modules, f"toolhand.training.adapters.{module}", raising=False)
    with refused(ErrorCode.UNAVAILABLE, f"cannot import {engine}") as error:
        import_module(f"toolhand.training.adapters.{module}")
    assert f"toolhand engines make {engine}" in error.value.hint


def test_the_name_that_verifiers_looks_for_costs_nothing_else() -> None:
    import toolhand

    assert toolhand.__all__ == ["EpisodeTaskset", "NullHarness"]
    with pytest.raises(AttributeError, match="no attribute 'Nobody'"):
        toolhand.Nobody  # noqa: B018
