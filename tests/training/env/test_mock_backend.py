"""The mock backend: frames instead of a robot, judged by the points that were named, and by nothing else."""

from dataclasses import replace

import numpy as np
import pytest

from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.sim.mock.data import read_dataset
from toolhand.sim.mock.tasks import recorded_pick, recorded_scene
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import PlaceRelation
from toolhand.sim.tasks.task import TASK_GOAL, History, Score, Transcript
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.backends import MockPool
from toolhand.training.env.environment import Environment
from toolhand.training.env.session import EpisodeSession
from toolhand.training.tasks.kinds import make_task

SMALL = StationConfig(image_size=(320, 240))
DATASET = read_dataset()
SCENE = recorded_scene(DATASET, 0)
SPONGE = PickTask("pick up the sponge", SCENE, ("sponge_1",))
ENVIRONMENT = Environment(SMALL, backend="mock")
ANSWER = "<answer>Done.</answer>"


def beside(relation: PlaceRelation, *references: str) -> PlaceTask:
    return PlaceTask(f"put the sponge {relation}", SCENE, ("sponge_1",), relation, references)


def grasp(session: EpisodeSession, phrase: str) -> None:
    """Take what the words mean, as far as a mock does."""
    session.call("robot.get_depth_with_pointcloud", {})
    looked = session.call("robot.capture_image", {}).messages[0].image_index
    pointed = session.call("roborefer.detect_one", {"obj_name": phrase, "image_index": looked})
    assert pointed.error_code is None, pointed.text
    x, y = session.episode.records[-1].result.facts["points"][0]
    session.call("sam2.segment_from_point", {"x": x, "y": y, "image_index": looked})
    arguments = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
    computed = session.call("grasp_generator.compute_grasp", arguments | {"image_index": looked})
    assert computed.error_code is None, computed.text
    assert session.call("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}).error_code is None


def test_a_grasp_of_the_target_is_right_and_one_of_another_object_is_not() -> None:
    outcomes = {}
    for phrase in ("sponge", "tea box"):
        with ENVIRONMENT.open(SPONGE) as session:
            grasp(session, phrase)
            session.say(ANSWER)
            outcomes[phrase] = session.score()
    assert outcomes["sponge"].terms == {"grasp_point": 1.0}
    assert outcomes["sponge"].truth.success
    assert outcomes["tea box"].total == 0.0
    assert outcomes["tea box"].truth.reasons == ("the last grasp closes on tea_box_1",)
    assert not outcomes["sponge"].stages


def test_without_a_grasp_or_put_down_again_nothing_is_picked() -> None:
    with ENVIRONMENT.open(SPONGE) as session:
        session.say(ANSWER)
        assert session.score().truth.reasons == ("the last grasp closes on nothing",)
    with ENVIRONMENT.open(SPONGE) as session:
        grasp(session, "sponge")
        session.call("robot.place_object_at_2d_location", {"placement_point_2d": [0.4, 0.5]})
        assert session.score().truth.reasons == ("it was put down again",)


@pytest.mark.parametrize(("phrase", "placed"), [("free table in front of the tea box", True), ("sponge", False)])
def test_a_placement_is_judged_by_its_point(phrase: str, placed: bool) -> None:
    with ENVIRONMENT.open(beside("in_front_of", "tea_box_1")) as session:
        grasp(session, "sponge")
        looked = session.call("robot.capture_image", {}).messages[0].image_index
        session.call("roborefer.detect_one", {"obj_name": phrase, "image_index": looked})
        point = list(session.episode.records[-1].result.facts["points"][0])
        session.call("robot.place_object_at_2d_location", {"placement_point_2d": point})
        session.say(ANSWER)
        score = session.score()
    assert score.terms == {"grasp_point": 1.0, "place_point": float(placed)}
    assert score.truth.success is placed
    assert bool(score.truth.reasons) is not placed


def test_a_point_in_space_is_judged_as_well_and_one_beside_the_table_is_told() -> None:
    frame = DATASET.frame(0).frame
    for base, terms in (((0.5, 0.0, 0.05), 1.0), ((3.0, 0.0, 0.0), 0.0)):
        with ENVIRONMENT.open(beside("anywhere")) as session:
            grasp(session, "sponge")
            x, y, z = (np.linalg.inv(frame.T_base_camera) @ (*base, 1.0))[:3]
            session.call("robot.place_object_at_3d_location", {"placement_point_3d": [x, y, z]})
            score = session.score()
            assert score.terms["place_point"] == terms
    assert score.truth.reasons == ("the point is beside the table",)
    with ENVIRONMENT.open(beside("anywhere")) as session:
        assert session.score().truth.reasons == ("the last grasp closes on nothing", "nothing was placed")


def test_the_scripted_policy_grasps_the_right_object_in_most_frames() -> None:
    rights = 0
    for seed in range(4):
        policy = ScriptedPolicy()
        with ENVIRONMENT.open(recorded_pick(DATASET, seed), seed) as session:
            while not session.done:
                session.say(policy.respond(session.messages()))
            rights += session.score().truth.success
    assert rights >= 3


def test_the_same_seed_gives_the_same_bytes_and_a_thinned_frame_is_the_recorded_one() -> None:
    texts = []
    for _ in range(2):
        with Environment(SMALL, backend="mock").open(SPONGE, seed=4) as session:
            grasp(session, "sponge")
            texts.append([message.text for message in session.messages()])
            image = session.episode.session.images[1].rgb
    assert texts[0] == texts[1]
    assert np.array_equal(image, DATASET.frame(0).frame.rgb[::2, ::2])


def test_a_scene_that_is_not_in_the_data_set_is_recorded() -> None:
    thinner = replace(SCENE, objects=SCENE.objects[:5])
    names = [placed.id for placed in thinner.objects]
    assert "sponge_1" in names
    with ENVIRONMENT.open(replace(SPONGE, scene=thinner)) as session:
        grasp(session, "sponge")
        assert session.score().total == 1.0


def test_a_pick_of_a_split_is_judged_by_its_point_too() -> None:
    task, policy = make_task("pick", 3), ScriptedPolicy()
    with ENVIRONMENT.open(task, seed=3) as session:
        while not session.done:
            session.say(policy.respond(session.messages()))
        assert session.score().terms == {"grasp_point": 1.0}


class Question:
    """How many objects stand on the table?"""

    text, scene, goal, source, holds_s = "How many things are there?", SCENE, "count", TASK_GOAL, ()

    def score(self, history: History, transcript: Transcript) -> Score:
        right = transcript.answer == str(len(history.before.objects))
        return Score({"count": right}, right)


class Waiting(Question):
    goal, holds_s = "wait until the ball has rolled away", (1.0,)  # type: ignore[assignment]


def test_a_question_is_scored_by_its_own_rule() -> None:
    with ENVIRONMENT.open(Question()) as session:
        session.say(f"<answer>{len(SCENE.objects)}</answer>")
        assert session.score().total == 1.0


def test_what_cannot_be_judged_or_shown_there_is_refused_in_one_sentence() -> None:
    with pytest.raises(ToolError, match="nobody can judge there: wait until the ball has rolled away") as refused:
        ENVIRONMENT.open(Waiting())
    assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    with pytest.raises(ToolError, match="seed must be 0 or greater, got -1"):
        ENVIRONMENT.open(SPONGE, seed=-1)
    with pytest.raises(ToolError, match=r"A frame of 640x480 px can have a whole part of that size, not 300x200"):
        MockPool(replace(SMALL, image_size=(300, 200)))
    with ENVIRONMENT.open(SPONGE) as session, pytest.raises(ToolError, match="physics in this process can be saved"):
        session.save()
