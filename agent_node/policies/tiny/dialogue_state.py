"""The state of a dialogue: which moves the tools would run now, and what may truly be said.

`DialogueState` reads a context token by token and keeps `ActionMask`, which `agent_node.policies.tiny.grammar` asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

from agent_node.context_window import Memory
from agent_node.policies.tiny import vocabulary as v
from agent_node.policies.tiny.dialect import REASONS, Plan, parse_move
from agent_node.policies.tiny.quotation import Quotation
from tool_nodes.results import ErrorCode
from tool_nodes.toolbox.limits import CallLimits

_ANSWERED = CallLimits().repeats
"""So often in a row the tools answer the same question."""
_LOOKS_AT = frozenset({v.POINT, v.ROOM, v.TAKE, v.NEXT})
"""Moves about the newest picture of the camera."""
_NEWER = Memory().pictures
"""Newer pictures after which one is dropped [-]; almost every answer brings one."""
_POINTERS = frozenset(v.POINTERS)
_STRANGE = str(ErrorCode.NOT_RECOGNISED)
"""What a pointer answers to words that it does not know."""
_MISSES = 4
"""Answers of different pointers or pictures from which on it is believed that a thing is not there [-]. The erring
world makes one of its pointers miss one thing in twenty, the other one in ten."""
_NOT_UNDERSTOOD, _AMBIGUOUS, _UNSEEN, _DID_NOT_WORK = map(
    str, (ErrorCode.NOT_UNDERSTOOD, ErrorCode.AMBIGUOUS, ErrorCode.OBJECT_NOT_FOUND, ErrorCode.EXECUTION_FAILED)
)
_EMPTY_MEANS: dict[str, str] = {
    v.POINT: _UNSEEN,
    v.ROOM: _UNSEEN,
    v.TAKE: ErrorCode.EMPTY_MASK,
    v.NEXT: ErrorCode.NO_GRASP,
}
"""What an answer without anything is called, by the move."""
_OF_OUTLINES = frozenset(map(str, (ErrorCode.EMPTY_MASK, ErrorCode.NO_DEPTH, ErrorCode.NO_GRASP)))
"""What an outline with a grasp mends."""
_ANYWHERE, _BETWEEN = (
    next(token for token, name in v.RELATION_TOKENS.items() if name == relation) for relation in ("anywhere", "between")
)
_REGISTERS = frozenset(f"p{k}" for k in range(1, v.REGISTERS + 1))
_POINTED = _REGISTERS | {v.MORE}
"""An answer of a pointer has one of these, and a picture."""
_ERRORS = frozenset(v.CODES)
_LET_GO = frozenset(map(str, (ErrorCode.OBJECT_DROPPED, ErrorCode.NOT_HOLDING, ErrorCode.GRIPPER_EMPTY)))
"""After these the hand is empty."""
_SLOTS = frozenset(f"[w{k}]" for k in range(1, v.SLOTS + 1))


@dataclass(frozen=True)
class ActionMask:
    """Which moves the tools would run, and which reasons of a refusal are true.

    Attributes:
        things: Registers of points that were asked for with POINT since the newest look.
        rooms: Those of ROOM, without those where something could not be put down.
        planned: The plan's place, before anything else, is over.
        placing: The plan says where to; None where there is no plan.
        holding: The hand holds something; None where no answer said so.
        put_down: And it has put something down since the operator spoke, and taken nothing up after it.
        unrecognised_by: Pointers who do not know the words of what is asked for, and nothing has moved since they
            said so.
        missed: Both pointers have not found it, in more than one picture, and nothing has moved since.
        outlined: There is an outline, so that a next grasp can be asked for.
        graspable: There is a grasp that was not tried yet.
        answered: A move and its pointer who was asked the same as often in a row as the tools answer; else ().
        kept: Moves about the newest picture of the camera can be called: it is not too old.
        worded: The operator said a word that can be asked for.
        relations: Tokens of the places that can be said in the operator's words.
        codes: Keys of REASONS that answers have given since the newest look, and nothing has mended since. A motion
            that failed once is to be tried anew: its code is here from the second failure on.
        doubtful: The thing of the newest question was pointed at in two places, or by one pointer and not by the other,
            or where it does not look like it.
        failed: Two motions, or more, have failed since the operator spoke, or tools with errors of the system.
    """

    things: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()
    planned: bool = False
    placing: bool | None = None
    holding: bool | None = None
    put_down: bool = False
    unrecognised_by: frozenset[str] = frozenset()
    missed: bool = False
    outlined: bool = False
    graspable: bool = False
    answered: tuple[str, ...] = ()
    kept: bool = True
    worded: bool = False
    relations: frozenset[str] = frozenset({_ANYWHERE})
    codes: frozenset[str] = frozenset()
    doubtful: bool = False
    failed: bool = False

    @property
    def askable(self) -> frozenset[str]:
        """Pointers who can be asked for the thing: who know its words, and were not asked for it too often in a row."""
        return (
            _POINTERS - self.unrecognised_by - frozenset(self.answered[1:] if self.answered[:1] == (v.POINT,) else ())
        )

    @property
    def reasons(self) -> frozenset[str]:
        """What a refusal may say: what is true by what the tools have said."""
        if self.hopeless:
            return frozenset({_STRANGE if self.unrecognised_by == _POINTERS else _UNSEEN})
        may = {
            _NOT_UNDERSTOOD: not self.planned,
            _AMBIGUOUS: self.doubtful,
            # Whether what is held was meant no tool says.
            _DID_NOT_WORK: self.failed or bool(self.holding),
        }
        return self.codes | {code for code, true in may.items() if true}

    @property
    def hopeless(self) -> bool:
        """No pointer knows what is asked for, or finds it, and nothing is held: what is left is to say so."""
        return (self.unrecognised_by == _POINTERS or self.missed) and not self.things and not self.holding

    @property
    def ended(self) -> bool:
        """The tools have said what the end of the plan is: a thing in the hand, or one put down."""
        if self.placing is None:
            return bool(self.holding) or self.put_down
        return self.put_down if self.placing else bool(self.holding)

    def allows(self, move: str) -> bool:
        """Whether a move may be called."""
        if self.hopeless:
            return move == v.REFUSE
        if move in _LOOKS_AT and not self.kept:
            return False
        match move:
            case v.PLAN:
                return self.worded and not self.planned
            case v.POINT:
                return self.worded and bool(self.askable)
            case v.TAKE:
                return bool(self.things)
            case v.PLACE:
                return bool(self.rooms) and self.holding is not False
            case v.NEXT:
                return self.outlined
            case v.GRASP:
                return self.graspable and not self.holding
            case v.ROOM:
                return self.placing is not False
            case v.DONE:
                return self.ended
            case v.REFUSE:
                return bool(self.reasons)
        return True


@dataclass
class DialogueState:
    """The state of a dialogue after some of its tokens.

    Attributes:
        actions: Calls that may be made.
        said: The operator's sentences.
        newest_move: How the policy's newest move begins.
        named_register: The newest one that the policy named.
        newest_register: The newest one that an answer gave.
        blocked: Those of ROOM, since the newest look, where something could not be put down.
        newer_pictures: Pictures since the newest one of the camera.
        same_place: The next register is where a point of before is.
        pointed: This answer has given points.
        plan: Plan of the operator's last sentence; None before it.
        turn: Tokens of the policy's newest turn so far.
        previous_turn: The turn before that one.
        repeats: How often that one came in a row.
        newest_question: POINT or ROOM, whichever was asked newest.
        distinct_places: Different ones that its answers since the newest look have given.
        some_answer_empty: One of those answers had none.
        some_point_unlike: One of those points does not look like what was asked for.
        looks: Number of looks of the policy.
        misses: (pointer, look) where it was not found, since something moved or was pointed at.
        failures: Motions that have failed since the operator spoke, and errors that are no reason to give.
    """

    actions: ActionMask = ActionMask()
    said: Quotation = field(default_factory=Quotation)
    newest_move: str = ""
    named_register: str = ""
    newest_register: str = ""
    blocked: frozenset[str] = frozenset()
    newer_pictures: int = 0
    same_place: bool = False
    pointed: bool = False
    plan: Plan | None = None
    turn: tuple[str, ...] = ()
    previous_turn: tuple[str, ...] = ()
    repeats: int = 0
    newest_question: str = ""
    distinct_places: int = 0
    some_answer_empty: bool = False
    some_point_unlike: bool = False
    looks: int = 0
    misses: frozenset[tuple[str, int]] = frozenset()
    failures: int = 0

    def update(self, token: str, from_policy: bool) -> None:
        """Take one more token, which the policy wrote or a tool or the operator said."""
        if from_policy:
            self._count(token)
        now = self.actions
        if from_policy:
            if token in v.MOVES:
                self.newest_move = token
                now = replace(now, planned=True)
            if token in (v.POINT, v.ROOM) and token != self.newest_question:
                self.newest_question = token
                self._ask_anew()
            self.looks += token == v.LOOK
            if token in (v.GRASP, v.PLACE):
                now, self.misses = replace(now, unrecognised_by=frozenset(), missed=False), frozenset()
            if token in (v.TAKE, v.NEXT, v.GRASP):
                now = replace(now, graspable=False, outlined=now.outlined and token != v.TAKE)
            self.named_register = token if token in _REGISTERS else self.named_register
        elif token in _REGISTERS:
            self.distinct_places += -1 if self.same_place else 1
            now, self.misses = replace(now, codes=now.codes - {_UNSEEN}, missed=False), frozenset()
            if self.same_place and token in self.blocked:
                now = self._without(now, self.newest_register)
            elif not self.same_place and self.newest_move == v.POINT:
                now = replace(now, things=now.things | {token})
            elif not self.same_place and self.newest_move == v.ROOM:
                now = replace(now, rooms=now.rooms | {token})
            self.newest_register = self.newest_register if self.same_place else token
        elif token == v.TASK:
            now, self.plan = (
                replace(now, planned=False, placing=None, put_down=False, unrecognised_by=frozenset()),
                None,
            )
            now, self.failures = replace(now, codes=frozenset(), failed=False, missed=False), 0
            self.misses = frozenset()
            self._ask_anew()
            self.said = self.said.heard(token)
        elif token == v.SEE:
            self.newer_pictures = 0
            if self.newest_move == v.LOOK:  # registers begin anew, see `context.ContextReader`
                now, self.blocked = replace(now, things=frozenset(), rooms=frozenset(), codes=frozenset()), frozenset()
                self._ask_anew()
        elif token == v.OK and self.newest_move in (v.TAKE, v.NEXT):
            now = replace(now, outlined=True, graspable=now.outlined)  # the outline's, then the grasp's
            now = replace(now, codes=now.codes - _OF_OUTLINES if now.graspable else now.codes)
        elif token == v.HOLDS:
            now = replace(now, holding=True, put_down=False, codes=frozenset())
        elif token == v.PLACED:
            now = replace(now, holding=False, put_down=True)
        elif token in _ERRORS:
            if token == _STRANGE and self.newest_move == v.POINT:
                now = replace(now, unrecognised_by=now.unrecognised_by | _POINTERS.intersection(self.previous_turn))
            if self.newest_move == v.PLACE:
                now = self._without(now, self.named_register)
            now = self._failed(replace(now, holding=False if token in _LET_GO else now.holding), token)
        elif token == v.EMPTY:
            now = self._failed(now, _EMPTY_MEANS.get(self.newest_move, ""))
        elif token == v.UNLIKE:
            self.some_point_unlike = True
        elif token not in v.FIXED or token in _SLOTS:
            self.said = self.said.heard(token)
        elif token == v.GO and self.said.said:
            now = replace(now, worded=bool(self.said.begun().nexts), relations=_places(self.said))
        if not from_policy and (token == v.OK or (token in _POINTED and not self.pointed)):
            self.newer_pictures += 1
        self.pointed = not from_policy and (self.pointed or token in _REGISTERS)
        doubtful = (
            self.distinct_places > 1 or (self.distinct_places == 1 and self.some_answer_empty) or self.some_point_unlike
        )
        now = now if doubtful == now.doubtful else replace(now, doubtful=doubtful)
        kept = self.newer_pictures < _NEWER
        self.actions, self.same_place = now if kept == now.kept else replace(now, kept=kept), token == v.SAME

    def _failed(self, now: ActionMask, code: str) -> ActionMask:
        """A tool has answered with an error."""
        self.some_answer_empty = self.some_answer_empty or (self.newest_move in (v.POINT, v.ROOM) and code == _UNSEEN)
        if self.newest_move == v.POINT and code == _UNSEEN:
            self.misses |= {(pointer, self.looks) for pointer in _POINTERS.intersection(self.previous_turn)}
            both = {pointer for pointer, _ in self.misses} == _POINTERS
            now = replace(now, missed=both and len(self.misses) >= _MISSES)
        motion = self.newest_move in (v.GRASP, v.PLACE)
        self.failures += motion or code not in REASONS
        now = replace(now, failed=self.failures > 1)
        if code not in REASONS or (motion and not now.failed) or (code == _UNSEEN and self.distinct_places):
            return now
        return replace(now, codes=now.codes | {code})

    def _ask_anew(self) -> None:
        """Nothing was answered yet: another thing is asked for, or it is seen anew."""
        self.distinct_places, self.some_answer_empty, self.some_point_unlike = 0, False, False

    def _without(self, now: ActionMask, room: str) -> ActionMask:
        """Nothing more is put down at that register."""
        self.blocked |= {room}
        return replace(now, rooms=now.rooms - {room})

    def _count(self, token: str) -> None:
        """Notice the same turn again."""
        self.turn += (token,)
        if token == v.END:
            move = parse_move(self.turn[:-1]) if self.turn[0] == v.PLAN else None
            if move is not None and move.plan is not None:
                self.plan = move.plan
                self.actions = replace(self.actions, placing=bool(self.plan.relation))
            self.repeats = self.repeats + 1 if self.turn == self.previous_turn else 1
            again = self.repeats >= _ANSWERED and self.turn[0] in (v.POINT, v.ROOM)
            self.actions = replace(self.actions, answered=self.turn[:2] if again else ())
            self.previous_turn, self.turn = self.turn, ()


@lru_cache(maxsize=256)
def _places(said: Quotation) -> frozenset[str]:
    """Tokens of the places that can be said in these words."""
    referred = set(v.RELATION_TOKENS) - {_ANYWHERE, _BETWEEN} if said.begun().nexts else set()
    return frozenset({_ANYWHERE} | referred | ({_BETWEEN} if said.first_of_two().nexts else set()))
