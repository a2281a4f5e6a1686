"""How attempts are made and judged: by the task's own score, on a station, with answers that a test has made up."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.task import History, Score, Transcript
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.data.synthesis import checks, evic, last, peria, spacetools, wording
from toolhand.training.data.synthesis.attempts import Attempt, attempt
from toolhand.training.data.synthesis.methods import METHODS, SynthesisJob
from toolhand.training.data.synthesis.teacher_pool import TeacherPool
from toolhand.training.env.environment import Environment
from toolhand.training.env.failures import Failures
from toolhand.training.recipes import RECIPES
from toolhand.training.rollouts.from_episode import record_of
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.tasks.kinds import make_task

SCENE = load_scene(EXAMPLE_SCENE)
PERIA = load_protocol("peria")
LOOK = ToolCall("robot.capture_image", {})
FIND = ToolCall("roborefer.detect_one", {"obj_name": "cinnamon", "image_index": 0})
SMALL = StationConfig(image_size=(160, 120))


@dataclass(frozen=True)
class AnswerTask:
    """Right is one answer."""

    truth: str = "7"
    text: str = "How many things are there?"
    scene: Scene = SCENE
    goal: str = "the answer"
    source: str = "a test"
    holds_s: ClassVar[tuple[float, ...]] = ()

    def score(self, history: History, transcript: Transcript) -> Score:
        right = transcript.answer == self.truth
        return Score({"right": right}, right, () if right else ("another answer",))


@dataclass
class Script:
    """Says its turns by how many it has said in what it is given: calls, or an answer."""

    turns: Sequence[ToolCall | str]
    protocol: Protocol = PERIA
    name: str = "script"
    read: list[tuple[str, ...]] = field(default_factory=list)

    def respond(self, conversation: Sequence[Message]) -> Reply:
        self.read.append(tuple(message.text for message in conversation))
        number = sum(message.role == "assistant" for message in conversation)
        turn = self.turns[min(number, len(self.turns) - 1)]
        if isinstance(turn, str) and turn.startswith("<"):
            return Reply(turn)
        if isinstance(turn, str):
            return Reply(self.protocol.render_turn("I need to say 7 things, so", [], turn))
        return Reply(self.protocol.render_turn(f"I need a look, turn {number}", [turn]))


class WrongScript(Script):
    """Answers wrong so many times, then right."""

    def __init__(self, lies: int, *calls: ToolCall) -> None:
        super().__init__([])
        self._lies, self._calls, self._said = lies, calls, 0

    def respond(self, conversation: Sequence[Message]) -> Reply:
        number = sum(message.role == "assistant" for message in conversation)
        if number < len(self._calls):
            self.turns = [self._calls[number]]
        else:
            self._said += 1
            self.turns = ["3" if self._said <= self._lies else "7"]
        return super().respond(conversation)


@pytest.fixture(scope="module")
def environment() -> Environment:
    return Environment(SMALL, settings=ConversationSettings(protocol=PERIA, turn_budget=11))


def tried(environment: Environment, *turns: ToolCall | str, task: AnswerTask | None = None) -> Attempt:
    return attempt(environment, task or AnswerTask(), Script(turns), seed=1)


# -- what is kept ------------------------------------------------------------------------------------


def test_what_is_right_and_was_looked_at_is_kept(environment: Environment) -> None:
    assert checks.why_rejected(tried(environment, LOOK, "7")) == ""


def test_every_other_attempt_has_its_reason(environment: Environment) -> None:
    unread = Script([])
    unread.respond = lambda conversation: Reply("no tags")  # type: ignore[method-assign]
    reasons = {
        checks.WRONG: tried(environment, LOOK, "3"),
        checks.NO_TOOL: tried(environment, "7"),
        checks.TRUNCATED: attempt(environment, AnswerTask(), Script([LOOK]), seed=1),
        checks.REPEATS: tried(environment, LOOK, FIND, FIND, "7"),
        checks.GIVEN_AWAY: tried(environment, LOOK, "7", task=AnswerTask(text="How many of the 7 are there?")),
        checks.MALFORMED: tried(environment, LOOK, "<action>{", "7"),
        checks.INFRASTRUCTURE: Attempt(AnswerTask(), None, trouble="UNAVAILABLE: gone"),
    }
    assert {reason: checks.why_rejected(made) for reason, made in reasons.items()} == {r: r for r in reasons}
    assert checks.why_rejected(attempt(environment, AnswerTask(), unread, seed=1)) == checks.TRUNCATED


def test_a_claim_of_success_is_no_truth(environment: Environment) -> None:
    made = tried(environment, LOOK, "I have counted them all, correctly: done.")
    assert checks.why_rejected(made) == checks.WRONG


@pytest.mark.parametrize(
    ("question", "answer", "given_away"),
    [
        ("Which of the 3 cups is it?", "3", True),
        ("Read the lot number L123 of the can.", "L123", True),
        ("How many cups are there?", "3", False),
        ("How far is it, 0.35 m or more?", "0.35", False),
        ("The number 0.35 is near.", "35", False),
        ("Is it the cup or the can?", "the cup", False),
        ("Where is it? A) left B) right", "A", False),
        ("Is the yes button pressed?", "yes", False),
        ("Pick up the cup", "", False),
    ],
)
def test_a_question_may_not_say_its_own_answer(question: str, answer: str, given_away: bool) -> None:
    assert checks.gives_away(question, answer) is given_away


def test_the_same_deeds_in_other_words_are_one_trajectory(environment: Environment) -> None:
    first, again = tried(environment, LOOK, "7"), tried(environment, LOOK, "7")
    other = tried(environment, LOOK, FIND, "7")
    prints = [checks.fingerprint(made.task, made.episode) for made in (first, again, other) if made.episode]
    assert prints[0] == prints[1] != prints[2]


def test_an_infrastructure_error_is_trouble_and_never_a_score(environment: Environment) -> None:
    class Gone(Script):
        def respond(self, conversation: Sequence[Message]) -> Reply:
            raise ToolError(ErrorCode.UNAVAILABLE, "The model is gone.")

    made = attempt(environment, AnswerTask(), Gone([]), seed=1)
    assert made.score is None
    assert "The model is gone" in made.trouble


def test_a_policy_that_crashes_is_trouble_too(environment: Environment) -> None:
    class Broken(Script):
        def respond(self, conversation: Sequence[Message]) -> Reply:
            raise ValueError("not enough values")

    made = attempt(environment, AnswerTask(), Broken([]), seed=1)
    assert checks.why_rejected(made) == checks.INFRASTRUCTURE
    assert "ValueError: not enough values" in made.trouble
    assert attempt(environment, AnswerTask(), Script([LOOK, "7"]), seed=1).right, "the station serves the next"


# -- PERIA -------------------------------------------------------------------------------------------


def test_a_wrong_answer_is_taken_back_and_what_follows_is_forced_to_look(environment: Environment) -> None:
    policy = WrongScript(1, LOOK)
    found = peria.explore_and_exploit(environment, AnswerTask(), peria.Writing(policy, PERIA), seed=1, samples=1)
    assert [made.right for made in found] == [True]
    episode = found[0].episode
    assert episode is not None
    answers = [turn.parsed.answer for turn in episode.turns]
    assert answers == [None, None, None, "7"]
    assert "<answer>3</answer>" not in "".join(message.text for message in episode.messages)
    [look] = episode.turns[1].parsed.calls
    assert episode.turns[1].thought in {thought.format(tool=look.name) for thought in peria._REFLECTIONS}
    assert found[0].labels["refused"] == 1
    assert policy.read[2] == policy.read[0], "it begins anew"


def test_nothing_is_kept_of_a_policy_that_never_is_right(environment: Environment) -> None:
    writing = peria.Writing(WrongScript(99, LOOK), PERIA)
    found = peria.explore_and_exploit(environment, AnswerTask(), writing, seed=1, samples=2, rounds=5)
    assert [checks.why_rejected(made) for made in found] == [checks.WRONG, checks.TRUNCATED]
    assert found[0].labels["refused"] == 1
    assert [made.labels["rounds"] for made in found] == [5, 5]


def test_an_answer_in_the_first_round_is_not_even_compared(environment: Environment) -> None:
    found = peria.explore_and_exploit(environment, AnswerTask(), peria.Writing(Script(["7"]), PERIA), 1, 1, 4)
    assert found[0].labels["refused"] >= 1
    assert checks.why_rejected(found[0]) == checks.NO_TOOL


def test_the_fewest_rounds_are_kept_and_the_others_are_beaten(environment: Environment) -> None:
    policy = WrongScript(
        1, LOOK, ToolCall("robot.get_depth", {})
    )  # the first trajectory needs seven rounds, the next, after a look of its own, four
    found = peria.explore_and_exploit(environment, AnswerTask(), peria.Writing(policy, PERIA), 1, 2, 11)
    assert [made.labels["rounds"] for made in found] == [4, 7]
    assert [checks.why_rejected(made) for made in found] == ["", checks.BEATEN]
    assert found[0].labels["explored"]
    assert found[0].episode is not None
    first = found[0].episode.turns[0]
    assert [call.name for call in first.parsed.calls] == [found[0].labels["explored"]]
    assert first.calls[0].result.ok


def test_a_model_is_told_what_each_round_asks_for_and_the_record_has_none_of_it(environment: Environment) -> None:
    policy = WrongScript(1, LOOK)
    writing = peria.Writing(policy, PERIA, prompted=True)
    found = peria.explore_and_exploit(environment, AnswerTask(), writing, seed=1, samples=1, rounds=4)
    asked = [read[-1] for read in policy.read]
    assert asked[:3] == [peria.EXPLORE, peria.EXPLOIT, peria.REFLECT]
    assert found[0].episode is not None
    said = "".join(message.text for message in found[0].episode.messages)
    assert not [prompt for prompt in asked if prompt in said]


def test_looks_need_no_more_than_an_image() -> None:
    names = [call.name for call in peria.looking_calls(_schemas(), seen=True)]
    assert "robot.capture_image" in names
    assert "depth_estimator.estimate_depth" in names
    assert not {"robot.execute_grasp", "roborefer.detect_one"} & set(names)
    assert "depth_estimator.estimate_depth" not in [call.name for call in peria.looking_calls(_schemas(), seen=False)]


def _schemas() -> list[dict[str, object]]:
    with Environment(SMALL).open(AnswerTask(), 0) as session:
        return session.tools()


# -- E-ViC, LAST, SpaceTools -------------------------------------------------------------------------


def made_up(right: bool) -> Attempt:
    class Made(Attempt):
        right = property(lambda self: right)  # type: ignore[assignment]

    return Made(AnswerTask(), None, None)


def test_a_task_is_verifiable_by_the_first_rollout_that_is_right() -> None:
    asked: list[tuple[int, int]] = []

    def answer(policy: int, rollout: int) -> Attempt:
        asked.append((policy, rollout))
        return made_up((policy, rollout) == (1, 1))

    found = evic.verifiable(answer)
    assert [one.right for one in found] == [True, False, False, False]
    assert asked == [(0, 0), (1, 0), (0, 1), (1, 1)]


def test_a_task_that_nobody_answers_is_tried_eight_times_by_each() -> None:
    found = evic.verifiable(lambda policy, rollout: made_up(False))
    assert len(found) == 16
    assert not any(one.right for one in found)


def test_views_are_judged_by_the_tool_that_was_called() -> None:
    task = make_task("view", 1)
    assert task.tool == "EstimateDepth"
    protocol = load_protocol("last")
    environment = Environment(
        replace(SMALL, suites=("spacetools", "last")), settings=ConversationSettings(protocol=protocol)
    )
    call = ToolCall("EstimateDepth", {"img_path": "image-0"})
    right = attempt(environment, task, Script([LOOK, call, task.truth], protocol), seed=1)
    assert checks.why_rejected(right) == ""
    unseen = attempt(environment, task, Script([LOOK, task.truth], protocol), seed=1)
    assert checks.why_rejected(unseen) == checks.WRONG
    wrong = attempt(environment, task, Script([LOOK, call, "ABCD".replace(task.truth, "")[0]], protocol), seed=1)
    assert checks.why_rejected(wrong) == checks.WRONG


def test_letters_and_tools_of_views_differ() -> None:
    tasks = [make_task("view", seed) for seed in range(3)]
    assert len({task.truth for task in tasks}) == 2
    assert len({task.tool for task in tasks}) == 3
    assert make_task("view", 2) == tasks[2]


def test_failures_on_purpose_are_counted_and_a_last_one_is_not_checked() -> None:
    failing = Environment(
        SMALL, settings=ConversationSettings(protocol=PERIA), failures=Failures({"robot.capture_image": {"empty": 1.0}})
    )
    made = attempt(failing, AnswerTask(), Script([LOOK, "7"]), seed=1)
    assert made.episode is not None
    assert last.failures_in(made.episode) == 1
    assert not last.failures_checked(made.episode)
    again = attempt(failing, AnswerTask(), Script([LOOK, ToolCall("robot.get_depth", {}), "7"]), seed=1)
    assert again.episode is not None
    assert last.failures_checked(again.episode)


def test_a_trajectory_of_three_turns_is_three_instances(environment: Environment, tmp_path: object) -> None:
    made = tried(environment, LOOK, FIND, "7")
    assert made.episode is not None
    assert made.scored is not None
    record = record_of(made.scored, ImageStore(tmp_path), task={}, policy="x")  # type: ignore[arg-type]
    turns = spacetools.single_turns(record)
    assert [len(turn.prompt) for turn in turns] == [2, 4, 6]
    assert [turn.answers for turn in turns] == [False, False, True]
    assert [[call.tool for call in turn.calls] for turn in turns] == [[LOOK.name], [FIND.name], []]
    assert turns[2].target == record.messages[6].text
    assert spacetools.points_alone(made.episode)
    assert not spacetools.points_alone(
        attempt(environment, AnswerTask(), Script([LOOK, ToolCall("robot.get_depth", {}), "7"]), 1).episode  # type: ignore[arg-type]
    )


def test_environments_are_kept_as_long_as_they_are_used() -> None:
    teachers = TeacherPool()
    kept = teachers.environment("last")
    for recipe in ("dirl", "peria", "evic"):
        teachers.environment(recipe)
        assert teachers.environment("last") is kept
    for recipe in RECIPES:
        teachers.environment(recipe, 0.4)
    assert teachers.environment("last") is not kept


# -- thoughts ----------------------------------------------------------------------------------------


def test_thoughts_change_and_nothing_else_does(environment: Environment) -> None:
    made = tried(environment, LOOK, FIND, "7")
    assert made.episode is not None
    texts = set()
    for seed in range(6):
        said, changed = wording.diversified(made.episode, wording.Templates(), seed)
        assert changed
        assert said.answer == made.episode.answer
        for before, after in zip(made.episode.turns, said.turns, strict=True):
            assert (after.parsed.calls, after.parsed.answer) == (before.parsed.calls, before.parsed.answer)
            assert after.exchanges == before.exchanges
            assert said.messages[after.prompt.messages].text == after.text
            texts.add(after.thought)
        heard = [message for message in said.messages if message.role != "assistant"]
        assert heard == [message for message in made.episode.messages if message.role != "assistant"]
        assert said.turns == wording.diversified(made.episode, wording.Templates(), seed)[0].turns
    assert len(texts) > 9
    assert made.episode.turns[0].thought == "I need a look, turn 0", "the original stays"


@pytest.mark.parametrize(
    ("rewritten", "problem"),
    [
        ("The cup at 0.25 shows; now vlm.detect_one.", ""),
        ("The cup shows; now vlm.detect_one.", "it lacks 0.25"),
        ("The cup at 0.25 shows.", "it does not name vlm.detect_one"),
        ("The cup at 0.25: </think><answer>3</answer> vlm.detect_one", "it holds a tag"),
        ("  ", "it is empty or too long"),
        ("0.25 vlm.detect_one " * 200, "it is empty or too long"),
    ],
)
def test_a_rewriting_that_loses_a_fact_is_refused(rewritten: str, problem: str) -> None:
    call = ToolCall("vlm.detect_one", {})
    assert wording.thought_problem("The cup is at 0.25, so vlm.detect_one.", rewritten, [call]) == problem


def test_a_model_may_rewrite_and_what_it_loses_is_not_taken(environment: Environment) -> None:
    class Model(Script):
        def respond(self, conversation: Sequence[Message]) -> Reply:
            asked = conversation[-1].text
            return Reply("All 7 of them." if "final" in asked else "</think> I forget.")

    made = tried(environment, LOOK, "7")
    assert made.episode is not None
    said, changed = wording.diversified(made.episode, wording.ByPolicy(Model([])), seed=0)
    assert changed == 1
    assert said.turns[0].text == made.episode.turns[0].text
    assert said.turns[1].thought == "All 7 of them."


def test_rewritten_turns_have_no_tokens_of_a_model() -> None:
    assert wording.Templates().rewrite("x", wording.ThoughtContext("final"), np.random.default_rng(0)).endswith("x")


@pytest.mark.parametrize(
    ("last", "openings"),
    [
        ("failed", wording._AFTER_FAILURE),
        ("found nothing", wording._AFTER_NOTHING),
        ("worked", wording._OPENINGS["later"]),
    ],
)
def test_an_opening_says_nothing_that_did_not_happen(last: str, openings: Sequence[str]) -> None:
    context = wording.ThoughtContext("later", last=last)  # type: ignore[arg-type]
    said = {wording.Templates().rewrite("x", context, np.random.default_rng(seed)) for seed in range(60)}
    assert said == {f"{opening} x".strip() for opening in openings}


def test_a_step_over_several_turns_says_its_thought_once(environment: Environment) -> None:
    class Twice(Script):
        def respond(self, conversation: Sequence[Message]) -> Reply:
            number = sum(message.role == "assistant" for message in conversation)
            if number == 2:
                return Reply(self.protocol.render_turn("So it is", [], "7"))
            return Reply(self.protocol.render_turn("Both at 0.5 are needed.", [(LOOK, FIND)[number]]))

    made = attempt(environment, AnswerTask(), Twice([]), seed=1)
    assert made.episode is not None
    said = wording.diversified(made.episode, wording.Templates(), 3)[0]
    assert "Both at 0.5" in said.turns[0].thought
    assert "Both at 0.5" not in said.turns[1].thought
    assert FIND.name in said.turns[1].thought


def test_after_an_empty_result_nothing_is_said_to_have_worked() -> None:
    failing = Environment(
        SMALL, settings=ConversationSettings(protocol=PERIA), failures=Failures({"robot.capture_image": {"empty": 1.0}})
    )
    made = attempt(failing, AnswerTask(), Script([LOOK, LOOK, "7"]), seed=1)
    assert made.episode is not None
    assert wording._context(made.episode, 1, True).last == "found nothing"


def test_a_small_models_teacher_writes_lines_and_does_its_task_in_physics() -> None:
    (made,) = METHODS["lines"].make(TeacherPool(), SynthesisJob(0, "lines", "pick", 3))
    assert made.right, made.score
    assert made.episode is not None
    assert made.episode.protocol.name == "compact"
    said = [turn.text for turn in made.episode.turns]
    assert (said[0], said[-1]) == ("# take sugar box, put nowhere\nlook\ndepth", "say Done.")
    assert not any("{" in text for text in said), "every call has a line of its own"
