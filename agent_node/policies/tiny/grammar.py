"""Which tokens may come next in a turn: the dialect's grammar, for guided sampling.

A turn of guided tokens is a move that can be called: what is taken is a point of a thing, and what is put down goes to
a point of free room, both since the newest look; a plan comes before anything else and is of the operator's words, and
what is asked for is what was planned; a grasp is executed once there is one and the hand is empty, a motion that failed
is not tried again as it was, nobody is asked the same more often in a row than the tools answer, and no token comes
where it means nothing. What a move is worth is not the grammar's to say. The distribution that a guided policy samples
from, and that its trainer moves, is over the tokens that are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny import vocabulary as v
from agent_node.policies.tiny.dialect import REASONS, Plan, parse_move
from agent_node.policies.tiny.vocabulary import Tokens, Vocabulary
from tool_nodes.results import ErrorCode
from tool_nodes.toolbox.limits import CallLimits
from tool_nodes.types import BoolArray

_State = Literal[
    "turn", "move", "target", "target or more", "reference or more", "asked", "asked for room", "relation", "word",
    "word or end", "first of two", "first of two or and", "reference", "reference or end", "thing", "room",
    "reason", "end",
]  # fmt: skip
"""Where in a turn the next token stands."""

_AFTER_MOVE: dict[str, _State] = {
    v.PLAN: "target", v.LOOK: "end", v.POINT: "asked", v.ROOM: "asked for room", v.TAKE: "thing", v.NEXT: "end",
    v.GRASP: "end", v.PLACE: "room", v.DONE: "end", v.REFUSE: "reason",
}  # fmt: skip
_WORDED: frozenset[_State] = frozenset({
    "target", "word", "target or more", "reference or more", "word or end", "reference or end", "first of two",
    "first of two or and", "reference",
})  # fmt: skip
"""Where a word may stand."""
_AND = "and"
_ANSWERED = CallLimits().repeats
"""So often in a row the tools answer the same question."""


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

    def mask(self, state: _State, known: _Known) -> BoolArray:
        """(V,): which tokens may stand there."""
        fixed = self._fixed(state, known.callable)
        if state not in _WORDED:
            return fixed
        words = self._words(known.said - {_AND} if state in ("first of two", "reference") else known.said)
        if state in ("first of two or and", "reference or end"):
            words = words | self._words(frozenset({_AND}))
        return fixed | words

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

    def _word_mask(self, said: frozenset[str]) -> BoolArray:
        """(V,): the words of a sentence; any word but "and" where it has none, since one has to come."""
        return np.array([token in said if said else token not in v.FIXED and token != _AND for token in self.tokens])

    def _fixed_mask(self, state: _State, known: _Callable) -> BoolArray:
        """(V,): tokens that are no words."""
        return np.array([self._allowed(state, token, known) for token in self.tokens])

    def _allowed(self, state: _State, token: str, known: _Callable) -> bool:
        move = token in v.MOVES and known.allows(token)
        match state:
            case "turn":
                return move
            case "move" | "reference or more":
                return move and token != v.PLAN
            case "target or more":
                return token in v.RELATION_TOKENS or (move and token != v.PLAN)
            case "asked" | "asked for room":
                move_asked = v.POINT if state == "asked" else v.ROOM
                return token in v.POINTERS and (move_asked, token) != known.answered
            case "relation":
                return token in v.RELATION_TOKENS
            case "thing":
                return token in known.things
            case "room":
                return token in known.rooms
            case "reason":
                return token in REASONS
            case "end" | "word or end" | "reference or end":
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
        placing: The plan says where to, or there is none.
        holding: The hand holds something.
        outlined: There is an outline, so that a next grasp can be asked for.
        graspable: There is a grasp that was not tried yet.
        answered: A move and its pointer who was asked the same as often in a row as the tools answer; else ().
    """

    things: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()
    planned: bool = False
    placing: bool = True
    holding: bool = False
    outlined: bool = False
    graspable: bool = False
    answered: tuple[str, ...] = ()

    def allows(self, move: str) -> bool:
        """Whether a move may be called."""
        match move:
            case v.PLAN:
                return not self.planned
            case v.TAKE:
                return bool(self.things)
            case v.PLACE:
                return bool(self.rooms)
            case v.NEXT:
                return self.outlined
            case v.GRASP:
                return self.graspable and not self.holding
            case v.ROOM:
                return self.placing
        return True


@dataclass
class _Known:
    """What a context has told after some of its tokens.

    Attributes:
        callable: What may be called.
        said: The operator's words, slots among them.
        moved: How the policy's newest move begins.
        register: The newest one that was named.
        same: The next register is where a point of before is.
        plan: Of what the operator said last; None before it.
        turn: What the policy has written of its newest turn, or all of it.
        before: The turn before that one.
        times: How often that one came in a row.
    """

    callable: _Callable = _Callable()
    said: frozenset[str] = frozenset()
    moved: str = ""
    register: str = ""
    same: bool = False
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
            if token in (v.TAKE, v.NEXT, v.GRASP):
                now = replace(now, graspable=False, outlined=now.outlined and token != v.TAKE)
            self.register = token if token in _REGISTERS else self.register
        elif token in _REGISTERS:
            if not self.same and self.moved == v.POINT:
                now = replace(now, things=now.things | {token})
            elif not self.same and self.moved == v.ROOM:
                now = replace(now, rooms=now.rooms | {token})
        elif token == v.TASK:
            now, self.plan = replace(now, planned=False, placing=True), None
        elif token == v.SEE and self.moved == v.LOOK:
            now = replace(now, things=frozenset(), rooms=frozenset())  # see `context.ContextReader`
        elif token == v.OK and self.moved in (v.TAKE, v.NEXT):
            now = replace(now, outlined=True, graspable=now.outlined)  # the outline's, then the grasp's
        elif token == v.HOLDS:
            now = replace(now, holding=True)
        elif token == v.PLACED:
            now = replace(now, holding=False)
        elif token in _ERRORS:
            if self.moved == v.PLACE:
                now = replace(now, rooms=now.rooms - {self.register})
            now = replace(now, holding=now.holding and token not in _LET_GO)
        elif token not in v.FIXED or token in _SLOTS:
            self.said |= {token}
        self.callable, self.same = now, token == v.SAME

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

    @property
    def mask(self) -> BoolArray:
        """(V,): which tokens may come next."""
        if self._planned:
            return self._grammar.only(self._planned[0])
        return self._grammar.mask(self._state, self._known)

    def take(self, token: int) -> None:
        """Go on by a token."""
        said = self._grammar.tokens[token]
        self._state = _next(self._state, said)
        if said in (v.POINT, v.ROOM):
            self._asks = said
        if self._planned:
            self._planned = self._planned[1:] if said == self._planned[0] else ()
        elif said in v.POINTERS and self._asks:
            self._planned = _planned(self._asks, said, self._known.plan)


def _planned(asks: str, pointer: str, plan: Plan | None) -> tuple[str, ...]:
    """What a question goes on with after the pointer, to the end of the turn; () where the plan does not say."""
    if plan is None:
        return ()
    if asks == v.POINT:
        return (*plan.target, v.END)
    relation = plan.relation.upper()
    if not relation or parse_move((v.ROOM, pointer, relation, *plan.reference)) is None:
        return ()
    if plan.relation == "between" and _AND not in plan.reference:
        return ()
    return (relation, *plan.reference, v.END)


def _next(state: _State, token: str) -> _State:
    """Where the token after this one stands; a token that is not allowed leads anywhere."""
    if token in _AFTER_MOVE:
        return _AFTER_MOVE[token]
    if token in v.RELATION_TOKENS:
        if state != "relation":
            return "reference or more"
        relation = v.RELATION_TOKENS[token]
        return "end" if relation == "anywhere" else "first of two" if relation == "between" else "reference"
    if token == _AND and state in ("first of two or and", "reference or end"):
        return "reference"
    return _AFTER.get(state, state)


_AFTER: dict[_State, _State] = {
    "target": "target or more", "asked": "word", "asked for room": "relation", "word": "word or end",
    "first of two": "first of two or and", "reference": "reference or end", "thing": "end", "room": "end",
    "reason": "end",
}  # fmt: skip
"""After a token that changes nothing else; other states stay."""
_REGISTERS = frozenset(f"p{k}" for k in range(1, v.REGISTERS + 1))
_ERRORS = frozenset(map(str, ErrorCode))
_LET_GO = frozenset(map(str, (ErrorCode.OBJECT_DROPPED, ErrorCode.NOT_HOLDING, ErrorCode.GRIPPER_EMPTY)))
"""After these the hand is empty."""
_SLOTS = frozenset(f"[w{k}]" for k in range(1, v.SLOTS + 1))
