"""From acts of a plan to what the dialogue does with each, and from utterances to plans."""

import copy
import re

import pytest

from tests.agent_node.dialogue.operators import TextRobot, dialogue, read
from toolhand.agent_node.dialogue.acts import AnswerAct, Deed, FollowUp, GroupAct, QuestionAct, Refused, SkillAct
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.questions import HELP, WHAT_IT_DOES
from toolhand.agent_node.dialogue.reading import spread
from toolhand.agent_node.dialogue.understanding import MOST_ACTS, Understanding
from toolhand.agent_node.plan.grammar import symbols
from toolhand.agent_node.plan.reader import SURE, Understood, context_of
from toolhand.agent_node.plan.reading import read_plan, say, sentence
from toolhand.tool_nodes.results import ErrorCode

FIXED = [words for words, names in symbols().items() if "FIXED" in names]


def test_a_deed_is_its_act() -> None:
    [act] = read("if there is a can , slowly , put the red box left of the bowl")
    assert isinstance(act, Deed)
    assert sentence(act.plan) == "slowly , put the red box left of the bowl"


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("open the gripper", SkillAct("open_gripper")),
        ("slowly , go home", SkillAct("park", speed=0.3)),
        ("hand over it", SkillAct("hand_over", "it")),
        ("at 50 % speed , stand the bottle up", SkillAct("upright", "the bottle", 0.5)),
        ("look at the can", SkillAct("look_again", "the can")),
        ("hold it low", SkillAct("hold_low", "it")),
        ("how many red things", QuestionAct("how_many", ("red things",))),
        ("which can is tallest", QuestionAct("most", ("can",), "tallest")),
        ("which object is biggest", QuestionAct("most", (), "biggest")),
        ("which thing is closest to me", QuestionAct("nearest_to_me")),
        ("which thing is nearest", QuestionAct("nearest_to_me")),
        ("which can is closest to you", QuestionAct("where_is", ("the can closest to you",))),
        ("which can is farthest from the bowl", QuestionAct("nearest", ("can", "the bowl"), "farthest from")),
        ("which is further left , the can or the cup", QuestionAct("more", ("the can", "the cup"), "left")),
        ("is the lemon left of the bowl", QuestionAct("related", ("the lemon", "to the left of the bowl"))),
        ("on which side of the box is the can", QuestionAct("which_side", ("the can", "the box"))),
        ("is the bowl , full", QuestionAct("empty", ("the bowl",), "full")),
        ("is the bowl , red", QuestionAct("colour", ("the bowl",))),
        ("choose number 2", FollowUp("choice", words="2")),
        ("speed 60 %", FollowUp("pace", words="60 %")),
        ("thanks", AnswerAct("You are welcome.")),
    ],
)
def test_an_act_says_what_it_asks_for(text: str, act: object) -> None:
    assert read(text) == [act]


@pytest.mark.parametrize(
    ("text", "kind", "form"),
    [
        ("put all cans in the bin", GroupAct, "put"),
        ("put everything except the bunny in the bin", GroupAct, "put"),
        ("swap both cans", GroupAct, "swap"),
        ("put them together", GroupAct, "together"),
        ("clear the table", GroupAct, "clear"),
        ("check the colours", GroupAct, "fixed"),
        ("put the lemon where it was", FollowUp, "put_back"),
        ("undo the last move of the can", FollowUp, "undo_last"),
        ("not that , the blue one", FollowUp, "not_that"),
        ("choose the other one", FollowUp, "other_one"),
        ("choose the red one", FollowUp, "choice"),
    ],
)
def test_groups_and_follow_ups_keep_their_objects(text: str, kind: type, form: str) -> None:
    [act] = read(text)
    assert isinstance(act, kind)
    assert getattr(act, "plan", act).kind == form


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pick up both cans", ErrorCode.NOT_UNDERSTOOD),
        ("put me in the bin", ErrorCode.NOT_UNDERSTOOD),
        ("hand over the can and the cup", ErrorCode.NOT_UNDERSTOOD),
        ("cannot pour the milk", ErrorCode.NOT_UNDERSTOOD),
        ("cannot answer who are you", ErrorCode.NOT_UNDERSTOOD),
        ("put the can here", ErrorCode.AMBIGUOUS),
        ("unclear", ErrorCode.AMBIGUOUS),
    ],
)
def test_what_cannot_be_served_is_refused(text: str, code: ErrorCode) -> None:
    [act] = read(text)
    assert isinstance(act, Refused)
    assert act.code is code
    robot = TextRobot()
    turn = dialogue(robot).say(text)
    assert (turn.error_code, robot.said) == (code, [])


@pytest.mark.parametrize("said", re.findall(r'"([^"]+)"', WHAT_IT_DOES + HELP))
def test_the_robot_understands_what_it_advises_to_say(said: str) -> None:
    assert Understanding(None).hear(said, context_of("", "Which?")).plan


@pytest.mark.parametrize("words", FIXED)
def test_every_fixed_word_asks_for_something(words: str) -> None:
    assert len(read(words)) == 1


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        (
            "slowly , put the can and the cup in the bin",
            "slowly , put the can in the bin ; slowly , put the cup in the bin",
        ),
        ("stack the can and the cup", "stack the can and the cup"),
    ],
)
def test_several_objects_are_as_many_acts(text: str, steps: str) -> None:
    assert say(spread(read_plan(text))) == steps


@pytest.mark.parametrize("words", ["", "   ", "?!", "\x00\x1b", "put " + "the red " * 400 + "box down", "gibberish"])
def test_what_is_no_utterance_is_refused_in_one_sentence(words: str) -> None:
    robot = TextRobot()
    turn = dialogue(robot).say(words)
    assert (turn.error_code, robot.said) == (ErrorCode.NOT_UNDERSTOOD, [])
    assert turn.answer


def test_an_act_that_is_written_twice_is_done_once_but_for_what_is_said_again() -> None:
    robot = TextRobot()
    dialogue(robot).say("put the lemon in the bowl ; put the lemon in the bowl ; open the gripper ; open the gripper")
    assert robot.deeds == ["put the lemon in the bowl", "open the gripper", "open the gripper"]


def test_a_plan_is_no_longer_than_a_listener_remembers() -> None:
    text = " ; ".join(["put the lemon in the bowl", "put the lemon in the bin"] * (MOST_ACTS // 2) + ["go home"])
    assert "at most 10 steps" in dialogue(TextRobot()).say(text).answer


def test_control_characters_are_blanks() -> None:
    assert Understanding(None).hear("pick\x1b up\x00the lemon").steps == ("pick up the lemon",)


@pytest.mark.parametrize("words", ["stop", "STOP!!", "robot please stop", "that's wrong, stop!", "wait", "halt"])
def test_words_of_stopping_are_heard_before_any_reader(words: str) -> None:
    assert Understanding(Fixed("pick up the lemon")).hear(words).steps == ("stop",)


@pytest.mark.parametrize("words", ["whoa, ok, can you take the lemon", "the lemon comes here, there is space enough"])
def test_an_order_with_a_word_of_stopping_in_it_is_asked_about(words: str) -> None:
    heard = Understanding(Fixed("pick up the lemon")).hear(words)
    assert heard.steps == ("pick up the lemon",)
    assert heard.asks


class Fixed:
    """A reader of one plan."""

    def __init__(self, plan: str, certainty: float = 1.0) -> None:
        self.plan, self.certainty, self.asked = plan, certainty, list[tuple[str, str]]()

    def read(self, utterance: str, context: str = "") -> Understood | None:
        self.asked.append((utterance, context))
        return Understood(read_plan(self.plan), self.certainty) if self.plan else None


def test_a_reader_is_told_the_plan_before_and_the_question_that_waits() -> None:
    reader = Fixed("pick up the can at (0.200, 0.500)")
    Understanding(reader).hear("that one", context_of("pick up the can at (0.200, 0.500)", "Which can?"))
    assert reader.asked == [("that one", "pick up the can ? Which can?")]


def test_a_dialogue_that_is_gone_on_with_knows_what_was_said_before() -> None:
    reader, robot = Fixed("put the can in the bin"), TextRobot()
    memory = OperatorMemory()
    dialogue(robot, operator=memory, reader=reader).say("into the bin with the can")
    dialogue(robot, operator=copy.deepcopy(memory), reader=reader).say("the soup too")
    assert reader.asked[-1] == ("the soup too", "put the can in the bin")


def test_remarks_within_a_plan_leave_nothing_behind() -> None:
    assert Understanding(Fixed("nothing ; pick up the can")).hear("nice day, grab the can").steps == (
        "pick up the can",
    )


@pytest.mark.parametrize("plan", ["pick up the can", "put it on the left side", "swap the can and the cup"])
def test_an_uncertain_plan_that_moves_something_is_asked_about_first(plan: str) -> None:
    robot = TextRobot(sees={"can": [(0.2, 0.5)]})
    asked = dialogue(robot, reader=Fixed(plan, SURE - 0.05)).say("gimme")
    assert (asked.error_code, robot.deeds) == (ErrorCode.AMBIGUOUS, [])
    assert plan in asked.answer


def test_yes_has_what_was_asked_about_carried_out() -> None:
    robot = TextRobot()
    talk = dialogue(robot, reader=Fixed("pick up the can", SURE - 0.05))
    assert talk.say("gimme").error_code is ErrorCode.AMBIGUOUS
    assert talk.say("yes").success
    assert robot.deeds == ["pick up the can"]


def test_what_moves_nothing_is_answered_however_uncertain() -> None:
    assert not Understanding(Fixed("how many cans", 0.1)).hear("cans?").asks
