"""The ends and waypoints of PERIA's lines and paths are dots, wider than the line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import Session, Toolbox
from tool_nodes.tools.peria.interaction import PeriaInteractionTools


@pytest.mark.parametrize(
    ("name", "arguments", "dots"),
    [
        ("draw_line", {"coordinates": [[200, 500], [800, 500]]}, (200, 800)),
        ("draw_path", {"points": [[200, 500], [500, 500], [800, 500]]}, (200, 500, 800)),
    ],
)
def test_a_line_has_a_dot_on_each_of_its_points(name: str, arguments: dict[str, Any], dots: tuple[int, ...]) -> None:
    session = Session(images=[SessionImage(np.zeros((1000, 1000, 3), np.uint8))])
    image = Toolbox([PeriaInteractionTools()]).call(name, {"image_index": 0, **arguments}, session).result.image
    assert image is not None
    thick = image.any(axis=2).sum(axis=0)
    line = thick[350]
    assert 2 <= line <= 6
    wide = np.flatnonzero(thick > 1.5 * line)
    assert {int(round(column, -2)) for column in wide} == set(dots)
    for column in dots:
        assert thick[column] >= 2 * line
