"""Stage credit: a turn has the stages that were first reached in it, and turns together what the rollout has."""

from dataclasses import replace

import numpy as np
import pytest

from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.environment import Environment
from toolhand.training.rewards.stages import WEIGHTS, stage_credit, stage_reward
from toolhand.training.rollouts.credit import credited, turn_credit
from toolhand.training.rollouts.record import MessageRecord, PromptRecord, RolloutRecord, TurnRecord

PICK = {
    "hand_at_target": 2.0,
    "jaws_touch_target": 2.5,
    "held": 3.0,
    "lifted": 4.0,
    "carried": 9.0,
    "nothing_else_moved": 9.0,
}


def record(stages: dict[str, float | None], ends: list[float | None], total: float) -> RolloutRecord:
    messages = (MessageRecord("system", "s"), MessageRecord("user", "pick"))
    turns = []
    for end in ends:
        turns.append(TurnRecord(PromptRecord(len(messages)), "turn", ended_s=end))
        messages = (*messages, MessageRecord("assistant", "turn"), MessageRecord("tool", "answer"))
    return RolloutRecord(
        "00000-000",
        {"kind": "pick"},
        "pick",
        1,
        0,
        0,
        "spacetools",
        "scripted",
        "[]",
        messages,
        tuple(turns),
        {},
        total,
        {},
        stages,
    )


def test_each_stage_belongs_to_the_turn_in_which_it_was_first_reached() -> None:
    credit = stage_credit(PICK, [0.0, 2.0, 2.6, 5.0, 5.0])
    whole = sum(WEIGHTS[stage] for stage in PICK)
    # The end of the episode, at 9 s, belongs to the last turn that moved, not to those that talked after it.
    assert credit * whole == pytest.approx([0.0, 1.0, 1.0, 2.0 + 2.0 + 1.0 + 2.0, 0.0])
    assert credit.sum() == pytest.approx(stage_reward(dict.fromkeys(PICK, True)))


def test_what_was_not_reached_or_needs_a_deed_that_was_not_done_is_worth_nothing() -> None:
    standing = {**dict.fromkeys(PICK, None), "nothing_else_moved": 0.5}
    assert not stage_credit(standing, [0.0, 0.0]).any()
    some = {**PICK, "lifted": None, "carried": None}
    assert stage_credit(some, [3.5]).tolist() == pytest.approx(
        [stage_reward({k: v is not None for k, v in some.items()})]
    )


@pytest.mark.parametrize("ends", [[], [2.0, 1.0], [np.nan], [[1.0]]])
def test_times_that_are_none_are_refused(ends: list[float]) -> None:
    with pytest.raises(ToolError, match="never fall") as caught:
        stage_credit(PICK, ends)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_what_stages_do_not_explain_comes_with_the_last_turn() -> None:
    rollout = credited(record(PICK, [2.6, 5.0, 5.0], 0.9))
    rewards = [turn.reward for turn in rollout.turns]
    assert rewards == pytest.approx([2 / 9, 7 / 9, -0.1])
    assert rollout.total == 0.9
    assert sum(rewards) == pytest.approx(0.9)


def test_without_times_or_stages_all_of_it_comes_with_the_last_turn() -> None:
    for unknown in (record(PICK, [None, 5.0], 0.5), record({}, [2.0, 5.0], 0.5)):
        assert turn_credit(unknown) is None
        assert [turn.reward for turn in credited(unknown).turns] == [0.0, 0.5]


def test_an_episode_knows_when_its_turns_were_over_and_so_does_one_that_goes_on_from_it() -> None:
    environment = Environment(StationConfig(image_size=(320, 240), timestep=0.004, sleep=True))
    policy, task = ScriptedPolicy(), random_task(3, "pick")
    with environment.open(task, seed=3) as session:
        while not any(call.motion for call in session.episode.records):
            snapshot = session.save()
            session.say(policy.respond(session.messages()))
        ends = session.turn_ends_s
        assert ends[-1] is not None
        assert ends[-1] > 1.0
        assert set(ends[:-1]) == {0.0}, "time stands still while nothing moves"
        assert len(ends) == len(session.episode.turns)
        said = session.episode.turns[-1].reply
    with environment.resume(snapshot) as again:
        again.say(said)
        assert again.turn_ends_s == ends


def test_times_are_in_the_line_of_a_record() -> None:
    one = record(PICK, [2.6, 5.0], 0.5)
    assert RolloutRecord.from_json(one.to_json()) == one
    timeless = replace(one, turns=tuple(replace(turn, ended_s=None) for turn in one.turns))
    assert RolloutRecord.from_json(timeless.to_json()) == timeless
