"""Failures on purpose: as often as asked, the same for the same seed, known to the record and never to the policy."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tests.refusals import refused
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Reply
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Text
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox, tool
from toolhand.training.env.environment import Environment
from toolhand.training.env.episode import run_episode
from toolhand.training.env.failures import FACT, KINDS, FailingToolbox, Failures

SCENE = load_scene(EXAMPLE_SCENE)
PICK = PickTask("pick up the far coconut water", SCENE, ("coconut_water_1",))
SMALL = StationConfig(image_size=(320, 240), sleep=True)


class Counting:
    """Two tools that count how often they run."""

    suite = "test"

    def __init__(self) -> None:
        self.runs = 0

    @tool("count.words", aliases=["count.letters"], repeatable=True)
    def words(self, text: Text) -> ToolResult:
        """Count.

        Args:
            text: Of what.
        """
        self.runs += 1
        return ToolResult(text=f"{len(text)}", variables={"count": len(text)})

    @tool("count.lines")
    def lines(self, text: Text) -> ToolResult:
        """Count lines.

        Args:
            text: Of what.
        """
        self.runs += 1
        return ToolResult(text="1")


def failures_of(records: list[CallRecord]) -> list[str | None]:
    return [record.result.facts.get(FACT) for record in records]


def calls(failures: Failures, seed: int, rollout: int = 0, count: int = 40) -> list[str | None]:
    toolbox, session = FailingToolbox(Toolbox([Counting()]), failures, seed, rollout), Session()
    return failures_of([toolbox.call("count.words", {"text": "a"}, session) for _ in range(count)])


@pytest.fixture(scope="module")
def station() -> Station:
    return Station(SCENE, SMALL)


@pytest.fixture
def fresh(station: Station) -> Station:
    station.reset(0)
    return station


# ---- how often ----


def test_each_kind_comes_as_often_as_its_rate_says() -> None:
    rates = {"empty": 0.1, "TIMEOUT": 0.2, "EXECUTION_FAILED": 0.05}
    drawn = [kind for seed in range(50) for kind in calls(Failures({"*": rates}), seed)]
    for kind, rate in rates.items():
        bound = 4.0 * math.sqrt(rate * (1.0 - rate) * len(drawn))
        assert abs(drawn.count(kind) - rate * len(drawn)) < bound, kind


def test_a_rate_of_1_always_fails_and_a_rate_of_0_never() -> None:
    assert calls(Failures({"*": {"TIMEOUT": 1.0}}), seed=3) == ["TIMEOUT"] * 40
    assert calls(Failures({"*": {"TIMEOUT": 0.0}}), seed=3) == [None] * 40


def test_the_rates_of_a_tool_replace_those_of_all_also_under_its_other_name() -> None:
    failures = Failures({"*": {"TIMEOUT": 1.0}, "count.letters": {"empty": 1.0}})
    toolbox, session = FailingToolbox(Toolbox([Counting()]), failures, 0), Session()
    names = ("count.words", "count.letters", "count.lines")
    assert failures_of([toolbox.call(name, {"text": "a"}, session) for name in names]) == ["empty", "empty", "TIMEOUT"]


# ---- seeds ----

HALF = {"*": {"TIMEOUT": 0.5}}


def test_the_same_seed_and_rollout_fail_alike_and_others_do_not() -> None:
    assert calls(Failures(HALF), 1) == calls(Failures(HALF), 1)
    assert calls(Failures(HALF), 1) != calls(Failures(HALF), 2)


def test_a_group_fails_alike_only_where_failures_are_shared() -> None:
    assert len({tuple(calls(Failures(HALF, shared=True), 1, rollout)) for rollout in range(4)}) == 1
    assert len({tuple(calls(Failures(HALF), 1, rollout)) for rollout in range(4)}) == 4


def test_a_call_fails_whatever_was_called_before_it() -> None:
    toolbox, session = FailingToolbox(Toolbox([Counting()]), Failures(HALF), 1), Session()
    records = [
        toolbox.call("count.words" if number % 3 else "count.lines", {"text": f"{number}"}, session)
        for number in range(40)
    ]
    same = [kind for number, kind in enumerate(failures_of(records)) if number % 3]
    assert same == [kind for number, kind in enumerate(calls(Failures(HALF), 1)) if number % 3]


def test_a_fork_of_a_conversation_goes_on_with_the_failures_of_its_calls() -> None:
    toolbox, session = FailingToolbox(Toolbox([Counting()]), Failures(HALF), 1), Session()
    for _ in range(20):
        toolbox.call("count.words", {"text": "a"}, session)
    twin = session.fork()
    rest = failures_of([toolbox.call("count.words", {"text": "a"}, twin) for _ in range(20)])
    assert rest == calls(Failures(HALF), 1)[20:]


# ---- what a failure does ----


@pytest.mark.parametrize("kind", ["empty", "TIMEOUT", "EXECUTION_FAILED"])
def test_a_failed_call_does_not_run_the_tool_and_leaves_nothing_behind(kind: str) -> None:
    counting, session = Counting(), Session()
    toolbox = FailingToolbox(Toolbox([counting]), Failures({"*": {kind: 1.0}}), 0)
    record = toolbox.call("count.words", {"text": "a"}, session)
    assert counting.runs == 0
    assert not session.variables
    error = record.result.error
    assert (error is None) == (kind == "empty")
    assert error is None or error.code == kind
    assert record.result.text == ("" if kind == "empty" else f"Error {kind}: {error}")


def test_a_call_that_cannot_run_is_answered_as_always() -> None:
    toolbox = FailingToolbox(Toolbox([Counting()]), Failures({"*": {"TIMEOUT": 1.0}}), 0)
    for name, arguments in (("count.words", {}), ("count.words", {"text": 1}), ("count.nothing", {})):
        expected = Toolbox([Counting()]).call(name, arguments, Session())
        found = toolbox.call(name, arguments, Session())
        assert found.result.error is not None
        assert (found.result.text, found.result.facts) == (expected.result.text, {})


def test_after_a_failure_nobody_is_told_that_the_same_call_gives_the_same() -> None:
    toolbox, session = FailingToolbox(Toolbox([Counting()]), Failures({"*": {"EXECUTION_FAILED": 1.0}}), 0), Session()
    texts = {toolbox.call("count.lines", {"text": "a"}, session).result.text for _ in range(8)}
    assert texts == {"Error EXECUTION_FAILED: count.lines: the call failed."}


def test_a_look_of_the_agent_itself_never_fails() -> None:
    toolbox = FailingToolbox(Toolbox([Counting()]), Failures({"*": {"TIMEOUT": 1.0}}), 0)
    session = Session(calls=None)
    assert toolbox.call("count.words", {"text": "a"}, session).result.ok
    assert session.calls is None


@pytest.mark.parametrize("name", ["roborefer.detect_one", "roborefer.detect_all", "vlm.detect_one"])
def test_a_wrong_point_lies_on_another_object(fresh: Station, name: str) -> None:
    hit = set()
    for seed, words in enumerate(("red box", "cinnamon", "black bin", "free table left of the red box")):
        toolbox, session = FailingToolbox(fresh.toolbox, Failures({name: {"wrong_point": 1.0}}), seed), Session()
        toolbox.call("robot.capture_image", {}, session)
        frame = session.newest_frame()
        assert frame is not None
        assert frame.ids is not None
        ids, ask = frame.ids, {"obj_name": words, "image_index": 0}
        right = fresh.toolbox.call(name, ask, session.fork()).result
        wrong = toolbox.call(name, ask, session).result
        assert wrong.facts[FACT] == "wrong_point"
        assert FACT not in right.facts
        of_right, of_wrong = (
            {int(ids[int(y * ids.shape[0]), int(x * ids.shape[1])]) for x, y in result.facts["points"]}
            for result in (right, wrong)
        )
        assert len(of_wrong) == 1
        assert of_wrong.isdisjoint(of_right | {-1})
        hit |= of_wrong
        assert wrong.text.startswith(f"Detected 1 instance(s) of '{words}'")
        assert wrong.backend == right.backend
        assert set(wrong.variables) == set(right.variables)
    assert len(hit) > 1


def test_what_is_nowhere_stays_nowhere_and_counts_as_no_failure(fresh: Station) -> None:
    toolbox = FailingToolbox(fresh.toolbox, Failures({"*": {"wrong_point": 1.0}}), 5)
    session = Session()
    toolbox.call("robot.capture_image", {}, session)
    record = toolbox.call("roborefer.detect_one", {"obj_name": "apple", "image_index": 0}, session)
    assert record.result.error is not None
    assert record.result.error.code is ErrorCode.OBJECT_NOT_FOUND
    assert FACT not in record.result.facts


@pytest.mark.parametrize("kind", ["GRIPPER_EMPTY", "PLAN_FAILED", "IK_FAILED", "TIMEOUT", "EXECUTION_FAILED"])
def test_a_refused_motion_leaves_the_world_untouched(fresh: Station, kind: str) -> None:
    toolbox = FailingToolbox(fresh.toolbox, Failures({"robot.execute_grasp": {kind: 1.0}}), 0)
    before = fresh.save().world
    record = toolbox.call("robot.execute_grasp", {"grasp_pose": np.eye(4).tolist()}, Session())
    assert record.motion
    assert record.result.error is not None
    assert record.result.error.code == kind
    after = fresh.save().world
    assert (after.physics, after.log) == (before.physics, before.log)


def test_the_truth_is_the_worlds_and_the_policy_is_not_told(fresh: Station) -> None:
    failing = FailingToolbox(fresh.toolbox, Failures({"robot.execute_grasp": {"GRIPPER_EMPTY": 0.5}}), 7)
    outcome = run_episode(fresh, ScriptedPolicy(), PICK, toolbox=failing)
    motions = [record for record in outcome.episode.records if record.motion]
    assert failures_of(motions) == ["GRIPPER_EMPTY", None]
    assert outcome.truth is not None
    assert outcome.truth.success
    said = " ".join(message.text for message in outcome.episode.messages)
    assert "GRIPPER_EMPTY" in said
    assert FACT not in said
    assert "on purpose" not in said


def test_without_rates_every_byte_is_as_without_the_wrapper(fresh: Station) -> None:
    plain = run_episode(fresh, ScriptedPolicy(), PICK)
    log = [(time, qpos.tobytes()) for time, qpos in fresh.world.log]
    fresh.reset(0)
    around = run_episode(fresh, ScriptedPolicy(), PICK, toolbox=FailingToolbox(fresh.toolbox, Failures(), 0))
    assert [message.text for message in plain.episode.messages] == [m.text for m in around.episode.messages]
    images = [[image.rgb.tobytes() for image in o.episode.session.images] for o in (plain, around)]
    assert images[0] == images[1]
    assert [(time, qpos.tobytes()) for time, qpos in fresh.world.log] == log
    assert plain.truth == around.truth


def test_an_environment_fails_by_seed_and_rollout_and_keeps_its_station_after_a_timeout() -> None:
    environment = Environment(SMALL, failures=Failures({"robot.capture_image": {"TIMEOUT": 0.5}}))
    look = Reply('<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>')

    def failed(rollout: int) -> list[str | None]:
        environment.reset(PICK, seed=4, rollout=rollout)
        for _ in range(8):
            environment.step(look)
        return failures_of(environment.episode.records)

    first = failed(0)
    assert "TIMEOUT" in first
    environment.save()  # which a station with a call that is really late refuses
    assert failed(0) == first != failed(1)

    environment.reset(PICK, seed=4)
    for _ in range(4):
        environment.step(look)
    snapshot = environment.save()
    environment.restore(snapshot)
    for _ in range(4):
        environment.step(look)
    assert failures_of(environment.episode.records) == first


# ---- what is refused ----


@pytest.mark.parametrize(
    ("rates", "problem"),
    [
        ({"*": {"UNAVAILABLE": 0.1}}, "UNAVAILABLE is an infrastructure error, which is never scored"),
        ({"*": {"INTERNAL": 0.1}}, "INTERNAL is an infrastructure error, which is never scored"),
        ({"*": {"lazy": 0.1}}, "there is no failure 'lazy': give empty, wrong_point, neigh"),
        ({"*": {"STOPPED": 0.1}}, "there is no failure 'STOPPED'"),
        ({"*": {"TIMEOUT": 1.1}}, "the rate of TIMEOUT of '*' must be a number from 0 to 1, not 1.1"),
        ({"*": {"TIMEOUT": -0.1}}, "must be a number from 0 to 1, not -0.1"),
        ({"*": {"TIMEOUT": math.nan}}, "must be a number from 0 to 1, not nan"),
        ({"*": {"TIMEOUT": "often"}}, "must be a number from 0 to 1, not 'often'"),
        ({"*": {"TIMEOUT": True}}, "must be a number from 0 to 1, not True"),
        ({"*": {"TIMEOUT": 0.6, "empty": 0.6}}, "the rates of '*' may be 1 together, not 1.2"),
        ({"*": 0.5}, "'*' must have a mapping {kind: rate}, got 0.5"),
        ({"count.word": {"TIMEOUT": 0.5}}, "There is no tool 'count.word'. Did you mean count.words"),
        ({"count.words": {"NO_GRASP": 0.5}}, "count.words cannot fail with NO_GRASP, but with empty, TIMEOUT, EXEC"),
        ({"count.words": {"empty": 1}, "count.letters": {"empty": 1}}, "are the same tool, give one of them"),
    ],
)
def test_wrong_rates_are_one_clear_sentence(rates: Any, problem: str) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, re.escape(problem)) as error:
        FailingToolbox(Toolbox([Counting()]), Failures(rates), 0)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("seed", "rollout"), [(-1, 0), (0, -1)])
def test_a_negative_seed_is_refused(seed: int, rollout: int) -> None:
    with pytest.raises(ToolError, match="must be 0 or more"):
        FailingToolbox(Toolbox([Counting()]), Failures(), seed, rollout)


def test_every_kind_of_failure_fits_a_tool_of_the_four_papers() -> None:
    toolbox = Station(SCENE, StationConfig(suites=("spacetools", "peria", "evic", "last"))).toolbox
    for kind, way in KINDS.items():
        assert any(way.fits(spec) for spec in toolbox.specs.values()), kind
