"""Packages that are installed and used on the command line, as the guides say."""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rclpy_zenoh import overlay
from rclpy_zenoh.wire import start_router
from tests.extensions.package import GUIDES, ROOT, Package, install, install_guide, promised
from toolhand.tool_nodes.motion.robot_model import find_robot
from toolhand.training.rollouts.collection import read_rollouts
from toolhand.training.tasks.kinds import task_document

# -- A tool of another package, as docs/guides/tool.md says ----------------------------------------


def test_a_tool_suite_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "tool")
    assert promised("tool") == f"{package.files} file, {package.lines} line"
    listed = package.toolhand("tools", "--suite", "spacetools,measuring", "--json")
    assert listed.returncode == 0, listed.stderr
    names = [tool["function"]["name"] for tool in json.loads(listed.stdout)]
    assert "measure.distance" in names
    assert "robot.execute_grasp" in names
    arguments = json.dumps({"image_index": 0, "start": [0.72, 0.57], "end": [0.40, 0.50]})
    called = package.toolhand("call", "measure.distance", arguments, "--suite", "measuring", "--scene", "3")
    assert (called.returncode, called.stderr) == (0, "")
    assert called.stdout.startswith("The points are 0.3")
    words = ("run", "Pick up the violin", "--scene", "3", "--suite", "spacetools,measuring")
    ran = package.toolhand(*words, "--no-animation", "--json")
    assert (ran.returncode, json.loads(ran.stdout)["error_code"]) == (1, "NOT_RECOGNISED"), ran.stderr
    wrong = package.toolhand("tools", "--suite", "measurin")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no tool suite 'measurin'" in wrong.stderr
    # Two are offered where two are like it.
    assert re.search(r"Did you mean measuring( or \w+)?\?", wrong.stderr)
    assert "measuring" in package.toolhand("run", "--help").stdout


def test_the_page_of_tools_has_a_tool_of_a_new_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from docs.site.tool_docs import make_documents
    from toolhand.tool_nodes import registry

    monkeypatch.syspath_prepend(str(install_guide(tmp_path / "site", "tool").folder))
    registry._entries.cache_clear()
    try:
        documents = make_documents(("measuring",))
    finally:
        registry._entries.cache_clear()
        sys.modules.pop("my_package", None)
    assert "## Measuring" in documents.page
    assert re.search(r"The points are \d\.\d{3} m apart\.", documents.page)
    assert re.search(r"^\| \[Measuring\]\(#measuring\) \| \[`measure\.distance`\]", documents.page, re.MULTILINE)


# -- A policy of another package, as docs/guides/policy.md says ------------------------------------


def test_a_policy_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "policy")
    assert promised("policy") == f"{package.files} file, {package.lines} line"
    words = ("run", "Pick up the red box", "--scene", "3", "--policy", "first_pick", "--no-animation")
    ended = package.toolhand(*words)
    assert ended.returncode == 0, ended.stderr
    assert "I hold the red box." in ended.stdout


# -- A pointer of another package, as docs/guides/backend.md says ----------------------------------


def test_a_pointer_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "backend")
    assert promised("backend") == f"{package.files} file, {package.lines} line"
    arguments = json.dumps({"obj_name": "red", "image_index": 0})
    ended = package.toolhand("call", "roborefer.detect_one", arguments, "--pointer", "colour", "--scene", "3")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("Detected 1 instance(s) of 'red'")
    assert ended.stdout.endswith("(backend: colour)\n")
    wrong = package.toolhand("call", "roborefer.detect_one", arguments, "--pointer", "color")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no pointer 'color'" in wrong.stderr
    assert "colour" in wrong.stderr


# -- A grasp generator of another package, compared as docs/guides/compare_grasps.md says ----------


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

from toolhand.tool_nodes.types import GraspSet


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


# -- A robot of another package and a folder of one, as docs/guides/robot.md says ------------------


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


# -- objects of another package that no robot knows, as docs/guides/objects.md says -----------------


PAGE = (GUIDES / "objects.md").read_text(encoding="utf-8")
SCENE, RUN = (shlex.split(line) for line in re.findall(r"^    toolhand ((?:scene|run) .*)$", PAGE, re.MULTILINE))
"""The commands of the page."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    package = install_guide(tmp_path_factory.mktemp("objects") / "site", "objects")
    block = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0]
    (package.work / "workshop.yaml").write_text(block, encoding="utf-8")
    return package


def test_an_object_of_another_package_stands_in_a_scene_file(package: Package) -> None:
    assert promised("objects") == f"{package.files} file, {package.lines} line"
    ended = package.toolhand(*SCENE, "--json")
    assert ended.returncode == 0, ended.stderr
    item, _ = json.loads(ended.stdout)["objects"]
    assert (item["id"], item["name"], item["size_m"]) == ("mallet_1", "workshop/mallet", [0.12, 0.05, 0.05])
    assert (package.work / "workshop.png").stat().st_size > 10_000


def test_what_the_robot_does_not_know_is_picked_up_judged_and_never_named(package: Package) -> None:
    ended = package.toolhand(*RUN, "--no-animation", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    document = json.loads(ended.stdout)
    assert document["truth"]["picked"]
    assert document["judged_against"]["goal"] == "pick mallet_1"
    conversation = ended.stderr.partition("judgement")[0] + document["answer"]
    assert "Picked up the grey object" in conversation
    assert "mallet" not in conversation


def test_its_name_is_known_to_the_simulators_truth_alone(package: Package) -> None:
    words = ("call", "roborefer.detect_one", json.dumps({"obj_name": "mallet", "image_index": 0}))
    told, seen = (package.toolhand(*words, "--scene", "workshop.yaml", "--perception", p) for p in ("sim", "pixels"))
    assert told.returncode == 0, told.stderr
    assert seen.returncode != 0
    assert "mallet" not in (seen.stdout + seen.stderr).replace("'mallet'", "").replace('"mallet"', "")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("workshop/malet", '"malet" is not in the set "workshop", the nearest names are "mallet"'),
        ("workshp/mallet", "There is no object set 'workshp'"),
        ("red bx", 'line 2: "red bx" is not in the catalogue, the nearest names are "red box"'),
    ],
)
def test_an_unknown_name_is_one_sentence_with_the_nearest_names(package: Package, name: str, said: str) -> None:
    (package.work / "wrong.yaml").write_text(
        f"objects:\n  - {{name: {name}, position: [0.5, 0.0]}}\n", encoding="utf-8"
    )
    ended = package.toolhand("scene", "wrong.yaml")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") <= 2
    assert "wrong.yaml, line 2: " in ended.stderr
    assert said in " ".join(ended.stderr.split())


# -- A task of another package, as docs/guides/task.md says ----------------------------------------


def test_a_task_of_another_package_is_collected_and_measured_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "task")
    assert promised("task") == f"{package.files} file, {package.lines} line"
    out, small = tmp_path / "rollouts", ("--turns", "2", "--size", "160x120", "--policy", "scripted")
    plan = (
        "rollouts",
        "collect",
        "--out",
        str(out),
        "--tasks",
        "count_red",
        "--n",
        "2",
        "--group-size",
        "2",
        "--seed",
        "3",
    )
    ended = package.toolhand(*plan, *small, "--json")
    assert ended.returncode == 0, ended.stderr
    records = list(read_rollouts(out))
    assert [record.task for record in records] == [task_document("count_red", 3)] * 2
    assert records[0].text == "How many red objects are on the table?"
    assert set(records[0].truth["terms"]) == {"counted", "looked"}
    again = package.toolhand(*plan, *small, "--json")
    assert json.loads(again.stdout)["found"] == 2
    options = ("--kinds", "count_red", "--n", "1", "--policies", "blind", "--out", str(tmp_path / "compared"))
    measured = package.toolhand("bench", "policy", *options, "--json")
    assert measured.returncode == 0, measured.stderr
    assert [row["kind"] for row in json.loads(measured.stdout)["kinds"]] == ["count_red"]
    wrong = package.toolhand("rollouts", "collect", "--out", str(tmp_path / "other"), "--tasks", "count_read")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no task 'count_read'" in wrong.stderr
    assert "Did you mean count_red or count?" in wrong.stderr
    assert "count_red" in package.toolhand("rollouts", "collect", "--help").stdout


def test_a_task_whose_package_is_gone_is_told_in_a_sentence_and_its_rollouts_are_still_read(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "task")
    out = tmp_path / "rollouts"
    plan = ("rollouts", "collect", "--out", str(out), "--tasks", "count_red", "--n", "2", "--group-size", "2")
    assert package.toolhand(*plan, "--turns", "1", "--size", "160x120").returncode == 0
    (package.folder / "my_package-1.2.dist-info" / "entry_points.txt").unlink()
    refused = package.toolhand(*plan, "--turns", "1", "--size", "160x120")
    assert refused.returncode == 2
    assert "There is no task 'count_red'" in refused.stderr
    shown = package.toolhand("rollouts", "show", str(out))
    assert shown.returncode == 0
    assert "How many red objects" in shown.stdout


# -- A sensor, a planner, a camera and an arm of another package, as docs/guides/sensor.md and camera.md say


QUIET = ("--no-animation", "--json")
IMAGE = ("call", "robot.get_depth", "--scene", "3")
PATIENCE_S = 60.0
"""A bound against hanging, not a promise."""
CALL = ("ros", "service", "call", "--timeout", f"{PATIENCE_S:g}")
"""The service is waited for as long as a node needs to start on a busy machine."""


def test_a_sensor_of_another_package_is_named_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "sensor")
    assert promised("sensor") == f"{package.files} file, {package.lines // 2} line each"
    ended = [package.toolhand(*IMAGE, *words) for words in ((), ("--sensor", "short_range"))]
    assert [one.returncode for one in ended] == [0, 0]
    assert ended[0].stdout != ended[1].stdout
    wrong = package.toolhand(*IMAGE, "--sensor", "short_rang")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no sensor 'short_rang': it must be azure_kinect or clean or hard or ideal" in wrong.stderr


def test_a_planner_of_another_package_moves_the_robot(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "sensor")
    (package.work / "alone.yaml").write_text("objects:\n  - {name: red box, position: [0.45, 0.1]}\n")
    results = []
    for words in ((), ("--planner", "unhurried")):
        ended = package.toolhand("run", "Pick up the red box", "--scene", "alone.yaml", *QUIET, *words)
        assert ended.returncode == 0, ended.stderr
        results.append(json.loads(ended.stdout))
    assert all(result["truth"]["picked"] for result in results)
    assert results[1]["ports"]["planner"] == "unhurried"
    assert results[1]["sim_time_s"] > 1.2 * results[0]["sim_time_s"]


@pytest.fixture
def router(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    process = start_router()
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", process.endpoint)
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    yield
    process.close()


@contextlib.contextmanager
def node(package: Package, name: str, *parameters: str) -> Iterator[subprocess.Popen[str]]:
    """A node of the graph in a process that finds the package."""
    paths = map(str, (package.folder, Path(overlay.__file__).parents[1], ROOT))
    words = [word for parameter in parameters for word in ("-p", parameter)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rclpy_zenoh.run", f"toolhand.tool_nodes.nodes.{name}_node", "--ros-args", *words],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("router")
def test_a_camera_of_another_package_is_what_the_camera_node_looks_through(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "camera")
    assert promised("camera") == f"{package.files} file, {package.lines // 2} line each"
    with node(package, "camera", "scene.camera:=wall"):
        asked = (*CALL, "/capture_image", "toolhand_interfaces/srv/CaptureImage", "{camera: scene}")
        ended = package.toolhand(*asked, timeout_s=2 * PATIENCE_S)
    assert ended.returncode == 0, ended.stderr
    assert "320x240" in ended.stdout
    with node(package, "camera", "wrist.camera:=hall") as process:
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "There is no camera 'hall': it must be camera_node or recorded or topics or wall or zed." in errors


@pytest.mark.usefixtures("router")
def test_an_arm_of_another_package_is_what_the_motion_node_moves(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "camera")
    with node(package, "motion", "arm:=braked", "scene.camera:=wall", "availability_deadline_s:=1.0"):
        ended = package.toolhand(*CALL, "/return_to_park", "std_srvs/srv/Trigger", timeout_s=2 * PATIENCE_S)
    assert "No joint states came within 5 s." in ended.stdout
    for arm, why in (("sim", "cannot be used here, where there is no world for it"), ("breaked", "There is no arm")):
        with node(package, "motion", f"arm:={arm}") as process:
            _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 2
        assert why in errors
