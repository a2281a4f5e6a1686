"""Image files from outside: what is opened, and what is refused before it is decoded."""

import ast
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from toolhand.tool_nodes.toolbox.image_files import USUAL, ImageFileError, opened

ROOT = Path(__file__).parents[3]
GREY = Image.new("RGB", (8, 6), (99, 99, 99))


def file_of(kind: str, image: Image.Image = GREY, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def refused(source: Path | bytes, **options: object) -> str:
    with pytest.raises(ImageFileError) as caught, opened(source, **options) as image:
        image.load()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", USUAL)
def test_usual_images_are_opened_where_they_are_allowed(kind: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(file_of(kind))
    with opened(tmp_path / "x", USUAL) as image:
        assert abs(np.asarray(image.convert("RGB")).astype(int) - 99).max() <= 2


@pytest.mark.parametrize("kind", ["EPS", "PDF", "TGA", "PPM", "GIF", "TIFF"])
def test_a_format_that_is_not_allowed_is_refused_whatever_the_file_is_called(kind: str, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(file_of(kind))
    assert refused(tmp_path / "x.png") == "it is no PNG or JPEG picture"


def test_a_size_is_refused_before_anything_is_decoded() -> None:
    assert refused(file_of("PNG", Image.new("1", (16_000, 16_000)))) == "it is too large: a side may have 8192 px"
    assert refused(file_of("PNG", Image.new("1", (9000, 9000)))) == "it is 9000x9000, and a side may have 8192 px"
    assert refused(file_of("PNG"), side=7) == "it is 8x6, and a side may have 7 px"
    with opened(file_of("PNG"), side=8) as image:
        assert image.size == (8, 6)


def test_a_jpeg_of_endless_scans_is_refused() -> None:
    jpeg = file_of("JPEG", progressive=True)
    at = jpeg.index(b"\xff\xda")
    scan = jpeg[at : jpeg.index(b"\xff", at + 2)]
    with opened(jpeg) as image:
        image.load()
    assert refused(jpeg[:at] + scan * 200 + jpeg[at:]) == "it is a JPEG of more than 100 scans"


def test_a_file_that_is_damaged_missing_or_none_is_refused(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    data = file_of("PNG", Image.fromarray(noise))
    assert refused(data[:3000]) == "it is damaged"
    assert refused(b"") == refused(b"text") == "it is no PNG or JPEG picture"
    assert refused(tmp_path / "none") == "No such file or directory"
    assert refused(tmp_path) == "it is no file"
    assert refused(Path("/dev/zero")) == "it is a device and no regular file"


def test_a_file_that_is_too_long_is_refused_and_one_of_just_that_length_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = file_of("BMP")
    (tmp_path / "x.bmp").write_bytes(data)
    for source in (data, tmp_path / "x.bmp"):
        monkeypatch.setattr("toolhand.tool_nodes.toolbox.image_files.MAX_FILE_BYTES", len(data))
        with opened(source, USUAL) as image:
            assert image.size == GREY.size
        monkeypatch.setattr("toolhand.tool_nodes.toolbox.image_files.MAX_FILE_BYTES", len(data) - 1)
        assert refused(source, formats=USUAL).startswith("it is longer than")


def test_an_error_that_is_not_the_images_passes_as_it_is() -> None:
    with pytest.raises(KeyError), opened(file_of("PNG")):
        raise KeyError("mine")


def test_nothing_else_in_the_project_opens_images() -> None:
    found = []
    for room in ("tool_nodes", "sim", "agent_node", "bench", "training", "toolhand/cli/main.py"):
        path = ROOT / room
        for file in [path] if path.is_file() else path.rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                opens = isinstance(node, ast.Attribute) and node.attr == "open" and isinstance(node.value, ast.Name)
                if opens and node.value.id == "Image" and file.name != "image_files.py":  # type: ignore[attr-defined]
                    found.append(str(file))
    assert not found
