"""The documents keep up with the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sim.scene_files import EXAMPLE_SCENE, load_scene
from sim.station import Station
from tool_nodes.results import ErrorCode

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_every_tool_is_described() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    for name, spec in Station(load_scene(EXAMPLE_SCENE)).toolbox.specs.items():
        assert f"## `{name}({', '.join(spec.kinds)})`" in page, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_error_codes_named_in_the_documents_exist() -> None:
    words = set(re.findall(r"\b[A-Z]+_[A-Z_]+\b", "".join(page.read_text(encoding="utf-8") for page in PAGES)))
    known = {str(code) for code in ErrorCode} | {"OPENBLAS_NUM_THREADS", "MUJOCO_GL"}
    assert words <= known


def test_files_named_in_the_documents_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"`([\w/]+\.(?:py|yaml|md|urdf|css|txt))`", page.read_text(encoding="utf-8")):
            assert (ROOT / name).exists(), f"{page.name}: {name}"
