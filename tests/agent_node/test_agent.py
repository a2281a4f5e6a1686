"""The agent loop: order, budgets, stops, and when a command counts as done."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.saying import Says, answer, call
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import TURN_BUDGET, ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import CommandEnded, Event, Thought, ToolAnswered, ToolCalled
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Text
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool


class Tools:
    """A robot whose motion succeeds unless it is told to fail."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @tool("robot.look")
    def look(self) -> ToolResult:
        """Take a picture."""
        self.log.append("look")
        return ToolResult(text="Seen.", image=np.zeros((2, 2, 3), np.uint8))

    @tool("robot.move", motion=True)
    def move(self, label: Text) -> ToolResult:
        """Move."""
        self.log.append(label)
        if label == "blocked":
            raise ToolError(ErrorCode.PLAN_FAILED, "The way is blocked.")
        return ToolResult(text=f"Moved {label}.")

    @tool("test.crash")
    def crash(self) -> ToolResult:
        """Fail inside."""
        self.log.append("crash")
        raise KeyError("inside")


def run(
    *lines: str | BaseException, tools: Tools | None = None, turn_budget: int = TURN_BUDGET, **options: Any
) -> Episode:
    return Agent(Says(*lines), Toolbox([tools or Tools()]), ConversationSettings(turn_budget), **options).run("Do it.")


LOOK, CRASH = call("robot.look"), call("test.crash")
MOVE, BLOCKED = call("robot.move", label="a"), call("robot.move", label="blocked")


def test_several_calls_in_one_turn_run_in_order_with_one_response_each() -> None:
    tools = Tools()
    policy = Says(MOVE + LOOK + call("robot.move", label="b"), answer("Done."))
    episode = Agent(policy, Toolbox([tools])).run("Do it.")
    assert tools.log == ["a", "look", "b"]
    assert episode.turns[0].responses == [
        "<tool_response>Moved a.</tool_response>",
        "<tool_response>Seen. <image 0></tool_response>",
        "<tool_response>Moved b.</tool_response>",
    ]
    assert episode.tool_calls == 3
    assert [m.role for m in policy.read[1]] == ["system", "user", "assistant", "tool", "tool", "tool"]
    assert [m.text for m in policy.read[1][3:]] == episode.turns[0].responses


def test_the_policy_is_given_the_tools_and_the_task_first() -> None:
    policy = Says(answer("Nothing to do."))
    Agent(policy, Toolbox([Tools()])).run("Put the <image 0> away.")
    system, user = policy.read[0]
    assert (system.role, user.role, user.text) == ("system", "user", "Put the <image 0> away.")
    assert '"robot.move"' in system.text


def test_after_a_failed_motion_the_rest_of_the_turn_is_not_run() -> None:
    tools = Tools()
    episode = run(LOOK + BLOCKED + LOOK + MOVE, answer("PLAN_FAILED: The way is blocked."), tools=tools)
    assert tools.log == ["look", "blocked"]
    assert episode.turns[0].responses[1:] == [
        "<tool_response>Error PLAN_FAILED: The way is blocked.</tool_response>",
        *["<tool_response>Not run: an earlier motion in this turn failed.</tool_response>"] * 2,
    ]
    assert len(episode.turns[0].calls) == 2


def test_after_a_failed_look_nothing_of_the_turn_moves_and_the_rest_of_it_is_run() -> None:
    tools = Tools()
    episode = run(call("robot.look", zoom=2) + MOVE + LOOK, answer("Done."), tools=tools)
    assert tools.log == ["look"]
    assert "Not run: an earlier call of this turn failed." in episode.turns[0].responses[1]


def test_a_motion_with_wrong_arguments_counts_as_a_failed_motion() -> None:
    tools = Tools()
    run(call("robot.move") + MOVE, answer("Done."), tools=tools)
    assert tools.log == []


def test_a_malformed_call_is_answered_and_not_run_while_its_neighbours_are() -> None:
    tools = Tools()
    episode = run(MOVE + "<tool_call>{nonsense}</tool_call>" + LOOK + MOVE, answer("Done."), tools=tools)
    assert tools.log == ["a", "look"]
    assert (
        episode.turns[0]
        .responses[1]
        .startswith("<tool_response>Error INVALID_ARGUMENT: the tool call is not valid JSON")
    )


def test_a_malformed_turn_runs_nothing_and_is_answered_once() -> None:
    tools = Tools()
    episode = run(MOVE + answer("Done."), answer("Sorry."), tools=tools)
    assert tools.log == []
    (response,) = episode.turns[0].responses
    assert response.startswith("<tool_response>Error INVALID_ARGUMENT: a turn may not hold both")
    assert (episode.messages[3].role, episode.messages[3].text) == ("tool", response)
    assert not episode.success


def test_the_turn_budget_ends_a_command_that_never_answers() -> None:
    tools = Tools()
    episode = run(MOVE, tools=tools, turn_budget=3)
    assert episode.error_code is ErrorCode.TURN_BUDGET
    assert episode.answer.startswith("No answer within 3 turns. No further motion is begun; 3 of 3 motions succeeded, ")
    assert len(episode.turns) == len(tools.log) == 3
    assert not episode.success


def test_a_stop_between_calls_keeps_the_rest_from_running_and_ends_the_command() -> None:
    tools = Tools()
    policy = Says(MOVE + LOOK + MOVE)
    episode = Agent(policy, Toolbox([tools]), stopped=lambda: "look" in tools.log).run("Do it.")
    assert tools.log == ["a", "look"]
    assert len(policy.read) == 1
    assert (
        episode.turns[0].responses[2]
        == "<tool_response>Error STOPPED: Not run: stopped by the operator.</tool_response>"
    )
    assert episode.error_code is ErrorCode.STOPPED
    assert not episode.success


def test_a_stop_before_the_first_call_runs_nothing() -> None:
    tools = Tools()
    episode = run(MOVE, tools=tools, stopped=lambda: True)
    assert tools.log == []
    assert episode.error_code is ErrorCode.STOPPED


def test_a_crash_of_the_policy_is_an_internal_error() -> None:
    episode = run(MOVE, ValueError("no tokens"))
    assert episode.error_code is ErrorCode.INTERNAL
    assert episode.answer.startswith("The policy failed: ValueError: no tokens. No further motion is begun; 1 of 1 ")
    assert not episode.success


@pytest.mark.parametrize("message", ["The server does not answer.", ""])
def test_an_unavailable_policy_is_unavailable_even_after_a_motion_that_worked(message: str) -> None:
    episode = run(MOVE, ToolError(ErrorCode.UNAVAILABLE, message))
    assert episode.error_code is ErrorCode.UNAVAILABLE
    assert episode.answer.startswith(f"{message} No further motion is begun; 1 of 1 motions succeeded, ".lstrip())
    assert not episode.success


def test_a_policy_that_returns_no_text_is_an_internal_error() -> None:
    episode = run(None)  # type: ignore[arg-type]
    assert episode.error_code is ErrorCode.INTERNAL
    assert episode.turns == []


def test_a_crash_of_a_tool_ends_the_command_as_an_internal_error() -> None:
    policy = Says(CRASH, answer("Done."))
    episode = Agent(policy, Toolbox([Tools()])).run("Do it.")
    assert len(policy.read) == 1
    assert episode.error_code is ErrorCode.INTERNAL
    assert episode.answer.startswith("test.crash failed inside: KeyError")


def test_ctrl_c_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(KeyboardInterrupt())


@pytest.mark.parametrize(
    ("lines", "success", "code", "told"),
    [
        ([MOVE, answer("Done.")], True, None, "Done."),
        ([BLOCKED, MOVE, answer("Done.")], True, None, "Done."),
        ([MOVE, call("robot.look", zoom=2), answer("Done.")], True, None, "Done."),
        ([MOVE, BLOCKED, answer("Done.")], False, ErrorCode.PLAN_FAILED, "Done."),
        ([LOOK, answer("I see two boxes.")], False, None, "I see two boxes."),
        ([call("no.tool"), answer("Done.")], False, ErrorCode.UNKNOWN_TOOL, "Done."),
        ([answer("")], False, None, ""),
        ([LOOK, answer("AMBIGUOUS: Which box?")], False, ErrorCode.AMBIGUOUS, "Which box?"),
        ([MOVE, answer("OBJECT_DROPPED : It fell.\nSorry.")], False, ErrorCode.OBJECT_DROPPED, "It fell.\nSorry."),
        ([MOVE, answer("NO_GRASP:")], False, ErrorCode.NO_GRASP, ""),
        ([MOVE, answer("NO_GRASP")], False, ErrorCode.NO_GRASP, ""),
        ([MOVE, answer("NO_GRASP left for me.")], True, None, "NO_GRASP left for me."),
        ([MOVE, answer("NO_GRASPS: none left")], True, None, "NO_GRASPS: none left"),
        ([MOVE, answer("Note: done.")], True, None, "Note: done."),
    ],
)
def test_success_needs_a_last_motion_that_worked_and_an_answer_that_admits_no_failure(
    lines: list[str], success: bool, code: ErrorCode | None, told: str
) -> None:
    episode = run(*lines)
    assert (episode.success, episode.error_code, episode.answer) == (success, code, told)


def test_the_listener_hears_every_step_in_order() -> None:
    heard: list[Event] = []
    run("<think>first</think>" + LOOK, answer("Done."), listener=heard.append)
    thought, call, result, end = heard
    assert thought == Thought("first")
    assert isinstance(call, ToolCalled)
    assert call.call.name == "robot.look"
    assert isinstance(result, ToolAnswered)
    assert result.record.name == "robot.look"
    assert end == CommandEnded("Done.")


def test_each_command_starts_with_an_empty_session() -> None:
    agent = Agent(Says(LOOK, answer("a"), LOOK, answer("b")), Toolbox([Tools()]))
    first, second = agent.run("One."), agent.run("Two.")
    assert first.session is not second.session
    assert [len(episode.session.images) for episode in (first, second)] == [1, 1]


TEXTS = st.text(max_size=40) | st.lists(
    st.sampled_from([LOOK, MOVE, BLOCKED, answer("x"), "<think>", "</think>", "<tool_call>", "{}"]), max_size=5
).map("".join)


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_whatever_a_policy_writes_every_turn_ends_and_every_call_is_answered(lines: list[str]) -> None:
    episode = run(*lines, turn_budget=5)
    assert 1 <= len(episode.turns) <= 5
    answered = [response for turn in episode.turns for response in turn.responses]
    assert [m.text for m in episode.messages if m.role == "tool"] == answered
    assert episode.tool_calls <= len(answered)
    assert episode.error_code is not ErrorCode.INTERNAL
