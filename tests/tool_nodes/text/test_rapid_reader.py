"""The reader from pixels: what it reads, what it says about the rest, and how it does without its extra."""

import builtins
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.sim.drawings.builder import ImageBuilder
from toolhand.sim.drawings.samples import formula, shapes
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.perception.text import rapid
from toolhand.tool_nodes.perception.text.rapid import RapidTextReader
from toolhand.tool_nodes.ports import TextReader
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.peria.text_reading import SURE
from toolhand.tool_nodes.types import TextSpan

SAMPLE = ("Platform 9 to Kings Cross", "Invoice No. 4821A3", "(+237) 650 58 49 04", "18.50")
FACES = ("Aileron", "Caladea", "Lato", "Manrope", "Roboto", "SourceSansPro", "SourceSerifPro")


def texts(reader: TextReader, image: SessionImage) -> list[str]:
    return [span.text for span in reader.read(image).value]


def unspaced(text: str) -> str:
    return "".join(text.split())


def as_printed(spans: list[TextSpan]) -> list[str]:
    """What was printed, in reading order; a blank too much or too little is passed over in an uncertain text only."""
    blanks = {unspaced(line): line for line in SAMPLE}
    return [span.text if span.score >= SURE else blanks.get(unspaced(span.text), span.text) for span in spans]


@pytest.mark.parametrize(("font", "size"), [*((font, 20) for font in FACES), ("Lato", 28), ("SourceSerifPro", 28)])
def test_print_of_any_typeface_is_read_letter_by_letter(reader: TextReader, printed: Any, font: str, size: int) -> None:
    assert as_printed(reader.read(printed(*SAMPLE, font=font, size=size)).value) == list(SAMPLE)


@pytest.mark.parametrize(
    ("font", "size", "lines"),
    [
        ("Manrope", 16, ["(+237) 650 58 49 04"]),
        ("SourceSerifPro", 16, ["(+237) 650 58 49 04"]),
        ("Manrope", 20, ["(+104) 122 81 87 03"]),
        ("Lato", 20, ["17.39 EUR", "51.45 EUR"]),
    ],
)
def test_narrow_blanks_are_read(reader: TextReader, printed: Any, font: str, size: int, lines: list[str]) -> None:
    assert texts(reader, printed(*lines, font=font, size=size)) == lines


@pytest.mark.parametrize("turned", [90, 180, 270, 5, -5])
@pytest.mark.parametrize("font", ["Lato", "SourceSerifPro"])
def test_print_at_any_angle_is_read(reader: TextReader, printed: Any, font: str, turned: float) -> None:
    assert sorted(as_printed(reader.read(printed(*SAMPLE, font=font, turned=turned)).value)) == sorted(SAMPLE)


def test_a_page_on_its_head_is_told_from_its_first_line_on(reader: TextReader, printed: Any) -> None:
    assert texts(reader, printed("First line here", "Second one", turned=180)) == ["First line here", "Second one"]


def test_a_formula_that_could_stand_on_its_head_does_not(reader: TextReader) -> None:
    assert texts(reader, SessionImage(formula(6).rgb)) == ["c = 9z^{6} + 88"]


@pytest.mark.parametrize(
    ("ink", "ground"),
    [((250, 250, 250), (30, 40, 90)), ((200, 30, 30), (250, 240, 200)), ((30, 150, 60), (190, 60, 60))],
)
def test_the_colours_of_ink_and_ground_do_not_matter(reader: TextReader, printed: Any, ink: Any, ground: Any) -> None:
    assert texts(reader, printed("Harbour Street 27", ink=ink, ground=ground)) == ["Harbour Street 27"]


@pytest.mark.parametrize("letter", ["1", "7", "A", "g"])
def test_one_letter_alone_is_read_upright(reader: TextReader, printed: Any, letter: str) -> None:
    assert texts(reader, printed(letter, size=28)) == [letter]


def test_accented_letters_are_read(reader: TextReader, printed: Any) -> None:
    line = "Café Hôtel Müller à côté"
    assert texts(reader, printed(line, font="Lato", size=30)) == [line]


def test_letters_at_the_edge_of_a_crop_are_read(reader: TextReader, printed: Any) -> None:
    assert texts(reader, printed("12", "Oslo", font="Lato", size=30, margin=1)) == ["12", "Oslo"]


def test_boxes_are_in_pixels_of_the_image_also_of_a_large_one(reader: TextReader) -> None:
    image = ImageBuilder(3 * rapid.SEARCHED_PX, 400)
    truth = image.text("Harbour", (900, 250), 120)
    (span,) = reader.read(SessionImage(image.frame().rgb)).value
    assert span.text == "Harbour"
    assert np.allclose(span.box, truth, atol=45.0)
    assert np.all(np.array(span.box[:2]) <= np.array(truth[:2]) + 2)


def test_what_was_found_and_not_read_has_an_empty_text(reader: TextReader) -> None:
    spans = reader.read(SessionImage(shapes(0).rgb)).value  # a red circle is an O, or it is none
    assert [span.text for span in spans] == [""]
    assert spans[0].score < rapid.MIN_MEAN[1]


def test_misread_texts_have_lower_scores_than_those_that_are_right(reader: TextReader, printed: Any) -> None:
    scores: dict[bool, list[float]] = {True: [], False: []}
    for font in FACES:
        spans = reader.read(printed(*SAMPLE, font=font, size=8)).value
        for span, said in zip(spans, SAMPLE, strict=False):
            scores[unspaced(span.text) == unspaced(said)].append(span.score)
    assert len(scores[False]) >= 3
    assert np.mean(scores[False]) < np.mean(scores[True]) - 0.1


def test_raised_and_lowered_signs_make_a_line_a_formula(reader: TextReader) -> None:
    image = ImageBuilder(420, 120)
    right = image.text("A = 4r", (20, 80), 40)[2]
    right = image.text("2", (right + 3, 80 - 0.36 * 40), 26)[2]
    right = image.text(" + B", (right + 3, 80), 40)[2]
    image.text("3", (right + 3, 80 + 0.16 * 40), 26)
    (span,) = reader.read(SessionImage(image.frame().rgb)).value
    assert (span.text, span.kind) == ("A = 4r^{2} + B_{3}", "formula")


@pytest.mark.parametrize("seed", [0, 9])
def test_a_table_without_print_has_no_text(reader: TextReader, seed: int) -> None:
    frame = Station(random_task(seed=seed).scene).camera.capture()
    assert not any(texts(reader, SessionImage(frame.rgb, frame)))


def test_shapes_have_no_text(reader: TextReader) -> None:
    image = ImageBuilder(320, 240)
    for x in range(30, 320, 40):
        image.circle((x, 60), 12, (200, 30, 30))
        image.rectangle((x - 10, 110, x + 10, 130), (30, 30, 200))
    assert not any(texts(reader, SessionImage(image.frame().rgb)))


@settings(max_examples=8, deadline=None)
@given(width=st.integers(1, 90), height=st.integers(1, 90), seed=st.integers(0, 99))
def test_any_image_gets_an_answer_with_boxes_inside_it(width: int, height: int, seed: int) -> None:
    rgb = np.repeat(np.random.default_rng(seed).integers(0, 2, (height, width, 1)) * 255, 3, axis=2).astype(np.uint8)
    for span in RapidTextReader().read(SessionImage(rgb)).value:
        left, top, right, bottom = span.box
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height


@pytest.mark.parametrize("size", [(1, 1), (1, 700), (700, 1), (2, 3)])
def test_slivers_have_no_text(reader: TextReader, size: tuple[int, int]) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8)
    assert reader.read(SessionImage(noise)).value == []


def test_threads_may_ask_at_once_and_the_same_image_gives_the_same_answer(reader: TextReader, printed: Any) -> None:
    images = [printed("Castle Hill 27", noise=15.0), printed("Lake View")]
    alone = [reader.read(image).value for image in images]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda k: reader.read(images[k % 2]).value, range(6))) == alone * 3


# -- as a program sees it --------------------------------------------------------------------------


def test_nothing_is_downloaded_and_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        "import socket\n"
        "def refused(*_, **__): raise AssertionError('the network was asked')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refused\n"
        "import numpy as np\n"
        "from toolhand.tool_nodes.perception.text.rapid import RapidTextReader\n"
        "from toolhand.tool_nodes.toolbox.images import SessionImage\n"
        "from toolhand.sim.drawings.samples import cubes\n"
        "spans = RapidTextReader().read(SessionImage(cubes(0).rgb)).value\n"
        "assert [span.text for span in spans] == ['front_left', 'left', 'front'], spans\n"
        "RapidTextReader().read(SessionImage(np.zeros((40, 60, 3), np.uint8)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if rapidocr had never been installed."""
    real = builtins.__import__

    def guarded(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] in ("rapidocr", "onnxruntime", "cv2"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    rapid._engine.cache_clear()
    monkeypatch.setattr(builtins, "__import__", guarded)
    yield
    rapid._engine.cache_clear()


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_a_station_works_and_only_reading_is_unavailable() -> None:
    station = Station(random_task(seed=0).scene, StationConfig(perception="pixels", suites=("spacetools", "peria")))
    session = Session(images=[SessionImage(np.full((60, 80, 3), 200, np.uint8))])
    assert station.toolbox.call("robot.capture_image", {}, session).result.ok
    error = station.toolbox.call("text_ocr", {"image_index": 0}, session).result.error
    assert error is not None
    assert error.code is ErrorCode.UNAVAILABLE
    assert "[ocr]" in error.hint
    assert str(error).count("\n") == 0


def test_weights_that_the_wheel_does_not_ship_are_asked_for_and_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rapid._WEIGHTS, "Rec", "PP-OCRv9_rec_giant.onnx")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("the network was asked"))
    rapid._engine.cache_clear()
    try:
        with pytest.raises(ToolError, match=r"ships no PP-OCRv9_rec_giant\.onnx") as caught:
            RapidTextReader().read(SessionImage(np.zeros((40, 60, 3), np.uint8)))
    finally:
        rapid._engine.cache_clear()
    assert caught.value.code is ErrorCode.UNAVAILABLE
