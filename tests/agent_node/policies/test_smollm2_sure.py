"""What smollm2 is not sure of it does not carry out; random weights are sure of nothing."""

import pytest

from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.smollm2 import Smollm2Chat
from toolhand.agent_node.policies.transformers_chat import TransformersChat
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import REMEMBERED, load_protocol
from toolhand.tool_nodes.results import ErrorCode, ToolError

COMPACT = load_protocol("compact")
ASKED = [Message("system", "Work the arm."), Message("user", "Pick up the can.")]
WORKED = [*ASKED, Message("assistant", "look"), Message("tool", "seen")]
ANSWERED = [*ASKED, Message("assistant", "look"), Message("user", "the left one", answers="Which?")]
SHOWN = [ASKED[0], Message("user", "<image 0>", image_index=0)]


@pytest.fixture(scope="module")
def base(tiny_model, tmp_path_factory):
    return str(tiny_model("text", tmp_path_factory.mktemp("base")))


def reply(base, conversation, kind=Smollm2Chat, **options):
    return kind(base, COMPACT, PolicyOptions(max_tokens=8, **options)).respond(conversation)


def test_a_plan_that_it_is_not_sure_of_is_no_turn_of_its_own(base):
    written = reply(base, ASKED, TransformersChat)
    asked = reply(base, ASKED)
    turn = COMPACT.parse(asked.text)
    assert turn.answer.startswith(f"{ErrorCode.NOT_UNDERSTOOD}: I am not sure which thing or place is meant.")
    assert not turn.calls
    assert asked.details["not_sure_of"] == written.text
    assert 0.0 < asked.details["probability"] < 0.8
    assert (asked.token_ids, asked.logprobs) == ((), ()), "a trainer must not take it for what was sampled"
    assert asked.completion_tokens == written.completion_tokens


@pytest.mark.parametrize(
    ("conversation", "options"),
    [(ASKED, {"sure": 0.0}), (WORKED, {}), (ANSWERED, {}), (SHOWN, {}), (ASKED, {"temperature": 1.0, "seed": 3})],
)
def test_what_is_no_command_and_sampled_turns_are_left_as_they_are(base, conversation, options):
    assert reply(base, conversation, **options).text == reply(base, conversation, TransformersChat, **options).text


def test_a_sentence_is_read_with_a_capital_letter_and_a_full_stop_as_those_that_it_learned_from(base):
    plain = [ASKED[0], Message("user", "pick up the can")]
    assert reply(base, plain, sure=0.0).text == reply(base, ASKED, sure=0.0).text
    question = [ASKED[0], Message("user", "Can you pick it up?")]
    assert reply(base, question, sure=0.0).text == reply(base, question, TransformersChat).text
    assert reply(base, [ASKED[0], Message("user", "")], sure=0.0).text


def test_what_is_known_from_earlier_commands_is_not_read_as_a_part_of_this_one(base):
    known = [ASKED[0], Message("user", f"pick up the can\n\n{REMEMBERED}The can stood at (0.2, 0.3).")]
    assert reply(base, known, sure=0.0).text == reply(base, ASKED, sure=0.0).text


HELD = Message("tool", "seen The gripper holds an object that was grasped as 'can'.")


def test_with_something_in_the_gripper_from_before_it_ends_and_claims_nothing(base):
    before = [*ASKED, Message("assistant", "# take can, put nowhere\nlook\ndepth"), HELD]
    ended = COMPACT.parse(reply(base, before).text)
    assert ended.answer.startswith(f"{ErrorCode.ALREADY_HOLDING}: The gripper holds something from before")
    assert not ended.calls
    own = [*ASKED, Message("assistant", "take"), Message("tool", "held"), Message("assistant", "look"), HELD]
    assert reply(base, own).text == reply(base, own, TransformersChat).text
    sampled = {"temperature": 1.0, "seed": 3}
    assert reply(base, before, **sampled).text == reply(base, before, TransformersChat, **sampled).text


@pytest.mark.parametrize("sure", [-0.1, 1.01, float("nan")])
def test_how_sure_is_a_probability(sure):
    with pytest.raises(ToolError, match="from 0 to 1") as caught:
        PolicyOptions(sure=sure)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
