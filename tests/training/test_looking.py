"""E-ViC in miniature: a step of it on real tools, what its updates do, and how it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tool_nodes.results import ErrorCode, ToolError
from training.looking import (
    MOVES,
    SITUATIONS,
    LookingSettings,
    LookingTasks,
    LookRollout,
    improved,
    run_looking,
    shares,
)

SMALL = LookingSettings(seed=1, iterations=1, groups=1, group=4, evaluated=1)
UNSURE = np.zeros((SITUATIONS, len(MOVES)))


def table(**moves: str) -> np.ndarray:
    """Log-odds that are sure of a move without a lot number, and of one with it."""
    odds = UNSURE.copy()
    odds[:3, MOVES.index(moves["unread"])] = odds[3:, MOVES.index(moves["read"])] = 50.0
    return odds


@pytest.mark.parametrize(
    ("unread", "reward", "right"),
    [
        ("zoom on what is asked for", 2.0, True),  # Eq. 1 and 2: right, well-formed, with a visual tool
        ("answer", 0.5, False),  # well-formed, half of it without a tool
    ],
)
def test_a_zoom_on_what_is_asked_for_is_what_pays(unread: str, reward: float, right: bool) -> None:
    tasks = LookingTasks()
    (look,) = tasks.group(3, "validation", table(unread=unread, read="answer"), np.random.default_rng(0), 1)
    tasks.close()
    assert (look.reward, look.right) == (reward, right)


def test_an_update_makes_what_paid_more_likely_and_nothing_else_counts() -> None:
    paid, unpaid = LookRollout(((0, 0), (4, 3)), 2.0, True), LookRollout(((0, 3),), 0.5, False)
    chances = shares(improved(UNSURE, [[paid, unpaid]]))
    assert chances[0, 0] > 0.25 > chances[0, 3]
    assert chances[4, 3] > 0.25
    assert (chances[[1, 2, 3, 5]] == 0.25).all()
    assert (improved(UNSURE, [[paid, paid]]) == UNSURE).all()


def test_a_run_is_decided_by_its_settings_and_goes_on(tmp_path: Path) -> None:
    result = run_looking(tmp_path / "run", SMALL)
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == result
    assert [line["iteration"] for line in result["log"]] == [0]
    assert result["greedy"]["of"] == 1
    assert np.allclose([sum(row.values()) for row in result["policy"].values()], 1.0, atol=0.01)
    (tmp_path / "run" / "result.json").unlink()
    assert run_looking(tmp_path / "run", SMALL) == result
    with pytest.raises(ToolError, match="a run of other settings") as caught:
        run_looking(tmp_path / "run", LookingSettings(seed=2))
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(ToolError, match="holds other things"):
        run_looking(tmp_path / "other", SMALL)
    with pytest.raises(ToolError, match="group must be 2 or more, got 1"):
        LookingSettings(group=1)
