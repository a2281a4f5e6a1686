"""Recovery of the agent when a command does not go as meant: the same rules for every policy.

| what happens | note to the policy | what else |
|---|---|---|
| a call fails, or cannot be read | the error, its code and its hint | no motion of the turn is run; what it was to \
make is gone |
| a motion fails | as above, and what to do first | the rest of the turn is not run |
| a motion is stopped or cancelled, or the arm was stopped meanwhile | nothing | the command ends |
| the same motion call after it failed, without a look | that it must look first | it is not run |
| something moved since the newest image | SCENE_CHANGED: it has moved, look again | the motion is not run |
| the same call gives the same answer as before | that nothing is new | after `same_results` the command ends |
| a malformed turn, too many calls, too long a text | what is wrong | none runs; after `malformed_turns` it ends |
| calls that the protocol ignores | how many | they are logged |
| reasoning alone | to go on | |
| where an operator listens, words alone after an order | that nothing was called | the same again is the answer |
| one turn is left | that it must answer | |
| no turn is left | | TURN_BUDGET, with what was achieved |

A look is a call that succeeds, moves nothing and may give another result each time; notes name the one that is offered
(`toolhand.tool_nodes.toolbox.scene_look`). What was achieved is what the tools reported; the policy's own words never
enter into it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.protocol import NOT_RUN
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.toolbox.scene_look import look_of
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Tools
from toolhand.tool_nodes.types import Frame

logger = logging.getLogger("toolhand.agent")

LAST_TURN = "One turn is left: it must answer."
"""Note beside the answers to the last turn but one."""

NOTHING_CALLED = "Nothing was called: call a tool now, or give the answer again if the words alone are all of it."
"""Note after a first turn of words alone."""

_KNOWN = {
    ErrorCode.ALREADY_HOLDING: "The gripper is full; place what it holds before the next grasp.",
    ErrorCode.PLACE_BLOCKED: "The object is still held; choose another point on a new picture.",
}
"""Notes on failures after which objects stand as they are known to."""
_NOT_CERTAIN = ("What is held is not certain", "find the object again")
_LOOK_ANEW = {
    ErrorCode.GRIPPER_EMPTY: ("The gripper holds nothing", "find the object again"),
    ErrorCode.OBJECT_DROPPED: ("The object lies somewhere else now", "find it again"),
    ErrorCode.WRONG_OBJECT: ("Something else is held", "put it down where there is room"),
    ErrorCode.NOT_HOLDING: ("The gripper holds nothing", "grasp the object"),
    **dict.fromkeys((ErrorCode.EXECUTION_FAILED, ErrorCode.CONTROLLER_FAULT, ErrorCode.TIMEOUT), _NOT_CERTAIN),
    ErrorCode.SCENE_CHANGED: ("Something has moved", "find and plan everything anew"),
}
"""Failures after which a new image is needed: what is known, and what to do with that image."""

_PASSING = frozenset({ErrorCode.UNAVAILABLE})
"""A motion that failed so may be tried again at once: looking would change nothing."""
NOT_BEGUN = frozenset(
    {
        ErrorCode.INVALID_ARGUMENT,
        ErrorCode.UNKNOWN_TOOL,
        ErrorCode.NOT_APPROVED,
        ErrorCode.IK_FAILED,
        ErrorCode.PLAN_FAILED,
        ErrorCode.SCENE_CHANGED,
        ErrorCode.OUT_OF_WORKSPACE,
        ErrorCode.UNAVAILABLE,
        ErrorCode.NO_GRASP,
        ErrorCode.ALREADY_HOLDING,
    }
)
"""Failures of a motion before anything moved."""
ENDED_BY_A_PERSON = frozenset({ErrorCode.STOPPED, ErrorCode.CANCELLED})
"""A motion that ended so was ended by a person: what goes on after it is for a person to say."""
_EMPTY = frozenset({ErrorCode.GRIPPER_EMPTY, ErrorCode.OBJECT_DROPPED, ErrorCode.NOT_HOLDING})


@dataclass(frozen=True)
class Recovery:
    """What is done about failures.

    Attributes:
        hints: A failed motion, and a call that gives nothing new, add a note for the policy.
        look_before_retry: The same motion call is not run again after it failed until there was a look.
        check_scene: Before a motion a fresh image is compared with the newest one of the conversation.
        go_on: A turn of reasoning alone is answered by a note.
        announce_last_turn: A note says when one turn is left.
        same_results: The command ends when the same call has given the same answer so many times in a row.
        malformed_turns: The command ends after so many malformed turns in a row.
        giveup_code: The code of such an end.
        calls_in_a_turn: A turn with more calls is malformed.
        turn_characters: A longer turn is malformed.
        heard: An operator hears the words: an answer that ends with a question mark asks them, and words alone in the
            first turn are put once more, with the note that nothing was called; see `asking.may_be_unfinished`.
    """

    hints: bool = True
    look_before_retry: bool = True
    check_scene: bool = True
    go_on: bool = True
    announce_last_turn: bool = True
    same_results: int = 6
    malformed_turns: int = 5
    giveup_code: ErrorCode = ErrorCode.TURN_BUDGET
    calls_in_a_turn: int = 16
    turn_characters: int = 200_000
    heard: bool = False


@dataclass
class RecoveryState:
    """State of one command, as far as recovery needs it.

    Args:
        rules: Rules for failures.
        toolbox: The tools.
        session: The conversation's images, variables and history.
    """

    rules: Recovery
    toolbox: Tools
    session: Session
    _failed: list[tuple[Any, list[Any]]] = field(default_factory=list)
    _last: tuple[str, str] = ("", "")
    _same: int = 0
    _malformed: int = 0

    def fork(self, toolbox: Tools, session: Session) -> RecoveryState:
        """The same state of a conversation that goes on with other tools and a session of its own."""
        return replace(self, toolbox=toolbox, session=session, _failed=list(self._failed))

    def refusal(self, call: ToolCall) -> ToolError | None:
        """Why a call is not run now; None if it may run."""
        if not self.toolbox.is_motion(call.name):
            return None
        key, _ = self._key(call)
        if self.rules.look_before_retry and any(key == failed for failed, _ in self._failed):
            first = self._look_first()
            return invalid(f"{NOT_RUN} this same motion has failed, and there was no look since; {first}.")
        if self.rules.check_scene and self._scene_has_changed():
            moved = f"{NOT_RUN} something on the table has moved since the newest picture"
            then = _LOOK_ANEW[ErrorCode.SCENE_CHANGED][1]
            return ToolError(ErrorCode.SCENE_CHANGED, f"{moved}; {self._look_first()}, and {then}.")
        return None

    def _look_first(self) -> str:
        look = look_of(self.toolbox.specs)
        return f"take a new picture{f' with {look}' if look else ''} before the next motion"

    def _scene_has_changed(self) -> bool:
        seen, look = _newest(self.session), look_of(self.toolbox.specs)
        if seen is None or not look:
            return False
        fresh = Session(calls=None)
        record = self.toolbox.call(look, {}, fresh)
        now = _newest(fresh)
        if not record.result.ok or now is None or now is seen or now.camera != seen.camera:
            return False  # a camera that fails is for the motion to report
        return changed(seen, now)

    def note(self, call: ToolCall, record: CallRecord) -> str:
        """Note for the policy beside the tool's own words; empty if none."""
        error = record.result.error
        spec = self.toolbox.specs.get(record.name)
        if record.motion:
            if error is None:
                self._failed.clear()
            elif error.code not in _PASSING:
                self._failed.append(self._key(call))
        elif error is None and spec is not None and spec.repeatable:
            self._failed.clear()
        repeated = self._count(call, record.result.text)
        if not self.rules.hints:
            return ""
        if record.motion and error is not None:
            return self._hint(error.code, record.image_index is not None)
        if repeated > 1 and error is None and self.session.history.times < 2:  # else the toolbox has said so
            return f"This is the same call with the same answer, {repeated} times in a row; nothing is new."
        return ""

    def _hint(self, code: ErrorCode, shown: bool) -> str:
        """Note on a failed motion, which may have answered with an image of now; "" if none."""
        found = _LOOK_ANEW.get(code, _NOT_CERTAIN if shown else None)
        if code in _KNOWN or found is None:
            return _KNOWN.get(code, "")
        known, then = found
        if shown:
            return f"{known}; the new picture shows how things stand now: {then} in it."
        return f"{known}; {self._look_first()}, and {then}."

    def refused(self, call: ToolCall, words: str) -> None:
        """Count a call that was not run."""
        self._count(call, words)

    def turn_ended(self, malformed: bool) -> None:
        """Count a turn. Raises ToolError with the code `giveup_code` where the policy gets nowhere."""
        rules = self.rules
        self._malformed = self._malformed + 1 if malformed else 0
        if self._malformed >= rules.malformed_turns:
            raise ToolError(rules.giveup_code, f"The last {self._malformed} turns of the policy were malformed.")
        if self._same >= rules.same_results:
            raise ToolError(
                rules.giveup_code, f"The policy made the same call {self._same} times in a row, with the same answer."
            )

    def _count(self, call: ToolCall, words: str) -> int:
        key = (f"{call.name} {_json(call.arguments)}", words)
        self._same = self._same + 1 if key == self._last else 1
        self._last = key
        return self._same

    def _key(self, call: ToolCall) -> tuple[Any, list[Any]]:
        """What makes a call the same as another, and the values whose identity that is: they must stay alive."""
        name = self.toolbox.find(call.name).name
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        texts = (value for value in arguments.values() if isinstance(value, str) and value.startswith("$"))
        held = [self.session.variables.get(text[1:]) for text in texts]
        return (name, _json(call.arguments), tuple(map(id, held))), held


def ends_the_command(record: CallRecord) -> bool:
    """True after a call that no policy has a say about: the system failed inside, or a person stopped the robot."""
    error = record.result.error
    if error is None:
        return False
    return error.code is ErrorCode.INTERNAL or (record.motion and error.code in ENDED_BY_A_PERSON)


def malformed(rules: Recovery, text: str) -> str:
    """What is wrong with a turn that is too long to be read; empty if nothing."""
    if len(text) <= rules.turn_characters:
        return ""
    return f"a turn may have {rules.turn_characters:,} characters, this one has {len(text):,}"


def too_many_calls(rules: Recovery, calls: Sequence[ToolCall]) -> str:
    """What is wrong with the number of a turn's calls; empty if nothing."""
    if len(calls) <= rules.calls_in_a_turn:
        return ""
    return f"a turn may hold {rules.calls_in_a_turn} calls, this one holds {len(calls)}, and none was run"


def ignored_calls_note(count: int) -> str:
    """Note for the policy on calls that its protocol ignores, which are logged too; empty if there are none."""
    if not count:
        return ""
    logger.warning("ignored %d calls after the first one of a turn", count)
    calls = "1 further call of this turn was" if count == 1 else f"{count} further calls of this turn were"
    return f"{calls} ignored: write one call a turn."


def summarize_progress(records: Sequence[CallRecord]) -> str:
    """What the motions of a command came to, as the tools reported it, in one sentence."""
    motions = [record for record in records if record.motion]
    codes = [None if record.result.error is None else record.result.error.code for record in motions]
    if all(code in NOT_BEGUN for code in codes):
        return "Nothing has moved."
    done = codes.count(None)
    return f"No further motion is begun; {done} of {len(codes)} motions succeeded, and {_holding(motions)}."


def _holding(motions: Sequence[CallRecord]) -> str:
    """What the gripper holds after some motions; one that failed before anything moved says nothing."""
    for record in reversed(motions):
        error = record.result.error
        facts = record.result.facts
        if facts.get("placed") or (error is not None and error.code in _EMPTY):
            return "the gripper is empty"
        if facts.get("grasped"):
            return "the gripper holds an object"
        if error is not None and error.code is ErrorCode.WRONG_OBJECT:
            return "the gripper holds an object that was not meant"
        if error is not None and error.code is ErrorCode.PLACE_BLOCKED:
            continue  # what was held is still held
        if error is None or error.code not in NOT_BEGUN:
            break
    return "whether the gripper holds something is not known"


def _newest(session: Session) -> Frame | None:
    """The newest frame that a tool of the robot has captured, or that an image is of."""
    return session.seen if session.seen is not None else session.newest_frame()


def _json(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__} that JSON cannot hold"
