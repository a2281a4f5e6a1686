"""The toy of two turns: its rules, and that GRPO and OR-GIGPO learn it from every seed that is tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.training.adapters.toy import (
    FIRST,
    TOY_ENOUGH,
    TOY_SETTINGS,
    ToyEpisode,
    ToyTask,
    context_of,
    form_examples,
    toy_weights,
    train_toy,
)
from tool_nodes.results import ToolError


def test_who_asks_the_right_tool_and_passes_on_what_it_says_has_it_all() -> None:
    episode = ToyEpisode(ToyTask("blue", "no"))
    assert episode.say("ask right END") == "says no"
    assert episode.say("answer no") == ""
    assert (episode.rewards, episode.total, episode.done) == ([FIRST, 1 - FIRST], 1.0, True)
    assert [turn.reward for turn in episode.scored("a").turns] == episode.rewards
    with pytest.raises(ToolError, match="over"):
        episode.say("answer no")


@pytest.mark.parametrize(
    ("turns", "rewards"),
    [
        (["ask left END", "answer no END"], [0.0, 0.0]),
        (["ask right END", "answer yes END"], [FIRST, 0.0]),
        (["ask right END", "ask right END"], [FIRST, 0.0]),
        (["answer no END"], [0.0]),
        (["ask END right"], [0.0]),
        ([""], [0.0]),
    ],
)
def test_everything_else_has_less(turns: list[str], rewards: list[float]) -> None:
    episode = ToyEpisode(ToyTask("blue", "no"))
    for turn in turns:
        episode.say(turn)
    assert (episode.rewards, episode.done) == (rewards, True)


def test_the_teacher_of_the_form_knows_nothing_else() -> None:
    said = form_examples(0, 400)
    told = np.mean([texts[2] != "says nothing" for texts in said])
    passed_on = np.mean([texts[2].split()[1] == texts[3].split()[1] for texts in said if texts[2] != "says nothing"])
    assert 0.4 < told < 0.6
    assert 0.4 < passed_on < 0.6
    context = context_of(said[0], toy_weights(0).vocabulary)
    assert context.sampled.tolist() == [False] * 2 + [True] * 3 + [False] * 2 + [True] * 3


@pytest.mark.parametrize(("advantages", "seed"), [("grpo", 0), ("grpo", 5), ("or_gigpo", 3)])
def test_it_is_learned_from_every_seed(advantages: str, seed: int) -> None:
    settings = replace(TOY_SETTINGS, advantages=advantages, device="cpu")  # type: ignore[arg-type]
    run = train_toy(seed, settings)
    assert run.success[0] < 0.4, "the form alone is worth about a quarter"
    assert run.success[-1] >= TOY_ENOUGH


def test_the_same_seed_gives_the_same_numbers() -> None:
    settings = replace(TOY_SETTINGS, device="cpu")
    one, other = (train_toy(4, settings, iterations=2) for _ in range(2))
    assert one.success == other.success
    assert all(np.array_equal(one.weights.tensors[name], other.weights.tensors[name]) for name in one.weights.tensors)
