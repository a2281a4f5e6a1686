"""Which objects bbox_segment and exemplar_segment keep: how much of one must lie in the box, and how near it must
be."""

from typing import Any

import numpy as np
import pytest

from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolResult
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.peria.interaction import PeriaInteractionTools
from toolhand.tool_nodes.tools.peria.perception import PeriaPerceptionTools


class OneObject:
    """An object finder that sees one square of 200 x 200 px in the middle of an image of 1000 x 1000 px."""

    backend = "told"

    def everything(self, image: SessionImage) -> Answer[list[Instance]]:
        mask = np.zeros((1000, 1000), bool)
        mask[400:600, 400:600] = True
        return Answer([Instance.of_mask(mask, 0.9)], self.backend)


def asked(name: str, left: int, top: int, right: int, bottom: int) -> ToolResult:
    toolbox = Toolbox([PeriaPerceptionTools(OneObject())])  # type: ignore[arg-type]
    session = Session(images=[SessionImage(np.full((1000, 1000, 3), 90, np.uint8))])
    box = rf"\boxed{{{left},{top},{right},{bottom}}}"
    return toolbox.call(name, {"image_index": 0, "bounding_box": box}, session).result


@pytest.mark.parametrize(
    ("box", "found"),
    [
        ((0, 0, 520, 1000), True),  # 60 % of the object, and 5 % of the box
        ((0, 0, 480, 1000), False),  # 40 %
        ((400, 400, 440, 560), True),  # 16 % of the object, the whole box
        ((360, 400, 440, 560), True),  # half of the box
        ((300, 400, 440, 560), True),  # 29 % of it
        ((240, 400, 440, 560), False),  # 20 % of it
    ],
)
def test_a_box_holds_what_lies_half_in_it_or_fills_a_quarter_of_it(box: tuple[int, int, int, int], found: bool) -> None:
    result = asked("bbox_segment", *box)
    assert result.ok is found
    if found:
        (one,) = result.value["proposals"]
        left, top, right, bottom = (max(box[0], 400), max(box[1], 400), min(box[2], 600), min(box[3], 600))
        assert one["area"] == (right - left) * (bottom - top)
    else:
        assert result.error is not None
        assert result.error.code is ErrorCode.EMPTY_MASK


@pytest.mark.parametrize(
    ("box", "found"),
    [
        ((400, 400, 600, 600), True),
        ((500, 400, 700, 600), True),  # IoU 0.33
        ((525, 400, 725, 600), True),  # 0.23
        ((540, 400, 740, 600), False),  # 0.18
        ((200, 200, 800, 800), False),  # 0.11: the box is far too large for the object
    ],
)
def test_an_exemplar_is_an_object_that_shares_a_fifth_with_the_box(box: tuple[int, int, int, int], found: bool) -> None:
    result = asked("exemplar_segment", *box)
    assert result.ok is found
    if found:
        assert [one["bbox"] for one in result.value["proposals"]] == [r"\boxed{400,400,600,600}"]
    else:
        assert result.error is not None
        assert result.error.code is ErrorCode.EMPTY_MASK


# -- the ends and waypoints of PERIA's lines and paths are dots, wider than the line ---------------


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
