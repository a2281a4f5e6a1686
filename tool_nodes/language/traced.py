"""Text that knows, character by character, which words of its speaker it came from.

Whatever is folded, mended or replaced on the way to a meaning, it can still be shown what each word of a sentence has
become, or that it became nothing; what was not understood can be quoted in the speaker's words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

Origin = frozenset[int]
"""Numbers of words of the speaker, in their order."""
_NOWHERE: Origin = frozenset()
_SPOKEN = re.compile(r"[^\W_]+(?:['’‘`][^\W_]+)*|[+%°=<>/*#$€£@~^|\\]")
"""A word of the speaker. A symbol that may mean something is one too, other signs only part words."""
_GROUP = re.compile(r"\\(\d)")


def spoken_words(text: str) -> list[tuple[int, int]]:
    """(start, end) of every word of the original text."""
    return [match.span() for match in _SPOKEN.finditer(text)]


class Token(str):
    """A word of a reading, with the numbers of the spoken words that it stands for."""

    words: Origin

    def __new__(cls, text: str, words: Origin = _NOWHERE) -> Token:
        """A word that stands for spoken words."""
        token = super().__new__(cls, text)
        token.words = words
        return token

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[type[Token], tuple[str, Origin]]:
        """Copies and pickles keep the numbers."""
        return Token, (str(self), self.words)


def origin(tokens: Iterable[str]) -> Origin:
    """Every spoken word that some tokens stand for."""
    return frozenset(k for token in tokens for k in getattr(token, "words", _NOWHERE))


@dataclass(frozen=True)
class Traced:
    """A text with the origin of each character.

    Attributes:
        text: The characters.
        origins: Origin of each character.
        dropped: Spoken words of which a replacement has left nothing.
    """

    text: str
    origins: tuple[Origin, ...]
    dropped: Origin = _NOWHERE

    @classmethod
    def spoken(cls, text: str) -> Traced:
        """A sentence in lower case without accents; each of its words is its own origin."""
        characters: list[str] = []
        origins: list[Origin] = []

        def add(part: str, words: Origin) -> None:
            plain = unicodedata.normalize("NFKD", re.sub("[’‘`]", "'", part.lower()))
            kept = [c for c in plain if not unicodedata.combining(c)]
            characters.extend(kept)
            origins.extend([words] * len(kept))

        at = 0
        for k, (start, end) in enumerate(spoken_words(text)):
            add(text[at:start], _NOWHERE)
            add(text[start:end], frozenset({k}))
            at = end
        add(text[at:], _NOWHERE)
        return cls("".join(characters), tuple(origins))

    @classmethod
    def join(cls, tokens: Iterable[str], dropped: Origin = _NOWHERE) -> Traced:
        """Tokens with a blank between each two."""
        characters: list[str] = []
        origins: list[Origin] = []
        for token in tokens:
            blank = " " if characters else ""
            characters.append(blank + token)
            origins += [_NOWHERE] * len(blank) + [getattr(token, "words", _NOWHERE)] * len(token)
        return cls("".join(characters), tuple(origins), dropped)

    def __getitem__(self, part: slice) -> Traced:
        """A part of the text, which has dropped nothing."""
        return Traced(self.text[part], self.origins[part])

    def __add__(self, other: Traced) -> Traced:
        """Both texts, one after the other."""
        return Traced(self.text + other.text, self.origins + other.origins, self.dropped | other.dropped)

    @property
    def words(self) -> Origin:
        """Every spoken word that the text stands for."""
        return frozenset().union(*set(self.origins)) if self.origins else _NOWHERE

    def sub(self, pattern: re.Pattern[str] | str, replacement: str) -> Traced:
        r"""The text with every match replaced. New letters come from what they replace, and so does a group (`\1`)."""
        found = list(re.finditer(pattern, self.text))
        result, at = Traced("", (), self.dropped), 0
        for match in found:
            result = result + self[at : match.start()] + self._replaced(match, replacement)
            at = match.end()
        return result + self[at:] if found else self

    def _replaced(self, match: re.Match[str], replacement: str) -> Traced:
        parts = _GROUP.split(replacement)
        groups = [self[match.start(int(k)) : match.end(int(k))] for k in parts[1::2]]
        whole = self[match.start() : match.end()].words
        outside = whole.difference(*(group.words for group in groups))
        made = Traced("", ())
        for k, part in enumerate(parts):
            literal = Traced(part, tuple(_NOWHERE if c == " " else outside or whole for c in part))
            made = made + (groups[k // 2] if k % 2 else literal)
        return Traced(made.text, made.origins, whole - made.words)

    def split(self) -> list[Token]:
        """The words between blanks."""
        return [self.token(match) for match in re.finditer(r"\S+", self.text)]

    def token(self, match: re.Match[str]) -> Token:
        """What was matched in this text, as a token."""
        return Token(match.group(), self[match.start() : match.end()].words)

    def tidied(self, trim: str = "") -> Traced:
        """The text with single blanks, and without these characters at its ends."""
        tokens = self.split()
        while tokens and all(c in trim for c in tokens[0]):
            tokens.pop(0)
        while tokens and all(c in trim for c in tokens[-1]):
            tokens.pop()
        return Traced.join(tokens, self.dropped)

    def folded(self) -> list[Token]:
        """The words between blanks; the spoken words that were dropped go with the word before them."""
        tokens = self.split()
        for k in sorted(self.dropped):
            before = [i for i, token in enumerate(tokens) if min(token.words, default=k) < k]
            if tokens:
                i = before[-1] if before else 0
                tokens[i] = Token(tokens[i], tokens[i].words | {k})
        return tokens


class WordTrace:
    """Which words of a sentence have become what; nothing of what was said gets lost."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = spoken_words(text)
        self._roles: dict[int, str] = {}

    def give(self, tokens: Iterable[str] | Origin, role: str) -> None:
        """Let words play a role, unless they play one already."""
        words = tokens if isinstance(tokens, frozenset) else origin(tokens)
        for k in words:
            self._roles.setdefault(k, role)

    @property
    def unread(self) -> Origin:
        """Words that have become nothing."""
        return frozenset(range(len(self._spans))) - set(self._roles)

    def quote(self, words: Iterable[str] | Origin) -> str:
        """Words as they were said: "upside down" and "please"; each run of them within quotation marks."""
        runs = [f'"{self._said(run)}"' for run in _runs(words if isinstance(words, frozenset) else origin(words))]
        return ", ".join(runs[:-1]) + " and " + runs[-1] if len(runs) > 1 else "".join(runs)

    def reading(self) -> tuple[tuple[str, str], ...]:
        """(role, words) of every run of words with one role, in order."""
        by_role: list[tuple[str, list[int]]] = []
        for k in range(len(self._spans)):
            role = self._roles.get(k, "not understood")
            if by_role and by_role[-1][0] == role:
                by_role[-1][1].append(k)
            else:
                by_role.append((role, [k]))
        return tuple((role, self._said(run)) for role, run in by_role)

    def _said(self, run: Sequence[int]) -> str:
        return " ".join(self._text[self._spans[run[0]][0] : self._spans[run[-1]][1]].split())


def _runs(words: Origin) -> list[list[int]]:
    runs: list[list[int]] = []
    for k in sorted(words):
        if runs and runs[-1][-1] == k - 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    return runs
