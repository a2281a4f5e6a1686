"""`--objects` of the commands that take a scene: objects of a folder of one's own, from the sentence to the report."""

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.toolhand.blocks import SCENE, write_blocks
from toolhand.cli.options import StationOptions
from toolhand.sim.objects.chosen import absolute_sets, choose_sets, sets_known_by
from toolhand.sim.objects.folders import OBJECTS_PATH
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.results import ToolError
from toolhand.training.pool.parallel import run_jobs
from toolhand.training.pool.workers import Workers
from toolhand.training.rollouts.plan import EvaluationPlan, RolloutPlan, tasks_of
from toolhand.training.rollouts.work import make_work

Cli = Callable[..., Any]
OBJECT = "my-things/blue-block"

COMMANDS = [
    ("run", "pick up the blue block", "--scene", "scene.yaml"),
    ("scene", "scene.yaml"),
    ("call", "robot.capture_image", "--scene", "scene.yaml"),
    ("rollouts", "collect", "--out", "rollouts", "--n", "4"),
]
"""Words of commands that take object sets, without them."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of meshes beside a scene that names one of them, and the folder in which commands run."""
    monkeypatch.setenv(OBJECTS_PATH, "")  # which is put back as it was
    (tmp_path / "scene.yaml").write_text(SCENE, encoding="utf-8")
    return write_blocks(tmp_path / "My_Things")


@pytest.mark.parametrize(("perception", "words"), [("sim", "blue block"), ("sim", "brick"), ("pixels", "blue object")])
def test_an_object_of_a_folder_is_picked_up_judged_and_reported(
    cli: Cli, folder: Path, perception: str, words: str
) -> None:
    ended = cli(
        "run", f"pick up the {words}", "--scene", "scene.yaml", "--objects", "My_Things", "--perception", perception,
        "--no-animation", "--json",
    )  # fmt: skip
    assert ended.status == 0, ended.err
    document = ended.document
    assert document["truth"]["picked"]
    assert document["judged_against"]["goal"] == "pick blue_block_1"
    assert document["objects"] == "My_Things"
    assert "--objects My_Things" in document["command"]
    report = (Path(document["run_dir"]) / "report.html").read_text("utf-8")
    assert words in report

    # Nothing of the folder is needed to look at what was done.
    shutil.rmtree(folder)
    shown = cli("replay", document["run_dir"], "--json")
    assert (shown.status, shown.document["truth"]) == (0, document["truth"])
    again = cli("replay", document["run_dir"], "--again")
    assert again.status == 2
    assert "names the object sets 'My_Things'" in " ".join(again.err.split())
    gone = cli("replay", document["run_dir"], "--again", "--trusted")
    assert gone.status == 2
    assert "There is no object set 'My_Things': it must be a folder" in gone.err


def test_a_recorded_run_with_objects_of_a_folder_is_carried_out_again_to_the_same_end(cli: Cli, folder: Path) -> None:
    ended = cli(
        "run", "pick up the brick", "--scene", "scene.yaml", "--objects", "My_Things", "--no-animation", "--json"
    )
    again = cli("replay", ended.document["run_dir"], "--again", "--trusted", "--json")
    assert (again.status, again.document["same"]) == (0, True), again.err


def test_scene_and_call_and_stations_know_the_objects(cli: Cli, folder: Path) -> None:
    shown = cli("scene", "scene.yaml", "--objects", "My_Things", "--json").document["objects"][0]
    assert (shown["id"], shown["name"], shown["synonyms"]) == ("blue_block_1", OBJECT, ["brick"])
    called = cli(
        "call", "roborefer.detect_one", json.dumps({"obj_name": "brick", "image_index": 0}), "--scene", "scene.yaml",
        "--objects", "My_Things",
    )  # fmt: skip
    assert called.status == 0, called.err
    station = StationOptions(scene="scene.yaml", objects="My_Things").make()
    assert isinstance(station, Station)
    assert station.config.objects == "My_Things"
    with pytest.raises(ToolError, match="The mock robot has no scenes and no objects"):
        StationOptions(station="mock", objects="My_Things")


def test_doctor_lists_the_objects_of_a_folder_by_the_names_that_scenes_give_them(cli: Cli, folder: Path) -> None:
    document = cli("doctor", "--objects", "My_Things", "--json").document
    assert document["objects"] == {"my-things": ["blue-block"]}
    assert {offer["name"] for offer in document["backends"]["sensor"]} >= {"clean", "realsense_d435", "hard"}
    assert {offer["name"] for offer in document["backends"]["object set"]} >= {"catalogue", "generated"}


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
@pytest.mark.parametrize(
    ("objects", "said"),
    [
        ("nowhere", "There is no object set 'nowhere': it must be a folder of meshes, or"),
        ("empty", "The folder 'empty' holds no objects"),
        ("scene.yaml", "There is no object set 'scene.yaml': it must be a folder of meshes, or"),
        ("My_Things:", "There is no object set '': it must be a folder of meshes, or"),
        ("sealed", "sealed"),
    ],
)
def test_folders_that_are_none_are_one_sentence(
    cli: Cli, folder: Path, words: tuple[str, ...], objects: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    sealed = tmp_path / "sealed"
    sealed.mkdir(mode=0)
    if objects == "sealed" and readable(sealed):
        pytest.skip("nothing is sealed for this user")
    ended = cli(*words, "--objects", objects)
    assert ended.status == 2
    assert ended.err.count("\n") <= 2
    assert said in " ".join(ended.err.split())


def readable(folder: Path) -> bool:
    try:
        list(folder.iterdir())
    except PermissionError:
        return False
    return True


def test_without_its_folder_a_scene_says_that_the_set_is_none_and_which_option_names_folders(
    cli: Cli, folder: Path
) -> None:
    ended = cli("run", "pick up the brick", "--scene", "scene.yaml")
    assert ended.status == 2
    said = " ".join(ended.err.split())
    assert "scene.yaml, line 2: There is no object set 'my-things'" in said
    assert "--objects" in said


def test_installed_sets_may_be_named_beside_folders(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert choose_sets("My_Things:generated") == ("my-things", "generated")
    assert absolute_sets("My_Things:generated") == f"{folder}:generated"
    assert choose_sets("generated+catalogue") == ("generated", "catalogue")
    known = sets_known_by("My_Things:generated")
    assert known == sets_known_by(f"generated:{folder}/../My_Things")
    (folder / "another.txt").write_text("another file")
    assert known != sets_known_by("My_Things:generated")
    plus = folder.rename(tmp_path / "a+b")
    assert choose_sets(f"{plus}:generated") == ("a-b", "generated")
    plus.rename(folder)
    assert choose_sets("My_Things+generated") == ("my-things", "generated")
    assert choose_sets("") == ()
    assert find_asset(OBJECT).name == "blue block", "nothing named leaves all as it is"


# ---- Other processes ----


def objects_on_the_table(config: StationConfig) -> list[str]:
    """The work of another process, which was handed nothing but a configuration."""
    choose_sets(config.objects)
    scene = parse_scene(SCENE)
    return [placed.asset.name for placed in Station(scene, config).scene.objects]


def knows_the_object(plan: RolloutPlan, folder: Path) -> Callable[[str], str]:
    make_work(plan, folder)
    return lambda name: find_asset(name).name


def test_a_worker_knows_the_sets_by_its_configuration_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = StationConfig(objects=str(folder), image_size=(160, 120))
    monkeypatch.delenv(OBJECTS_PATH)
    found = run_jobs(objects_on_the_table, [config, config], 2, lambda job, why: [why])
    assert found == [["blue block", "red box"]] * 2


def test_a_worker_of_rollouts_knows_the_sets_of_its_plan(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = EvaluationPlan(tasks_of(["pick"], 1), group_size=1, objects=str(folder))
    assert plan.config.objects == str(folder)
    monkeypatch.delenv(OBJECTS_PATH)
    with Workers(functools.partial(knows_the_object, plan, tmp_path), count=1) as workers:
        (end,) = workers.run([OBJECT])
    assert end.result == "blue block", end.problem


def test_rollouts_say_which_sets_they_had_and_are_shown_without_them(cli: Cli, folder: Path, tmp_path: Path) -> None:
    options = ("--n", "2", "--group-size", "2", "--size", "160x120", "--objects", "My_Things")
    collected = cli("rollouts", "collect", "--out", "out", "--tasks", "point", *options)
    assert collected.status == 0, collected.err
    plan = json.loads((tmp_path / "out" / "plan.json").read_text("utf-8"))
    assert plan["objects"] == "My_Things"
    shutil.rmtree(folder)
    shown = cli("rollouts", "show", "out")
    assert shown.status == 0, shown.err
    branched = cli("rollouts", "branch", "out", "--out", "branch")
    assert branched.status == 2
    assert "The plan names the object sets 'My_Things', which may lead anywhere" in " ".join(branched.err.split())
