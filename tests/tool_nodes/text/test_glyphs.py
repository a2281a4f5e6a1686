"""The typeface and its atlas."""

from __future__ import annotations

import numpy as np
import pytest

from tool_nodes.perception.text.atlas import EM_PX, atlas, ink_box, resized, sample
from tool_nodes.perception.text.glyphs import ACCENTED, CHARACTERS, draw_smooth_text, draw_text


def test_every_character_can_be_drawn() -> None:
    for character in CHARACTERS:
        assert draw_text(character, 24)[0].max() > 0.5, character


def test_no_character_is_known_twice() -> None:
    assert len(set(CHARACTERS)) == len(CHARACTERS)


@pytest.mark.parametrize("letter", "éàôüñç")
def test_an_accented_letter_is_its_base_and_more(letter: str) -> None:
    base, drawn = draw_text(ACCENTED[letter][0], 40)[0], draw_text(letter, 40)[0]
    assert np.all(drawn >= base - 1e-6)
    assert drawn.sum() > base.sum() * 1.03


@pytest.mark.parametrize("character", "AgW48&é")
def test_a_letter_drawn_at_another_size_is_recognised(character: str) -> None:
    ink, _, _ = draw_smooth_text(character, 27.0)
    enlarged = resized(ink, EM_PX / 27.0)
    known = atlas()
    likeness = known.likeness(sample(enlarged, ink_box(enlarged)))[0]
    assert known.characters[int(likeness.argmax())] == character
    assert likeness.max() > 0.9


def test_what_lies_beside_a_box_does_not_change_its_sample() -> None:
    ink = np.zeros((30, 40), np.float32)
    ink[5:25, 10:14] = 1.0
    alone = sample(ink, (10, 5, 14, 25))
    ink[:, 20:30] = 1.0
    assert np.array_equal(sample(ink, (10, 5, 14, 25)), alone)
