"""The wheel is whole: built from the sdist and installed elsewhere, it does what the checkout does, over ROS 2 too."""

import email
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "ros2_ws" / "src" / "rclpy_zenoh"
CODE = ("agent_node", "bench", "console", "sim", "tool_nodes", "toolhand", "training", "urdf")
LEFT_OUT = {"build", "dist", "runs", "mutants", "tests"}
"""Folders of the checkout that no distribution is built of, beside those with a point in front."""

DOMAIN = 20 + os.getpid() % 80


def not_copied(folder: str, names: list[str]) -> set[str]:
    """For `shutil.copytree`."""
    left_out = {"__pycache__"} | {name for name in names if name.startswith(".") or name.endswith(".egg-info")}
    return left_out | LEFT_OUT if Path(folder) == ROOT else left_out


def build(words: list[str], folder: Path) -> str:
    """What a build has written. Nothing is downloaded."""
    done = subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], str]:
    """(wheel, names in the sdist, what was written while they were built)."""
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=not_copied)
    (source / "tests").mkdir()
    (source / "tests" / "test_stray.py").write_text("")
    said = build(["-c", f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"], source)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = [name.partition("/")[2] for name in opened.getnames()]
        opened.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    said += build(
        ["-m", "pip", "wheel", "-v", "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder), "."],
        unpacked,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel, names, said


@pytest.fixture(scope="module")
def installed(built: tuple[Path, list[str], str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel, and everything else from this one."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = str(folder / "bin" / "python")
    build(["-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-index", str(built[0])], folder)
    (packages,) = folder.glob("lib/*/site-packages")
    rest = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "rest.pth").write_text("\n".join(rest))  # a folder named so brings no .pth files of its own
    assert (folder / "bin" / "toolhand").read_text().startswith(f"#!{folder}")
    return folder / "bin"


@pytest.fixture(scope="module")
def red_box(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a scene that has a red box and nothing else."""
    file = tmp_path_factory.mktemp("scene") / "red_box.yaml"
    file.write_text("objects:\n  - {name: red box, position: [0.45, 0.1]}\n")
    return str(file)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, and nothing in the environment that leads to this checkout."""
    for name in ("PYTHONPATH", "RCLPY_ZENOH_PACKAGE_PATH", "RCLPY_ZENOH_ROUTER", "ROS_DOMAIN_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert {path.name for path in tmp_path.iterdir()} <= {"runs"}


def toolhand(installed: Path, *words: str) -> str:
    done = subprocess.run([installed / "toolhand", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.essential
def test_the_wheel_has_every_module_and_all_data(built: tuple[Path, list[str], str]) -> None:
    with zipfile.ZipFile(built[0]) as opened:
        there = set(opened.namelist())
    sources = [(ROOT, name) for name in CODE] + [(CLIENT, "rclpy_zenoh")]
    sources += [(ROOT / "ros2_ws" / "src", "toolhand_interfaces"), (ROOT / "launch", ".")]
    for base, name in sources:
        files = [path for path in (base / name).rglob("*.*") if path.is_file() and path.suffix not in (".md", ".pyc")]
        assert files
        below = "toolhand_bringup/launch/" if base.name == "launch" else ""
        below = "toolhand/" if base == ROOT and name != "toolhand" else below
        assert {
            f"{below}{path.relative_to(base).as_posix()}" for path in files if path.name != "CMakeLists.txt"
        } <= there
    assert {"toolhand_bringup/package.xml", "toolhand_bringup/setup.cfg"} <= there
    assert not [name for name in there if "test" in name.split("/")[0] or name.endswith(("/setup.py", "README.md"))]


def test_the_wheel_takes_no_plain_name_in_site_packages(built: tuple[Path, list[str], str]) -> None:
    with zipfile.ZipFile(built[0]) as opened:
        top = {name.split("/")[0] for name in opened.namelist()}
    ours = {"toolhand", "rclpy_zenoh", "toolhand_bringup", "toolhand_interfaces"}
    assert {name for name in top if not name.endswith(".dist-info")} == ours


def test_the_sdist_has_no_tests_and_a_build_complains_of_nothing(built: tuple[Path, list[str], str]) -> None:
    _, names, said = built
    assert {"setup.py", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"} <= set(names)
    assert not [name for name in names if name.startswith(("tests", "mutants", "runs"))]
    assert "absent from the `packages` configuration" not in said
    assert not re.findall(r"^.*(?:Deprecat|SetuptoolsWarning).*$", said, re.MULTILINE)


def test_the_metadata_say_what_it_is_without_links_into_a_repository(built: tuple[Path, list[str], str]) -> None:
    with zipfile.ZipFile(built[0]) as opened:
        (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
        about = email.message_from_bytes(opened.read(name))
    assert (about["Name"], about["Author"], about["License-Expression"]) == (
        "toolhand",
        "Toolhand maintainers",
        "Apache-2.0",
    )
    assert "Programming Language :: Python :: 3.13" in about.get_all("Classifier", [])
    text = str(about.get_payload())
    assert text.startswith("# Toolhand")
    assert "| give commands | First pick, talking, console |" in text
    assert not re.findall(r"\]\((?!https?:)[^)]*\)", text)


@pytest.mark.essential
def test_away_from_the_checkout_it_runs_in_process(installed: Path, elsewhere: Path, red_box: str) -> None:
    where = subprocess.run(
        [
            installed / "python",
            "-c",
            "import toolhand.sim as sim, rclpy_zenoh; print(sim.__path__[0], rclpy_zenoh.__path__[0])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert all(path.startswith(str(installed.parent)) for path in where.stdout.split())
    said = toolhand(installed, "run", "pick up the red box", "--scene", red_box, "--no-animation")
    assert "Picked up the red box." in said
    assert list(elsewhere.glob("runs/*/report.html"))


def test_away_from_the_checkout_a_hint_names_the_package_and_pip_leaves_it_alone(
    installed: Path, elsewhere: Path
) -> None:
    code = "from toolhand.tool_nodes.extras import install_extra; print(install_extra('mcp'))"
    hint = subprocess.run([installed / "python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert hint.endswith("-m pip install 'toolhand[mcp]'")
    words = ["-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", "toolhand[mcp]"]
    said = subprocess.run([installed / "python", *words], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert "Requirement already satisfied: toolhand" in said.stdout


def test_away_from_the_checkout_the_graph_comes_up_by_name_and_carries_out_a_sentence(
    installed: Path, elsewhere: Path, red_box: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    words = [installed / "toolhand", "up", "sim", f"scene:={red_box}", "lockstep:=true", "--router-port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as graph:
        assert graph.stderr is not None
        lines = []
        try:
            for line in graph.stderr:
                lines.append(line)
                if line.startswith("Ready after"):
                    break
            router = re.search(r"router (tcp/\S+)\.", lines[-1])
            assert router is not None, lines
            monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router[1])
            said = toolhand(
                installed, "run", "pick up the red box", "--transport", "ros", "--scene", red_box, "--no-animation"
            )
        finally:
            graph.send_signal(signal.SIGINT)
            lines += graph.stderr.readlines()
        assert graph.wait() == 0, lines
    assert f"as it was started: scene {red_box}, robot gen3" in said
    assert "Picked up the red box." in said


def test_away_from_the_checkout_a_run_over_ros_starts_its_own_graph(
    installed: Path, elsewhere: Path, red_box: str
) -> None:
    words = ["pick up the violin", "--scene", red_box, "--transport", "ros", "--own-graph", "--no-animation"]
    done = subprocess.run([installed / "toolhand", "run", *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert "Started a graph of" in done.stderr
    assert "NOT_RECOGNISED" in done.stdout


def test_the_version_is_the_same_everywhere_and_the_newest_of_the_changelog() -> None:
    (version,) = re.findall(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r"^## (\d\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[0] == version
    files = [*ROOT.glob("ros2_ws/src/toolhand_*/package.xml"), *ROOT.glob("ros2_ws/src/toolhand_*/setup.py")]
    texts = [path.read_text(encoding="utf-8").replace("<?xml version", "") for path in files]
    assert [re.findall(r"(?:<version>| version=\")([\d.]+)", text) for text in texts] == [[version]] * 3
