"""Words that bind more than a pick: right is to leave all alone and to claim nothing."""

from types import SimpleNamespace
from typing import Any

import pytest

from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.tasks.kinds import make_task
from toolhand.training.tasks.refusals import refused_sentences


def test_there_are_sixty_sentences_and_each_is_said_of_what_is_there() -> None:
    assert len(set(refused_sentences())) == 60
    task: Any = make_task("refusals", 0, "test")
    assert task.text == f"Do not touch the {task.asked[0]}."
    assert set(task.asked) <= {placed.item for placed in task.scene.objects}
    assert make_task("refusals", 0, "test") == task


@pytest.mark.parametrize(
    ("code", "picked", "right"),
    [
        (ErrorCode.NOT_UNDERSTOOD, (), {"left alone": True, "claimed nothing": True}),
        (None, (), {"left alone": True, "claimed nothing": False}),
        (None, ("milk_1",), {"left alone": False, "claimed nothing": False}),
        (ErrorCode.NO_GRASP, ("milk_1",), {"left alone": False, "claimed nothing": True}),
    ],
)
def test_what_moves_or_claims_is_not_right(code: ErrorCode | None, picked: tuple[str, ...], right: Any) -> None:
    task: Any = make_task("refusals", 1, "test")
    table = SimpleNamespace(objects={})
    history: Any = SimpleNamespace(before=table, after=table, picked_up=frozenset(picked))
    score = task.score(history, SimpleNamespace(error_code=code))
    assert (score.terms, score.success) == (right, all(right.values()))
