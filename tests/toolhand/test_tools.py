"""Images, data sets and suites as `toolhand call` takes them."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from toolhand.cli.options import StationOptions
from toolhand.cli.tools import call
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.tools.suites import SUITES, parse_suites

PAPER = (255, 255, 255)


def seen(tmp_path: Path, image: Path) -> np.ndarray:
    """The image (H, W, 3) as the tools see it: a crop of all of it."""
    shown = tmp_path / "shown.png"
    arguments = '{"image_index": 0, "bounding_box": "\\\\boxed{0,0,1000,1000}"}'
    assert call("image_crop", arguments, StationOptions(suite="peria"), picture=image, image=shown) == 0
    return np.asarray(Image.open(shown))


def refused(image: Path) -> str:
    with pytest.raises(ToolError) as refusal:
        call("image_crop", "{}", StationOptions(suite="peria"), picture=image)
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENT
    return refusal.value.message


def test_ink_on_a_transparent_ground_is_seen_on_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (20, 10), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (5, 2, 10, 8))
    image.save(tmp_path / "ink.png")
    rgb = seen(tmp_path, tmp_path / "ink.png")
    assert tuple(rgb[0, 0]) == PAPER
    assert tuple(rgb[5, 7]) == (0, 0, 0)


def test_a_photograph_taken_with_a_turned_camera_is_seen_upright(tmp_path: Path) -> None:
    image = Image.new("RGB", (40, 20), PAPER)
    image.paste((255, 0, 0), (0, 0, 10, 20))
    turned = image.getexif()
    turned[0x0112] = 6  # orientation: to be turned clockwise by 90 degrees
    image.save(tmp_path / "turned.png", exif=turned)
    rgb = seen(tmp_path, tmp_path / "turned.png")
    assert rgb.shape == (40, 20, 3)
    assert tuple(rgb[2, 10]) == (255, 0, 0)
    assert tuple(rgb[37, 10]) == PAPER


@pytest.mark.parametrize("mode", ["CMYK", "P", "L", "1", "LA"])
def test_the_usual_kinds_of_images_are_seen_in_their_colours(mode: str, tmp_path: Path) -> None:
    grey = Image.new("L", (12, 9), 255)
    grey.paste(0, (0, 0, 6, 9))
    image = tmp_path / "picture.tiff"
    grey.convert("RGB").convert(mode).save(image)
    rgb = seen(tmp_path, image)
    assert tuple(rgb[4, 1]) == (0, 0, 0)
    assert tuple(rgb[4, 10]) == PAPER


def test_an_image_of_16_bits_is_refused_and_not_cut_to_white(tmp_path: Path) -> None:
    Image.fromarray(np.full((8, 8), 1000, np.uint16)).save(tmp_path / "deep.png")
    assert "more than 8 bits a channel" in refused(tmp_path / "deep.png")


def test_an_image_larger_than_a_conversation_takes_is_refused(tmp_path: Path) -> None:
    Image.new("1", (8193, 2)).save(tmp_path / "wide.png")
    assert "8193x2, and a side may have 8192 px" in refused(tmp_path / "wide.png")


def test_a_damaged_image_is_refused_in_one_sentence(tmp_path: Path) -> None:
    whole = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    Image.fromarray(noise).save(whole, "PNG")
    damaged = tmp_path / "damaged.png"
    for data in (b"", b"text", whole.getvalue()[:2000], whole.getvalue()[:60] + b"\0" * 400):
        damaged.write_bytes(data)
        message = refused(damaged)
        assert message.startswith("Cannot read the picture")
        assert message.count(".") == message.count(".png") + 1


def test_an_image_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.png").endswith("none.png': No such file or directory.")


@pytest.mark.parametrize("option", [{"frame": 3}, {"data": Path("somewhere")}, {"station": "mock", "scene": "3"}])
def test_an_option_that_the_robot_does_not_have_is_refused(option: dict[str, object]) -> None:
    with pytest.raises(ToolError, match="mock") as refusal:
        call("robot.capture_image", "{}", StationOptions(**option))  # type: ignore[arg-type]
    assert refusal.value.code is ErrorCode.INVALID_ARGUMENT


def test_all_among_other_suites_is_all_of_them() -> None:
    assert parse_suites("evic,all") == SUITES == parse_suites("all")
    assert parse_suites(" last , peria") == ("peria", "last")
    with pytest.raises(ToolError, match="There is no tool suite 'All'"):
        parse_suites("All,evic")


def test_what_a_terminal_would_obey_is_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        call("presence_check", '{"image_index": 0, "text_prompt": "red\u009b box"}', StationOptions(suite="peria")) == 0
    )
    assert '"prompt": "red  box"' in capsys.readouterr().out
