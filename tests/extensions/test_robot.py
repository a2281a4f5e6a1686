"""A robot of another package and a folder of one, as docs/guides/robot.md says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from tests.extensions.package import Package, install, promised
from tool_nodes.motion.robot_model import find_robot


def slow_gen3(folder: Path) -> Path:
    """The Gen3 with joints half as fast."""
    shutil.copytree(find_robot("gen3"), folder)
    page = folder / "robot.yaml"
    slower = re.sub(r"velocity: ([\d.]+)", lambda found: f"velocity: {float(found[1]) / 2}", page.read_text())
    page.write_text(slower, encoding="utf-8")
    return folder


def test_a_robot_is_a_folder_on_the_command_line_and_by_the_name_of_a_package(tmp_path: Path) -> None:
    folder = slow_gen3(tmp_path / "slow_gen3")
    alone = Package(folder, {})
    assert promised("robot") == f"{alone.files} files of a folder"
    source = f"from pathlib import Path\n\nSLOW = Path({str(folder)!r})\n"
    package = install(tmp_path / "site", "slow_robots", source, {"toolhand.robot": {"slow_gen3": "slow_robots:SLOW"}})
    answers = []
    for user, name in ((alone, str(folder)), (package, "slow_gen3")):
        (user.work / "alone.yaml").write_text("objects:\n  - {name: red box, position: [0.45, 0.1]}\n")
        words = ("run", "Pick up the red box", "--scene", "alone.yaml", "--robot", name)
        ended = user.toolhand(*words, "--no-animation", "--json")
        assert ended.returncode == 0, ended.stderr
        answers.append(json.loads(ended.stdout)["answer"])
    assert answers[0] == answers[1]
