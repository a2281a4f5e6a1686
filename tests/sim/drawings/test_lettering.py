"""The typeface of drawn images."""

import numpy as np
import pytest

from toolhand.sim.drawings.lettering import ACCENTED, CHARACTERS, draw_text


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
