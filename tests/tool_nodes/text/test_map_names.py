"""PERIA's map OCR leaves out numbers, scales and single signs (C.1), and no name however short."""

import pytest

from tool_nodes.tools.peria.text_reading import is_map_noise


@pytest.mark.parametrize("name", ["Ulm", "Bad", "Au", "Ob", "Köln", "É 7 St", "Y Fro", "B 27 Ost"])
def test_a_short_name_is_a_name(name: str) -> None:
    assert not is_map_noise(name)


@pytest.mark.parametrize("noise", ["U", "7", "A 4", "200 m", "1:5000", "°", "–", " ", ""])
def test_what_has_a_single_letter_or_none_is_noise(noise: str) -> None:
    assert is_map_noise(noise)
