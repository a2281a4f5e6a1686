"""What a context has told a policy: which moves the tools would run now, and what may truly be said.

`Known` reads a context token by token and keeps `Possible`, which `agent_node.policies.tiny.grammar` asks.
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
"""A picture that has so many newer ones is kept no more [-]; almost every answer brings one."""
_POINTERS = frozenset(v.POINTERS)
_STRANGE = str(ErrorCode.NOT_RECOGNISED)
"""What a pointer answers to words that it does not know."""
_MISSES = 4
"""So many answers that it is not there, of different pointers or pictures, are believed [-]; chosen by hand. The erring
world makes one of its pointers miss one thing in twenty, the other one in ten."""
_NOT_UNDERSTOOD, _AMBIGUOUS, _UNSEEN, _DID_NOT_WORK = map(
    str, (ErrorCode.NOT_UNDERSTOOD, ErrorCode.AMBIGUOUS, ErrorCode.OBJECT_NOT_FOUND, ErrorCode.EXECUTION_FAILED)
)
_EMPTY_MEANS: dict[str, str] = {
    v.POINT: _UNSEEN, v.ROOM: _UNSEEN, v.TAKE: ErrorCode.EMPTY_MASK, v.NEXT: ErrorCode.NO_GRASP,
}  # fmt: skip
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
class Possible:
    """Which moves the tools would run, and which reasons of a refusal are true.

    Attributes:
        things: Registers of points that were asked for with POINT since the newest look.
        rooms: Those of ROOM, without those where something could not be put down.
        planned: The plan's place, before anything else, is over.
        placing: The plan says where to; None where there is no plan.
        holding: The hand holds something; None where nothing told.
        put_down: And it has put something down since the operator spoke, and taken nothing up after it.
        unknowing: Pointers who do not know the words of what is asked for, and nothing has moved since they said so.
        missed: Both pointers have not found it, in more than one picture, and nothing has moved since.
        outlined: There is an outline, so that a next grasp can be asked for.
        graspable: There is a grasp that was not tried yet.
        answered: A move and its pointer who was asked the same as often in a row as the tools answer; else ().
        kept: Moves about the newest picture of the camera can be called: it is not too old.
        worded: The operator said a word that can be asked for.
        relations: Tokens of the places that can be said in the operator's words.
        codes: Of REASONS, that answers have given since the newest look, and nothing has mended since. A motion
            that failed once is to be tried anew: its code is here from the second failure on.
        doubtful: What the newest question asks for was pointed at in two places, or by one pointer and not by the
            other, or where it does not look like it.
        failed: Two motions, or more, have failed since the operator spoke, or tools with errors of the system.
    """

    things: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()
    planned: bool = False
    placing: bool | None = None
    holding: bool | None = None
    put_down: bool = False
    unknowing: frozenset[str] = frozenset()
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
        return _POINTERS - self.unknowing - frozenset(self.answered[1:] if self.answered[:1] == (v.POINT,) else ())

    @property
    def reasons(self) -> frozenset[str]:
        """What a refusal may say: what is true by what the tools have told."""
        if self.hopeless:
            return frozenset({_STRANGE if self.unknowing == _POINTERS else _UNSEEN})
        may = {
            _NOT_UNDERSTOOD: not self.planned, _AMBIGUOUS: self.doubtful,
            # Whether what is held was meant no tool says.
            _DID_NOT_WORK: self.failed or bool(self.holding),
        }  # fmt: skip
        return self.codes | {code for code, true in may.items() if true}

    @property
    def hopeless(self) -> bool:
        """No pointer knows what is asked for, or finds it, and nothing is held: what is left is to say so."""
        return (self.unknowing == _POINTERS or self.missed) and not self.things and not self.holding

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
class Known:
    """What a context has told after some of its tokens.

    Attributes:
        possible: What may be called.
        said: The operator's sentences.
        moved: How the policy's newest move begins.
        register: The newest one that was named.
        told: The newest one that was told.
        blocked: Those of ROOM, since the newest look, where something could not be put down.
        newer: Pictures since the newest one of the camera.
        same: The next register is where a point of before is.
        pointed: This answer has given points.
        plan: Of what the operator said last; None before it.
        turn: What the policy has written of its newest turn, or all of it.
        before: The turn before that one.
        times: How often that one came in a row.
        asked: POINT or ROOM, whichever was asked newest.
        places: Different ones that its answers since the newest look have given.
        nowhere: One of those answers had none.
        unlike: One of those points does not look like what was asked for.
        looks: Of the policy.
        misses: (pointer, look) where it was not found, since something moved or was pointed at.
        failures: Motions that have failed since the operator spoke, and errors that are no reason to give.
    """

    possible: Possible = Possible()
    said: Quotation = field(default_factory=Quotation)
    moved: str = ""
    register: str = ""
    told: str = ""
    blocked: frozenset[str] = frozenset()
    newer: int = 0
    same: bool = False
    pointed: bool = False
    plan: Plan | None = None
    turn: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    times: int = 0
    asked: str = ""
    places: int = 0
    nowhere: bool = False
    unlike: bool = False
    looks: int = 0
    misses: frozenset[tuple[str, int]] = frozenset()
    failures: int = 0

    def read(self, token: str, own: bool) -> None:
        """Go on by a token, which the policy wrote or was told."""
        if own:
            self._count(token)
        now = self.possible
        if own:
            if token in v.MOVES:
                self.moved = token
                now = replace(now, planned=True)
            if token in (v.POINT, v.ROOM) and token != self.asked:
                self.asked = token
                self._ask_anew()
            self.looks += token == v.LOOK
            if token in (v.GRASP, v.PLACE):
                now, self.misses = replace(now, unknowing=frozenset(), missed=False), frozenset()
            if token in (v.TAKE, v.NEXT, v.GRASP):
                now = replace(now, graspable=False, outlined=now.outlined and token != v.TAKE)
            self.register = token if token in _REGISTERS else self.register
        elif token in _REGISTERS:
            self.places += -1 if self.same else 1
            now, self.misses = replace(now, codes=now.codes - {_UNSEEN}, missed=False), frozenset()
            if self.same and token in self.blocked:
                now = self._without(now, self.told)
            elif not self.same and self.moved == v.POINT:
                now = replace(now, things=now.things | {token})
            elif not self.same and self.moved == v.ROOM:
                now = replace(now, rooms=now.rooms | {token})
            self.told = self.told if self.same else token
        elif token == v.TASK:
            now, self.plan = replace(now, planned=False, placing=None, put_down=False, unknowing=frozenset()), None
            now, self.failures = replace(now, codes=frozenset(), failed=False, missed=False), 0
            self.misses = frozenset()
            self._ask_anew()
            self.said = self.said.heard(token)
        elif token == v.SEE:
            self.newer = 0
            if self.moved == v.LOOK:  # registers begin anew, see `context.ContextReader`
                now, self.blocked = replace(now, things=frozenset(), rooms=frozenset(), codes=frozenset()), frozenset()
                self._ask_anew()
        elif token == v.OK and self.moved in (v.TAKE, v.NEXT):
            now = replace(now, outlined=True, graspable=now.outlined)  # the outline's, then the grasp's
            now = replace(now, codes=now.codes - _OF_OUTLINES if now.graspable else now.codes)
        elif token == v.HOLDS:
            now = replace(now, holding=True, put_down=False, codes=frozenset())
        elif token == v.PLACED:
            now = replace(now, holding=False, put_down=True)
        elif token in _ERRORS:
            if token == _STRANGE and self.moved == v.POINT:
                now = replace(now, unknowing=now.unknowing | _POINTERS.intersection(self.before))
            if self.moved == v.PLACE:
                now = self._without(now, self.register)
            now = self._failed(replace(now, holding=False if token in _LET_GO else now.holding), token)
        elif token == v.EMPTY:
            now = self._failed(now, _EMPTY_MEANS.get(self.moved, ""))
        elif token == v.UNLIKE:
            self.unlike = True
        elif token not in v.FIXED or token in _SLOTS:
            self.said = self.said.heard(token)
        elif token == v.GO and self.said.said:
            now = replace(now, worded=bool(self.said.begun().nexts), relations=_places(self.said))
        if not own and (token == v.OK or (token in _POINTED and not self.pointed)):
            self.newer += 1
        self.pointed = not own and (self.pointed or token in _REGISTERS)
        doubtful = self.places > 1 or (self.places == 1 and self.nowhere) or self.unlike
        now = now if doubtful == now.doubtful else replace(now, doubtful=doubtful)
        kept = self.newer < _NEWER
        self.possible, self.same = now if kept == now.kept else replace(now, kept=kept), token == v.SAME

    def _failed(self, now: Possible, code: str) -> Possible:
        """A tool has answered with an error."""
        self.nowhere = self.nowhere or (self.moved in (v.POINT, v.ROOM) and code == _UNSEEN)
        if self.moved == v.POINT and code == _UNSEEN:
            self.misses |= {(pointer, self.looks) for pointer in _POINTERS.intersection(self.before)}
            both = {pointer for pointer, _ in self.misses} == _POINTERS
            now = replace(now, missed=both and len(self.misses) >= _MISSES)
        motion = self.moved in (v.GRASP, v.PLACE)
        self.failures += motion or code not in REASONS
        now = replace(now, failed=self.failures > 1)
        if code not in REASONS or (motion and not now.failed) or (code == _UNSEEN and self.places):
            return now
        return replace(now, codes=now.codes | {code})

    def _ask_anew(self) -> None:
        """Nothing was answered yet: another thing is asked for, or it is seen anew."""
        self.places, self.nowhere, self.unlike = 0, False, False

    def _without(self, now: Possible, room: str) -> Possible:
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
                self.possible = replace(self.possible, placing=bool(self.plan.relation))
            self.times = self.times + 1 if self.turn == self.before else 1
            again = self.times >= _ANSWERED and self.turn[0] in (v.POINT, v.ROOM)
            self.possible = replace(self.possible, answered=self.turn[:2] if again else ())
            self.before, self.turn = self.turn, ()


@lru_cache(maxsize=256)
def _places(said: Quotation) -> frozenset[str]:
    """Tokens of the places that can be said in these words."""
    referred = set(v.RELATION_TOKENS) - {_ANYWHERE, _BETWEEN} if said.begun().nexts else set()
    return frozenset({_ANYWHERE} | referred | ({_BETWEEN} if said.first_of_two().nexts else set()))
