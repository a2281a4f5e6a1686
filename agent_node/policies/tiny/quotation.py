"""Phrases that are quoted from what the operator said, word after word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from agent_node.policies.tiny import vocabulary as v

AND = "and"
"""Stands between two references, and is no word of a phrase."""
SIDE_WORDS = frozenset({"left", "right", "near", "far"})
"""May stand before what is quoted of the thing to pick up: people have many words for the one of two alike that is
further to a side, and the pointers know these."""


@dataclass(frozen=True)
class Quotation:
    """A phrase as it is quoted.

    Attributes:
        said: The operator's sentences, each behind a `[task]`.
        nexts: Where in them the phrase's next word may stand.
        end: Where its earliest place in them ends.
        own: Words that may come next though nobody said them.
    """

    said: tuple[str, ...] = ()
    nexts: frozenset[int] = frozenset()
    end: int = 0
    own: frozenset[str] = frozenset()

    @property
    def words(self) -> frozenset[str]:
        """Those that may come next."""
        return frozenset(self.said[k] for k in self.nexts) | self.own

    def heard(self, token: str) -> Quotation:
        """With one more token of what the operator says."""
        return Quotation((*self.said, token))

    def begun(self) -> Quotation:
        """A phrase anew, from any word."""
        return replace(self, nexts=frozenset(k for k in range(len(self.said)) if self._is_word(k)), own=frozenset())

    def begun_with_a_side(self) -> Quotation:
        """The same, or first one of SIDE_WORDS, which need not have been said."""
        return replace(self.begun(), own=SIDE_WORDS)

    def first_of_two(self) -> Quotation:
        """The first of two references: a word that has a second one behind it."""
        return replace(self, nexts=frozenset(k for k in self.begun().nexts if any(self._seconds(k))))

    def second_of_two(self) -> Quotation:
        """The second one, behind the first "and" after what was quoted."""
        return replace(self, nexts=frozenset(self._seconds(self.end)))

    def quoted(self, word: str) -> Quotation:
        """With one more word of the phrase."""
        ends = {k + 1 for k in self.nexts if self.said[k] == word}
        nexts = frozenset(filter(self._is_word, ends)) | (self.begun().nexts if word in self.own else frozenset())
        return replace(self, nexts=nexts, end=min(ends, default=len(self.said)), own=frozenset())

    def _is_word(self, k: int) -> bool:
        return k < len(self.said) and self.said[k] not in (v.TASK, AND)

    def _seconds(self, begin: int) -> Iterator[int]:
        """Words behind the first "and" from there on, in the same sentence."""
        behind = False
        for k in range(begin, len(self.said)):
            if self.said[k] == v.TASK:
                return
            if behind and self._is_word(k):
                yield k
            behind = behind or self.said[k] == AND
