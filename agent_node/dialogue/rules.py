"""The session of policies that follow rules: a dialogue reads the words first, and makes commands of them."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.agent_node.dialogue.acts import Deed, FollowUp, Refused
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.reading import read
from toolhand.agent_node.dialogue.refusing import RefusingPolicy
from toolhand.agent_node.dialogue.skills import SUITES
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory_file import MemoryFile
from toolhand.agent_node.open_question import OpenQuestion
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policies.scripted.unable import nothing_to_stop
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.session import SessionCommand, SessionKind, SessionSetup, SessionTurn
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.language.stopping import is_stop


def dialogue(setup: SessionSetup, asks: bool = True) -> Dialogue:
    """A dialogue as a session.

    Args:
        setup: What it is made of.
        asks: Its commands put their questions while they are carried out, where somebody can answer.
    """

    def run(sentence: str, policy: Policy | None, memory: str) -> Episode:
        # A skill has tools of its own, which the policy of the session is not offered.
        return setup.run(SessionCommand(sentence, policy, memory, () if policy is None else SUITES, asks=asks))

    operator = OperatorMemory()
    kept = setup.kept
    if setup.path is not None:
        shared = {} if kept else {"robot": setup.robot}
        kept = (*kept, MemoryFile(setup.path, **shared, operator=operator))
    return Dialogue(
        run,
        setup.robot,
        operator,
        tell=setup.tell,
        stopped=setup.stopped,
        kept=kept,
        protocol=setup.protocol,
    )


class SingleSentence:
    """A dialogue of one sentence: where that is one command, its policy asks while it is carried out.

    Args:
        setup: What it is made of.
    """

    def __init__(self, setup: SessionSetup) -> None:
        self._setup = setup
        self._talk = dialogue(setup, asks=False)
        self.leave_question, self.note_stop = self._talk.leave_question, self._talk.note_stop
        self.close_old_question = self._talk.close_old_question

    @property
    def question(self) -> OpenQuestion | None:
        """See `OperatorSession`."""
        return self._talk.question

    def say(self, words: str, pointed: Sequence[PointedPoint] = ()) -> SessionTurn:
        """See `OperatorSession`."""
        parts = read(words)
        acts = [part.act for part in parts]
        refused = acts[0] if len(acts) == 1 and isinstance(acts[0], Refused) else None
        if is_stop(words) and acts[0] == FollowUp("stop", parts[0].said):
            error = nothing_to_stop(f'"{plain_line(words)}"')
            refused = Refused(error.code, str(error))
        elif len(acts) != 1 or not isinstance(acts[0], Deed | FollowUp | Refused):
            return self._talk.say(words, pointed)
        policy = None if refused is None else RefusingPolicy(refused, self._setup.protocol)
        episode = self._setup.run(SessionCommand(words, policy))
        return SessionTurn(episode.answer, episode.success, episode.error_code, (episode,))


RULES = SessionKind(dialogue, SingleSentence, lambda toolbox, robot, answered: toolbox)
"""The session of the scripted policy, and of others that read commands by its grammar."""
