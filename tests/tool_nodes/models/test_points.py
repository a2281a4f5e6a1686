"""Points in what models write, family by family."""

import pytest

from toolhand.tool_nodes.models.paddleocr_vl import lines, spotted
from toolhand.tool_nodes.models.points import any_points, json_points, molmo_points, no_points, tuple_points
from toolhand.tool_nodes.results import ErrorCode


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ('<points coords="1 1 350 412 2 388 610">cans</points>', [(0.35, 0.412), (0.388, 0.61)]),
        ('Here: <points alt="a can" coords="1 1 005 1000"/>', [(0.005, 1.0)]),
        ('<points coords="1 1 350 412;2 1 100 100">two pictures</points>', [(0.35, 0.412), (0.1, 0.1)]),
        ('<point x="35.0" y="41.2" alt="can">can</point>', [(0.35, 0.412)]),
        ("<point x='35' y='41.2'>can</point> and <point y='10' x='20'>", [(0.35, 0.412), (0.2, 0.1)]),
        ('<points x1="10" y1="20" x2="30.5" y2="40" alt="cans">cans</points>', [(0.1, 0.2), (0.305, 0.4)]),
        ('<points x1="10" y2="20">', []),
        ('<points coords="1 1 350 412 2 350 412">twice</points>', [(0.35, 0.412)]),
        ('<point x="135.0" y="41.2">beside the picture</point>', []),
        ("There are none.", []),
        ("", []),
    ],
)
def test_molmo(text: str, points: list[tuple[float, float]]) -> None:
    assert molmo_points(text) == [pytest.approx(point) for point in points]


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ('```json\n[{"point_2d": [224, 196], "label": "can"}]\n```', [(0.5, 0.7)]),
        ('[{"point_2d": [224, 196], "label": "can"}, {"point_2d": [44.8, 28.0', [(0.5, 0.7)]),
        ('[{"label": "can", "bbox_2d": [100, 100, 348, 180]}]', [(0.5, 0.5)]),
        ("{'point': [224, 196]}", [(0.5, 0.7)]),
        ('[{"point_2d": [500, 196]}]', []),
        ("[]", []),
    ],
)
def test_qwen_in_pixels_of_the_image_that_it_saw(text: str, points: list[tuple[float, float]]) -> None:
    assert json_points(text, 448, 280) == [pytest.approx(point) for point in points]


def test_roborefer_writes_pairs() -> None:
    text = "The points are [(0.35, 0.412), (0.39, 0.61)]"
    assert tuple_points(text) == [(0.35, 0.412), (0.39, 0.61)]
    assert tuple_points("[[350, 412]]", 1000, 1000) == [(0.35, 0.412)]
    assert tuple_points("(1.35, 0.412), (0.1, -0.5)") == []


def test_a_model_behind_a_server_may_write_any_of_them() -> None:
    assert any_points("[(0.2, 0.3)]", 1.0) == [(0.2, 0.3)]
    assert any_points("[(200, 300)]", 1000.0) == [(0.2, 0.3)]
    assert any_points('[{"point_2d": [200, 300]}]', 1000.0) == [(0.2, 0.3)]
    assert any_points('<point x="20" y="30">', 1000.0) == [(0.2, 0.3)]


def test_an_answer_without_a_point_says_so_or_is_not_understood() -> None:
    for text in ("[]", "```json\n[]\n```", "There are none.", "There is no can in this image."):
        assert no_points("can", text).code is ErrorCode.OBJECT_NOT_FOUND
    error = no_points("can", "I am a\nlanguage model")
    assert error.code is ErrorCode.NOT_RECOGNISED
    assert "it wrote 'I am a language model'" in error.message


@pytest.mark.parametrize(
    "piece", ["<points ", "(0.1, ", '"point_2d": [', '<points coords="1 1 2 3 ', "<|LOC_1|>", "[["]
)
def test_a_hostile_answer_is_read_to_its_end(piece: str) -> None:
    """A pattern that grew faster than the text would not come to it."""
    assert any_points(piece * 40_000, 1.0) == []
    assert spotted(piece * 40_000, 100, 100) == []


def test_texts_have_the_boxes_of_their_corners() -> None:
    text = (
        "<|TEXT_START|>Main  Street<|TEXT_END|><|LOC_BEGIN|><|LOC_100|><|LOC_200|><|LOC_300|><|LOC_210|><|LOC_290|>"
        "<|LOC_260|><|LOC_95|><|LOC_250|><|LOC_END|>No 7<|LOC_0|><|LOC_0|><|LOC_50|><|LOC_0|><|LOC_50|><|LOC_1000|>"
        "<|LOC_0|><|LOC_1000|>without corners"
    )
    street, number = spotted(text, 640, 480)
    assert street.text == "Main Street"
    assert street.box == pytest.approx((60.8, 96.0, 192.0, 124.8))
    assert (number.text, number.box) == ("No 7", pytest.approx((0.0, 0.0, 32.0, 480.0)))
    assert spotted("nothing here", 640, 480) == []


def test_lines_without_corners_are_somewhere_in_the_image() -> None:
    assert [(span.text, span.box) for span in lines("one\n\n two <|LOC_3|>\n", 64, 48)] == [
        ("one", (0.0, 0.0, 64.0, 48.0)),
        ("two", (0.0, 0.0, 64.0, 48.0)),
    ]
