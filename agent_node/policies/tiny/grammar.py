"""Which tokens may come next in a turn: the dialect's grammar, for guided sampling.

A turn of guided tokens is a move that can be called: what is taken is a point of a thing, and what is put down goes to
a point of free room, both since the newest look; a plan comes before anything else, its phrases are quoted from what
the operator said, word after word (but for a side), and what is asked for is what was planned; a grasp is executed once
there is one and the hand is empty, a failed motion is not repeated unchanged, a question is not repeated more often in
a row than the tools answer, or asked about a dropped picture, or about words that the operator does not know, and no
token comes where it means nothing. What the operator is answered follows from the tools' results: done is what ends
with something in the hand, or where the plan has a place with something put down; the reason of a refusal is one that
an answer since the newest look has given, and a motion that failed once is none yet. What else a move is worth is not
the grammar's to say. The distribution that a guided policy samples from, and that its trainer moves, is over the tokens
that are allowed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny import vocabulary as v
from agent_node.policies.tiny.dialect import Plan, parse_move
from agent_node.policies.tiny.dialogue_state import ActionMask, DialogueState
from agent_node.policies.tiny.quotation import AND, Quotation
from agent_node.policies.tiny.vocabulary import Tokens, Vocabulary
from tool_nodes.types import BoolArray

_Place = Literal[
    "turn", "move", "phrase", "more or place", "more or and", "more or move", "more or end", "asked", "asked for room",
    "relation", "thing", "room", "reason", "end",
]  # fmt: skip
"""Where in a turn the next token stands; "more" is the next word of a phrase."""

_AFTER_MOVE: dict[str, _Place] = {
    v.PLAN: "phrase",
    v.LOOK: "end",
    v.POINT: "asked",
    v.ROOM: "asked for room",
    v.TAKE: "thing",
    v.NEXT: "end",
    v.GRASP: "end",
    v.PLACE: "room",
    v.DONE: "end",
    v.REFUSE: "reason",
}
_WORDED: frozenset[_Place] = frozenset({"phrase", "more or place", "more or and", "more or move", "more or end"})
"""Where a word may stand."""


class TurnGrammar:
    """The grammar over a vocabulary; see `grammar_of`.

    Args:
        vocabulary: Vocabulary of the policy.

    Attributes:
        tokens: The vocabulary's, by id.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = vocabulary.tokens
        self._fixed = lru_cache(maxsize=8192)(self._fixed_mask)
        self._words = lru_cache(maxsize=256)(self._word_mask)

    def mask(self, place: _Place, dialogue: DialogueState, words: frozenset[str]) -> BoolArray:
        """(V,): which tokens may stand there, `words` where one may stand."""
        fixed = self._fixed(place, dialogue.actions)
        return fixed | self._words(words) if place in _WORDED else fixed

    def turn(self, tokens: Tokens, sampled: NDArray[np.bool_]) -> GuidedTurn:
        """The turn that comes after a context: its tokens (L,), and which of them a policy wrote (L,)."""
        state = DialogueState()
        for token, own in zip(tokens.tolist(), sampled.tolist(), strict=True):
            state.update(self.tokens[token], own)
        return GuidedTurn(self, state)

    def only(self, token: str) -> BoolArray:
        """(V,): nothing but one token may stand there."""
        return self._words(frozenset({token}))

    def masks(self, tokens: Tokens, sampled: NDArray[np.bool_]) -> BoolArray:
        """(N, V): what was allowed at each of the N tokens that a policy wrote in a context, and what it wrote."""
        state, found = DialogueState(), [np.zeros((0, len(self.tokens)), bool)]
        turn: GuidedTurn | None = None
        for token, own in zip(tokens.tolist(), sampled.tolist(), strict=True):
            if own:
                turn = turn or GuidedTurn(self, state)
                found.append(turn.mask[None])
                turn.take(token)
            else:
                turn = None
            state.update(self.tokens[token], own)
        masks = np.concatenate(found)
        masks[np.arange(len(masks)), tokens[sampled]] = True
        return masks

    def _word_mask(self, words: frozenset[str]) -> BoolArray:
        """(V,): those tokens."""
        return np.array([token in words for token in self.tokens])

    def _fixed_mask(self, place: _Place, actions: ActionMask) -> BoolArray:
        """(V,): tokens that are no words."""
        return np.array([self._allowed(place, token, actions) for token in self.tokens])

    def _allowed(self, place: _Place, token: str, actions: ActionMask) -> bool:
        move = token in v.MOVES and actions.allows(token)
        match place:
            case "turn":
                return move
            case "move" | "more or move":
                return move and token != v.PLAN
            case "more or place":
                return token in actions.relations or (move and token != v.PLAN)
            case "more or and":
                return token == AND
            case "asked":
                return token in actions.askable
            case "asked for room":
                return token in v.POINTERS and (v.ROOM, token) != actions.answered
            case "relation":
                return token in actions.relations
            case "thing":
                return token in actions.things
            case "room":
                return token in actions.rooms
            case "reason":
                return token in actions.reasons
            case "end" | "more or end":
                return token == v.END
        return False


@lru_cache(maxsize=4)
def grammar_of(vocabulary: Vocabulary) -> TurnGrammar:
    """The grammar over a vocabulary, made once."""
    return TurnGrammar(vocabulary)


class GuidedTurn:
    """One turn as it is written.

    Args:
        grammar: Grammar over the vocabulary.
        dialogue: State after the context before it.
    """

    def __init__(self, grammar: TurnGrammar, dialogue: DialogueState) -> None:
        self._grammar, self._dialogue = grammar, replace(dialogue)
        self._position: _Place = "turn"
        self._asks = ""
        self._planned: tuple[str, ...] = ()
        self._quotation = dialogue.said
        self._closings: tuple[_Place, ...] = ()

    @property
    def mask(self) -> BoolArray:
        """(V,): which tokens may come next."""
        if self._planned:
            return self._grammar.only(self._planned[0])
        return self._grammar.mask(self._position, self._dialogue, self._quotation.words)

    def take(self, token: int) -> None:
        """Go on by a token; one that is not allowed leads anywhere."""
        said = self._grammar.tokens[token]
        if said in (v.POINT, v.ROOM):
            self._asks = said
        if self._planned:
            self._planned = self._planned[1:] if said == self._planned[0] else ()
        elif said in v.POINTERS and self._asks:
            self._planned = _planned(self._asks, said, self._dialogue.plan)
        self._go_on(said)

    def _go_on(self, said: str) -> None:
        """To where the next token stands."""
        if said in _AFTER_MOVE:
            self._position = _AFTER_MOVE[said]
            if said == v.PLAN:
                self._quote(self._quotation.begun_with_a_side(), "more or place")
        elif said in v.RELATION_TOKENS:
            self._place(v.RELATION_TOKENS[said])
        elif self._position == "asked":
            self._quote(self._quotation.begun(), "more or end")
        elif self._position == "more or and" and said == AND:
            self._quote(self._quotation.second_of_two(), *self._closings[1:])
        elif self._position in _WORDED:
            named = said not in self._quotation.own  # a side alone is no thing
            self._quotation = self._quotation.quoted(said)
            self._position = self._closings[0] if named else "phrase"
        else:
            self._position = _AFTER.get(self._position, self._position)

    def _place(self, relation: str) -> None:
        """A place is said: in a question, or else in a plan."""
        closing: _Place = "more or end" if self._position == "relation" else "more or move"
        if relation == "anywhere":
            self._position = "end" if closing == "more or end" else "move"
        elif relation == "between":
            self._quote(self._quotation.first_of_two(), "more or and", closing)
        else:
            self._quote(self._quotation.begun(), closing)

    def _quote(self, begun: Quotation, *closings: _Place) -> None:
        """A phrase begins; after each of its words stands the first of the closings."""
        self._position, self._quotation, self._closings = "phrase", begun, closings


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


_AFTER: dict[_Place, _Place] = {"asked for room": "relation", "thing": "end", "room": "end", "reason": "end"}
"""After a token that changes nothing else; other states stay."""
