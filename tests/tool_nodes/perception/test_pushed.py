"""Other objects that a motion has moved, by the images before and after it."""

import numpy as np
import pytest

from tests.tool_nodes.perception.test_free_space import arranged, mask, shown
from toolhand.tool_nodes.perception.pushed import pushed

SOUP, BOX, HONEY = ("tomato soup", 0.45, 0.0), ("sugar box", 0.45, 0.12), ("honey", 0.36, -0.02)
AWAY = ("salt", 0.6, -0.3)


def test_what_a_lift_uncovers_was_not_moved() -> None:
    before, after = arranged(SOUP, BOX, HONEY)[1], arranged(BOX, HONEY)[1]
    assert pushed(before, after, mask(before, 0)) == []


@pytest.mark.parametrize("way", [0.02, 0.05])
def test_a_neighbour_that_was_pushed_is_found(way: float) -> None:
    before = arranged(SOUP, BOX, HONEY, AWAY)[1]
    after = arranged(("sugar box", 0.45, 0.12 + way), HONEY, AWAY)[1]
    (point,) = pushed(before, after, mask(before, 0))
    assert np.hypot(*(shown(after, point)[:2] - (0.45, 0.12 + way))) < 0.08


def test_what_was_put_down_is_not_another_object() -> None:
    before, after = arranged(BOX, HONEY)[1], arranged(SOUP, BOX, HONEY)[1]
    assert pushed(before, after, placed_m=np.array([0.45, 0.0, 0.0])) == []
    shoved = arranged(SOUP, ("sugar box", 0.45, 0.15), HONEY)[1]
    assert len(pushed(before, shoved, placed_m=np.array([0.45, 0.0, 0.0]))) == 1
