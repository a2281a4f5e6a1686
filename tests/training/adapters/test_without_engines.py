"""What the adapters do before any engine is there: the episodes that TRL is given, and what one is told without it."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.adapters.episodes import Episodes
from toolhand.training.adapters.on_trl import (
    TrlEpisode,
    environment_factory,
    hear_answers,
    scored_completion,
    step_trainer,
)
from toolhand.training.tasks.kinds import task_document, task_from_document

DOCUMENT = task_document("count", 5)
ROW = {"task": json.dumps(DOCUMENT), "seed": 5}


@pytest.fixture(scope="module")
def episodes() -> Iterator[Episodes]:
    made = Episodes({"protocol": "native", "image_size": (160, 120)})
    yield made
    made.close()


def said(words: str, **more: Any) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": words, **more}]


def test_without_trl_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    step_trainer.cache_clear()
    monkeypatch.setitem(sys.modules, "trl", None)
    with refused(ErrorCode.UNAVAILABLE, "This Python cannot import trl", hint="`toolhand engines make trl`"):
        step_trainer()


def test_without_openenv_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openenv", None)
    monkeypatch.delitem(sys.modules, "toolhand.training.adapters.on_openenv", raising=False)
    with pytest.raises(ToolError, match="This Python cannot import openenv") as error:
        import_module("toolhand.training.adapters.on_openenv")
    assert "`toolhand engines make openenv`" in error.value.hint


def test_an_episode_is_opened_called_answered_and_scored_as_trl_does(episodes: Episodes) -> None:
    make = environment_factory(episodes, ROW)
    one, other = make(), make()
    assert type(one) is type(other)
    parts = one.reset(prompt="of the data set", **ROW)
    assert [part["type"] for part in parts] == ["text", "text", "image"]
    assert parts[2]["image"].size == (160, 120)
    assert task_from_document(DOCUMENT).text in parts[1]["text"]
    other.reset(**ROW)
    looked = one.robot__capture_image()  # type: ignore[attr-defined]
    assert [part["type"] for part in looked] == ["text", "image"]
    assert "<image 1>" in looked[0]["text"]
    assert "must be" in one.roborefer__detect_one(obj_name=3)  # type: ignore[attr-defined]
    truth = str(task_from_document(DOCUMENT).truth)
    assert hear_answers([said(truth), said("", tool_calls=[{}])], [one, other]) == [None, None]
    assert one.get_reward() == one.get_reward() == 1.0
    assert other.get_reward() == 0.0, "it ended with a call, and so without an answer"
    assert one.robot__capture_image() == "The episode is over."  # type: ignore[attr-defined]


def test_an_infrastructure_error_is_no_reward(episodes: Episodes, monkeypatch: pytest.MonkeyPatch) -> None:
    made = environment_factory(episodes, ROW)()

    def broken(row: Any, rollout: int = 0) -> Any:
        raise ToolError(ErrorCode.UNAVAILABLE, "No station today.")

    monkeypatch.setattr(episodes, "open", broken)
    assert made.reset(**ROW) == [{"type": "text", "text": "Error UNAVAILABLE: No station today."}]
    assert made.robot__capture_image() == "Error UNAVAILABLE: No station today."  # type: ignore[attr-defined]
    assert made.get_reward() is None
    monkeypatch.undo()
    made.reset(**ROW)
    assert made.get_reward() == 0.0, "the next row finds all as new"


def test_what_is_wrong_with_the_row_is_raised(episodes: Episodes) -> None:
    made = environment_factory(episodes, ROW)()
    with pytest.raises(ToolError, match="Call reset"):
        made.get_reward()
    with pytest.raises(ToolError, match="A row of an episode has"):
        made.reset(prompt="no task")
    with pytest.raises(ToolError, match="must be native, not spacetools"):
        environment_factory(Episodes({"protocol": "spacetools"}), ROW)


def test_turns_are_compared_by_what_they_answered() -> None:
    prompt = [{"role": "user", "content": "Count."}]
    tool = {"role": "tool", "content": [{"type": "text", "text": "Two."}]}
    first = scored_completion("0", prompt, [*said("", tool_calls=[{}]), tool, *said("2")], 1.0)
    second = scored_completion("0", prompt, [*said("", tool_calls=[{}]), tool, tool, *said("4")], 0.0)
    assert [turn.reward for turn in first.turns] == [0.0, 1.0]
    assert first.turns[0].anchor == second.turns[0].anchor
    assert first.turns[1].anchor != second.turns[1].anchor
    assert first.turns[1].anchor.text == "Two."
    assert issubclass(type(first.total), float)


def test_the_base_has_no_public_names_but_those_of_trl() -> None:
    assert {name for name in vars(TrlEpisode) if not name.startswith("_")} == {"reset", "get_reward"}
