"""A package of another distribution in the place of one of this project's is named, in one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolhand.shadowed import PACKAGES, explanation

ROOT = Path(__file__).parents[2]


def install(folder: Path, files: str) -> None:
    """Another distribution, `their-thing`, with these files."""
    about = folder / "their_thing-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-thing\nVersion: 1.0\n")
    (about / "RECORD").write_text(f"{files}\ntheir_thing-1.0.dist-info/METADATA,,\n")


def test_nothing_is_said_where_all_is_well() -> None:
    assert explanation() == ""


def toolhand(first: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command where this folder comes first, and no editable installation finds modules past a package."""
    packages = [path for path in sys.path if path.endswith("site-packages")]
    path = [str(first), str(ROOT), str(ROOT / "ros2_ws" / "src" / "rclpy_zenoh"), *packages]
    program = f"import sys; sys.path[:1] = {path!r}; from toolhand.entry import main; main()"
    return subprocess.run([sys.executable, "-S", "-c", program, *words], cwd=first, capture_output=True, text=True)


WORDS = {
    "agent_node": ("tools",),
    "bench": ("bench", "startup"),
    "rclpy_zenoh": ("ros", "node", "list"),
    "sim": ("scene", "3"),
    "tool_nodes": ("--version",),
    "training": ("rollouts", "show", "rollouts"),
}
"""A command that imports the package."""


def test_a_command_works_where_nothing_is_in_the_way(tmp_path: Path) -> None:
    assert "baseball" in toolhand(tmp_path, "scene", "3").stdout


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_in_the_place_of_ours_is_named(package: str, tmp_path: Path) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    of = ""
    if package != "bench":  # that is a folder of nobody
        install(tmp_path, f"{package}/__init__.py,,")
        of = " (of their-thing)"
    done = toolhand(tmp_path, *WORDS[package])
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"UNAVAILABLE: Python finds another package {package!r} in {tmp_path}{of}: give Toolhand a ")


def test_a_distribution_that_has_put_files_into_ours_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "sim/__init__.py,,\nsim/theirs.py,,")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert explanation().startswith("their-thing has put files into Toolhand's package 'sim': ")
