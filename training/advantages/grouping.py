"""Which observations are the same one: by digest, and for texts by likeness.

Two texts are alike where the larger of difflib's two ratios, of (a, b) and of (b, a), is delta or more; likeness then
passes on, so that groups depend on no order. That is n^2 slow comparisons; here most are decided without one, and
never otherwise than by it:

- equal texts are one text;
- pairs that other pairs have joined already need no more look;
- difflib's ratio is `2 M / (|a| + |b|)`, and its M characters in common are no more than both lengths allow, no more
  than both texts have of each character, and, because they stand in the same order in both, no more than the longest
  common subsequence. Each of these bounds is quicker than the next, and symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.results import invalid
from toolhand.training.advantages.steps import Anchor

DELTA = 0.9
"""Likeness from which on two texts are one observation [-]; PERIA, Table 5. Section 4.3 has >=, C.3 "above": >=
here."""


class _Sets:
    """Union-find over 0 .. n-1."""

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))

    def root(self, k: int) -> int:
        while self._parent[k] != k:
            self._parent[k] = self._parent[self._parent[k]]
            k = self._parent[k]
        return k

    def join(self, a: int, b: int) -> None:
        a, b = sorted((self.root(a), self.root(b)))
        self._parent[b] = a


def observation_groups(anchors: Sequence[Anchor], delta: float | None = DELTA) -> NDArray[np.int64]:
    """Group of each observation of one prompt (PERIA, C.3).

    Args:
        anchors: N observations; those with text are also compared by it.
        delta: Likeness from which on texts are merged, above 0 up to 1; None for equal digests alone.

    Returns:
        (N,) numbers from 0, in order of first appearance.

    Raises:
        ToolError: INVALID_ARGUMENT for another delta.
    """
    if delta is not None and not 0 < delta <= 1:
        raise invalid(f"delta must be above 0 and at most 1, or None, got {delta}.")
    first: dict[str, int] = {}
    exact = [first.setdefault(anchor.digest, k) for k, anchor in enumerate(anchors)]
    sets = _Sets(len(anchors))
    if delta is not None:
        texts: dict[str, int] = {}
        for k in first.values():
            text = anchors[k].text
            if text is not None:
                sets.join(texts.setdefault(text, k), k)
        _merge_alike(list(texts), list(texts.values()), delta, sets)
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(sets.root(k), len(numbers)) for k in exact], dtype=np.int64)


def alike(a: str, b: str, delta: float) -> bool:
    """Whether the larger of difflib's ratios of (a, b) and (b, a) is delta or more; autojunk, a guess, is off."""
    return any(SequenceMatcher(None, *pair, autojunk=False).ratio() >= delta for pair in ((a, b), (b, a)))


def common_subsequence(a: str, b: str) -> int:
    """Length of the longest common subsequence of two texts, a column of its table at a time as bits of one integer."""
    places: dict[str, int] = {}
    for k, character in enumerate(a):
        places[character] = places.get(character, 0) | 1 << k
    everything = (1 << len(a)) - 1
    unmatched = everything
    for character in b:
        hits = unmatched & places.get(character, 0)
        unmatched = ((unmatched + hits) | (unmatched - hits)) & everything
    return len(a) - unmatched.bit_count()


def _merge_alike(texts: Sequence[str], owners: Sequence[int], delta: float, sets: _Sets) -> None:
    """Join the owners of all distinct texts that are alike; pairs that may be most alike come first and spare most."""
    alphabet = {character: k for k, character in enumerate(sorted(set().union(*texts)))}
    counts = np.zeros((len(texts), len(alphabet)), dtype=np.int32)
    for row, text in zip(counts, texts, strict=True):
        np.add.at(row, [alphabet[character] for character in text], 1)
    lengths = counts.sum(axis=1)
    for _, i, j in sorted(_promising(counts, lengths, delta), reverse=True):
        if sets.root(owners[i]) == sets.root(owners[j]):
            continue
        a, b, both = texts[i], texts[j], int(lengths[i] + lengths[j])
        if 2.0 * common_subsequence(a, b) / both >= delta and alike(a, b, delta):
            sets.join(owners[i], owners[j])


def _promising(counts: NDArray[np.int32], lengths: NDArray[np.int64], delta: float) -> list[tuple[float, int, int]]:
    """(bound, i, j) of each pair that neither its lengths nor its characters keep below delta."""
    pairs = []
    for i in range(len(lengths)):
        others = np.arange(i + 1, len(lengths))
        both = lengths[i] + lengths[others]
        near = 2.0 * np.minimum(lengths[i], lengths[others]) / both >= delta
        others, both = others[near], both[near]
        bounds = 2.0 * np.minimum(counts[i], counts[others]).sum(axis=1) / both
        pairs += [(float(bounds[k]), i, int(others[k])) for k in np.flatnonzero(bounds >= delta)]
    return pairs
