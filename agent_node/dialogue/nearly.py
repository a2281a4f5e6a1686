"""The nearest sentence that can be read, for one that cannot: the robot asks whether it is meant.

"Show off a bit: put the can in the bowl" holds "put the can in the bowl". One run of words is left out where the rest
is a wish. The question quotes it. It names no product, and nothing in it turns or binds the wish as "not" and "unless"
do: with such words the refusal stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from toolhand.agent_node.dialogue.acts import Act, Deed, FollowUp, Refused, SmallTalk, Unsure
from toolhand.agent_node.dialogue.clauses import clause_of, parses
from toolhand.agent_node.dialogue.hearing import heard
from toolhand.agent_node.dialogue.languages import answer_in_its_language
from toolhand.agent_node.dialogue.reading import Read, read
from toolhand.agent_node.dialogue.wordings import PLACE_WORDS, joints, names_products
from toolhand.agent_node.policies.scripted.unable import is_unable
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.language.traced import Token
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, NUMBERS, tokenize, words_only

MOST_TRIES = 24
"""Most shorter sentences that are tried [-]: each takes some 10 ms of a processor, and a refusal may take 0.3 s."""
MOST_WORDS = 40
"""Longest sentence for which nearer ones are looked for [words]: of a longer one too much would be left out."""
LEAST_KEPT = 3
"""Shortest rest that is a wish [words]: shorter ones, such as "no" or "the other one", are in too many sentences."""
_MOST_LEFT_OUT = 2
"""Most words that are left out for each that is kept [-]."""
_LONGEST_END = 5
"""Most words that are left out at the end where no sign parts them [words]."""


@dataclass(frozen=True)
class NearReading:
    """A sentence that can be read, and what was left out for it.

    Attributes:
        text: The sentence.
        left_out: The words, as they were said.
    """

    text: str
    left_out: str

    @property
    def question(self) -> str:
        """Asks the operator whether the sentence is meant."""
        return (
            f'I do not understand "{self.left_out}". Do you mean "{self.text}"? Answer yes, or say it in other words.'
        )


def nearly(said: str) -> NearReading | None:
    """The nearest sentence that can be read; None where there is none.

    Args:
        said: A sentence that nothing reads.
    """
    text = heard(said)
    tokens = tokenize(text)
    foreign = answer_in_its_language(text, words_only(tokens))
    if not LEAST_KEPT < len(tokens) <= MOST_WORDS or foreign or is_unable(text):
        return None
    tried = 0
    for start, end in _runs(tokens):
        out, kept = tokens[start:end], [*tokens[:start], *tokens[end:]]
        if not _may_be_left_out(tokens, start, end):
            continue
        tried += 1
        if tried > MOST_TRIES:
            return None
        inside = start > 0 and end < len(tokens)
        rest = _joined(text, tokens, start, end) if inside else clause_of(text, kept).said
        if is_readable(rest):
            return NearReading(rest, clause_of(text, out).said)
    return None


def is_readable(text: str) -> bool:
    """Whether every part of a sentence is a wish that can be carried out, or a question that can be answered."""
    return all(_is_wish(part) for part in read(text))


def _is_wish(part: Read) -> bool:
    act: Act = part.act
    if isinstance(act, Deed):
        return parses(act.text)
    return not isinstance(act, Refused | SmallTalk | FollowUp | Unsure)


def _runs(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Runs of tokens to leave out, (start, end), the likeliest first."""
    n = len(tokens)
    signs = [k for k, token in enumerate(tokens) if token in ",.?!"]
    seen: set[tuple[int, int]] = set()

    def new(start: int, end: int) -> bool:
        known = (start, end) in seen or start >= end
        seen.add((start, end))
        return not known

    for k in reversed(signs):  # what stands before a sign, the longest first, and after one, the shortest first
        if k + 1 < n and new(0, k + 1):
            yield 0, k + 1
    for k in reversed(signs):
        if k and new(k, n):
            yield k, n
    for first, second in pairwise(signs):
        if new(first, second):
            yield first, second
    for k, token in enumerate(tokens):  # what stands before an order or a question
        if k and _orders([token]) and not _orders(tokens[:k]) and new(0, k):
            yield 0, k
    for k in range(1, _LONGEST_END + 1):
        if n - k >= LEAST_KEPT and new(n - k, n):
            yield n - k, n
    for width in (1, 2):
        for start in range(1, n - width):
            unknown = all(map(_is_unknown, tokens[start : start + width]))
            if unknown and new(start, start + width):
                yield start, start + width


def _is_unknown(word: str) -> bool:
    """Whether no table and no list of names has a word."""
    known = word in FUNCTION_WORDS or word in DETERMINERS or word in VERBS or word in PLACE_WORDS
    return word[0].isalpha() and not known and not names_products(word)


def _may_be_left_out(tokens: Sequence[Token], start: int, end: int) -> bool:
    """Whether the words of a run bind or turn no wish, and the rest is one by itself."""
    out, kept = tokens[start:end], [*tokens[:start], *tokens[end:]]
    words, rest = [token for token in out if token.words], [token for token in kept if token.words]
    if not words or len(rest) < LEAST_KEPT or len(words) > _MOST_LEFT_OUT * len(rest) or rest[-1] in _UNFINISHED:
        return False
    if any(token in joints()["binds a wish"] or token in NUMBERS or token[0].isdigit() for token in words):
        return False
    if _orders(words) and not _orders(rest):
        return False
    if any(names_products(word) for word in words):
        return False
    parted = start == 0 or out[0] in ",.?!"
    if not parted and tokens[start - 1] in DETERMINERS and _ends_here(tokens[end:]):
        return False  # the noun itself
    return parted or all(_is_unknown(word) or word in joints()["adds nothing"] for word in words)


def _ends_here(after: Sequence[Token]) -> bool:
    """Whether no noun can come next."""
    return not after or not after[0][0].isalnum() or after[0] in FUNCTION_WORDS | DETERMINERS


def _orders(words: Sequence[Token]) -> bool:
    """Whether words begin as an order or a question does, or have a verb."""
    return any(VERBS.get(word, ("",))[0] == word or word in joints()["begins a question"] for word in words)


_UNFINISHED = (FUNCTION_WORDS | DETERMINERS | {"next"}) - {"it", "them"}
"""Words with which no wish ends."""


def _joined(text: str, tokens: Sequence[Token], start: int, end: int) -> str:
    before, after = clause_of(text, tokens[:start]).said, clause_of(text, tokens[end:]).said
    comma = ", " if tokens[start] == "," and tokens[end] == "," else " "
    return f"{before}{comma}{after}"
