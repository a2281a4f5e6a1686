"""A session of a policy that hears every word: one conversation, questions, memory and what is taken back."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.agent_node.session.hearing import UTTERANCES, Hearing, Table, answer, call, session_with
from toolhand.agent_node.events import OperatorAnswer, OperatorQuestion
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.memory_file import MemoryFile
from toolhand.agent_node.open_question import ANSWER_WITHIN_S
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.policies.replay import Replay
from toolhand.agent_node.recovery import NOTHING_CALLED
from toolhand.agent_node.runs.write import write_run
from toolhand.agent_node.session_tools import with_session_tools
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.marks import Marks
from toolhand.tool_nodes.toolbox.toolbox import InSession, Toolbox, tool
from toolhand.tool_nodes.types import GraspTarget

PICK, PLACE, LOOK = call("robot.pick", point=[0.4, 0.4]), call("robot.place", point=[0.7, 0.4]), call("robot.recall")
ASK = call("operator.ask", question="Which can?", candidates=[[0.2, 0.5], [0.8, 0.5]])


def test_every_utterance_is_given_as_it_was_said_in_one_conversation_with_an_unchanged_beginning() -> None:
    policy = Hearing()
    session, _, episodes = session_with(policy)
    for said in UTTERANCES:
        assert session.say(said).success
    assert policy.heard == list(UTTERANCES)
    for before, after in zip(policy.given, policy.given[1:], strict=False):
        assert after[: len(before)] == before
    assert len({id(episode.session) for episode in episodes}) == 1
    assert [episode.task for episode in episodes] == list(UTTERANCES)


@pytest.mark.parametrize(
    ("replies", "outcome", "success", "code"),
    [
        ([PICK, answer("I hold it.")], "done", True, None),
        ([LOOK, answer("There is a lemon.")], "answered", True, None),
        ([answer("I have done it.")], "answered", True, None),
        ([call("robot.grab"), answer("I could not do it.")], "failed", False, ErrorCode.UNKNOWN_TOOL),
        ([answer("Which one do you mean?")], "asked", False, ErrorCode.AMBIGUOUS),
        ([answer("AMBIGUOUS: Which one?")], "asked", False, ErrorCode.AMBIGUOUS),
        ([ASK], "asked", False, ErrorCode.AMBIGUOUS),
        ([PICK, answer("I hold it. Where shall I put it?")], "done", True, None),
        ([call("robot.pick", point=[0.95, 0.4]), answer("It failed. Again?")], "failed", False, ErrorCode.NO_GRASP),
        ([call("operator.ask", question=" "), answer("I cannot ask.")], "failed", False, ErrorCode.INVALID_ARGUMENT),
        ([answer("OBJECT_NOT_FOUND: There is none.")], "failed", False, ErrorCode.OBJECT_NOT_FOUND),
    ],
)
def test_what_came_of_an_utterance(replies: list[str], outcome: str, success: bool, code: ErrorCode | None) -> None:
    session, _, episodes = session_with(Hearing(*replies))
    turn = session.say("pick up the can")
    assert (episodes[0].outcome, turn.success, turn.error_code) == (outcome, success, code)
    assert episodes[0].success is (outcome == "done"), "only what the tools reported is a success of theirs"
    assert (turn.question is not None) is (outcome == "asked")


LOOKING = answer("I will first look at the scene.")
BOXED = r"\boxed{I will first look at the scene.}"


class Looks:
    @tool("robot.capture_image", repeatable=True)
    def look(self) -> Any:
        """Look."""
        return Table().look()


@pytest.mark.parametrize(
    ("said", "first", "protocol", "table", "again"),
    [
        ("pick up the can", LOOKING, "native", Table, True),
        ("what do you see?", LOOKING, "native", Table, False),
        ("was siehst du？", LOOKING, "native", Table, False),
        ("pick up the can", answer("Which can?"), "native", Table, False),
        ("pick up the can", answer("OBJECT_NOT_FOUND: There is none."), "native", Table, False),
        ("pick up the can", LOOKING, "native", Looks, False),
        ("pick up the can", LOOKING, "spacetools", Table, False),
        ("pick up the can", f"<think>So.</think>{LOOKING}", "peria", Table, False),
        ("pick up the can", "<ans>I will first look.</ans>", "last", Table, False),
        ("pick up the can", BOXED, "evic", Table, False),
    ],
)
def test_an_order_that_is_answered_before_any_call_is_put_once_more_where_words_have_no_form_of_their_own(
    said: str, first: str, protocol: str, table: type, again: bool
) -> None:
    policy = Hearing(first, LOOKING)
    session, _, episodes = session_with(policy, table=table(), protocol=protocol)
    session.say(said)
    assert len(policy.given) == len(episodes[0].turns) == 1 + again
    if again:
        note = policy.given[1][-1]
        assert NOTHING_CALLED in note.text
        assert "tool_response" not in note.text


def test_a_question_is_answered_in_the_same_conversation_by_the_tool_s_result() -> None:
    asked: list[OperatorQuestion] = []

    def answers(question: OperatorQuestion) -> OperatorAnswer:
        asked.append(question)
        return OperatorAnswer("the left one")

    policy = Hearing(ASK, PICK, answer("I hold it."))
    session, *_ = session_with(policy, ask=answers)
    assert session.say("pick up the can").success
    assert [(each.text, [point.point for point in each.candidates]) for each in asked] == [
        ("Which can?", [(0.2, 0.5), (0.8, 0.5)])
    ]
    assert policy.given[1][-1].role == "tool"
    assert "the left one" in policy.given[1][-1].text


class Marked(Table):
    """A table whose picture has two marks."""

    @tool("robot.capture_image", repeatable=True)
    def look(self, session: InSession) -> ToolResult:
        """Look."""
        picture = self._picture()
        frame = picture["variables"]["picture"].frame
        mask = np.zeros((48, 64), bool)
        session.marks = Marks(frame, tuple(GraspTarget(mask, (at,)) for at in ((0.2, 0.5), (0.8, 0.5))))
        return ToolResult(text="Captured.", **picture)


POINTS, MARKS = [[0.8, 0.5], [0.2, 0.5]], [2, 1]


@pytest.mark.parametrize(
    ("candidates", "answers", "read"),
    [
        (POINTS, OperatorAnswer("the left one"), "The operator answers: the left one"),
        (POINTS, OperatorAnswer("1"), "The operator answers: 1 (candidate 1)"),
        (POINTS, OperatorAnswer("3"), "The operator answers: 3"),
        (MARKS, OperatorAnswer("1"), "The operator answers: 1 (candidate 1, mark 2)"),
        (MARKS, OperatorAnswer(point=(0.2, 0.5)), "The operator answers: (0.200, 0.500) (candidate 2, mark 1)"),
        (MARKS, OperatorAnswer("that", point=(0.5, 0.5)), "The operator answers: that (0.500, 0.500)"),
        ([2.0, 1.0], OperatorAnswer("2"), "The operator answers: 2 (candidate 2, mark 1)"),
        ([], OperatorAnswer("1"), "The operator answers: 1"),
    ],
)
def test_an_answer_comes_with_the_candidate_that_it_names(
    candidates: list[Any], answers: OperatorAnswer, read: str
) -> None:
    asked: list[OperatorQuestion] = []
    policy = Hearing(call("operator.ask", question="Which?", candidates=candidates), answer("Well."))
    session, *_ = session_with(policy, table=Marked(), ask=lambda question: asked.append(question) or answers)  # type: ignore[func-returns-value]
    session.say("pick up the can")
    points = [(0.8, 0.5), (0.2, 0.5)] if candidates else []
    assert [each.point for each in asked[0].candidates] == points
    assert policy.given[1][-1].words == read


@pytest.mark.parametrize(
    ("candidates", "says"),
    [
        ([3], "There is no mark 3"),
        ([1, [0.2, 0.5]], "candidates"),
        ([True], "candidates"),
        ([1.5], "candidates"),
        ("left", "candidates"),
        ([[0.2, 1.5]], "between 0 and 1"),
    ],
)
def test_candidates_that_are_none_are_refused_in_one_sentence(candidates: Any, says: str) -> None:
    policy = Hearing(call("operator.ask", question="Which?", candidates=candidates), answer("Well."))
    session, _, episodes = session_with(policy, table=Marked())
    session.say("pick up the can")
    assert episodes[0].turns[0].error_code is ErrorCode.INVALID_ARGUMENT
    assert says in policy.given[1][-1].words


def test_marks_without_a_picture_that_has_any_are_refused() -> None:
    policy = Hearing(call("operator.ask", question="Which?", candidates=[1]), answer("Well."))
    session, _, episodes = session_with(policy)
    session.say("pick up the can")
    assert episodes[0].turns[0].error_code is ErrorCode.INVALID_ARGUMENT


def test_the_next_words_come_with_the_candidate_that_they_name() -> None:
    policy = Hearing(call("operator.ask", question="Which?", candidates=MARKS), PICK, answer("Held."))
    session, *_ = session_with(policy, table=Marked())
    session.say("pick up the can")
    session.say("2")
    message = policy.given[1][-1]
    assert message.words == "2"
    assert "candidate 2, mark 1" in message.text


@pytest.mark.parametrize("answered", [True, False])
def test_a_model_is_told_before_it_asks_where_nobody_can_answer(answered: bool) -> None:
    toolbox = with_session_tools(Toolbox([Table()]), RobotMemory(), answered)
    described = toolbox.find("operator.ask").schema(slim=True)["function"]["description"]
    assert ("Nobody can answer" in described) is not answered


def test_a_memory_that_cannot_be_kept_is_said_beside_the_answer_and_not_forgotten(tmp_path: Path) -> None:
    file, robot = tmp_path / "kept" / "robot.json", RobotMemory()
    policy = Hearing(PICK, answer("I hold it."), answer("Well."), LOOK)
    session, *_ = session_with(policy, robot, kept=(MemoryFile(file, robot=robot),))
    file.parent.write_text("no folder")
    turn = session.say("pick up the lemon")
    assert turn.success
    assert turn.answer.startswith("I hold it. What is remembered is not kept: Cannot write")
    file.parent.unlink()
    session.say("what do you hold?")
    assert robot.held is not None, "what could not be written is no file to read"
    assert file.is_file()
    file.unlink()
    session.say("what do you hold?")
    assert robot.held is None, "deleting the file forgets"


def test_calls_after_a_question_are_not_run() -> None:
    table = Table()
    session, _, episodes = session_with(Hearing(f"{ASK}{PICK}"), table=table)
    assert session.say("pick up the can").question is not None
    assert table.log == []
    assert len(episodes[0].turns[0].exchanges) == 2


@pytest.mark.parametrize("asks", [ASK, answer("Which can do you mean?"), answer("AMBIGUOUS: Which can?")])
def test_where_nobody_answers_now_the_next_words_go_on(asks: str) -> None:
    policy = Hearing(asks, PICK, answer("I hold it."))
    session, *_ = session_with(policy)
    question = session.say("pick up the can").question
    assert question is not None
    assert session.question == question
    assert session.say("the left one").success
    assert policy.heard == ["pick up the can", "the left one"]
    assert session.question is None


def test_a_policy_that_asks_for_ever_ends_with_its_question() -> None:
    count = 0

    def answers(question: OperatorQuestion) -> OperatorAnswer:
        nonlocal count
        count += 1
        return OperatorAnswer("hm")

    session, *_ = session_with(Hearing(*[ASK] * 30), ask=answers)
    turn = session.say("pick up the can")
    assert (turn.error_code, turn.answer, count) == (ErrorCode.AMBIGUOUS, "Which can?", 6)


def test_a_question_that_nobody_answers_is_closed_and_the_policy_is_told() -> None:
    now = [0.0]
    policy = Hearing(ASK, answer("Well."), answer("Well."))
    session, *_ = session_with(policy, clock=lambda: now[0])
    session.say("pick up the can")
    assert session.close_old_question() == ""
    now[0] = ANSWER_WITHIN_S + 1.0
    assert session.close_old_question()
    assert session.question is None
    session.say("what do you see?")
    assert "Nobody has answered" in policy.given[1][-1].text


def test_a_stop_between_utterances_closes_the_question_and_the_policy_is_told() -> None:
    policy = Hearing(ASK)
    session, *_ = session_with(policy)
    session.say("pick up the can")
    session.note_stop()
    assert session.question is None
    session.say("the left one")
    assert "stopped the arm" in policy.given[1][-1].text


def test_words_while_others_are_carried_out_are_refused_in_one_sentence() -> None:
    came, go = threading.Event(), threading.Event()

    class Slow(Hearing):
        def respond(self, conversation: Any) -> Any:
            came.set()
            assert go.wait(20)
            return super().respond(conversation)

    session, *_ = session_with(Slow(PICK, answer("Done.")))
    first = threading.Thread(target=session.say, args=("pick up the can",))
    first.start()
    assert came.wait(20)
    with pytest.raises(ToolError, match="being carried out"):
        session.say("what do you see?")
    go.set()
    first.join(20)


def test_what_was_done_is_recalled_and_taken_back() -> None:
    table, robot = Table(), RobotMemory()
    policy = Hearing(PICK + PLACE, answer("Done."), LOOK, call("robot.undo"), answer("Undone."), call("robot.undo"))
    session, _, episodes = session_with(policy, robot, table)
    assert session.say("put the lemon to the right").success
    assert [(deed.action, deed.object) for deed in robot.deeds] == [("pick", "lemon"), ("place", "lemon")]
    assert session.say("undo").success
    assert table.log == ["pick 0.4", "place 0.7", "pick 0.7", "place 0.4"]
    recalled = episodes[1].turns[0].exchanges[0].words
    assert "(0.400, 0.400) -> (0.700, 0.400)" in recalled
    assert all(deed.undone for deed in robot.deeds)
    session.say("undo once more")
    assert episodes[2].records[0].result.error is not None, "nothing is left to take back"
    assert len(table.log) == 4


def test_an_undo_that_fails_is_told_and_what_is_held_is_remembered() -> None:
    table, robot = Table(), RobotMemory()
    place_far = call("robot.place", point=[0.95, 0.4])
    session, _, episodes = session_with(Hearing(PICK, place_far, answer("Done."), call("robot.undo")), robot, table)
    session.say("put the lemon far away")
    session.say("undo")
    error = episodes[1].records[0].result.error
    assert error is not None
    assert error.code is ErrorCode.NO_GRASP
    assert robot.held is None
    assert not robot.deeds[-1].undone


def test_memory_is_told_first_and_later_only_what_others_did() -> None:
    robot = RobotMemory()
    policy, other = Hearing(), Hearing(PICK, answer("Held."))
    mine, theirs = session_with(policy, robot)[0], session_with(other, robot)[0]
    mine.say("hello")
    theirs.say("pick up the lemon")
    mine.say("hello again")
    mine.say("and again")
    texts = [message.text for message in policy.given[-1] if message.role == "user" and message.words]
    assert ["lemon" in text for text in texts] == [False, True, False]


def test_the_first_picture_comes_with_the_words_and_a_fresh_one_only_after_a_motion() -> None:
    policy = Hearing(answer("Well."), answer("Seen."), PICK, answer("Held."))
    session, *_ = session_with(policy)
    for said in ("hello", "what do you see?", "pick it up", "and now?"):
        session.say(said)
    users = [message for message in policy.given[-1] if message.role == "user"]
    pictures = [message.image_index is not None for message in users]
    assert pictures[0] is True
    assert pictures[-1] is True
    assert pictures.count(True) == 2
    assert users[0].image_index == 0


def test_points_come_with_the_words_and_marked_in_the_picture() -> None:
    policy = Hearing()
    session, *_ = session_with(policy)
    session.say("put this one here", [PointedPoint((0.25, 0.5)), PointedPoint((0.75, 0.5))])
    message = policy.given[0][-1]
    assert message.words == "put this one here"
    assert "1 at (0.250, 0.500), 2 at (0.750, 0.500)" in message.text
    assert message.image is not None
    assert len({tuple(pixel) for pixel in message.image.reshape(-1, 3).tolist()}) > 1


def test_a_toolbox_that_cannot_move_offers_none_of_the_session_s_tools() -> None:
    _, toolbox, _ = session_with(Hearing(), table=Looks())
    assert isinstance(toolbox, Toolbox)
    assert set(toolbox.specs) == {"robot.capture_image"}


def test_two_hundred_utterances_keep_a_bounded_number_of_pictures() -> None:
    policy = Hearing()
    session, _, episodes = session_with(policy)
    for k in range(200):
        policy.replies = [call("robot.capture_image"), PICK if k % 2 else PLACE, answer("Done.")]
        session.say(f"utterance {k}")
    shown = [message for message in episodes[-1].messages if message.image is not None]
    assert len(shown) < 40
    assert sum(image.frame is not None for image in episodes[-1].session.images) < 40


def test_a_later_utterance_is_reported_and_replayed(tmp_path: Path) -> None:
    policy = Hearing(PICK, answer("Held."), PLACE, answer("Placed."))
    session, toolbox, episodes = session_with(policy)
    for said in ("pick up the lemon", "put it there"):
        session.say(said)
    more = {"policy": policy.name, "earlier": ["pick up the lemon"]}
    assert not write_run(tmp_path, episodes[1], toolbox, more).reasons
    assert (tmp_path / "report.html").is_file()
    replay = Replay(tmp_path)
    again, _, repeated = session_with(replay)
    for said in (*replay.earlier, "put it there"):
        assert again.say(said).success, repeated[-1].answer
    assert [episode.answer for episode in repeated] == ["Held.", "Placed."]
