"""Calls that take too long, and calls that are made again."""

import os
import signal
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tool_nodes.toolbox.toy_tools import ToyTools, error_of, refusal
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.limits import CallHistory, CallLimiter, CallLimits
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox

# -- time ---------------------------------------------------------------------------------------------


def test_a_call_that_is_late_is_a_timeout_and_leaves_nothing_behind(tools: ToyTools, box: Toolbox) -> None:
    session = Session(variables={"a": 1})
    error = error_of(box.call("wait", {}, session))
    assert error.code is ErrorCode.TIMEOUT
    assert error.message == "wait: no result within 0.02 s."
    assert error.hint == "Use a smaller picture or region."
    tools.release.set()
    tools.threads[0].join()
    assert session.variables == {"a": 1}
    assert session.images == []


def test_while_too_many_late_calls_run_no_other_is_started(tools: ToyTools, box: Toolbox) -> None:
    for _ in range(CallLimits().abandoned):
        assert error_of(box.call("wait", {}, Session())).code is ErrorCode.TIMEOUT
    error = error_of(box.call("wait", {}, Session()))
    assert error.code is ErrorCode.TIMEOUT
    assert error.message == "wait: 4 earlier calls ran out of time and still run."
    assert error_of(box.call("say", {"text": "a"}, Session())).code is ErrorCode.TIMEOUT
    assert tools.started == 4
    tools.release.set()
    for thread in tools.threads:
        thread.join()
    assert box.call("say", {"text": "a"}, Session()).result.ok


def test_a_late_failure_is_nobodys(tools: ToyTools, box: Toolbox) -> None:
    assert error_of(box.call("wait", {"fail": "late"}, Session())).code is ErrorCode.TIMEOUT
    tools.release.set()
    tools.threads[0].join()
    assert box.call("say", {"text": "a"}, Session()).result.ok


def test_a_tool_with_deadlines_of_its_own_runs_in_the_callers_thread() -> None:
    assert CallLimiter().run("here", threading.current_thread, None) is threading.current_thread()
    assert CallLimiter().run("there", threading.current_thread, 10.0) is not threading.current_thread()


def test_the_handler_of_a_signal_runs_while_a_tool_is_waited_for() -> None:
    handled = threading.Event()

    def work() -> bool:
        os.kill(os.getpid(), signal.SIGUSR1)
        return handled.wait(10)

    previous = signal.signal(signal.SIGUSR1, lambda *_: handled.set())
    try:
        assert CallLimiter().run("tool", work, 30.0)
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_a_ctrl_c_ends_the_waiting_and_the_call_counts_as_late(tools: ToyTools) -> None:
    guard = CallLimiter(CallLimits(abandoned=1))

    def work() -> None:
        tools.threads.append(threading.current_thread())
        os.kill(os.getpid(), signal.SIGUSR1)
        tools.release.wait(20)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            guard.run("tool", work, 30.0)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    with pytest.raises(ToolError, match="1 earlier calls ran out of time"):
        guard.run("tool", threading.current_thread, 1.0)


# -- the same call again ------------------------------------------------------------------------------


def test_the_second_same_call_is_told_so_and_the_fourth_is_refused(tools: ToyTools, box: Toolbox) -> None:
    session = Session()
    texts = [box.call("say", {"text": "a"}, session).result.text for _ in range(4)]
    assert texts[0] == "a"
    assert texts[1] == "a (the same call as before, 2 times in a row: its result cannot change)"
    assert texts[2] == "a (the same call as before, 3 times in a row: its result cannot change)"
    assert texts[3] == (
        "Error INVALID_ARGUMENT: say: this same call was made 3 times in a row; its result cannot change. "
        "Use the result, or call with other arguments."
    )
    assert tools.started == 3


def test_another_call_in_between_starts_the_count_again(box: Toolbox) -> None:
    session = Session()
    for _ in range(3):
        for text in ("a", "b"):
            assert box.call("say", {"text": text}, session).result.text == text


def test_a_refused_call_is_no_call_in_between(box: Toolbox) -> None:
    session = Session()
    box.call("say", {"text": "a"}, session)
    refusal(box, "say", {"text": 7}, session)
    assert "2 times in a row" in box.call("say", {"text": "a"}, session).result.text


def test_aliases_and_other_argument_names_make_the_same_call(box: Toolbox) -> None:
    session = Session(variables={"depth": np.zeros((2, 2))})
    box.call("measure", {"data": "$depth"}, session)
    assert "2 times in a row" in box.call("gauge", {"image": "$depth"}, session).result.text


def test_a_variable_with_another_value_makes_another_call(box: Toolbox) -> None:
    session = Session()
    for _ in range(5):
        session.variables["depth"] = np.zeros((500, 500))
        assert box.call("measure", {"data": "$depth"}, session).result.text == "Measured. (backend: pixels)"


def test_small_arrays_are_compared_by_what_they_hold(box: Toolbox) -> None:
    session = Session()
    for value in (0.5, 0.25, 0.25):
        record = box.call("points", {"points": [[value, 0.5]]}, session)
    assert "2 times in a row" in record.result.text


@pytest.mark.parametrize(("size", "compared"), [(4096, True), (4097, False)])
def test_arrays_of_up_to_4096_numbers_are_compared(size: int, compared: bool) -> None:
    limiter, history = CallLimiter(), CallHistory()
    times = [limiter.note(history, "measure", {"data": np.zeros(size)}, False) for _ in range(2)]
    assert times == [1, 2 if compared else 1]


def test_what_is_known_by_its_identity_is_kept_alive_wherever_it_stands() -> None:
    limiter, history = CallLimiter(), CallHistory()
    large = np.zeros(5000)
    for value in (large, [large], {"a": [large]}):
        assert limiter.note(history, "measure", {"data": value}, False) == 1
        assert [held is large for held in history.held] == [True]
        assert limiter.note(history, "measure", {"data": value}, False) == 2


def test_keys_of_several_types_make_a_call_like_any_other() -> None:
    limiter, history = CallLimiter(), CallHistory()
    for values in ({1: "a", "b": 2}, {"b": 2, 1: "a"}):
        times = limiter.note(history, "say", {"text": values}, False)
    assert times == 2


def test_an_array_with_another_shape_makes_another_call(box: Toolbox) -> None:
    session = Session()
    for shape in ((2, 3), (3, 2), (1, 6)):
        record = box.call("measure", {"data": np.zeros(shape)}, session)
        assert "in a row" not in record.result.text


def test_a_default_left_out_is_another_call_than_a_value_given(box: Toolbox) -> None:
    session = Session()
    box.call("say", {"text": "a"}, session)
    assert box.call("say", {"text": "a", "times": 2}, session).result.text == "aa"


def test_a_tool_that_is_given_the_conversation_is_called_anew_while_variables_change(box: Toolbox) -> None:
    session = Session()
    texts = [box.call("add", {}, session).result.text for _ in range(5)]
    assert texts[:4] == ["1", "2", "3", "3"]
    assert texts[4].startswith("3 (the same call as before, 2 times in a row")


@pytest.mark.parametrize(("name", "arguments"), [("look", {}), ("see", {"what": "a"}), ("move", {"x": 0.5})])
def test_calls_that_may_end_otherwise_are_never_refused(box: Toolbox, name: str, arguments: Mapping[str, Any]) -> None:
    session = Session()
    texts = {box.call(name, arguments, session).result.text for _ in range(6)}
    assert len(texts) == 1
    assert "in a row" not in texts.pop()


def test_a_conversation_knows_only_its_own_calls(box: Toolbox) -> None:
    for _ in range(5):
        assert box.call("say", {"text": "a"}, Session()).result.text == "a"


def test_what_timed_out_or_was_not_there_may_be_tried_again(tools: ToyTools) -> None:
    box, session = Toolbox([tools], guard=CallLimiter(CallLimits(abandoned=10))), Session()
    for name, code in (("wait", ErrorCode.TIMEOUT), ("unavailable", ErrorCode.UNAVAILABLE)):
        assert {error_of(box.call(name, {}, session)).code for _ in range(5)} == {code}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_the_same_plain_values_are_the_same_call(value: Any) -> None:
    guard, session = CallLimiter(), Session()
    held = {"a": value}
    assert guard.note(session.history, "tool", held, False) == 1
    assert guard.note(session.history, "tool", held, False) == 2
    assert guard.note(session.history, "tool", {"a": [value]}, False) == 1
