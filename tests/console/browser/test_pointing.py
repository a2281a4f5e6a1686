"""Where a click points: 500 of them at three zooms and two pixel ratios, against the lines that a screenshot shows.

The image has a line every 40 px. Where they are on the screen is measured in a screenshot, without asking the page
how large it has drawn the image.
"""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.console.browser.conftest import Served
from tests.console.fake_robot import SIZE
from tests.waiting import until

SPACING_PX = 40
"""Distance of the lines of the image [px of the image]."""
BLUE_OF_A_LINE = 170
"""Blue of a line is 240, and of what is between them 96."""
AT_A_TIME = 7
"""Points that are said together."""
CLICKS = 84
"""Clicks of each zoom and pixel ratio: 504 in all."""
BOUND_PX = 0.5


def line_positions(profile: NDArray[np.float64]) -> NDArray[np.float64]:
    """Middles of the bright stretches of a profile."""
    bright = np.flatnonzero(profile > BLUE_OF_A_LINE)
    groups = np.split(bright, np.flatnonzero(np.diff(bright) > 1) + 1)
    found = [np.average(group + 0.5, weights=profile[group] - 96.0) for group in groups if len(group)]
    return np.array(found)


def measured(page: Any, window: dict[str, float], ratio: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """(CSS px per px of the image, CSS px of some line of it) along x and y, by a screenshot of the window."""
    shot = Image.open(io.BytesIO(page.screenshot(clip=window))).convert("RGB")
    blue = np.asarray(shot, float)[..., 2]
    scales, starts = [], []
    for axis, start in ((0, window["x"]), (1, window["y"])):
        lines = line_positions(np.median(blue, axis=axis)) / ratio + start
        lines = lines[(lines > start + 2) & (lines < start + window["width" if axis == 0 else "height"] - 2)]
        steps = np.arange(len(lines))
        slope, first = np.polyfit(steps, lines, 1)
        assert np.abs(lines - (first + slope * steps)).max() < 0.8, "the lines are evenly spaced"
        scales.append(slope / SPACING_PX)
        starts.append(first)
    return (scales[0], starts[0]), (scales[1], starts[1])


@pytest.mark.parametrize("ratio", [1.0, 2.0])
@pytest.mark.parametrize("zoom", [0, 2, 4])
def test_a_click_is_the_pixel_that_was_clicked(
    console: Served, open_page: Callable[..., Any], ratio: float, zoom: int, record_property: Callable[..., None]
) -> None:
    rng = np.random.default_rng(int(10 * ratio + zoom))
    page = open_page(console.url, ratio=ratio)
    page.get_by_test_id("picture-img").wait_for()
    page.get_by_test_id("composer").wait_for()
    for _ in range(zoom):
        page.get_by_test_id("zoom-in").click()
    page.wait_for_timeout(300)
    inside = page.locator(".picture-window").bounding_box()
    window = {key: float(np.floor(value)) for key, value in inside.items()}
    window["height"] = min(window["height"], 790.0 - window["y"])
    errors: list[float] = []
    while len(errors) < 2 * CLICKS:  # along x and along y
        (scale_x, line_x), (scale_y, line_y) = measured(page, window, ratio)
        before = len(console.asked("said"))
        at = [
            (
                window["x"] + 20 + float(rng.uniform(0, window["width"] - 60)),
                window["y"] + 20 + float(rng.uniform(0, window["height"] - 60)),
            )
            for _ in range(AT_A_TIME)
        ]
        for x, y in at:
            page.mouse.click(x, y)
        page.get_by_test_id("sentence").fill("hello")
        page.get_by_test_id("sentence").press("Enter")
        said = until(lambda before=before: console.asked("said")[before:])[0]
        assert len(said["points"]) == AT_A_TIME
        for (x, y), point in zip(at, said["points"], strict=True):
            for clicked, line, scale, normalized, size in (
                (x, line_x, scale_x, point[0], SIZE[0]),
                (y, line_y, scale_y, point[1], SIZE[1]),
            ):
                off = (clicked - line) / scale + 0.5 - normalized * size  # from the middle of a line of the image
                errors.append(abs(off - SPACING_PX * round(off / SPACING_PX)))
    print(f"zoom {zoom}, ratio {ratio:g}: {len(errors) // 2} clicks, at most {max(errors):.3f} px off")
    record_property("most_px_off", max(errors))
    assert max(errors) <= BOUND_PX
