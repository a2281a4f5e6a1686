"""Where modules and functions of Unix are missing, as on Windows, the commands that explain themselves still do."""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rclpy_zenoh.launch import LaunchError, guard, launch
from toolhand.tool_nodes import platforms

ROOT = Path(__file__).parents[2]
WITHOUT_UNIX = """
import os, signal, sys

class Absent:
    names = {"termios", "tty", "resource", "fcntl", "pwd", "grp", "pty", "torch"}

    def find_spec(name, path=None, target=None):
        if name in Absent.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent)
for name in Absent.names:
    sys.modules.pop(name, None)
for module, names in (
    (os, "register_at_fork fork getuid geteuid killpg getpgrp getpgid setsid tcgetpgrp sysconf getloadavg pidfd_open"),
    (signal, "SIGKILL SIGHUP SIGTTIN SIGCHLD pthread_sigmask pthread_kill"),
):
    for name in names.split():
        delattr(module, name)
from toolhand.cli.entry import main
main()
"""
"""A program that is `toolhand` on such a machine, without torch, whose build for Linux takes what is left out here."""


EVERY = WITHOUT_UNIX.replace(
    "\nmain()\n",
    """
import contextlib, io, json
told = []
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = main()
        except SystemExit as end:
            status = end.code
    told.append((status or 0, err.getvalue(), out.getvalue()))
print(json.dumps(told))
""",
)
"""One process for several command lines: their statuses, errors and outputs."""


def toolhand(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_UNIX, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_what_explains_itself_does(tmp_path: Path) -> None:
    explained = {
        ("--help",): "toolhand",
        ("--version",): "toolhand 0",
        ("doctor",): f"{platform.system()} {platform.machine()}\n",
        ("tools",): "robot.execute_grasp",
        ("tools", "--suite", "all", "--json"): '"name": "code_executor',
        ("run", "--help"): "--approval",
        ("rollouts", "collect", "--help"): "--recipe",
        ("bench", "grasp", "--help"): "usage: toolhand bench grasp",
        ("up", "--help"): "usage: toolhand up",
        ("scene", "3"): "baseball",
        ("stop", "--help"): "usage: toolhand stop",
        ("mcp", "--help"): "usage: toolhand mcp",
    }
    command = [sys.executable, "-c", EVERY, json.dumps([*explained])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (0, "")
    for words, (status, errors, out) in zip(explained, json.loads(done.stdout), strict=True):
        assert (status, errors) == (0, ""), words
        assert explained[words] in out, words


def test_a_run_in_process_works(tmp_path: Path) -> None:
    (tmp_path / "alone.yaml").write_text("objects:\n  - {name: red box, position: [0.45, 0.1]}\n")
    done = toolhand(tmp_path, "run", "pick up the red box", "--scene", "alone.yaml", "--no-animation")
    assert done.returncode == 0, done.stderr
    assert "Picked up the red box." in done.stdout


@pytest.mark.parametrize(
    ("words", "needs"),
    [
        (("run", "pick up the red box", "--approval", "ask-motion", "--no-animation"), "nobody can be asked"),
        (("rollouts", "collect", "--out", "there", "--recipe", "dirl", "--n", "2", "--group-size", "2"), "fcntl"),
    ],
)
def test_what_needs_unix_says_so_in_one_sentence(words: tuple[str, ...], needs: str, tmp_path: Path) -> None:
    done = toolhand(tmp_path, *words)
    assert done.returncode == 1
    assert needs in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "INTERNAL" not in done.stdout + done.stderr


def test_only_what_unix_has_counts_as_missing() -> None:
    told = []
    for code in ("import os; os.geteuidd", "import signal; signal.SIGKIL", "import tty_", "[].x", "{}['fcntl']"):
        with pytest.raises((ImportError, AttributeError, KeyError)) as caught:
            exec(code)
        told.append(platforms.missing(caught.value))
    assert told == ["os.geteuidd", "signal.SIGKIL", "", "", ""]
    assert platforms.missing(ModuleNotFoundError("No module named 'fcntl'", name="fcntl")) == "fcntl"


@pytest.mark.parametrize(
    ("system", "machine", "words"),
    [
        ("Linux", "x86_64", ""),
        ("Linux", "aarch64", "ruckig"),
        ("Darwin", "arm64", "macOS 14"),
        ("Darwin", "x86_64", "no mujoco-core"),
        ("Windows", "AMD64", "WSL 2"),
        ("FreeBSD", "amd64", "has not been tried"),
    ],
)
def test_a_platform_is_told_truly(system: str, machine: str, words: str) -> None:
    note = platforms.note(system, machine)
    assert words in note
    assert note.count(". ") == 0


def test_the_page_of_platforms_lists_the_pythons_and_machines_that_the_metadata_and_the_workflow_have() -> None:
    page = (ROOT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")
    (tested,) = re.findall(r"^\| Linux, x86-64 \| ([\d., to]+) \|", page, re.MULTILINE)
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    minors = [int(minor) for minor in re.findall(r":: Python :: 3\.(\d+)", metadata)]
    assert tested == f"3.{min(minors)} to 3.{max(minors)}"
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    assert f'python: ["3.{min(minors)}", "3.{max(minors)}"]' in workflow
    for other in ("Linux, aarch64", "macOS 14 and later, arm64", "macOS on Intel, Windows on ARM", "Windows, x86-64"):
        assert f"| {other} |" in page


def test_on_windows_no_graph_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(LaunchError, match="WSL 2"):
        launch(ROOT / "launch" / "sim.launch.yaml")


def test_without_proc_a_guard_finds_nobody_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def listdir(path: str) -> list[str]:
        raise FileNotFoundError(path)

    monkeypatch.setattr("os.listdir", listdir)
    assert guard.members("some launch") == []
    guard.sweep("some launch", 0.1)
