"""A group from one saved state: what was played before is shared to the pixel, what follows is each one's own."""

import json
from pathlib import Path

import pytest

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.rollouts.branching import branch, plan_of
from toolhand.training.rollouts.collection import read_rollouts
from toolhand.training.rollouts.group_page import GroupCredit, write_group_page
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.plan import PLAN_FILE, RolloutPlan, tasks_of

PLAN = RolloutPlan(
    tasks_of(["pick"], 1, seed=3),
    group_size=2,
    policy="careful:varied",
    perception="pixels",
    image_size=(160, 120),
    timestep=0.004,
    reward="stages",
)


def test_rollouts_go_on_from_one_state_and_are_one_group(tmp_path: Path) -> None:
    folder = tmp_path / "rollouts"
    records = branch(PLAN, 0, 2, folder, 2)
    first, other = records
    shared = first.turns[2].prompt.messages
    assert first.messages[:shared] == other.messages[:shared]
    assert [turn.text for turn in first.turns[:2]] == [turn.text for turn in other.turns[:2]]
    assert [turn.ended_s for turn in first.turns[:2]] == [0.0, 0.0]
    assert first.turns[1].labels == other.turns[1].labels
    assert first.turns[1].labels["objects"][0] is not None
    assert first.seeds["policy"] != other.seeds["policy"]
    assert list(read_rollouts(folder)) == records
    assert len(GroupCredit.of(records).grpo) == 2
    write_group_page(records, ImageStore(folder), tmp_path / "page.html")
    held = r" holds something already, such as pictures, and nothing is replaced\."
    with refused(ErrorCode.INVALID_ARGUMENT, held, hint="Name a folder that does not exist yet or is empty."):
        branch(PLAN, 0, 2, folder, 2)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((1, 2, 2), "The group must be 0 to 0"),
        ((0, -1, 2), "--after must be 0 or more"),
        ((0, 2, 1), "--n must be 2 or more"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, arguments: tuple[int, int, int], problem: str) -> None:
    group, after, count = arguments
    with refused(ErrorCode.INVALID_ARGUMENT, problem):
        branch(PLAN, group, after, tmp_path / "rollouts", count)
    assert not (tmp_path / "rollouts").exists()


def test_a_plan_is_read_from_its_folder_also_an_older_one(tmp_path: Path) -> None:
    document = PLAN.document()
    del document["world"]
    (tmp_path / PLAN_FILE).write_text(json.dumps(document))
    assert plan_of(tmp_path) == PLAN
    for wrong in ("{", "[]", "{}", '{"tasks": [], "moon": 1}'):
        (tmp_path / PLAN_FILE).write_text(wrong)
        with refused(ErrorCode.INVALID_ARGUMENT):
            plan_of(tmp_path)
