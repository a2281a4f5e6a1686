"""Backends by name: the project's own, somebody else's beside them, and what is said of names that are none."""

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.plugged_in import install
from tests.refusals import refused
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.backends import make_port, make_ports
from toolhand.tool_nodes.port_names import PERCEPTION_PORTS, PortNames, presets
from toolhand.tool_nodes.registry import GROUPS, Setting
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.client import use_client
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.types import Everything, PointPrompt, TextPrompt

ROOT = Path(registry.__file__).parents[1]


def forget() -> None:
    registry._entries.cache_clear()


@pytest.fixture
def one_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of somebody else, importable."""
    monkeypatch.syspath_prepend(str(install(tmp_path)))
    forget()
    yield tmp_path
    forget()
    sys.modules.pop("one_colour", None)


# -- the project's own -----------------------------------------------------------------------------


def test_what_pyproject_declares_is_installed_and_can_be_loaded() -> None:
    use_client()  # cameras and arms of nodes know rclpy
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert set(declared) <= set(GROUPS.values())
    ports = {group: port for port, group in GROUPS.items()}
    for group, entries in declared.items():
        own = {entry.name: entry.value for entry in metadata.entry_points(group=group) if entry.name in entries}
        assert own == entries
        for name in entries:
            (offer,) = (offer for offer in registry.offers(ports[group]) if offer.name == name)
            if not offer.missing:
                assert registry.load(ports[group], name) is not None


@pytest.mark.parametrize("preset", presets())
def test_a_preset_names_a_backend_for_every_port(preset: str) -> None:
    ports = make_ports(preset)
    assert all(getattr(ports, port).backend for port in PERCEPTION_PORTS)
    PortNames().require_known(preset)


def test_the_ports_of_one_station_share_what_was_seen_in_a_frame() -> None:
    ports = make_ports("pixels")
    assert ports.pointer is ports.depth


def test_listing_the_backends_imports_none_of_them() -> None:
    program = (
        "import sys; from toolhand.tool_nodes import registry; found = [registry.offers(p) for p in registry.GROUPS];"
        "assert any(found); print([m for m in sys.modules if m.startswith(('toolhand.sim', 'toolhand.agent_node', "
        "'scipy', 'mujoco'))])"
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# -- names that are none ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("port", "spec", "sentence"),
    [
        ("pointer", "nobody", "There is no pointer 'nobody': it must be molmo2 or pixels or "),
        ("perception", "", "There is no perception '': it must be pixels or served or sim."),
        ("depth", "pixels:large", "The depth 'pixels' takes nothing after its name."),
        ("policy", "replay", "The policy 'replay' needs a model: replay:MODEL."),
        ("robot", "nobody", "There is no robot 'nobody'"),
    ],
)
def test_a_wrong_name_is_told_in_one_sentence_with_the_right_ones(port: str, spec: str, sentence: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT) as caught:
        registry.make(port, spec)
    assert str(caught.value).startswith(sentence)


def test_what_looks_at_objects_may_have_another_backend_for_images_without_depth() -> None:
    for port in ("pointer", "detector", "segmenter", "depth"):
        assert PortNames(**{port: "pixels+other"}).parts(port) == ["pixels", "other"]
    for port, name in (("reader", "sim+pixels"), ("grasps", "a+b"), ("depth", "sim+pixels+sim")):
        with pytest.raises(ToolError, match="names too many"):
            PortNames(**{port: name}).require_known("sim")


def test_an_installation_older_than_its_checkout_says_how_to_renew_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", lambda port: {})
    for ask in (lambda: registry.names("pointer"), lambda: registry.find("pointer", "sim")):
        with refused(ErrorCode.UNAVAILABLE, "pip install -e"):
            ask()


# -- somebody else's -------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_colour")
def test_a_package_that_was_installed_offers_its_segmenter_beside_the_truths_pointer() -> None:
    config = StationConfig(ports=PortNames(segmenter="one_colour"), suites=("spacetools", "peria"))
    station, session = Station(load_scene(EXAMPLE_SCENE), config), Session()
    station.toolbox.call("robot.capture_image", {}, session)
    pointed = station.toolbox.call("roborefer.detect_one", {"obj_name": "red box", "image_index": 0}, session).result
    assert pointed.text.endswith("(backend: sim)")
    ((x, y),) = pointed.variables.values()
    outlined = station.toolbox.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": 0}, session).result
    assert outlined.text.endswith("(backend: one_colour)")
    rgb, mask = session.images[0].rgb, session.variables["segmentation_mask"]
    assert 100 < np.count_nonzero(mask) < mask.size / 4
    assert (rgb[mask].astype(int)[:, 0] > rgb[mask].astype(int)[:, 1]).mean() > 0.99  # red
    named = station.toolbox.call("text_segment", {"image_index": 0, "text_prompt": "red box"}, session).result
    assert (len(named.value["proposals"]), named.backend) == (1, "one_colour")
    raised = station.toolbox.call("auto_segment", {"image_index": 0}, session).result
    assert "'one_colour' does not outline by everything at once; it takes points, words." in raised.text


@pytest.mark.usefixtures("one_colour")
def test_a_backend_over_images_is_shown_exactly_the_crop() -> None:
    named = PortNames(segmenter="one_colour:40").over("sim")
    segmenter: Any = registry.make("segmenter", named.segmenter)
    assert segmenter.reach == 40.0
    station = Station(load_scene(EXAMPLE_SCENE))
    frame = station.camera.capture()
    crop = SessionImage(frame.rgb, frame).cropped(200, 100, 260, 150)
    found = segmenter.segment(crop, PointPrompt([(0.5, 0.5)])).value[0]
    assert found.mask.shape == (50, 60)
    assert np.array_equal(segmenter.shown[-1], frame.rgb[100:150, 200:260])


@pytest.mark.usefixtures("one_colour")
def test_a_segmenter_that_takes_no_words_is_given_what_the_detector_finds() -> None:
    segmenter = make_port("segmenter", PortNames(segmenter="one_colour", detector="drawings").over("pixels"), Setting())
    assert segmenter.takes == {PointPrompt, TextPrompt}
    rgb = np.full((60, 90, 3), 255, np.uint8)
    rgb[20:40, 30:50] = (220, 30, 30)
    answer = segmenter.segment(SessionImage(rgb), TextPrompt("red square"))
    assert (answer.backend, len(answer.value)) == ("one_colour", 1)
    assert np.array_equal(answer.value[0].mask, (rgb == (220, 30, 30)).all(axis=2))


@pytest.mark.usefixtures("one_colour")
def test_what_a_missing_backend_needs_is_listed_and_told() -> None:
    offers = {offer.name: offer for offer in registry.offers("segmenter")}
    assert (offers["one_colour"].package, offers["one_colour"].missing) == ("one-colour", "")
    assert "one-colour[gpu]" in offers["needy"].missing
    with refused(ErrorCode.UNAVAILABLE) as caught:
        registry.make("segmenter", "needy")
    assert "one-colour[gpu]" in caught.value.hint


def test_a_name_that_two_packages_offer_is_nobodys(one_colour: Path) -> None:
    info = one_colour / "copycat-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: copycat\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[toolhand.segmenter]\none_colour = copycat:Other\n")
    forget()
    with pytest.raises(ToolError, match=r"Two packages offer a segmenter 'one_colour': .*copycat"):
        registry.load("segmenter", "one_colour")


def test_an_image_without_a_frame_is_seen_by_the_backend_that_the_preset_names_for_it() -> None:
    rgb = np.full((60, 90, 3), 255, np.uint8)
    rgb[20:40, 30:50] = (220, 30, 30)
    drawing = SessionImage(rgb)
    assert len(make_ports("sim").segmenter.segment(drawing, Everything()).value) == 1
    alone = make_ports("sim", PortNames(segmenter="sim")).segmenter
    with refused(ErrorCode.IMAGE_UNUSABLE, "no link to a camera frame"):
        alone.segment(drawing, Everything())
