"""`bench perception --text`: what is right makes no error, what is wrong its errors, and few typefaces no figure."""

from importlib import metadata

import numpy as np
import pytest

from toolhand.bench.perception import text as bench
from toolhand.bench.perception.text import (
    ANGLES_DEG,
    Page,
    Tally,
    WrittenLine,
    distance,
    faces,
    map_page,
    measure,
    page_of,
    rows_of,
)
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import TextSpan

BLANK = np.zeros((100, 200, 3), np.uint8)


class Told:
    """Reads what it was given."""

    backend = "told"

    def __init__(self, *spans: TextSpan) -> None:
        self._spans = list(spans)

    def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
        return Answer(self._spans, self.backend)


@pytest.mark.parametrize(("a", "b", "n"), [("", "abc", 3), ("kitten", "sitting", 3), ("9 to", "9to", 1), ("x", "x", 0)])
def test_the_distance_of_two_texts(a: str, b: str, n: int) -> None:
    assert distance(a, b) == distance(b, a) == n


def test_errors_are_counted_by_character_and_what_is_nowhere_printed_is_invented() -> None:
    page = Page(("all",), BLANK, (WrittenLine("18.50", (10, 10, 60, 30)), WrittenLine("Oslo", (10, 50, 60, 70))))
    spans = TextSpan("A8.50", (12, 11, 58, 29), 0.99), TextSpan("ghost", (150, 80, 190, 95))
    tallies: dict[str, Tally] = {}
    wrong = measure(Told(*spans), page, tallies)
    (tally,) = tallies.values()
    assert tally.errors == [[0.2] * 5 + [1.0] * 4]
    assert (tally.found, tally.exact_if_sure, tally.exact_if_unsure, tally.invented) == ([True, False], [False], [], 1)
    assert [(one["printed"], one["read"], one["sure"]) for one in wrong] == [
        ("18.50", "A8.50", True),
        ("Oslo", "", False),
    ]
    rows = {row["name"]: row for row in rows_of(tallies)}
    assert rows["characters wrong, all"]["mean"] == pytest.approx(5 / 9, abs=1e-4)
    assert rows["found, all"]["rate"] == 0.5


def test_a_line_of_a_page_of_two_kinds_is_sure_or_uncertain_once() -> None:
    page = Page(("level", "large"), BLANK, (WrittenLine("Oslo", (10, 50, 60, 70)),))
    tallies: dict[str, Tally] = {}
    measure(Told(TextSpan("Oslo", (12, 51, 58, 69), 0.99)), page, tallies)
    rows = {row["name"]: row for row in rows_of(tallies)}
    assert rows["exact where sure"]["n"] == rows["found, large"]["n"] == 1


@pytest.mark.parametrize("angle", [0, *ANGLES_DEG])
def test_a_reader_that_is_right_makes_no_errors_on_a_page_at_any_angle(angle: float) -> None:
    page = page_of(("turned",), "", 20, (0, 1), angle)
    height, width = page.rgb.shape[:2]
    turn = np.radians(angle)
    spans = []
    for line in page.lines:
        x, y = (line.box[0] + line.box[2] - page.flat_size[0]) / 2, (line.box[1] + line.box[3] - page.flat_size[1]) / 2
        u, v = np.cos(turn) * x + np.sin(turn) * y + width / 2, -np.sin(turn) * x + np.cos(turn) * y + height / 2
        assert page.rgb[round(v) - 10 : round(v) + 10, round(u) - 10 : round(u) + 10].min() < 150  # there is ink
        spans.append(TextSpan(line.text, (u - 5, v - 5, u + 5, v + 5)))
    tallies: dict[str, Tally] = {}
    assert measure(Told(*spans), page, tallies) == []
    assert not any(np.concatenate(tallies["turned"].errors))


def test_eight_typefaces_of_other_people_are_there_and_the_same_seed_prints_the_same() -> None:
    assert len(faces()) >= bench.MIN_FACES
    assert np.array_equal(map_page(3).rgb, map_page(3).rgb)
    one, other = (page_of(("x",), "", 16, (seed, 0), noise=5.0) for seed in (0, 1))
    assert one.lines != other.lines


def test_with_too_few_typefaces_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())
    with pytest.raises(ToolError, match="needs 8 typefaces, and there are 1: Pillow") as caught:
        faces()
    assert caught.value.code is ErrorCode.UNAVAILABLE
