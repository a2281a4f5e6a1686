"""Which tokens may come next in a turn: the dialect's grammar, for guided sampling.

A turn of guided tokens is a move that can be called: what is taken is a point of a thing, and what is put down goes to
a point of free room, both since the newest look; a plan comes before anything else, its phrases are quoted from what
the operator said, word after word, and what is asked for is what was planned; a grasp is executed once there is one and
the hand is empty, a motion that failed is not tried again as it was, nobody is asked the same more often in a row than
the tools answer, or about a picture that is kept no more, or again for words that he has said he does not know, and no
token comes where it means nothing. Nothing is called done that the tools have not said: the hand holds something, or
where the plan has a place something was put down. What else a move is worth is not the grammar's to say. The
distribution that a guided policy samples from, and that its trainer moves, is over the tokens that are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agent_node.memory import Memory
from agent_node.policies.tiny import vocabulary as v
from agent_node.policies.tiny.dialect import REASONS, Plan, parse_move
from agent_node.policies.tiny.quotation import AND, Quotation
from agent_node.policies.tiny.vocabulary import Tokens, Vocabulary
from tool_nodes.results import ErrorCode
from tool_nodes.toolbox.limits import CallLimits
from tool_nodes.types import BoolArray

_State = Literal[
    "turn", "move", "phrase", "more or place", "more or and", "more or move", "more or end", "asked", "asked for room",
    "relation", "thing", "room", "reason", "end",
]  # fmt: skip
"""Where in a turn the next token stands; "more" is the next word of a phrase."""

_AFTER_MOVE: dict[str, _State] = {
    v.PLAN: "phrase", v.LOOK: "end", v.POINT: "asked", v.ROOM: "asked for room", v.TAKE: "thing", v.NEXT: "end",
    v.GRASP: "end", v.PLACE: "room", v.DONE: "end", v.REFUSE: "reason",
}  # fmt: skip
_WORDED: frozenset[_State] = frozenset({"phrase", "more or place", "more or and", "more or move", "more or end"})
"""Where a word may stand."""
_ANSWERED = CallLimits().repeats
"""So often in a row the tools answer the same question."""
_LOOKS_AT = frozenset({v.POINT, v.ROOM, v.TAKE, v.NEXT})
"""Moves about the newest picture of the camera."""
_NEWER = Memory().pictures
"""A picture that has so many newer ones is kept no more [-]; almost every answer brings one."""
_POINTERS = frozenset(v.POINTERS)
_STRANGE = str(ErrorCode.NOT_RECOGNISED)
"""What a pointer answers to words that it does not know."""
_ANYWHERE, _BETWEEN = (
    next(token for token, name in v.RELATION_TOKENS.items() if name == relation) for relation in ("anywhere", "between")
)


class TurnGrammar:
    """The grammar over a vocabulary; see `grammar_of`.

    Args:
        vocabulary: Of the policy.

    Attributes:
        tokens: The vocabulary's, by id.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = vocabulary.tokens
        self._fixed = lru_cache(maxsize=8192)(self._fixed_mask)
        self._words = lru_cache(maxsize=256)(self._word_mask)

    def mask(self, state: _State, known: _Known, words: frozenset[str]) -> BoolArray:
        """(V,): which tokens may stand there, `words` where one may stand."""
        fixed = self._fixed(state, known.callable)
        return fixed | self._words(words) if state in _WORDED else fixed

    def turn(self, tokens: Tokens, sampled: NDArray[np.bool_]) -> GuidedTurn:
        """The turn that comes after a context: its tokens (L,), and which of them a policy wrote (L,)."""
        known = _Known()
        for token, own in zip(tokens.tolist(), sampled.tolist(), strict=True):
            known.read(self.tokens[token], own)
        return GuidedTurn(self, known)

    def only(self, token: str) -> BoolArray:
        """(V,): nothing but one token may stand there."""
        return self._words(frozenset({token}))

    def masks(self, tokens: Tokens, sampled: NDArray[np.bool_]) -> BoolArray:
        """(N, V): what was allowed at each of the N tokens that a policy wrote in a context, and what it wrote."""
        known, found = _Known(), [np.zeros((0, len(self.tokens)), bool)]
        turn: GuidedTurn | None = None
        for token, own in zip(tokens.tolist(), sampled.tolist(), strict=True):
            if own:
                turn = turn or GuidedTurn(self, known)
                found.append(turn.mask[None])
                turn.take(token)
            else:
                turn = None
            known.read(self.tokens[token], own)
        masks = np.concatenate(found)
        masks[np.arange(len(masks)), tokens[sampled]] = True
        return masks

    def _word_mask(self, words: frozenset[str]) -> BoolArray:
        """(V,): those tokens."""
        return np.array([token in words for token in self.tokens])

    def _fixed_mask(self, state: _State, known: _Callable) -> BoolArray:
        """(V,): tokens that are no words."""
        return np.array([self._allowed(state, token, known) for token in self.tokens])

    def _allowed(self, state: _State, token: str, known: _Callable) -> bool:
        move = token in v.MOVES and known.allows(token)
        match state:
            case "turn":
                return move
            case "move" | "more or move":
                return move and token != v.PLAN
            case "more or place":
                return token in known.relations or (move and token != v.PLAN)
            case "more or and":
                return token == AND
            case "asked" | "asked for room":
                move_asked = v.POINT if state == "asked" else v.ROOM
                in_vain = state == "asked" and token in known.unknowing
                return token in v.POINTERS and not in_vain and (move_asked, token) != known.answered
            case "relation":
                return token in known.relations
            case "thing":
                return token in known.things
            case "room":
                return token in known.rooms
            case "reason":
                return token in ({_STRANGE} if known.hopeless else REASONS)
            case "end" | "more or end":
                return token == v.END
        return False


@lru_cache(maxsize=4)
def grammar_of(vocabulary: Vocabulary) -> TurnGrammar:
    """The grammar over a vocabulary, made once."""
    return TurnGrammar(vocabulary)


@dataclass(frozen=True)
class _Callable:
    """Which moves the tools would run.

    Attributes:
        things: Registers of points that were asked for with POINT since the newest look.
        rooms: Those of ROOM, without those where something could not be put down.
        planned: The plan's place, before anything else, is over.
        placing: The plan says where to; None where there is no plan.
        holding: The hand holds something; None where nothing told.
        put_down: And it has put something down since the operator spoke, and taken nothing up after it.
        unknowing: Pointers who do not know the words of what is asked for, and nothing has moved since they said so.
        outlined: There is an outline, so that a next grasp can be asked for.
        graspable: There is a grasp that was not tried yet.
        answered: A move and its pointer who was asked the same as often in a row as the tools answer; else ().
        kept: Moves about the newest picture of the camera can be called: it is not too old.
        worded: The operator said a word that can be asked for.
        relations: Tokens of the places that can be said in the operator's words.
    """

    things: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()
    planned: bool = False
    placing: bool | None = None
    holding: bool | None = None
    put_down: bool = False
    unknowing: frozenset[str] = frozenset()
    outlined: bool = False
    graspable: bool = False
    answered: tuple[str, ...] = ()
    kept: bool = True
    worded: bool = False
    relations: frozenset[str] = frozenset({_ANYWHERE})

    @property
    def hopeless(self) -> bool:
        """No pointer knows what is asked for, and nothing was pointed at or is held: what is left is to say so."""
        return self.unknowing == _POINTERS and not self.things and not self.holding

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
                return self.worded and self.unknowing != _POINTERS
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
        return True


@dataclass
class _Known:
    """What a context has told after some of its tokens.

    Attributes:
        callable: What may be called.
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
    """

    callable: _Callable = _Callable()
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

    def read(self, token: str, own: bool) -> None:
        """Go on by a token, which the policy wrote or was told."""
        if own:
            self._count(token)
        now = self.callable
        if own:
            if token in v.MOVES:
                self.moved = token
                now = replace(now, planned=True)
            if token in (v.GRASP, v.PLACE):
                now = replace(now, unknowing=frozenset())
            if token in (v.TAKE, v.NEXT, v.GRASP):
                now = replace(now, graspable=False, outlined=now.outlined and token != v.TAKE)
            self.register = token if token in _REGISTERS else self.register
        elif token in _REGISTERS:
            if self.same and token in self.blocked:
                now = self._without(now, self.told)
            elif not self.same and self.moved == v.POINT:
                now = replace(now, things=now.things | {token})
            elif not self.same and self.moved == v.ROOM:
                now = replace(now, rooms=now.rooms | {token})
            self.told = self.told if self.same else token
        elif token == v.TASK:
            now, self.plan = replace(now, planned=False, placing=None, put_down=False, unknowing=frozenset()), None
            self.said = self.said.heard(token)
        elif token == v.SEE:
            self.newer = 0
            if self.moved == v.LOOK:  # registers begin anew, see `context.ContextReader`
                now, self.blocked = replace(now, things=frozenset(), rooms=frozenset()), frozenset()
        elif token == v.OK and self.moved in (v.TAKE, v.NEXT):
            now = replace(now, outlined=True, graspable=now.outlined)  # the outline's, then the grasp's
        elif token == v.HOLDS:
            now = replace(now, holding=True, put_down=False)
        elif token == v.PLACED:
            now = replace(now, holding=False, put_down=True)
        elif token in _ERRORS:
            if token == _STRANGE and self.moved == v.POINT:
                now = replace(now, unknowing=now.unknowing | _POINTERS.intersection(self.before))
            if self.moved == v.PLACE:
                now = self._without(now, self.register)
            now = replace(now, holding=False if token in _LET_GO else now.holding)
        elif token not in v.FIXED or token in _SLOTS:
            self.said = self.said.heard(token)
        elif token == v.GO and self.said.said:
            now = replace(now, worded=bool(self.said.begun().nexts), relations=_places(self.said))
        if not own and (token == v.OK or (token in _POINTED and not self.pointed)):
            self.newer += 1
        self.pointed = not own and (self.pointed or token in _REGISTERS)
        kept = self.newer < _NEWER
        self.callable, self.same = now if kept == now.kept else replace(now, kept=kept), token == v.SAME

    def _without(self, now: _Callable, room: str) -> _Callable:
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
                self.callable = replace(self.callable, placing=bool(self.plan.relation))
            self.times = self.times + 1 if self.turn == self.before else 1
            again = self.times >= _ANSWERED and self.turn[0] in (v.POINT, v.ROOM)
            self.callable = replace(self.callable, answered=self.turn[:2] if again else ())
            self.before, self.turn = self.turn, ()


class GuidedTurn:
    """One turn as it is written.

    Args:
        grammar: Of the vocabulary.
        known: What the context before it has told.
    """

    def __init__(self, grammar: TurnGrammar, known: _Known) -> None:
        self._grammar, self._known = grammar, replace(known)
        self._state: _State = "turn"
        self._asks = ""
        self._planned: tuple[str, ...] = ()
        self._quotation = known.said
        self._closings: tuple[_State, ...] = ()

    @property
    def mask(self) -> BoolArray:
        """(V,): which tokens may come next."""
        if self._planned:
            return self._grammar.only(self._planned[0])
        return self._grammar.mask(self._state, self._known, self._quotation.words)

    def take(self, token: int) -> None:
        """Go on by a token; one that is not allowed leads anywhere."""
        said = self._grammar.tokens[token]
        if said in (v.POINT, v.ROOM):
            self._asks = said
        if self._planned:
            self._planned = self._planned[1:] if said == self._planned[0] else ()
        elif said in v.POINTERS and self._asks:
            self._planned = _planned(self._asks, said, self._known.plan)
        self._go_on(said)

    def _go_on(self, said: str) -> None:
        """To where the next token stands."""
        if said in _AFTER_MOVE:
            self._state = _AFTER_MOVE[said]
            if said == v.PLAN:
                self._quote(self._quotation.begun(), "more or place")
        elif said in v.RELATION_TOKENS:
            self._place(v.RELATION_TOKENS[said])
        elif self._state == "asked":
            self._quote(self._quotation.begun(), "more or end")
        elif self._state == "more or and" and said == AND:
            self._quote(self._quotation.second_of_two(), *self._closings[1:])
        elif self._state in _WORDED:
            self._quotation = self._quotation.quoted(said)
            self._state = self._closings[0]
        else:
            self._state = _AFTER.get(self._state, self._state)

    def _place(self, relation: str) -> None:
        """A place is said: in a question, or else in a plan."""
        closing: _State = "more or end" if self._state == "relation" else "more or move"
        if relation == "anywhere":
            self._state = "end" if closing == "more or end" else "move"
        elif relation == "between":
            self._quote(self._quotation.first_of_two(), "more or and", closing)
        else:
            self._quote(self._quotation.begun(), closing)

    def _quote(self, begun: Quotation, *closings: _State) -> None:
        """A phrase begins; after each of its words stands the first of the closings."""
        self._state, self._quotation, self._closings = "phrase", begun, closings


def _planned(asks: str, pointer: str, plan: Plan | None) -> tuple[str, ...]:
    """What a question goes on with after the pointer, to the end of the turn; () where the plan does not say."""
    if plan is None:
        return ()
    if asks == v.POINT:
        return (*plan.target, v.END)
    relation = plan.relation.upper()
    if not relation or parse_move((v.ROOM, pointer, relation, *plan.reference)) is None:
        return ()
    if plan.relation == "between" and AND not in plan.reference:
        return ()
    return (relation, *plan.reference, v.END)


@lru_cache(maxsize=256)
def _places(said: Quotation) -> frozenset[str]:
    """Tokens of the places that can be said in these words."""
    referred = set(v.RELATION_TOKENS) - {_ANYWHERE, _BETWEEN} if said.begun().nexts else set()
    return frozenset({_ANYWHERE} | referred | ({_BETWEEN} if said.first_of_two().nexts else set()))


_AFTER: dict[_State, _State] = {
    "asked for room": "relation", "thing": "end", "room": "end", "reason": "end",
}  # fmt: skip
"""After a token that changes nothing else; other states stay."""
_REGISTERS = frozenset(f"p{k}" for k in range(1, v.REGISTERS + 1))
_POINTED = _REGISTERS | {v.MORE}
"""An answer of a pointer has one of these, and a picture."""
_ERRORS = frozenset(map(str, ErrorCode))
_LET_GO = frozenset(map(str, (ErrorCode.OBJECT_DROPPED, ErrorCode.NOT_HOLDING, ErrorCode.GRIPPER_EMPTY)))
"""After these the hand is empty."""
_SLOTS = frozenset(f"[w{k}]" for k in range(1, v.SLOTS + 1))
