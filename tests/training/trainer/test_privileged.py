"""What the critic is told of the simulator's truth, before each turn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.training.data.episodes_at_hand import HELD, LOOK, OTHER, SLIPPED, TARGET, episode, outlined, pointed
from training.rewards.stages import WEIGHTS
from training.rollouts.record import CallEntry
from training.trainer.privileged import truths

PLACED = (CallEntry("robot.place_object_at_2d_location", {"placement_point_2d": [0.5, 0.5]}, "Placed."), None)
NONE, RIGHT, WRONG, BOTH = (0, 0), (1, 0), (0, 1), (1, 1)


def test_points_outlines_and_the_hand_are_right_or_wrong_from_the_next_turn_on(tmp_path: Path) -> None:
    record = episode(
        tmp_path,
        [LOOK], [pointed("vlm", [OTHER])], [pointed("roborefer", [TARGET, OTHER])], [outlined(OTHER)], [SLIPPED],
        [outlined(TARGET)], [HELD], [PLACED], [LOOK], [outlined(OTHER)], [HELD],
    )  # fmt: skip
    found = truths(record)
    assert found.shape == (12, 9 + len(WEIGHTS) + 1)
    columns = {"first": 0, "some": 2, "outline": 4, "hand": 6}
    for name, told in {
        "first": [NONE, NONE, WRONG, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, RIGHT, NONE, NONE, NONE],
        "some": [NONE, NONE, WRONG, BOTH, BOTH, BOTH, BOTH, BOTH, BOTH, NONE, NONE, NONE],
        "outline": [NONE, NONE, NONE, NONE, WRONG, WRONG, RIGHT, RIGHT, RIGHT, NONE, WRONG, WRONG],
        "hand": [NONE, NONE, NONE, NONE, NONE, NONE, NONE, RIGHT, NONE, NONE, NONE, WRONG],
    }.items():
        column = columns[name]
        np.testing.assert_array_equal(found[:, column : column + 2], told, name)
    np.testing.assert_array_equal(found[:, 8], [0] * 11 + [1])
    assert not found[:, 9:].any(), "the record knows no stages"


def test_calls_that_failed_tell_nothing(tmp_path: Path) -> None:
    failed = (replace(pointed("vlm", [TARGET])[0], error_code="OBJECT_NOT_FOUND"), None)
    refused = (replace(outlined(TARGET)[0], run=False), [TARGET])
    assert not truths(episode(tmp_path, [failed], [refused], [LOOK])).any()


def test_stages_are_those_that_were_reached_when_the_turn_before_was_over(tmp_path: Path) -> None:
    record = episode(tmp_path, [LOOK], [HELD], [LOOK])
    turns = tuple(replace(turn, ended_s=float(k)) for k, turn in enumerate(record.turns))
    found = truths(replace(record, turns=turns, stages={"hand_at_target": 0.5, "held": 1.5, "lifted": None}))[:, 9:]
    names = list(WEIGHTS)
    assert [[names[k] for k in np.flatnonzero(row)] for row in found] == [
        [], [], ["hand_at_target"], ["hand_at_target", "held"],
    ]  # fmt: skip
    whole = truths(replace(record, turns=turns, stages={"hand_at_target": 0.5, "held": 1.5}))
    np.testing.assert_array_equal(whole[:, -1], [0, 0, 0, 1])
