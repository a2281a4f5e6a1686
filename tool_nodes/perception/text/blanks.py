"""Blanks between letters: the network is unsure of narrow ones, and plain decoding then leaves them out."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.types import FloatArray

NOTHING = 0
"""The class that stands for no character (the blank label of CTC, connectionist temporal classification)."""
EVEN_CHANCE = 0.2
"""Summed chance of a blank between two letters from which one is put there [-]. By all lines of the pages of
`toolhand bench perception --text` with first seeds 9000 and 9001: most letters side by side have less than 0.01, one
blank in a hundred has less than 0.35."""
_STEEPNESS = 2.0
"""Power of the chance over the even one that gives the odds of a blank [-]: at 0.1 and 0.4 it is four to one that
there is none, or one."""


class BlankingDecoder:
    """RapidOCR's decoder of what the network says, with the blanks that plain decoding leaves out.

    A character's confidence is as before. A blank's tells how clear it is that there is one, and a letter's is at most
    that of there being none before it.
    """

    def __init__(self, decoder: Any) -> None:
        """Takes a `CTCLabelDecode`."""
        self._decoder = decoder
        self._blank = decoder.character.index(" ")

    def __call__(
        self, chances: NDArray[np.float32], return_word_box: bool, *, wh_ratio_list: list[float], max_wh_ratio: float
    ) -> Any:
        """Texts of lines and where their characters are; chances of each class at each step, (n, steps, classes)."""
        signs, sure = chances.argmax(axis=2), chances.max(axis=2)
        for line, line_sure, line_chances in zip(signs, sure, chances, strict=True):
            place_blanks(line, line_sure, line_chances[:, self._blank], self._blank)
        return self._decoder.decode(signs, sure, return_word_box, wh_ratio_list, max_wh_ratio, remove_duplicate=True)


def place_blanks(signs: NDArray[np.int64], sure: FloatArray, chances: FloatArray, blank: int) -> None:
    """Put one blank or none between letters that follow each other.

    Args:
        signs: The likeliest class at each step, (steps,), changed in place.
        sure: How sure it is, (steps,) in [0, 1], changed in place.
        chances: That of a blank at each step, (steps,) in [0, 1].
        blank: Its class.
    """
    begins = np.flatnonzero((signs != NOTHING) & (signs != blank) & np.diff(signs, prepend=NOTHING).astype(bool))
    for left, right in pairwise(begins):
        odds = (float(chances[left : right + 1].sum()) / EVEN_CHANCE) ** _STEEPNESS
        between = np.arange(left + 1, right)
        free = between[(signs[between] == NOTHING) | (signs[between] == blank)]
        signs[free] = NOTHING
        if odds >= 1.0 and free.size:
            best = free[np.argmax(chances[free])]
            signs[best], sure[best] = blank, odds / (1.0 + odds)
        else:
            sure[right] = min(sure[right], 1.0 / (1.0 + odds))
