"""A grasp generator of another package, compared as docs/guides/compare_grasps.md says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.extensions.package import install, install_guide, promised

BENCH = (
    "bench",
    "grasp",
    "--objects",
    "catalogue",
    "--scene",
    "alone",
    "--n",
    "1",
    "--sensor",
    "stereo",
    "--no-control",
    "--json",
)


def test_a_generator_of_another_package_is_compared_with_the_projects_own(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "compare_grasps")
    assert promised("compare_grasps") == f"{package.files} file, {package.lines} line"
    ended = package.toolhand(*BENCH, "--grasps", "uppermost", "--vs", "analytic", "--out", "here")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert [side["label"] for side in document["sides"]] == ["uppermost", "analytic"]
    (row,) = document["paired"]["analytic"]
    assert (row["n"], row["first"] + row["second"] + row["both"] + row["neither"]) == (1, 1)
    assert (package.work / "here" / "index.html").exists()
    wrong = package.toolhand(*BENCH, "--grasps", "upermost")
    assert (wrong.returncode, json.loads(wrong.stdout)["error_code"]) == (2, "INVALID_ARGUMENT")
    assert "uppermost" in wrong.stderr


TOO_WIDE = """
import numpy as np

from tool_nodes.types import GraspSet


class TooWide:
    backend = "too_wide"

    def generate(self, cloud, mask, T_base_camera):
        return GraspSet(np.eye(4)[None], np.array([1.0]), np.array([0.5]), sampled=1)
"""


def test_a_generator_that_asks_for_more_than_the_gripper_opens_is_named_with_what_is_allowed(tmp_path: Path) -> None:
    package = install(tmp_path / "site", "too_wide", TOO_WIDE, {"toolhand.grasps": {"too_wide": "too_wide:TooWide"}})
    ended = package.toolhand(*BENCH, "--grasps", "too_wide")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    (failure,) = document["failures"]
    assert failure["text"] == "The grasp generator 'too_wide' gave a width of 1 m: the jaws open from 0 to 0.085 m."
    assert document["unscored"] == 1
