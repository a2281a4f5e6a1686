"""Words as a reader's network takes them: in the pieces of BERT's uncased vocabulary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

START, BREAK, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
MAX_WORDS = 96
"""Longest utterance that the network reads, and longest context before it [words]; the training data has at most 60."""
_WORD = re.compile(r"\d+|[^\W\d_]+|[^\w\s]|_")


@dataclass(frozen=True)
class ReaderInput:
    """What the network reads.

    Attributes:
        ids: Numbers of the pieces, shape (n,).
        types: 0 for the utterance, 1 for what was before, shape (n,).
        words: Words of the utterance, then those of the context.
        starts: First piece of each word, shape (len(words),).
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    words: tuple[str, ...]
    starts: tuple[int, ...]


def words_of(text: str) -> list[str]:
    """Words and marks of a text in small letters, accents left out."""
    plain = unicodedata.normalize("NFD", text.lower().replace("’", "'"))
    return _WORD.findall("".join(c for c in plain if unicodedata.category(c) != "Mn"))


class PieceVocabulary:
    """A vocabulary of word pieces, by the numbers that the network knows them by.

    Args:
        pieces: The pieces in the order of their numbers; "##" leads those that go on with a word.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        self._number: Mapping[str, int] = {piece: k for k, piece in enumerate(pieces)}

    def __len__(self) -> int:
        return len(self._number)

    def pieces(self, word: str) -> list[int]:
        """Numbers of the longest pieces that make up a word, from its beginning; that of `UNKNOWN` where none do."""
        found, at = [], 0
        while at < len(word):
            lead = "##" if at else ""
            end = next((k for k in range(len(word), at, -1) if lead + word[at:k] in self._number), 0)
            if not end:
                return [self._number[UNKNOWN]]
            found.append(self._number[lead + word[at:end]])
            at = end
        return found

    def encode(self, utterance: str, context: str = "") -> ReaderInput:
        """An utterance and what was before it, see `ReaderInput`; each cut after `MAX_WORDS`."""
        said, before = words_of(utterance)[:MAX_WORDS], words_of(context)[:MAX_WORDS]
        ids, types, starts = [self._number[START]], [0], []
        for kind, words in ((0, said), (1, before)):
            for word in words:
                starts.append(len(ids))
                numbers = self.pieces(word)
                ids += numbers
                types += [kind] * len(numbers)
            ids.append(self._number[BREAK])
            types.append(kind)
        return ReaderInput(tuple(ids), tuple(types), (*said, *before), tuple(starts))
