"""Named worlds: two pointers that err differently, and what each point truly lay on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.refusals import refused
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.backends import make_ports
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import FailingToolbox
from toolhand.training.env.session import EpisodeSession
from toolhand.training.env.worlds import CAUSES, ERRING, world_named
from toolhand.training.rollouts.labels import OBJECTS, objects_of
from toolhand.training.rollouts.plan import PLAN_FILE, RolloutPlan, claimed, tasks_of

PICK = tasks_of(["pick"], 1)


def asked(station: Station, tool: str) -> str:
    session = Session()
    station.toolbox.call("robot.capture_image", {}, session)
    return str(station.toolbox.call(tool, {"obj_name": "red box", "image_index": 0}, session).result.text)


def test_vlm_asks_the_second_pointer_and_roborefer_the_first() -> None:
    config = StationConfig(ports=PortNames(second_pointer="pixels"), image_size=(160, 120))
    station = Station(load_scene(EXAMPLE_SCENE), config)
    assert asked(station, "roborefer.detect_one").endswith("(backend: sim)")
    assert asked(station, "vlm.detect_one").endswith("(backend: pixels)")


def test_where_no_second_pointer_is_named_the_pointer_serves_both() -> None:
    for chosen in (PortNames(), PortNames(pointer="pixels")):
        ports = make_ports("sim", chosen)
        assert ports.second_pointer is ports.pointer
    assert PortNames(pointer="pixels").over("sim").second_pointer == "pixels"


def test_a_second_pointer_has_to_be_known_and_a_graph_of_ros_has_none() -> None:
    from toolhand.sim.ros.graph import started_graph

    with pytest.raises(ToolError, match="There is no second_pointer 'eyes'"):
        PortNames(second_pointer="eyes").require_known("sim")
    with refused(ErrorCode.INVALID_ARGUMENT, "leave out second_pointer"), started_graph({"second_pointer": "sim"}):
        pass


def test_the_erring_world_has_causes_by_split_kind_and_seed_which_the_options_of_a_policy_tell() -> None:
    plan = RolloutPlan(tasks_of(["pick"], 8), group_size=2, world="erring")
    station, drawn = Station(plan.task(0).scene, plan.config), plan.failures
    assert callable(drawn)
    for group in range(8):
        task, seed = plan.task(group), plan.station_seed(group)
        failures = drawn(task, seed)
        FailingToolbox(station.toolbox, failures, 0)  # every tool can err so
        assert failures == drawn(task, seed)
        told = plan.options(group, 0).told
        assert set(failures.rates) == {tool for cause in told for tool in CAUSES[cause].tools}
        assert told == plan.options(group, 1).told
    found = {
        split: [set(ERRING.causes(kind, split, seed)) for seed in range(200) for kind in ("pick", "absent")]
        for split in ERRING.mixtures
    }
    assert not any({"roborefer", "vlm"} <= causes for split in found.values() for causes in split)
    counts = {split: [sum(cause in each for each in causes) for cause in CAUSES] for split, causes in found.items()}
    assert all(min(count) > 20 for count in counts.values())
    assert len({tuple(count) for count in counts.values()}) == 3
    assert found["train"][::2] != found["train"][1::2]


def test_a_world_can_be_weaker() -> None:
    whole, half = (world_named(name).causes("pick", "test", 5) for name in ("erring", "erring:0.5"))
    assert half == {cause: strength / 2.0 for cause, strength in whole.items()}
    assert RolloutPlan(PICK, group_size=2, world="erring:0").options(0, 0).told


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("mars", "it must be erring"),
        ("Erring", "it must be erring"),
        *((f"erring:{strength}", "is from 0 to 1") for strength in ("", "2", "-0.1", "nan", "much")),
    ],
)
def test_a_world_or_a_strength_that_there_is_not_is_refused(wrong: str, told: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, told):
        RolloutPlan(PICK, group_size=2, world=wrong)


@pytest.mark.parametrize("other", [{"difficulty": 0.5}, {"perception": "pixels"}, {"backend": "mock"}])
def test_a_world_has_its_own_perception_difficulty_and_physics(other: dict[str, object]) -> None:
    with pytest.raises(ToolError, match="leave out all three"):
        RolloutPlan(PICK, group_size=2, world="erring", **other)  # type: ignore[arg-type]


def test_a_collection_of_another_world_is_not_gone_on_with(tmp_path: Path) -> None:
    plan = RolloutPlan(PICK, group_size=2)
    (tmp_path / PLAN_FILE).write_text(json.dumps(plan.document()))
    begun = r" was begun with another world\. Name another folder"
    with pytest.raises(ToolError, match=begun), claimed(tmp_path, replace(plan, world="erring")):
        pass


# -- what points truly lie on --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session() -> EpisodeSession:
    """A pick with pixels alone, in which two points are asked for and one is outlined."""
    environment = Environment(StationConfig(perception="pixels", image_size=(160, 120)))
    session = environment.open(random_task(3, "pick"), seed=3)
    session.call("robot.capture_image", {})
    session.call("robot.get_depth_with_pointcloud", {})
    session.call("roborefer.detect_all", {"obj_name": "everything", "image_index": 0})
    session.call("sam2.segment_from_point", {"x": 0.01, "y": 0.01, "image_index": 0})
    session.call("roborefer.detect_one", {"obj_name": "zebra", "image_index": 0})
    return session


def test_labels_say_what_each_point_lay_on_although_the_tools_see_no_ids(session: EpisodeSession) -> None:
    labels = [turn[OBJECTS] for turn in objects_of(session)]
    objects = {placed.id for placed in session.task.scene.objects}
    assert labels[0] == labels[1] == labels[4] == [None]
    assert len(labels[2][0]) > 3
    assert set(labels[2][0]) <= objects
    assert labels[3] == [[""]]  # the corner of the image is bare
    assert all(image.frame is None or image.frame.ids is None for image in session.episode.session.images)


def test_of_a_point_outside_of_every_image_nobody_knows(session: EpisodeSession) -> None:
    assert session.object_ids_at(0, [(1.5, 0.5)]) is None
    assert session.object_ids_at(99, [(0.5, 0.5)]) is None


def test_the_score_says_what_was_picked_up_and_what_was_meant(session: EpisodeSession) -> None:
    truth = session.score().truth
    assert truth.meant == session.task.task.target_ids if hasattr(session.task, "task") else truth.meant
    assert (truth.picked_up, truth.wrong_objects) == ((), ())
    assert replace(truth, picked_up=("other_1", *truth.meant)).wrong_objects == ("other_1",)


@pytest.mark.parametrize("world", ["", "erring"])
def test_a_plan_names_the_planner_and_the_sensor_of_its_stations(world: str) -> None:
    plan = RolloutPlan(PICK, group_size=2, world=world, sensor="ideal", planner="embedded")
    assert plan.config.ports.over(plan.config.perception).sensor == "ideal"
    assert RolloutPlan.of_document(plan.document()) == plan
    for wrong, sentence in (
        ({"planner": "stars"}, "There is no planner 'stars'"),
        ({"sensor": "eye"}, "There is no sensor 'eye'"),
    ):
        with pytest.raises(ToolError, match=sentence):
            RolloutPlan(PICK, group_size=2, world=world, **wrong)  # type: ignore[arg-type]


def test_recorded_images_have_no_sensor() -> None:
    with pytest.raises(ToolError, match="mock robot have no sensor: leave it out"):
        RolloutPlan(PICK, group_size=2, backend="mock", sensor="ideal")
