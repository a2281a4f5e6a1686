"""One episode by its verbs: the same record whoever parses the calls, one sentence for misuse, no score of a fault."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Reply
from toolhand.agent_node.protocol import load_protocol, protocol_names
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.task import Score, Task
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.training.env.backends import PhysicsPool, StationLease, make_pool
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import Failures
from toolhand.training.env.grading import EpisodeScore, mean_of_terms
from toolhand.training.env.session import EpisodeSession

SCENE = load_scene(EXAMPLE_SCENE)
PICK = PickTask("pick up the far coconut water", SCENE, ("coconut_water_1",))
SMALL = StationConfig(image_size=(320, 240), timestep=0.004, sleep=True)
ENVIRONMENT = Environment(SMALL)
ANSWER = "<answer>Done.</answer>"


def refusal(act: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        act()
    assert caught.value.message.endswith(".")
    assert "\n" not in caught.value.message
    return caught.value


def test_the_policy_reads_the_task_and_is_offered_the_tools() -> None:
    with ENVIRONMENT.open(PICK, seed=1) as session:
        assert [message.role for message in session.messages()] == ["system", "user"]
        assert session.messages()[1].words == PICK.text
        names = [schema["function"]["name"] for schema in session.tools()]
        assert "robot.execute_grasp" in names
        assert names == sorted(names)


@pytest.mark.parametrize("name", protocol_names())
def test_a_call_leaves_the_record_that_the_policys_own_turn_leaves(name: str) -> None:
    protocol = load_protocol(name)
    environment = Environment(SMALL, settings=ConversationSettings(protocol=protocol))
    phrase = "the can </tool_call></action> 'x' \\</"
    with environment.open(PICK, seed=1) as called, environment.open(PICK, seed=1) as said:
        looked = called.call("robot.capture_image", {})
        pointed = called.call("roborefer.detect_one", {"obj_name": phrase, "image_index": 0})
        for turn in called.episode.turns:
            said.say(Reply(turn.text))
        assert looked.image is not None
        assert looked.image.shape == (240, 320, 3)
        assert looked.error_code is None
        assert pointed.error_code in (ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED, ErrorCode.INVALID_ARGUMENT)
        assert called.episode.turns[1].parsed.calls[0].arguments["obj_name"] == phrase
        assert [m.text for m in called.messages()] == [m.text for m in said.messages()]


def test_what_a_model_gets_wrong_comes_back_and_raises_nothing() -> None:
    with ENVIRONMENT.open(PICK) as session:
        unknown = session.call("robot.fly", {})
        assert unknown.error_code is ErrorCode.UNKNOWN_TOOL
        assert "robot.fly" in unknown.text
        listed: Any = ["not", "a", "mapping"]
        assert session.call("robot.capture_image", listed).error_code is ErrorCode.INVALID_ARGUMENT
        assert session.call("robot.capture_image", {"x": float("nan")}).error_code is ErrorCode.INVALID_ARGUMENT
        assert session.say("I am not sure").error_code is ErrorCode.INVALID_ARGUMENT
        assert not session.done


def test_several_calls_in_a_turn_answer_one_by_one() -> None:
    look = '<tool_call>{"name": "robot.capture_image", "arguments": {}}</tool_call>'
    with ENVIRONMENT.open(PICK) as session:
        both = session.say(look + look.replace("capture_image", "fly"))
        assert len(both.messages) == 2
        assert len(both.images) == 1
        assert both.error_code is ErrorCode.UNKNOWN_TOOL


def test_plain_words_are_the_answer_where_the_engine_parses_calls_itself() -> None:
    environment = Environment(SMALL, settings=ConversationSettings(protocol=load_protocol("native")))
    with environment.open(PICK) as session:
        said = session.say(Reply("<think>I see.</think> Nothing to do.", token_ids=(5, 6), logprobs=(-0.1, -0.2)))
        assert said.done
        assert session.episode.answer == "Nothing to do."
        assert session.episode.turns[0].thought == "I see."
        assert session.episode.turns[0].as_sampled.token_ids == (5, 6)


def test_the_score_has_total_terms_truth_and_stages() -> None:
    policy = ScriptedPolicy()
    with ENVIRONMENT.open(PICK, seed=2) as session:
        while not session.done:
            session.say(policy.respond(session.messages()))
        score = session.score()
        assert score.total == 1.0
        assert score.terms == {"picked": 1.0}
        assert score.truth.success
        assert score.stages["lifted"]
        assert session.score() is score


def test_a_score_before_the_end_ends_the_episode_with_its_budget() -> None:
    with ENVIRONMENT.open(PICK) as session:
        session.call("robot.capture_image", {})
        assert session.score().total == 0.0
        assert session.done
        assert session.episode.error_code is ErrorCode.TURN_BUDGET
        over = refusal(lambda: session.call("robot.capture_image", {}))
        assert "it ended with TURN_BUDGET" in over.message


def test_a_grader_of_ones_own_decides_the_total() -> None:
    def brevity(task: Task, episode: Episode, truth: Score) -> EpisodeScore:
        return EpisodeScore(1.0 / len(episode.turns), {"turns": float(len(episode.turns))}, truth)

    with Environment(SMALL, grader=brevity).open(PICK) as session:
        session.call("robot.capture_image", {})
        session.say(ANSWER)
        assert session.score().total == 0.5
        assert session.score().terms == {"turns": 2.0}
    error = refusal(lambda: EpisodeScore(float("inf"), {}, Score({}, False)))
    assert error.code is ErrorCode.INTERNAL
    assert mean_of_terms(PICK, session.episode, Score({}, False)).total == 0.0


def test_after_its_end_a_session_says_one_sentence_and_keeps_its_record() -> None:
    session = ENVIRONMENT.open(PICK)
    session.close()
    session.close()
    verbs: list[Callable[[], object]] = [
        session.messages,
        session.tools,
        session.score,
        session.save,
        lambda: session.say(ANSWER),
        lambda: session.call("robot.capture_image", {}),
        lambda: session.abort(ToolError(ErrorCode.UNAVAILABLE, "No.")),
    ]
    assert {refusal(verb).message for verb in verbs} == {"The session is closed."}
    assert session.episode.task == PICK.text


def test_arguments_that_are_no_json_values_are_the_engines_fault() -> None:
    with ENVIRONMENT.open(PICK) as session:
        error = refusal(lambda: session.call("robot.capture_image", {"x": {1, 2}}))
        assert error.code is ErrorCode.INVALID_ARGUMENT
        assert not session.episode.turns


def test_a_fault_of_the_system_is_never_a_score_and_its_station_is_not_used_again() -> None:
    made: list[Station] = []

    def make(task: Task, config: StationConfig) -> Station:
        made.append(Station(task.scene, config))
        return made[-1]

    with Environment(SMALL, make_station=make).open(PICK) as session:
        made[-1].world.data.qvel[3] = np.inf
        session.say(ANSWER)
        for _ in range(2):
            assert refusal(session.score).code is ErrorCode.INTERNAL
    with ENVIRONMENT.open(PICK) as session:
        session.abort(ToolError(ErrorCode.UNAVAILABLE, "The model is gone."))
        assert refusal(session.score).code is ErrorCode.UNAVAILABLE


class SlowTool:
    @tool("slow.look", timeout_s=0.02)
    def look(self) -> ToolResult:
        """Look for a long time."""
        time.sleep(0.2)
        return ToolResult(text="Seen.")


def test_a_call_that_ran_out_of_its_time_spoils_the_station() -> None:
    returned: list[bool] = []

    class SlowPool(PhysicsPool):
        def take(self, task: Task, seed: int) -> StationLease:
            lease = super().take(task, seed)
            return replace(lease, toolbox=Toolbox([SlowTool()]), release=returned.append)

    with Environment(SMALL, backend=SlowPool(SMALL)).open(PICK) as session:
        assert session.call("slow.look", {}).error_code is ErrorCode.TIMEOUT
        assert refusal(session.save).code is ErrorCode.UNAVAILABLE  # no fault of whoever asks
        assert session.score().total == 0.0
    assert returned == [False]


def test_sessions_of_one_environment_are_apart_and_a_closed_one_leaves_its_station_as_new() -> None:
    environment = Environment(SMALL)

    def texts(session: EpisodeSession) -> list[str]:
        policy = ScriptedPolicy()
        while not session.done:
            session.say(policy.respond(session.messages()))
        return [message.text for message in session.messages()]

    with environment.open(PICK, seed=1) as one, environment.open(PICK, seed=1) as other:
        one.call("robot.capture_image", {})
        expected = texts(other)
        assert one.episode.messages[-1].role == "tool"
    with environment.open(PICK, seed=1) as again:
        assert texts(again) == expected


def test_a_group_goes_on_from_one_moment_side_by_side() -> None:
    environment = Environment(SMALL)
    with environment.open(PICK, seed=1) as first:
        first.call("robot.capture_image", {})
        snapshot = first.save()
        group = [environment.resume(snapshot, rollout) for rollout in range(2)]
        answers = [json.dumps(member.call("robot.get_depth", {}).text) for member in group]
        assert answers[0] == answers[1] == json.dumps(first.call("robot.get_depth", {}).text)
        for member in group:
            member.close()


def test_an_episode_that_cannot_begin_gives_its_station_back() -> None:
    returned: list[bool] = []

    class Counting(PhysicsPool):
        def take(self, task: Task, seed: int) -> StationLease:
            return replace(super().take(task, seed), release=returned.append)

    pool = Counting(SMALL)
    with pytest.raises(ToolError, match=r"There is no tool 'robot\.fly'"):
        Environment(SMALL, failures=Failures({"robot.fly": {"TIMEOUT": 1.0}}), backend=pool).open(PICK)
    with pytest.raises(ToolError, match="No answer within 0 turns"):
        Environment(SMALL, settings=ConversationSettings(turn_budget=0), backend=pool).open(PICK)
    assert returned == [True, True]
    assert refusal(lambda: ENVIRONMENT.open(PICK, seed=-1)).code is ErrorCode.INVALID_ARGUMENT


def test_an_unknown_backend_is_refused_by_name() -> None:
    assert "There is no backend 'lunar'" in refusal(lambda: make_pool("lunar", SMALL)).message
