"""A session of one sentence: a command that stands alone is the policy's own, all else is a dialogue's."""

import pytest

from tests.agent_node.dialogue.operators import TextRobot
from toolhand.agent_node.dialogue.rules import RULES
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.session import SessionCommand, SessionSetup
from toolhand.tool_nodes.results import ErrorCode


class Once:
    """A session of one sentence, and the commands that it has carried out."""

    def __init__(self) -> None:
        self.commands: list[SessionCommand] = []
        self._robot = TextRobot(sees={"can": [(0.3, 0.6), (0.8, 0.5)]})
        self.session = RULES.once(SessionSetup(self._run, RobotMemory()))

    def _run(self, command: SessionCommand) -> Episode:
        self.commands.append(command)
        return self._robot(command.sentence, command.policy, command.memory)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("Pick up the lemon, please.", "pick up the lemon"),
        ("slowly, put the can left of the bowl", "slowly , put the can left of the bowl"),
    ],
)
def test_a_command_that_stands_alone_puts_its_own_questions(words: str, sentence: str) -> None:
    once = Once()
    assert once.session.say(words).success
    assert [(each.sentence, each.policy, each.asks) for each in once.commands] == [(sentence, None, True)]


@pytest.mark.parametrize("words", ["undo", "stop", "pick up both cans", "nimm die Banane", "again", "yes"])
def test_what_is_refused_is_a_command_of_its_own_that_moves_nothing(words: str) -> None:
    once = Once()
    once.session.say(words)
    [command] = once.commands
    assert command.sentence == words
    assert getattr(command.policy, "name", "") == "refusal"


@pytest.mark.parametrize(
    ("words", "deeds"),
    [
        ("if there is a lemon , pick up the lemon", []),
        ("if there is a can , open the gripper", ["open the gripper"]),
        ("put the can on the other can", ["put the can at (0.300, 0.600) on the can at (0.800, 0.500)"]),
        ("pick up the lemon ; go home", ["pick up the lemon", "go home"]),
    ],
)
def test_what_a_look_comes_before_is_a_dialogue(words: str, deeds: list[str]) -> None:
    once = Once()
    assert once.session.say(words).success
    assert [each.sentence for each in once.commands if not each.on_the_way] == deeds
    assert not any(each.asks for each in once.commands)


def test_where_something_was_is_not_known_to_a_first_sentence() -> None:
    turn = Once().session.say("put the can where the bowl was")
    assert turn.error_code is ErrorCode.OBJECT_NOT_FOUND
