"""The scripted teacher answers through the tools alone, in any protocol; the blind policy is what it must beat."""

from dataclasses import replace

import pytest

from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.registry import make_policy
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import load_protocol
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.environment import Environment
from toolhand.training.recipes import recipe_named
from toolhand.training.tasks.kinds import QUESTIONS, make_task
from toolhand.training.teacher.blind import BlindPolicy, guess
from toolhand.training.teacher.policy import SCRIPTS, TeacherPolicy
from toolhand.training.teacher.reading import read_question

SUITES = ("spacetools", "peria", "last")


@pytest.fixture(scope="module")
def config():
    return StationConfig(suites=SUITES, image_size=(320, 240))


def played(environment, policy, task):
    observation, done = environment.reset(task, seed=task.seed), False
    assert observation[1].image_index == 0
    assert observation[1].image is not None
    assert observation[1].text.startswith("<image 0>")
    while not done:
        observation, _, done = environment.step(policy.respond(observation))
    return environment.episode


@pytest.fixture(scope="module")
def environment(config):
    return Environment(config)


@pytest.mark.parametrize("kind", ["point", "box", "grasp", "distance", "choice", "map_stations", "small_print"])
def test_the_teacher_is_right_where_the_tools_are(tasks, environment, kind):
    episode = played(environment, TeacherPolicy(), tasks[kind])
    assert environment.score.success, (episode.answer, environment.score.reasons)
    assert episode.tool_calls
    assert not tasks[kind].graded(guess(read_question(tasks[kind].text))).success


def test_the_teacher_knows_nothing_of_the_truth(tasks, environment):
    task = tasks["depth"]
    lie = replace(task, truth="B" if task.truth == "A" else "A")
    answers = []
    for told in (task, lie):
        answers.append(played(environment, TeacherPolicy(), told).answer)
    assert answers[0] == answers[1]
    assert environment.score.success is False


def test_one_call_a_turn_gives_the_same_answer(tasks, config):
    protocol = load_protocol("peria")
    environment = Environment(config, settings=ConversationSettings(protocol=protocol))
    episode = played(environment, TeacherPolicy(protocol), tasks["map_route"])
    assert environment.score.success
    assert all(len(turn.calls) <= 1 for turn in episode.turns)
    assert len(episode.turns) == 3


@pytest.mark.parametrize("suite", ["last", "peria"])
def test_each_suite_counts_with_its_own_tools(tasks, environment, suite):
    episode = played(environment, TeacherPolicy(suites=(suite,)), tasks["count"])
    assert environment.score.success
    assert {record.name for record in episode.records} == {{"last": "CountObjects", "peria": "concept_count"}[suite]}


def test_what_no_tool_tells_is_answered_with_a_code(tasks):
    policy = TeacherPolicy(suites=("evic",))
    assert not any(policy.answers(kind) for kind in QUESTIONS)
    text = policy.respond([Message("user", tasks["point"].text)]).text
    assert f"{ErrorCode.NOT_UNDERSTOOD}:" in text
    with pytest.raises(ToolError, match="There is no tool suite 'vllm'"):
        TeacherPolicy(suites=("vllm",))


def test_a_command_goes_to_the_scripted_policy(tasks):
    text = TeacherPolicy().respond([Message("user", tasks["pick"].text)]).text
    assert "robot.capture_image" in text


def test_every_kind_is_answered_by_some_suite_and_by_the_blind_policy(tasks):
    assert set().union(*SCRIPTS.values()) == set(QUESTIONS)
    for kind in QUESTIONS:
        said = BlindPolicy().respond([Message("user", tasks[kind].text)]).text
        answer = said.partition("<answer>")[2].partition("</answer>")[0]
        assert "no list" not in str(tasks[kind].graded(answer).reasons), (kind, answer)
        tasks[kind].marking.read(answer)  # it is in the form that was asked for


def test_a_recipes_teacher_answers_with_the_recipes_tools(tasks):
    for name, kinds in {"dirl": 8, "peria": 5, "last": 4, "evic": 0}.items():
        recipe = recipe_named(name)
        teacher = TeacherPolicy(load_protocol(recipe.protocol), recipe.suites)
        assert sum(teacher.answers(kind) for kind in recipe.kinds) == kinds, name


def test_the_policy_teacher_answers_with_the_tools_that_are_offered(tasks, environment):
    protocol = load_protocol("last")
    with Environment(StationConfig(suites=("last",), image_size=(320, 240))).open(tasks["count"]) as session:
        policy = make_policy("teacher", protocol, session.tools())
    assert isinstance(policy, TeacherPolicy)
    assert policy.answers("distance")
    assert not policy.answers("box")


def test_a_question_is_called_one_and_a_command_another():
    environment = Environment(
        StationConfig(suites=("peria",), image_size=(64, 64)),
        settings=ConversationSettings(protocol=load_protocol("peria")),
    )
    for kind, words in (("count", "`spatial reasoning` question"), ("pick", "`robot manipulation or visual` question")):
        with environment.open(make_task(kind, 3)) as session:
            assert words in session.messages()[1].text
