"""The session of policies that follow rules: a dialogue reads the words first, and makes commands of them."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.agent_node.dialogue.acts import Deed, FollowUp
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.fixed_calls import FixedCalls, at_once
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.naming import objects_of
from toolhand.agent_node.dialogue.reading import act_of
from toolhand.agent_node.dialogue.skills import SUITES
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory_file import MemoryFile
from toolhand.agent_node.open_question import OpenQuestion
from toolhand.agent_node.plan.reader import ShippedReader
from toolhand.agent_node.plan.reading import say_act
from toolhand.agent_node.plan.types import PlanAct
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policies.scripted.refusals import nothing_to_stop
from toolhand.agent_node.policy import Policy
from toolhand.agent_node.session import SessionCommand, SessionKind, SessionSetup, SessionTurn
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.results import ErrorCode, ToolError


def dialogue(setup: SessionSetup, asks: bool = True) -> Dialogue:
    """A dialogue as a session.

    Args:
        setup: Parts that it is made of.
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
        reader=ShippedReader(),
    )


class SingleSentence:
    """A dialogue of one sentence: where that is one command, its policy asks while it is carried out.

    Args:
        setup: Parts that it is made of.
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
        heard = self._talk.understood(words, pointed)
        acts = [act_of(act) for act in heard.plan if _stands_alone(act)]
        quoted = f'"{plain_line(words)}"'
        sentence, refused = words, ""
        if heard.code is not None:
            refused = f"{heard.code}: {heard.answer}"
        elif len(heard.plan) == len(acts) == 1 and isinstance(acts[0], Deed) and not heard.asks:
            sentence = say_act(acts[0].plan)
        elif len(heard.plan) == len(acts) == 1 and isinstance(acts[0], FollowUp):
            goes_on = ToolError(ErrorCode.NOT_UNDERSTOOD, f"Nothing was said before that {quoted} could go on with.")
            error = nothing_to_stop(quoted) if acts[0].kind == "stop" else goes_on
            refused = f"{error.code}: {error}"
        else:
            return self._talk.say(words, pointed)
        # A refusal as a policy: its run has a report and a verdict like any other.
        said = "That is not a command I can carry out."
        policy = FixedCalls("refusal", lambda: at_once(said, refused), self._setup.protocol) if refused else None
        episode = self._setup.run(SessionCommand(sentence, policy))
        return SessionTurn(episode.answer, episode.success, episode.error_code, (episode,))


def _stands_alone(act: PlanAct) -> bool:
    """Whether a policy can do an act without a look before it, and without what is remembered."""
    others = any(ref.quantity in ("the other", "another") for ref in objects_of(act))
    return not (act.condition or act.otherwise or others or any(part.kind == "was" for part in act.place))


RULES = SessionKind(dialogue, SingleSentence, lambda toolbox, robot, answered: toolbox)
"""The session of the scripted policy, and of others that read commands by its grammar."""
