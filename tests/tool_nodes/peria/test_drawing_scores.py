"""Scores of objects found in drawings: how surely each is what was asked for, whatever its size."""

import colorsys
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from toolhand.sim.drawings.samples import shapes as drawn_shapes
from toolhand.tool_nodes.perception.drawings.backend import Drawings
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Everything, TextPrompt

RGB = NDArray[np.uint8]
PERIA_THRESHOLD, LAST_THRESHOLD = 0.25, 0.1
RED, ORANGE = (220, 30, 30), (240, 140, 20)


def drawn(corners: NDArray[np.float64], colour: tuple[int, int, int] = RED, noise: float = 0.0) -> RGB:
    """A polygon with corners (N, 2) [px] about the middle of 320 x 240 px, with smooth edges."""
    k = 4
    image = Image.new("RGB", (320 * k, 240 * k), "white")
    ImageDraw.Draw(image).polygon([(k * (x + 160), k * (y + 120)) for x, y in corners], fill=colour)
    small = np.asarray(image.resize((320, 240), Image.Resampling.LANCZOS))
    noisy = small + np.random.default_rng(3).normal(0.0, noise, small.shape)
    return np.clip(noisy, 0, 255).astype(np.uint8)


def ellipse(aspect: float, radius: float = 40.0, turn: float = 0.0) -> NDArray[np.float64]:
    t = np.linspace(0.0, 2.0 * math.pi, 180, endpoint=False)
    x, y = radius * math.sqrt(aspect) * np.cos(t), radius / math.sqrt(aspect) * np.sin(t)
    c, s = math.cos(turn), math.sin(turn)
    return np.column_stack([c * x - s * y, s * x + c * y])


def rounded_square(corner: float, half: float = 40.0) -> NDArray[np.float64]:
    """A square whose corners are arcs with a radius of this share of half its side."""
    r = corner * half
    t = np.radians(np.arange(0.0, 91.0, 5.0))
    arc = np.column_stack([half - r + r * np.cos(t), half - r + r * np.sin(t)])
    quarter = np.array([[0.0, 1.0], [-1.0, 0.0]])
    return np.concatenate([arc @ np.linalg.matrix_power(quarter, n) for n in range(4)])


def score(rgb: RGB, words: str) -> float:
    """The best detection's score, 0 where there is none."""
    try:
        return max(one.score for one in Drawings().detect(SessionImage(rgb), words).value)
    except ToolError:
        return 0.0


@pytest.mark.parametrize(("radius", "turn", "noise"), [(40.0, 0.0, 0.0), (40.0, 0.6, 6.0), (15.0, 0.3, 3.0)])
def test_an_ellipse_is_less_surely_a_circle_the_longer_it_is(radius: float, turn: float, noise: float) -> None:
    aspects = (1.0, 1.08, 1.16, 1.25, 1.4, 1.8)
    scores = [score(drawn(ellipse(a, radius, turn), noise=noise), "circle") for a in aspects]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.6
    assert scores[-2] < LAST_THRESHOLD
    as_ellipse = [score(drawn(ellipse(a, radius, turn), noise=noise), "ellipse") for a in aspects]
    assert as_ellipse[-1] > 0.6 > PERIA_THRESHOLD > as_ellipse[0]


def test_a_rounded_square_is_less_surely_a_square_the_rounder_it_is() -> None:
    as_square = [score(drawn(rounded_square(corner)), "square") for corner in (0.0, 0.15, 0.3, 0.5, 0.8, 1.0)]
    assert as_square == sorted(as_square, reverse=True)
    assert as_square[0] > 0.6
    assert as_square[3] < LAST_THRESHOLD
    as_circle = [score(drawn(rounded_square(corner)), "circle") for corner in (0.3, 0.5, 0.8, 1.0)]
    assert as_circle == sorted(as_circle)
    assert as_circle[1] < LAST_THRESHOLD
    assert as_circle[3] > 0.6


def test_a_colour_is_less_surely_red_the_farther_its_hue_is() -> None:
    hues = (0.0, 6.0, 10.0, 14.0, 18.0, 22.0, 33.0)
    colours = [colorsys.hsv_to_rgb(hue / 360.0, 0.9, 0.9) for hue in hues]
    images = [drawn(ellipse(1.0), tuple(round(255 * v) for v in colour)) for colour in colours]  # type: ignore[arg-type]
    red, orange = ([score(image, f"{name} circle") for image in images] for name in ("red", "orange"))
    assert np.diff(red).max() < 1e-9
    assert np.diff(orange).min() > -1e-9
    assert red[0] > 0.6
    assert red[-2] < LAST_THRESHOLD
    assert score(drawn(ellipse(1.0), ORANGE), "red circle") < LAST_THRESHOLD


def test_the_score_is_not_that_of_the_size() -> None:
    large_ellipse, small_circle = drawn(ellipse(1.1, 80.0)), drawn(ellipse(1.0, 12.0))
    assert score(large_ellipse, "circle") < score(small_circle, "circle")


@pytest.mark.parametrize("noise", [0.0, 3.0, 6.0])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_right_stays_over_the_papers_thresholds(seed: int, noise: float) -> None:
    frame = drawn_shapes(seed)
    noisy = frame.rgb + np.random.default_rng(seed).normal(0.0, noise, frame.rgb.shape)
    image, drawings = SessionImage(np.clip(noisy, 0, 255).astype(np.uint8)), Drawings()
    assert frame.labels
    for name in set(frame.labels):
        kept = [one for one in drawings.detect(image, name).value if one.score >= PERIA_THRESHOLD]
        assert len(kept) == frame.labels.count(name), name


def test_a_mask_asked_for_by_words_has_the_iou_times_the_probability_of_its_detection() -> None:
    image, drawings = SessionImage(drawn(ellipse(1.12))), Drawings()
    (mask,) = drawings.segment(image, TextPrompt("circle")).value
    (found,) = drawings.detect(image, "circle").value
    (everything,) = drawings.segment(image, Everything()).value
    assert mask.score == pytest.approx(found.score * everything.score)
    assert found.score < 0.7 < everything.score


@pytest.mark.parametrize(
    ("words", "kept"), [("circle", False), ("ellipse", True), ("orange ellipse", True), ("red ellipse", False)]
)
def test_text_segment_drops_what_matches_badly(sheet_of: Any, words: str, kept: bool) -> None:
    sheet = sheet_of(drawn(ellipse(1.18), (230, 100, 20)))
    assert len(sheet.ask("text_segment", text_prompt=words)["proposals"]) == kept
    assert sheet.ask("presence_check", text_prompt=words)["present"] is kept


def test_a_nearly_round_object_is_found_as_a_circle_by_a_low_score_only() -> None:
    found = Drawings().detect(SessionImage(drawn(ellipse(1.18))), "circle").value
    assert [0.02 <= one.score < PERIA_THRESHOLD for one in found] == [True]


def sheet_of_shapes(seed: int, noise: float) -> tuple[RGB, list[tuple[tuple[int, int], str]]]:
    """640 x 480 px with 12 shapes of 8 to 45 px radius, turned at random: (x, y) [px] and kind of each."""
    rng, k = np.random.default_rng(seed), 4
    image = Image.new("RGB", (640 * k, 480 * k), "white")
    truth = []
    for place in range(12):
        kind = str(rng.choice(["circle", "ellipse", "square", "rectangle", "rounded square", "triangle"]))
        middle, turn = (80 + 160 * (place % 4), 80 + 160 * (place // 4)), rng.uniform(0.0, 2.0 * math.pi)
        radius, c, s = math.exp(rng.uniform(math.log(8.0), math.log(45.0))), math.cos(turn), math.sin(turn)
        square = rounded_square(rng.uniform(0.3, 0.8) if kind == "rounded square" else 0.0, 0.8 * radius)
        corners = {
            "circle": ellipse(1.0, radius),
            "ellipse": ellipse(rng.uniform(1.2, 2.5), radius),
            "rectangle": square * (rng.uniform(1.2, 2.5), 1.0),
            "triangle": radius * np.array([[1.0, 0.0], [-0.5, 0.87], [-0.5, -0.87]]),
        }.get(kind, square)
        turned = corners @ np.array([[c, s], [-s, c]]) + middle
        ImageDraw.Draw(image).polygon([(k * x, k * y) for x, y in turned], fill=RED)
        truth.append((middle, kind))
    small = np.asarray(image.resize((640, 480), Image.Resampling.LANCZOS))
    return np.clip(small + rng.normal(0.0, noise, small.shape), 0, 255).astype(np.uint8), truth


@pytest.mark.parametrize("noise", [0.0, 3.0, 6.0])
def test_scores_are_as_often_right_as_they_say(noise: float) -> None:
    scores, right, missed, asked = [], [], 0, 0
    for seed in range(100, 112):
        rgb, truth = sheet_of_shapes(seed, noise)
        image, drawings = SessionImage(rgb), Drawings()  # which looks once at an image, whatever it is asked for
        for kind in ("circle", "ellipse", "square", "rectangle", "triangle"):
            meant = {kind} | ({"square"} if kind == "rectangle" else set())  # each square is a rectangle too
            try:
                found = drawings.detect(image, kind).value
            except ToolError:
                found = []
            kept = 0
            for one in found:
                assert one.point is not None
                u, v = one.point[0] * 640, one.point[1] * 480
                named = min((math.hypot(u - x, v - y), name) for (x, y), name in truth)[1]
                scores.append(one.score)
                right.append(named in meant)
                kept += one.score >= PERIA_THRESHOLD and named in meant
            missed += sum(name in meant for _, name in truth) - kept
            asked += sum(name in meant for _, name in truth)
    said, true = np.array(scores), np.array(right)
    bins = np.minimum((10 * said).astype(int), 9)
    error = sum(abs(said[bins == b].mean() - true[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins))
    dropped = (said < PERIA_THRESHOLD) & ~true
    told = f"noise {noise:g}: n {len(said)}, calibration error {error:.3f}, wrong {np.sum(~true)}, of them dropped "
    told += f"{dropped.sum()}, of {asked} right ones missed {missed}"
    print(told)
    assert error < 0.08, told
    assert dropped.sum() > 0.6 * np.sum(~true) > 5, told
    assert missed < 0.1 * asked, told
