"""A question of the policy over ROS: feedback of the command, answered by a service, or not at all."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rclpy_zenoh.overlay import install

install()

from action_msgs.msg import GoalStatus
from toolhand_interfaces.action import RunCommand as RunCommandAction
from toolhand_interfaces.srv import AnswerQuestion
from vision_msgs.msg import Point2D

from tests.ros.agent.conftest import DOMAIN, wait_until
from tests.ros.agent.hearing import Hearing
from toolhand.agent_node.console.terminal import Interrupt
from toolhand.agent_node.events import Event, OperatorAnswer, OperatorQuestion
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.ros.answers import AnswerDesk
from toolhand.cli import run_over_ros as over_ros
from toolhand.cli.run_command import RunCommand
from toolhand.tool_nodes.toolbox.toolbox import Toolbox

QUESTION = "Which can: the left one or the right one?"


class Asks:
    """A policy that asks once, and says what it was answered."""

    name = "asks"

    def respond(self, conversation: Sequence[Message]) -> Reply:
        said = [message.words for message in conversation if message.answers]
        return Reply(f"<answer>{f'You said {said[-1]}.' if said else f'AMBIGUOUS: {QUESTION}'}</answer>")


def no_tools(node: Any, deadlines: Any, stopped: Any) -> Toolbox:
    return Toolbox([])


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (OperatorAnswer("the left one"), None, "You said the left one."),
        (OperatorAnswer(point=(0.25, 0.5)), None, "You said (0.250, 0.500)."),
        (None, "AMBIGUOUS", QUESTION),
    ],
)
def test_a_question_is_put_to_the_operator_and_the_command_goes_on_with_the_answer(
    agent: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    answer: OperatorAnswer | None,
    code: str | None,
    said: str,
) -> None:
    asked: list[str] = []
    heard: list[Event] = []

    def ask(question: OperatorQuestion) -> OperatorAnswer | None:
        asked.append(question.text)
        return answer

    agent(no_tools, {"asks": Asks()}, policy="asks")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    monkeypatch.setattr(over_ros, "operator_at_terminal", lambda interrupted: ask)
    monkeypatch.chdir(tmp_path)
    command = RunCommand("pick up the can", animation=False, transport="ros")
    result = over_ros.run_over_ros(command, Hearing(heard.append), {}, Interrupt())
    assert (asked, result["error_code"], result["answer"]) == ([QUESTION], code, said)
    assert OperatorQuestion(QUESTION) in heard
    if answer is not None:
        assert OperatorAnswer(answer.words) in heard


def test_an_answer_may_come_before_the_agent_begins_to_wait_for_it(
    agent: Callable[..., Any], operator: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    wait = AnswerDesk.wait

    def after_the_answer(desk: AnswerDesk, stopped: Callable[[], bool]) -> Any:
        assert answered.wait(10.0)
        return wait(desk, stopped)

    monkeypatch.setattr(AnswerDesk, "wait", after_the_answer)
    agent(no_tools, {"asks": Asks()}, policy="asks")
    person = operator()
    answering = person.spun.node.create_client(AnswerQuestion, "run_command/answer")
    assert answering.wait_for_service(10.0)

    def answer() -> None:
        wait_until(lambda: bool(person.feedback))
        future = answering.call_async(AnswerQuestion.Request(step=1, session="a", text="the left one"))
        wait_until(future.done)
        answered.set()

    typing = threading.Thread(target=answer)
    typing.start()
    goal = RunCommandAction.Goal(text="pick up the can", answers=True, session="a")
    _, result = person.result(person.send_goal(goal))
    typing.join()
    assert result.answer == "You said the left one."


def test_without_an_answer_of_its_own_session_a_question_is_closed_at_the_deadline_and_says_so(
    agent: Callable[..., Any], operator: Callable[[], Any]
) -> None:
    agent(no_tools, {"asks": Asks()}, policy="asks", answer_deadline_s=1.0)
    person = operator()
    answering = person.spun.node.create_client(AnswerQuestion, "run_command/answer")
    assert answering.wait_for_service(10.0)
    refused: list[Any] = []

    def other_steps() -> None:
        wait_until(lambda: bool(person.feedback))
        step = person.feedback[0].feedback.step.number
        two, outside = [Point2D(x=0.5, y=0.5)] * 2, [Point2D(x=7.0, y=0.5)]
        for number, session, points in ((step + 7, "a", []), (step, "b", []), (step, "a", two), (step, "a", outside)):
            request = AnswerQuestion.Request(step=number, session=session, text="left", points=points)
            refused.append(answering.call_async(request))

    typing = threading.Thread(target=other_steps)
    typing.start()
    goal = RunCommandAction.Goal(text="pick up the can", answers=True, session="a")
    status, result = person.result(person.send_goal(goal))
    typing.join()
    assert (status, result.status.error_code) == (GoalStatus.STATUS_ABORTED, "AMBIGUOUS")
    assert result.answer == f"{QUESTION} Nobody answered within 1 s; the question is closed."
    for future in refused:
        wait_until(future.done)
        assert future.result().status.error_code == "INVALID_ARGUMENT"


def test_a_client_that_answers_nothing_gets_the_question_as_the_end(
    agent: Callable[..., Any], operator: Callable[[], Any]
) -> None:
    agent(no_tools, {"asks": Asks()}, policy="asks")
    status, result = operator().run("pick up the can")
    assert (status, result.status.error_code, result.answer) == (GoalStatus.STATUS_ABORTED, "AMBIGUOUS", QUESTION)
