"""Hints to install something give a command line that works in this checkout."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from toolhand.tool_nodes.extras import install_again, install_extra, pip_install

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])
TEXTS = [
    path
    for top in ROOT.iterdir()
    if top.name not in ("mutants", "build") and not top.name.startswith(".")  # copies of all this, others' texts
    for pattern in ("*.py", "*.md")
    for path in ([top] if top.match(pattern) else top.rglob(pattern))
]


@pytest.mark.parametrize("where", ["checkout", "elsewhere"])
@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_names_this_python_and_this_checkout(
    extra: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ROOT if where == "checkout" else tmp_path
    monkeypatch.chdir(folder)
    python, *rest, target = shlex.split(install_extra(extra))
    assert rest == ["-m", "pip", "install", "-e"]
    version = subprocess.run([folder / python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True)
    assert version.stdout.strip() == sys.prefix
    place, _, named = target.rstrip("]").partition("[")
    assert named == extra
    assert (folder / place).resolve() == ROOT


def test_in_the_checkout_the_command_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "executable", str(ROOT / ".venv" / "bin" / "python"))
    assert install_extra("mcp") == ".venv/bin/python -m pip install -e '.[mcp]'"
    assert pip_install("mcap") == ".venv/bin/python -m pip install mcap"


def test_away_from_a_checkout_the_command_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolhand.tool_nodes.extras._ROOT", tmp_path)  # site-packages, say
    for extra in EXTRAS:
        *command, target = shlex.split(install_extra(extra))
        assert command[1:] == ["-m", "pip", "install"]
        assert target == f"{PROJECT['name']}[{extra}]"
    assert "-e" not in shlex.split(install_again())


def test_no_text_sends_anybody_to_a_package_of_our_name_and_every_extra_exists() -> None:
    ours = re.compile(r"pip install[^\n`]*?\btoolhand\b|toolhand" + r"\[[a-z]+\]")
    named = re.compile(r"""extra `([a-z]+)`|install_extra\(["']([a-z]+)["']\)|extra \[([a-z]+)\]|\.\[([a-z]+)\]""")
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        if path not in (Path(__file__), ROOT / "tests" / "test_wheel.py"):  # which has it installed
            assert not ours.search(text), path
        assert {next(filter(None, found)) for found in named.findall(text)} <= set(EXTRAS), path
