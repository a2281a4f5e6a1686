"""The papers' suites in `toolhand run`: what a model is shown and told, and pictures that are none."""

import base64
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.agent_node.policies.conftest import FaultServer
from toolhand.cli.first_picture import picture_file
from toolhand.cli.main import main
from toolhand.tool_nodes.results import ErrorCode, ToolError

SENTENCE = "pick up the lemon"
UNITS = {"peria": "0 to 1000", "last": "in pixels", "evic": "take pixels"}


@pytest.fixture
def server() -> Iterator[FaultServer]:
    fault_server = FaultServer()
    yield fault_server
    fault_server.close()


def run(server: FaultServer, folder: Path, *options: str) -> int:
    policy = ("--policy", f"openai:m@{server.url}/v1", "--runs-dir", str(folder), "--no-animation")
    return status("run", SENTENCE, "--scene", "7", *policy, *options)


def status(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def shown(request: dict[str, Any]) -> tuple[str, Image.Image | None]:
    """The words and the picture of the first message of the operator."""
    content = request["messages"][1]["content"]
    if isinstance(content, str):
        return content, None
    words = "".join(part["text"] for part in content if part["type"] == "text")
    url = next(part["image_url"]["url"] for part in content if part["type"] == "image_url")
    return words, Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2])))


@pytest.mark.parametrize("suite", ["peria", "last", "evic"])
def test_a_model_is_shown_the_camera_where_no_tool_looks_and_told_that_nothing_moves(
    server: FaultServer, tmp_path: Path, suite: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server.will(server.completion("NOT_UNDERSTOOD: No tool here moves the robot."))
    run(server, tmp_path, "--suite", suite)
    request = server.requests[0]
    words, picture = shown(request)
    assert picture is not None
    assert picture.size == (640, 480)
    assert words.startswith("<image 0>")
    assert words.endswith(SENTENCE)
    assert "No tool here moves the robot" in request["messages"][0]["content"]
    assert UNITS[suite] in request["messages"][0]["content"]
    assert f"The suite {suite} moves nothing" in capsys.readouterr().out
    result = json.loads(next(tmp_path.glob("*/result.json")).read_text())
    assert (result["suite"], result["protocol"], result["advice"]) == (suite, "native", True)


@pytest.mark.parametrize(("protocol", "advised"), [("peria", "--advice"), ("peria", "--no-advice")])
def test_a_papers_protocol_is_told_more_unless_it_is_switched_off(
    server: FaultServer, tmp_path: Path, protocol: str, advised: str
) -> None:
    server.will(server.completion("<think>No.</think><answer>NOT_UNDERSTOOD: It moves nothing.</answer>"))
    run(server, tmp_path, "--suite", "peria", "--protocol", protocol, advised)
    system = server.requests[0]["messages"][0]["content"]
    assert ("0 to 1000 from" in system) is (advised == "--advice")
    assert ("AMBIGUOUS" in system) is (advised == "--advice")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_the_operators_picture_is_image_0(server: FaultServer, tmp_path: Path, form: str) -> None:
    file = tmp_path / "picture.bin"
    Image.new("RGB", (80, 60), (200, 30, 30)).save(file, form)
    server.will(server.completion("A red picture."))
    run(server, tmp_path, "--suite", "evic", "--picture", str(file))
    words, picture = shown(server.requests[0])
    assert picture is not None
    assert picture.size == (80, 60)
    assert words.startswith("<image 0>")


def test_a_picture_is_turned_as_its_camera_was_held(tmp_path: Path) -> None:
    file = tmp_path / "held.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (80, 60)).save(file, exif=exif)
    assert picture_file(file).size == (60, 80)
    Image.fromarray(np.zeros((6, 8, 4), np.uint8)).save(tmp_path / "alpha.png")
    assert picture_file(tmp_path / "alpha.png").rgb.shape == (6, 8, 3)


def written(folder: Path, kind: str) -> Path:
    file = folder / "picture.png"
    match kind:
        case "text":
            file.write_text("no picture")
        case "empty":
            file.write_bytes(b"")
        case "half":
            buffer = io.BytesIO()
            Image.effect_noise((64, 64), 50).save(buffer, "PNG")
            file.write_bytes(buffer.getvalue()[:400])
        case "gif":
            Image.new("RGB", (8, 8)).save(file, "GIF")
        case "large":
            Image.new("1", (9000, 2)).save(file, "PNG")
        case "folder":
            file.mkdir()
    return file


@pytest.mark.parametrize("kind", ["missing", "text", "empty", "half", "gif", "large", "folder"])
def test_a_file_that_is_no_picture_is_refused_before_anything_begins(
    server: FaultServer, tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, kind)
    with pytest.raises(ToolError, match="cannot be shown") as error:
        picture_file(file)
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
    assert run(server, tmp_path / "runs", "--suite", "peria", "--picture", str(file)) == 2
    assert "PNG, JPEG or WebP" in capsys.readouterr().err
    assert not server.requests
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("suite", ["peria", "last,evic", "pointing"])
def test_over_ros_a_suite_that_sees_nothing_is_refused_with_one_that_does(
    server: FaultServer, suite: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = ("--policy", f"openai:m@{server.url}/v1")
    assert status("run", SENTENCE, "--suite", suite, "--transport", "ros", *policy) == 2
    assert "--suite native" in capsys.readouterr().err
