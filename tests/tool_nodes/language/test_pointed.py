"""Objects that are named by their points."""

from __future__ import annotations

import numpy as np
import pytest

from toolhand.tool_nodes.language.measures import point_of
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.pointed import AT_POINT, at_point
from toolhand.tool_nodes.results import ErrorCode, ToolError


def test_an_object_may_be_named_with_its_point() -> None:
    phrase = parse_noun_phrase("the left lemon at (0.480, .42)")
    assert (phrase.words, phrase.point, phrase.text) == (("lemon",), (0.48, 0.42), "left lemon at (0.480, .42)")
    assert parse_noun_phrase(phrase.text) == phrase
    assert parse_noun_phrase("thing at (0.1, 1.0)").point == (0.1, 1.0)
    assert parse_noun_phrase("the can at (1.5, 0.2)").point is None
    assert point_of("lemon") is None


def test_the_nearest_object_to_a_point_is_meant_and_none_further_away() -> None:
    phrase = parse_noun_phrase("lemon at (0.5, 0.5)")
    assert at_point(phrase, [(0.2, 0.5), (0.52, 0.5), (0.46, 0.5)]) == 1
    with pytest.raises(ToolError, match="nearest one is at") as caught:
        at_point(phrase, [(0.5 + AT_POINT + 0.01, 0.5)])
    assert caught.value.code is ErrorCode.OBJECT_NOT_FOUND


def test_the_object_whose_outline_holds_a_point_is_meant_before_one_whose_middle_is_nearer() -> None:
    tall, small = np.zeros((480, 640), bool), np.zeros((480, 640), bool)
    tall[100:360, 300:340] = True
    small[330:350, 344:366] = True
    middles = [(0.5, 230 / 480), (355 / 640, 340 / 480)]
    foot, between, table = ((320.5 / 640, 350.5 / 480), (341.0 / 640, 340.5 / 480), (0.5, 400.5 / 480))
    for point, meant in ((foot, 0), (between, 0), ((350.5 / 640, 340.5 / 480), 1)):
        phrase = parse_noun_phrase(f"thing at ({point[0]:.4f}, {point[1]:.4f})")
        assert at_point(phrase, middles, [tall, small]) == meant
    assert at_point(parse_noun_phrase(f"thing at ({foot[0]:.4f}, {foot[1]:.4f})"), middles, [None, small]) == 1
    with pytest.raises(ToolError, match="nearest one is at"):
        at_point(parse_noun_phrase(f"thing at ({table[0]:.4f}, {table[1]:.4f})"), middles, [tall, small])
