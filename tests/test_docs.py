"""The documents keep up with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.scene_files import EXAMPLE_SCENE, load_scene
from sim.station import Station, StationConfig
from tool_nodes.results import ErrorCode
from tool_nodes.suites import SUITES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_every_tool_is_described() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### `(.+)`$", page, re.MULTILINE)
    specs = Station(load_scene(EXAMPLE_SCENE), StationConfig(suites=SUITES)).toolbox.specs
    assert sorted(headings) == sorted(f"{name}({', '.join(spec.kinds)})" for name, spec in specs.items())


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "ros2_ws" / "README.md"], ids=lambda page: page.parent.name + page.name
)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_error_codes_named_in_the_documents_exist() -> None:
    words = set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", "".join(page.read_text(encoding="utf-8") for page in PAGES)))
    variables = {
        word
        for word in words
        if word.startswith(("CYCLONEDDS_", "MUJOCO_", "OPENBLAS_", "PIP_", "RCLPY_", "RMW_", "ROS_", "ZENOH_"))
    }
    assert words - variables <= {str(code) for code in ErrorCode}


def test_environment_variables_named_in_the_ros_page_are_read_somewhere() -> None:
    page = (ROOT / "docs" / "ros.md").read_text(encoding="utf-8")
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "ros2_ws").rglob("*.py"))
    named = set(re.findall(r"^\| ([A-Z_]{6,}) \|", page, re.MULTILINE))
    assert named
    assert not [name for name in named if f'"{name}"' not in code]


def test_files_named_in_the_documents_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"`([\w/]+\.(?:py|yaml|md|urdf|css|txt))`", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{page.name}: {name}"
