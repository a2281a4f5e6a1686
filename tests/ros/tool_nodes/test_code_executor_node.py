"""The node `code_executor`: its service, its sessions, its start and end."""

import math
import signal
from collections.abc import Callable
from typing import Any

import pytest
from toolhand_interfaces.srv import ExecuteCode

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.ros.calling import call
from toolhand.tool_nodes.ros.status import raise_failure
from toolhand.tool_nodes.sandbox import seccomp

DEADLINE_S = 60.0
"""A bound against hanging, not a promise."""

EXEC, EVAL = ExecuteCode.Request.EXEC, ExecuteCode.Request.EVAL

needs_sandbox = pytest.mark.skipif(bool(seccomp.why_missing()), reason="no seccomp")
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(start: Any, make_node: Any) -> Ask:
    """Calls the service of a node with two sessions and short runs."""
    start("toolhand.tool_nodes.nodes.code_executor_node", "--ros-args", "-p", "sessions:=2", "-p", "wall_limit_s:=1.0")
    client = make_node("code_caller").create_client(ExecuteCode, "execute_code")

    def use(code: str, mode: int = EXEC, **fields: Any) -> Any:
        return call(client, ExecuteCode.Request(code=code, mode=mode, **fields), DEADLINE_S, DEADLINE_S)

    return use


@needs_sandbox
def test_a_program_is_run(ask: Ask) -> None:
    response = ask("import numpy as np\nprint('hello')\nresult = np.arange(3)")
    assert (response.result, response.output, response.error_output) == ("array([0, 1, 2])", "hello\n", "")
    assert response.status.success
    assert response.status.backend == "sandbox"
    assert "Use $last_exec_result" in response.status.message


@needs_sandbox
def test_an_expression_has_a_value_and_statements_may_have_none(ask: Ask) -> None:
    assert ask("'a' * 3", EVAL).result == "'aaa'"
    assert ask("{1}", EVAL).result == "{1}"
    assert ask("x = 1").result == ""


@needs_sandbox
def test_a_session_remembers_its_results_until_others_need_the_room(ask: Ask) -> None:
    ask("20", session="first")
    assert ask("last_exec_result + 1", EVAL, session="first").result == "21"
    assert ask("last_exec_result + last_eval_result", EVAL, session="first").result == "41"
    assert not ask("last_exec_result", EVAL, session="second").status.success
    assert not ask("last_exec_result", EVAL).status.success
    assert ask("last_exec_result", EVAL, session="first").result == "20"
    ask("1", session="third")
    assert not ask("last_exec_result", EVAL, session="second").status.success
    assert not ask("last_exec_result", EVAL, session="first").status.success


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "fields", "error", "words"),
    [
        ("1 / 0", {}, ErrorCode.EXECUTION_FAILED, "line 1: ZeroDivisionError"),
        ("import os", {}, ErrorCode.INVALID_ARGUMENT, "limited to math and numpy"),
        ("open('/etc/passwd')", {}, ErrorCode.EXECUTION_FAILED, "PermissionError"),
        ("while True: pass", {"timeout": 0.2}, ErrorCode.EXECUTION_FAILED, "longer than 0.2 s"),
        ("while True: pass", {"timeout": 99.0}, ErrorCode.EXECUTION_FAILED, "longer than 1 s"),
        ("", {}, ErrorCode.INVALID_ARGUMENT, "execute_code: code must have 1 to 20000 characters"),
        ("1", {"mode": 7}, ErrorCode.INVALID_ARGUMENT, "mode must be 0 (EXEC) or 1 (EVAL), got 7"),
        ("1", {"timeout": -1.0}, ErrorCode.INVALID_ARGUMENT, "greater than 0 s"),
        ("1", {"timeout": math.nan}, ErrorCode.INVALID_ARGUMENT, "greater than 0 s"),
        ("1", {"session": "x" * 101}, ErrorCode.INVALID_ARGUMENT, "at most 100 characters"),
    ],
)
def test_what_goes_wrong_is_said(ask: Ask, code: str, fields: Any, error: ErrorCode, words: str) -> None:
    with pytest.raises(ToolError) as caught:
        raise_failure(ask(code, **fields).status)
    assert caught.value.code is error
    assert words in str(caught.value)


@needs_sandbox
def test_what_was_printed_before_an_error_comes_back(ask: Ask) -> None:
    assert ask("print('so far')\n1 / 0").output == "so far\n"


def test_the_node_starts_and_ends_quietly(start: Any, make_node: Any, wait_until: Any) -> None:
    watcher = make_node("watcher_of_code_executor")
    program = start("toolhand.tool_nodes.nodes.code_executor_node", "--ros-args", "-r", "__ns:=/lonely_code")
    service = "/lonely_code/execute_code"
    wait_until(lambda: service in dict(watcher.get_service_names_and_types()), f"{service} is there")
    program.process.send_signal(signal.SIGINT)
    status, out, err = program.wait()
    assert "Traceback" not in err
    assert (status, out) == (0, "")


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("wall_limit_s:=0.0", "must be a finite number above 0"),
        ("wall_limit_s:=soon", "must be a finite number above 0"),
        ("sessions:=-1", "0 or more"),
    ],
)
def test_a_bad_parameter_ends_with_one_sentence(start: Any, parameter: str, words: str) -> None:
    status, _, err = start(
        "toolhand.tool_nodes.nodes.code_executor_node", "--ros-args", "-p", parameter, "-r", "__ns:=/bad"
    ).wait()
    assert status == 2
    assert words in err
    assert err.count("\n") == 1
