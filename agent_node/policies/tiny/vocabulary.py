"""The tokens of the small policy: the dialect's own in capitals or brackets, the operator's words in lower case.

A word that it does not know stands as a slot, `[w1]` to `[w8]` in order of appearance, so that nothing of the
operator's sentence is lost: a call that holds the slot is given the word itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tool_nodes.catalogue import load_catalogue
from tool_nodes.language.places import Relation
from tool_nodes.language.words import tokenize, words_only
from tool_nodes.results import ErrorCode, ToolError, invalid

Tokens = NDArray[np.int32]
"""(L,) ids of a vocabulary."""

TASK, GO, SEE, END = "[task]", "[go]", "[see]", "END"
"""The operator's sentence begins; the policy's turn begins; a thing in a new picture; a turn ends."""
PLAN, LOOK, POINT, ROOM, TAKE, NEXT, GRASP, PLACE, DONE, REFUSE = MOVES = (
    "PLAN", "LOOK", "POINT", "ROOM", "TAKE", "NEXT", "GRASP", "PLACE", "DONE", "REFUSE",
)  # fmt: skip
"""What begins a move; PLAN what is thought before one."""
OK, EMPTY, HOLDS, PLACED, UNVERIFIED, SAME, MORE, NOTE, LAST = RESULTS = (
    "OK",
    "EMPTY",
    "HOLDS",
    "PLACED",
    "UNVERIFIED",
    "SAME",
    "MORE",
    "NOTE",
    "LAST",
)
"""What tools answer beside points and errors: done; nothing came back; the gripper holds something; it was put down;
but not seen there; the point before it is where the register after it is; more points than there are registers; the
agent added a note; and that one turn is left."""
LIKE, UNLIKE = LOOKS = ("LIKE", "UNLIKE")
"""What the policy's own eyes say of the point before it: what is there looks like what was asked for, or does not."""

POINTERS = {"ROBOREFER": "roborefer", "VLM": "vlm"}
"""The two pointers, and the prefix of their tools."""

SLOTS = 8
"""Unknown words that a sentence may have [-]: more than any sentence of the task generators has words for a thing."""
REGISTERS = 16
"""Points that have a name since the newest look [-]: a pointer's answer to a phrase has one to four, and six to eight
questions are asked between two looks."""

_KNOWN: tuple[Relation, ...] = (
    "in",
    "on",
    "left_of",
    "right_of",
    "in_front_of",
    "behind",
    "next_to",
    "between",
    "anywhere",
)
"""Relations of the tasks that the policy is trained for, in the order in which its weights have them."""
_RELATIONS = {relation: relation.upper() for relation in _KNOWN}
RELATION_TOKENS: dict[str, str] = {token: relation for relation, token in _RELATIONS.items()}
"""Where to put a thing, and what `tool_nodes.language.places` calls it."""

CODES = (
    "NOT_UNDERSTOOD", "AMBIGUOUS", "INVALID_ARGUMENT", "UNKNOWN_TOOL", "NOT_RECOGNISED", "OBJECT_NOT_FOUND",
    "EMPTY_MASK", "NO_DEPTH", "NO_GRASP", "OUT_OF_WORKSPACE", "PLACE_BLOCKED", "IK_FAILED", "PLAN_FAILED",
    "SCENE_CHANGED", "NOT_APPROVED", "STOPPED", "CANCELLED", "EXECUTION_FAILED", "CONTROLLER_FAULT", "GRIPPER_EMPTY",
    "OBJECT_DROPPED", "NOT_HOLDING", "TURN_BUDGET", "TIMEOUT", "UNAVAILABLE", "INTERNAL",
)  # fmt: skip
"""Error codes that are tokens: those that there were when the dialect was made. Trained weights have a row for each, so
that none is added; `code_token` says how a later one is read."""
_LATER = {ErrorCode.WRONG_OBJECT: "EXECUTION_FAILED", ErrorCode.PICTURE_UNUSABLE: "NOT_RECOGNISED"}


def code_token(code: ErrorCode) -> str:
    """The token of an error code; of one that came later that of its next of kin, else INVALID_ARGUMENT."""
    return str(code) if code in CODES else _LATER.get(code, "INVALID_ARGUMENT")


FIXED: tuple[str, ...] = (
    TASK, GO, SEE, *(f"[w{k}]" for k in range(1, SLOTS + 1)), *(f"p{k}" for k in range(1, REGISTERS + 1)),
    END, *MOVES, *POINTERS, *RELATION_TOKENS, *RESULTS, *LOOKS, *CODES,
)  # fmt: skip
"""Every token that is no word, in the order of their ids."""

_GRAMMAR = (
    "a an the one two three both it them that which is are and or of to from with please",
    "pick up grab take get put place move lift bring",
    "in into inside on onto top left right front behind next beside near far between table free",
    "away leftmost rightmost nearest farthest nearer further farther furthest closer closest foremost camera side",
    "plushies thing object item something anything first second third middle big small large little",
)
"""Words of sentences and phrases that are in no product's description."""


def said_words(sentence: str) -> list[str]:
    """The words of a sentence in lower case, without punctuation; spelling as `tool_nodes.language.words.tokenize`."""
    return [str(word) for word in words_only(tokenize(sentence))]


class Vocabulary:
    """Tokens and their ids.

    Args:
        words: The operator's words that it knows, each once, in lower case.

    Attributes:
        words: Those words.
        tokens: FIXED and the words; a token's id is its place here.

    Raises:
        ToolError: INVALID_ARGUMENT for a word that is there twice or is none.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self.tokens = (*FIXED, *self.words)
        self._ids = {token: k for k, token in enumerate(self.tokens)}
        wrong = [word for word in self.words if not word.isalnum() or word != word.lower()]
        if wrong or len(self._ids) != len(self.tokens):
            found = f"{wrong[0]!r} is none" if wrong else "one is there twice"
            raise invalid(f"A vocabulary holds words of lower-case letters and digits, each once; {found}.")

    def __len__(self) -> int:
        return len(self.tokens)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.tokens == other.tokens

    def __hash__(self) -> int:
        return hash(self.tokens)

    def knows(self, word: str) -> bool:
        """Whether a word of an operator is one of `words`."""
        return self._ids.get(word, -1) >= len(FIXED)

    def id(self, token: str) -> int:
        """Raises KeyError for what is no token."""
        return self._ids[token]

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def encode(self, tokens: Sequence[str]) -> Tokens:
        """Ids of tokens. Raises KeyError for what is none."""
        return np.array([self._ids[token] for token in tokens], np.int32)

    def decode(self, ids: Iterable[int]) -> tuple[str, ...]:
        """Tokens of ids. Raises IndexError for what is none."""
        return tuple(self.tokens[int(k)] for k in ids)

    def read_sentence(self, sentence: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(tokens of an operator's sentence, the words that its slots stand for, `[w1]` first).

        Raises:
            ToolError: NOT_UNDERSTOOD for a sentence without a known word, or with more than SLOTS unknown ones.
        """
        words = said_words(sentence)
        slots = tuple(dict.fromkeys(word for word in words if not self.knows(word)))
        if all(word in slots for word in words):
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD,
                "The small policy knows no word of this sentence.",
                'It learned sentences such as "Pick up the red box".',
            )
        if len(slots) > SLOTS:
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD,
                f"The small policy does not know {len(slots)} words of this sentence ({', '.join(slots)[:80]}); it can "
                f"keep {SLOTS} of them.",
                "Say it in fewer or plainer words.",
            )
        return tuple(f"[w{slots.index(word) + 1}]" if word in slots else word for word in words), slots


@cache
def default_vocabulary() -> Vocabulary:
    """Every word of the catalogue's descriptions and of the sentences that tasks are made of."""
    described = (text for item in load_catalogue().values() for text in sorted(item.words))
    words = {word for text in (*described, *_GRAMMAR) for word in said_words(text)}
    return Vocabulary(sorted(words))
