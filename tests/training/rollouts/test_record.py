"""Records: what the policy was given and wrote, to the token and the pixel, in few bytes and read strictly."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from tests.stations import FAST
from toolhand.agent_node.context_window import Memory
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Message, Reply
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.advantages.gigpo import gigpo, or_gigpo
from toolhand.training.advantages.grpo import grpo
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import Failures
from toolhand.training.rollouts.from_episode import record_of
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import MAX_BYTES, RolloutRecord, anchor_of, given, scored

LOOK = '<think>Look.</think><tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'
TOO_LONG = "much too long " * 15_000
TURNS = (
    LOOK,
    TOO_LONG,
    "words without any call",
    LOOK.replace("robot.capture_image", "no.such_tool"),
    LOOK.replace("robot.capture_image", "robot.get_depth"),
    LOOK,
    LOOK,
    "<answer>OBJECT_NOT_FOUND: There is nothing.</answer>",
)


class Reciting:
    """Says the turns above, with tokens of its own."""

    name = "reciting"

    def respond(self, conversation: Sequence[Message]) -> Reply:
        number = sum(message.role == "assistant" for message in conversation)
        ids = tuple(range(number, number + 3 + number))
        return Reply(TURNS[number], 50, len(ids), token_ids=ids, logprobs=tuple(-0.1 * k for k in range(len(ids))))


@dataclass(frozen=True)
class Played:
    episode: Episode
    record: RolloutRecord
    store: ImageStore


def played(folder: Path, policy: Any, environment: Environment, rollout: int = 0) -> Played:
    task, store = random_task(5, "pick_and_place"), ImageStore(folder)
    with environment.open(task, 5, rollout) as session:
        while not session.done:
            session.say(policy.respond(session.messages()))
        record = record_of(
            session.scored(),
            store,
            task={"kind": "pick_and_place", "seed": 5},
            policy=policy.name,
            seeds={"station": 5, "policy": rollout},
        )
    return Played(session.episode, record, store)


@pytest.fixture(scope="module")
def physical(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A real episode, all of whose grasps fail on purpose once in a while."""
    failing = Environment(FAST, failures=Failures({"robot.execute_grasp": {"PLAN_FAILED": 0.6}}))
    return played(tmp_path_factory.mktemp("physical"), ScriptedPolicy(), failing, rollout=3)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """An episode of one with tokens that errs in many ways; old images are let go at once."""
    forgetful = Environment(FAST, settings=ConversationSettings(memory=Memory(images=1, shown=1, block=1)))
    return played(tmp_path_factory.mktemp("spoken"), Reciting(), forgetful)


def lines_of(case: Played) -> tuple[str, RolloutRecord]:
    line = case.record.to_json(case.store)
    return line, RolloutRecord.from_json(line, ImageStore(case.store.folder))


@pytest.mark.parametrize("case", ["physical", "spoken"])
def test_the_prompt_of_every_turn_is_what_the_policy_was_given_to_the_pixel(
    case: str, request: pytest.FixtureRequest
) -> None:
    was: Played = request.getfixturevalue(case)
    _, record = lines_of(was)
    images = 0
    for number in range(len(was.episode.turns)):
        expected, rebuilt = was.episode.given(number), given(record, number, was.store)
        assert len(expected) == len(rebuilt)
        for ours, theirs in zip(rebuilt, expected, strict=True):
            assert replace(ours, image=None) is not None
            words = [(m.role, m.text, m.words, m.image_index) for m in (ours, theirs)]
            assert words[0] == words[1]
            assert (ours.image is None) == (theirs.image is None)
            if ours.image is not None and theirs.image is not None:
                images += 1
                np.testing.assert_array_equal(ours.image, theirs.image)
    assert images > len(was.episode.turns)


@pytest.mark.parametrize("case", ["physical", "spoken"])
def test_a_record_comes_back_from_its_line_which_is_short(case: str, request: pytest.FixtureRequest) -> None:
    was: Played = request.getfixturevalue(case)
    line, record = lines_of(was)
    assert record == was.record
    assert record.to_json(was.store) == line
    assert len(line) <= MAX_BYTES
    assert "\n" not in line
    assert RolloutRecord.from_json(was.record.to_json()) == was.record, "without a store all is in the line"
    assert len(list((was.store.folder / "texts").iterdir())) <= 3, "the system's words, the schemas, what was too long"


def test_the_mask_is_1_on_what_the_policy_sampled_and_on_nothing_else(spoken: Played) -> None:
    record = spoken.record
    written = {turn.prompt.messages: turn for turn in record.turns}
    for number, message in enumerate(record.messages):
        turn = written.get(number)
        assert message.sampled == (turn is not None and message.text == turn.text)
        assert (turn is not None) == (message.role == "assistant")
    cut = record.turns[1]
    standing = record.messages[cut.prompt.messages]
    assert (cut.text, cut.span, standing.sampled) == (TOO_LONG, (0, 0), False)
    assert len(standing.text) < 2100
    for number, turn in enumerate(record.turns):
        assert turn.token_ids == tuple(range(number, 2 * number + 3)), "also where the text was cut"
        assert turn.mask == (1,) * len(turn.token_ids)
        assert len(turn.logprobs) == len(turn.token_ids)
        start, end = turn.span
        assert record.messages[turn.prompt.messages].text[start:end] == (turn.text if number != 1 else "")
    noted = [message for message in record.messages if "Note:" in message.text]
    assert noted
    assert not any(message.sampled for message in noted)


def test_calls_are_kept_with_their_errors_and_with_failures_on_purpose(spoken: Played, physical: Played) -> None:
    calls = [call for turn in spoken.record.turns for call in turn.calls]
    assert [(call.tool, call.error_code, call.run) for call in calls] == [
        ("robot.capture_image", None, True),
        ("no.such_tool", "UNKNOWN_TOOL", True),
        ("robot.get_depth", None, True),
        ("robot.capture_image", None, True),
        ("robot.capture_image", None, True),
    ]
    assert [turn.problem != "" for turn in spoken.record.turns] == [False, True, True, *[False] * 5]
    assert spoken.record.error_code == "OBJECT_NOT_FOUND"
    purposes = [call.failed_on_purpose for turn in physical.record.turns for call in turn.calls]
    ran = [str(record.result.facts.get("failed_on_purpose", "")) for record in physical.episode.records]
    assert purposes == ran
    assert "PLAN_FAILED" in purposes
    assert physical.record.truth["terms"] == {"picked": True, "placed": True}
    assert physical.record.total == 1.0
    assert list(physical.record.stages)[:2] == ["hand_at_target", "jaws_touch_target"]


def test_all_advantages_run_on_records_and_turns_are_compared_by_what_they_answered(
    physical: Played, spoken: Played
) -> None:
    better = replace(physical.record, rollout=2, total=0.5)
    rollouts = [scored(record) for record in (physical.record, better)]
    assert rollouts[0].prompt == rollouts[1].prompt
    assert [len(rollout.turns) for rollout in rollouts] == [len(physical.record.turns)] * 2
    for advantages in (gigpo(rollouts).total, or_gigpo(rollouts).total):
        assert np.all(np.asarray(advantages[0]) > np.asarray(advantages[1]))
    np.testing.assert_allclose(grpo([rollout.total for rollout in rollouts]), [np.sqrt(0.5), -np.sqrt(0.5)])
    first, second = (anchor_of(spoken.record, number) for number in (0, 1))
    assert first.text is not None
    assert spoken.record.text in first.text
    assert spoken.record.messages[0].text not in first.text
    assert second.text is None, "a picture belongs to it"
    unimaged = replace(
        spoken.record, messages=tuple(replace(message, image="f" * 64) for message in spoken.record.messages)
    )
    assert anchor_of(unimaged, 1) != second
    other = replace(physical.record, seed=6)
    assert scored(other).prompt != rollouts[0].prompt
    with pytest.raises(ToolError, match="a turn or more"):
        scored(replace(physical.record, turns=()))


def test_a_very_long_rollout_still_has_a_short_line(spoken: Played, tmp_path: Path) -> None:
    turn = spoken.record.turns[0]
    long = replace(turn, token_ids=tuple(range(9000)), logprobs=(-0.123456789,) * 9000, mask=(1,) * 9000)
    wordy = replace(turn, calls=tuple(replace(turn.calls[0], words=f"{k} " * 1500) for k in range(8)))
    record = replace(spoken.record, turns=(long, *(wordy,) * 23))
    store = ImageStore(tmp_path)
    line = record.to_json(store)
    assert len(line) <= MAX_BYTES < len(record.to_json()) / 4
    assert RolloutRecord.from_json(line, store) == record


def test_times_alone_may_differ_between_equal_rollouts(spoken: Played) -> None:
    timeless = spoken.record.without_times()
    assert timeless != spoken.record
    assert timeless == replace(spoken.record, times={"policy": 3.0}).without_times()
    assert all(call.seconds == 0.0 for turn in timeless.turns for call in turn.calls)


def changed(record: RolloutRecord, *path: Any, to: Any) -> str:
    document = json.loads(record.to_json())
    place = document
    for key in path[:-1]:
        place = place[key]
    if to is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (["total"], "1.0", "total must be a finite number, not '1.0'"),
        (["total"], KeyError, "total is missing"),
        (["reward"], 1.0, "there is no key reward"),
        (["version"], 3, "it is of version 3, and only version 2 is read"),
        (["messages", 2, "role"], "judge", "messages[2].role must be system, user, assistant or tool, not 'judge'"),
        (["version"], 1, "it is of version 1, and only version 2 is read"),
        (["messages", 0], "hello", "messages[0] must be a mapping with the keys role, text, words"),
        (["messages", 0, "txt"], "hello", "there is no key messages[0].txt, the nearest is text"),
        (["turns", 0, "prompt", "messages"], 1, "turns[0] was given 1 messages, after which there is no assistant's"),
        (["turns", 0, "prompt", "imaged"], [1], "turns[0] was given a picture that is not there"),
        (["turns", 2, "prompt", "imaged"], [99], "turns[2] was given pictures of messages that it was not given"),
        (["turns", 0, "mask"], [1], "turns[0] has a mask that is not 3 times 0 or 1"),
        (["turns", 0, "span"], [0, 10**6], "turns[0] has a span that is no part of its message"),
        (["turns", 0, "span"], [0], "turns[0].span must be a list of 2 whole numbers, not [0]"),
        (["turns", 0, "logprobs"], [0.0], "turns[0] has 3 tokens and 1 log-probabilities"),
        (["turns", 0, "token_ids", 1], True, "turns[0].token_ids[1] must be a whole number, not True"),
        (["terms", "picked"], None, "terms.picked must be a finite number, not None"),
        (["text"], {"sha256": "0" * 64}, "text is kept in a store, and none was given"),
    ],
)
def test_what_is_no_record_is_refused_in_one_sentence(
    spoken: Played, path: list[Any], value: Any, sentence: str
) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT) as error:
        RolloutRecord.from_json(changed(spoken.record, *path, to=value))
    assert sentence in str(error.value)


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '{"version": NaN}', "\udcff", "[" * 100_000])
def test_what_is_no_json_is_refused_too(line: str) -> None:
    with pytest.raises(ToolError, match=r"it (is no|must be a mapping)"):
        RolloutRecord.from_json(line)


def test_what_json_cannot_hold_is_an_error_of_the_system(spoken: Played) -> None:
    for wrong in (float("nan"), object()):
        with refused(ErrorCode.INTERNAL, "holds something that JSON cannot"):
            replace(spoken.record, labels={"x": wrong}).to_json()
