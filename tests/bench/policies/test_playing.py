"""One task by one policy, in physics: what counts is the truth, not what the policy says."""

from collections.abc import Iterator, Sequence

import pytest

from toolhand.agent_node.policies.options import ModelSettings
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.bench.policies import playing
from toolhand.bench.policies.playing import Player, PlaySettings, PolicyGone
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.results import unavailable
from toolhand.training.tasks.kinds import make_task

CAPTURE = '<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'


class Saying:
    """Says some turns and then the last one again."""

    name = "saying"

    def __init__(self, *turns: str) -> None:
        self._turns = turns

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next turn."""
        said = sum(message.role == "assistant" for message in conversation)
        return Reply(self._turns[min(said, len(self._turns) - 1)], prompt_tokens=100, completion_tokens=7, cost=0.5)


@pytest.fixture(scope="module")
def player() -> Iterator[Player]:
    config = StationConfig(suites=("spacetools",), image_size=(160, 120), sleep=True)
    made = Player(PlaySettings(config, 0.0, "spacetools", 24, "test", ModelSettings()))
    yield made
    made.close()


def says(monkeypatch: pytest.MonkeyPatch, *turns: str) -> None:
    monkeypatch.setattr(playing, "make_policy", lambda *made: Saying(*turns))


def answer(words: str) -> str:
    return load_protocol("spacetools").render_turn("", (), words)


def test_to_say_that_an_absent_object_is_not_there_is_right_after_a_look_alone(player, monkeypatch):
    says(monkeypatch, CAPTURE, answer("OBJECT_NOT_FOUND: no such thing is there."))
    looked = player.play("saying", "absent", 0)
    says(monkeypatch, answer("OBJECT_NOT_FOUND: no such thing is there."))
    unseen = player.play("saying", "absent", 0)
    says(monkeypatch, CAPTURE, answer("NOT_UNDERSTOOD: what?"))
    dull = player.play("saying", "absent", 0)
    assert (looked.success, looked.refused, looked.looked) == (True, True, True)
    assert (unseen.success, unseen.reasons) == (False, "no picture was taken")
    assert not dull.success
    assert (looked.turns, looked.calls, looked.prompt_tokens, looked.completion_tokens, looked.cost) == (
        2,
        1,
        200,
        14,
        1,
    )


def test_to_refuse_what_can_be_done_is_no_success_and_to_say_done_is_none_either(player, monkeypatch):
    says(monkeypatch, CAPTURE, answer("OBJECT_NOT_FOUND: no such thing is there."))
    refused = player.play("saying", "pick", 0)
    says(monkeypatch, answer("Done."))
    said = player.play("saying", "pick", 0)
    assert (refused.success, refused.refused, refused.scored, refused.deed) == (False, True, True, True)
    assert not said.success
    assert not said.false_success  # no tool said so: the operator is not told that it is done


def test_a_wrong_answer_to_a_question_is_one_and_a_right_one_is_right(player, monkeypatch):
    truth = make_task("small_print", 0, "test").truth
    for said, right in ((truth, True), ("A1-1111", False)):
        says(monkeypatch, answer(said))
        outcome = player.play("saying", "small_print", 0)
        assert (outcome.success, outcome.wrong_answer, outcome.deed) == (right, not right, False)


def test_a_policy_that_cannot_be_asked_leaves_no_outcome(player, monkeypatch):
    class Gone(Saying):
        def respond(self, conversation: Sequence[Message]) -> Reply:
            raise unavailable("The server is gone.")

    monkeypatch.setattr(playing, "make_policy", lambda *made: Gone())
    with pytest.raises(PolicyGone, match="The server is gone"):
        player.play("saying", "size", 0)


def test_where_no_protocol_is_named_each_policy_writes_and_is_asked_in_its_own(monkeypatch):
    asked: dict[str, tuple[str, str]] = {}

    class Asked(Saying):
        def __init__(self, spec: str, protocol: Protocol) -> None:
            super().__init__(protocol.render_turn("", (), "OBJECT_NOT_FOUND: nothing."))
            self._spec, self._protocol = spec, protocol

        def respond(self, conversation: Sequence[Message]) -> Reply:
            asked[self._spec] = (self._protocol.name, conversation[0].text[:60])
            return super().respond(conversation)

    monkeypatch.setattr(playing, "make_policy", lambda spec, protocol, *more: Asked(spec, protocol))
    config = StationConfig(suites=("spacetools",), image_size=(160, 120), sleep=True)
    both = Player(PlaySettings(config, 0.0, "own", 24, "test", ModelSettings()))
    answers = {both.play(spec, "absent", 0).answer for spec in ("scripted", "smollm2")}
    both.close()
    assert answers == {"nothing."}, "each answer was read in the protocol that it was written in"
    assert {spec: name for spec, (name, _) in asked.items()} == {"scripted": "spacetools", "smollm2": "compact"}
    assert asked["smollm2"][1].startswith("Work the robot arm. Write lines:")
    assert not asked["scripted"][1].startswith("Work the robot arm. Write lines:")


def test_a_turn_that_cannot_be_read_counts_as_invalid(player, monkeypatch):
    says(monkeypatch, "<tool_call>{not json</tool_call>", answer("OBJECT_NOT_FOUND: nothing."))
    assert player.play("saying", "absent", 0).invalid == 1
