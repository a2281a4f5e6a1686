"""Batches of the pointer's training: pictures, phrases as numbers, and what is meant, on the network's grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tool_nodes.perception.learned.forward import GRID, STRIDE, network_input
from tool_nodes.perception.learned.reading import ANYTHING, BESIDE, SIDE_KEYS, Named, PhraseTokens, read_phrase
from training.pointer.data import MAX_THINGS, PictureSet, cell_truth
from training.pointer.phrases import LabelledPhrase

MAX_WORDS = 6
"""Words of the longest description that is trained on."""

THING_SLOTS: Mapping[str, int] = {"plain": 9, "several": 4, "absent": 5}
"""Phrases of each kind about each scene of a batch that name things [-]."""
PLACE_SLOTS: Mapping[str, int] = {"side": 3, "beside": 3}
"""And that tell one of several by its place; left empty where a scene has none."""

WITHOUT_DEPTH = 0.2
"""Share of the pictures that are shown without depth: the encoder is to understand colour alone, too. By hand."""

_OUTER = 2
"""Cells of a thing further than this from its middle, along an axis, do not count as its middle [cells]."""

Numbers = NDArray[np.int16]


@dataclass(frozen=True)
class WordList:
    """The words that are trained on, and the head nouns; the place of one is its number."""

    words: tuple[str, ...]
    heads: tuple[str, ...]

    @classmethod
    def of(cls, phrases: Iterable[PhraseTokens]) -> WordList:
        """Those of phrases; "anything" is the first head."""
        nouns = [noun for tokens in phrases for noun in (tokens.thing, tokens.reference) if noun is not None]
        heads = {noun.head for noun in nouns} - {ANYTHING}
        return cls(tuple(sorted({word for noun in nouns for word in noun.words})), (ANYTHING, *sorted(heads)))


@dataclass(frozen=True, eq=False)
class PhraseRows:
    """Phrases as numbers, in arrays of any leading shape.

    Attributes:
        words, reference_words: (..., MAX_WORDS) numbers of words, -1 for none.
        heads, reference_heads: Numbers of head nouns.
        side, relation: Index into SIDE_KEYS, BESIDE; -1 for none.
        meant: (..., MAX_THINGS + 1) as LabelledPhrase.meant; the last one is whatever is no thing.
        valid: Whether there is a phrase at all.
    """

    words: Numbers
    heads: Numbers
    side: Numbers
    relation: Numbers
    reference_words: Numbers
    reference_heads: Numbers
    meant: NDArray[np.int8]
    valid: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> PhraseRows:
        """Some rows; none of them where the number is -1."""
        valid = rows >= 0
        chosen = {name: column[np.maximum(rows, 0)] for name, column in vars(self).items()}
        return PhraseRows(**(chosen | {"valid": valid & chosen["valid"]}))


@dataclass(frozen=True, eq=False)
class Batch:
    """Some scenes, with phrases about each.

    Attributes:
        pictures: (B, 7, 120, 160), see `network_input`; some of them without depth.
        place: (B, 2, cells) x and y of the cells on the table, as the network counts them; of every picture.
        cells, outer: (B, cells) the thing in each cell, MAX_THINGS where there is none; True where that is not its
            middle part.
        centres: (B, MAX_THINGS) the cell in the middle of each.
        things, places: (B, Q) phrases that name things, and phrases that tell one of several by its place.
    """

    pictures: NDArray[np.float32]
    place: NDArray[np.float32]
    cells: NDArray[np.int8]
    outer: NDArray[np.bool_]
    centres: NDArray[np.int64]
    things: PhraseRows
    places: PhraseRows


class PhraseBook:
    """All phrases about all scenes of a set as numbers, and the truth on the grid.

    Args:
        pictures: The set.
        vocabulary: The words that have numbers; phrases with others are left out.
    """

    def __init__(self, pictures: PictureSet, vocabulary: WordList) -> None:
        self._pictures = pictures
        truths = [cell_truth(ids) for ids in pictures.ids]
        self._cells = np.stack([truth.cells for truth in truths])
        self._centres = np.stack([truth.centres for truth in truths])
        self._outer = np.stack([_outer(truth.cells, truth.centres) for truth in truths])
        words = {word: number for number, word in enumerate(vocabulary.words)}
        heads = {head: number for number, head in enumerate(vocabulary.heads)}
        self._by_kind: list[dict[str, list[int]]] = []
        rows: list[tuple[Sequence[int], int, int, int, Sequence[int], int, Sequence[int]]] = []
        for truth, phrases in zip(truths, pictures.phrases, strict=True):
            of_scene: dict[str, list[int]] = {}
            for phrase in phrases:
                meant = labels(phrase, truth.seen)
                tokens = read_phrase(phrase.text)
                if meant is None or not _known(tokens, words, heads):
                    continue
                of_scene.setdefault(phrase.kind, []).append(len(rows))
                reference = tokens.reference or Named((), ANYTHING)
                rows.append(
                    (
                        [words[word] for word in tokens.thing.words],
                        heads[tokens.thing.head],
                        SIDE_KEYS.index(tokens.side) if tokens.side else -1,
                        BESIDE.index(tokens.relation) if tokens.relation else -1,
                        [words[word] for word in reference.words],
                        heads[reference.head],
                        meant,
                    )
                )
            self._by_kind.append(of_scene)
        self._rows = _as_rows(rows)

    def __len__(self) -> int:
        return len(self._by_kind)

    def batch(
        self,
        scenes: Sequence[int],
        rng: np.random.Generator,
        things: Mapping[str, int] = THING_SLOTS,
        without_depth: float = 0.0,
    ) -> Batch:
        """Some scenes, each with phrases that are drawn by kind.

        Args:
            scenes: Numbers of scenes.
            rng: Draws the phrases and the pictures without depth.
            things: Phrases of each kind that name things.
            without_depth: Share of the pictures whose depth channels are zero, as of a picture that is colour alone.
        """
        named = self._drawn(scenes, rng, things)
        placed = self._drawn(scenes, rng, PLACE_SLOTS)
        p = self._pictures
        inputs = np.stack([network_input(p.rgb[k], p.depth[k], p.K, p.T_base_camera[k]) for k in scenes])
        half = STRIDE // 2
        place = inputs[:, 3:5, half::STRIDE, half::STRIDE].reshape(len(inputs), 2, -1)
        place = np.ascontiguousarray(place)
        inputs[rng.random(len(inputs)) < without_depth, 3:] = 0.0
        chosen = np.asarray(scenes)
        return Batch(
            inputs,
            place,
            self._cells[chosen],
            self._outer[chosen],
            self._centres[chosen],
            self._rows.take(named),
            self._rows.take(placed),
        )

    def batches(self, size: int, rng: np.random.Generator, without_depth: float = 0.0) -> Iterator[Batch]:
        """All scenes once in random order, `size` at a time; what is left over is left out."""
        order = rng.permutation(len(self))
        for first in range(0, len(self) - size + 1, size):
            yield self.batch(order[first : first + size].tolist(), rng, without_depth=without_depth)

    def _drawn(self, scenes: Sequence[int], rng: np.random.Generator, slots: Mapping[str, int]) -> NDArray[np.int64]:
        drawn = []
        for scene in scenes:
            row: list[int] = []
            for kind, count in slots.items():
                options = self._by_kind[scene].get(kind, [])
                row += [options[k] for k in rng.integers(len(options), size=count)] if options else [-1] * count
            drawn.append(row)
        return np.array(drawn, np.int64)


def labels(phrase: LabelledPhrase, seen: NDArray[np.bool_]) -> Sequence[int] | None:
    """(MAX_THINGS + 1,) of a phrase, open for things that are hardly seen; None where what it means is not seen."""
    meant = [*phrase.meant, *[0] * (MAX_THINGS + 1 - len(phrase.meant))]
    meant = [-1 if label == 1 and not seen[k] else label for k, label in enumerate(meant[:-1])] + meant[-1:]
    return None if 1 in phrase.meant and 1 not in meant else meant


def _known(tokens: PhraseTokens, words: Mapping[str, int], heads: Mapping[str, int]) -> bool:
    return all(
        len(noun.words) <= MAX_WORDS and noun.head in heads and all(word in words for word in noun.words)
        for noun in (tokens.thing, tokens.reference)
        if noun is not None
    )


def _as_rows(rows: Sequence[tuple[Sequence[int], int, int, int, Sequence[int], int, Sequence[int]]]) -> PhraseRows:
    def padded(column: int) -> Numbers:
        out = np.full((len(rows), MAX_WORDS), -1, np.int16)
        for k, row in enumerate(rows):
            numbers = row[column]
            assert not isinstance(numbers, int)
            out[k, : len(numbers)] = numbers
        return out

    def single(column: int) -> Numbers:
        return np.array([row[column] for row in rows], np.int16)

    meant = np.array([row[6] for row in rows], np.int8)
    return PhraseRows(padded(0), single(1), single(2), single(3), padded(4), single(5), meant, np.ones(len(rows), bool))


def _outer(cells: NDArray[np.int8], centres: NDArray[np.int64]) -> NDArray[np.bool_]:
    rows, columns = GRID
    middle = np.append(centres, 0)[cells]
    number = np.arange(rows * columns)
    away = np.maximum(abs(number // columns - middle // columns), abs(number % columns - middle % columns))
    return away > _OUTER
