"""The README's table of public names, the version and the changelog say what the code says."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| `(rclpy_zenoh[\w.]*)` \| (.+?) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.parametrize(("module", "names"), ROWS, ids=[module for module, _ in ROWS])
def test_a_public_name_is_there_and_documented(module: str, names: str) -> None:
    found = importlib.import_module(module)
    for name in re.findall(r"`(\w+)`", names):
        assert getattr(found, name).__doc__, name


def test_the_changelog_begins_with_the_version() -> None:
    version = tomllib.loads((FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert re.findall(r"^## (\S+)", (FOLDER / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0] == version
