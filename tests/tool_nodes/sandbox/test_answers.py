"""Answers that were forged, and results that cannot be stored: the executor must expect anything."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.sandbox.connection import ProgramEnd
from toolhand.tool_nodes.sandbox.executor import CodeExecutor, shown, tool_result

MODULES = "modules = np.lib._npyio_impl.os.sys.modules\nos = modules['os']\n"
FRAME = (
    MODULES
    + "def send(head, data=b''):\n"
    + "    os.write(3, len(head).to_bytes(4, 'little') + head + data)\n"
    + "    os._exit(0)\n"
)


@pytest.mark.parametrize(
    "code",
    [
        MODULES
        + "for fd in range(64):\n    try:\n        os.write(fd, b'\\xff' * 4096)\n    except OSError:\n        pass",
        MODULES + "os.write(3, b'\\xff' * 3)\nos._exit(0)",
        MODULES + "os._exit(0)",
        MODULES + "os._exit(97)",
        FRAME + "send(b'')",
        FRAME + "send(b'[[], []]')",
        FRAME + "send(b'[' * 10**5)",
        FRAME + "send(b'[{\"list\": ' * 10**4)",
        FRAME + 'send(b\'[{"array": null}, [["float64", [1000000000000]]]]\')',
        FRAME + 'send(b\'[{"array": null}, [["float64", [-1, -8]]]]\')',
        FRAME + 'send(b\'[{"array": null}, [["object", [1]]]]\', bytes(8))',
        FRAME + 'send(b\'[{"array": null}, [["float64", [4294967296, 4294967296, 0]]]]\')',
        FRAME + 'send(b\'[{"array": null}, [["uint8", [9]]]]\', b"short")',
        FRAME + "send(b'[{\"array\": 5}, []]')",
        FRAME + 'send(b\'[{"dict": [[{"list": []}, 1]]}, []]\')',
        FRAME + "send(b'[{\"complex\": [1e999, 1, 2]}, []]')",
        FRAME + "send(b'[1' + b'0' * 5000 + b', []]')",
        FRAME + "send(b'\\x80\\x04c__builtin__\\nprint\\n(S\"x\"\\ntR.')",
    ],
)
def test_a_forged_answer_is_not_believed(watch: Any, code: str) -> None:
    error = watch.run(code).error
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert "without a readable answer" in str(error)


def test_a_program_cannot_forge_a_fault_of_the_system(watch: Any) -> None:
    forged = 'send(b\'[{"dict": [["kind", "UNAVAILABLE"], ["text", "INTERNAL"]]}, []]\')'
    assert watch.run(FRAME + forged).error.code is ErrorCode.EXECUTION_FAILED


_anything = st.recursive(
    st.none()
    | st.integers()
    | st.text()
    | st.sampled_from(["value", "text", "raised", "refused", "memory", 10**4000])
    | st.builds(np.zeros, st.integers(0, 3)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=6,
)
_reports = st.fixed_dictionaries({}, optional=dict.fromkeys(("kind", "value", "text", "stdout", "stderr"), _anything))


@given(report=_reports | _anything, ended_by=st.sampled_from([0, 9, 11, 31, 63]))
@settings(max_examples=200)
def test_any_report_is_an_outcome_of_the_program(report: Any, ended_by: int) -> None:
    outcome = CodeExecutor()._outcome(ProgramEnd(report, False, ended_by), "1", 1.0, {})
    if outcome.error is None:
        assert len(tool_result(outcome, "exec", "sandbox").text) < 6000
    else:
        assert outcome.error.code in (ErrorCode.EXECUTION_FAILED, ErrorCode.INVALID_ARGUMENT)
        assert str(outcome.error).isprintable()


def test_a_value_that_would_take_long_to_show_is_shown_in_part() -> None:
    value = [[np.zeros(30)] * 40 for _ in range(25)]
    assert len(shown(value)) < 1100
    assert shown([np.zeros(999)] * 900).startswith("[numpy array, 999, numpy array, 999")


def test_an_error_is_one_line_without_control_characters(watch: Any) -> None:
    error = watch.run("raise ValueError('a\\n\\x1b[2Jb')").error
    assert str(error) == "line 1: ValueError: a [2Jb."


def test_printed_text_is_cut_also_where_it_is_forged(watch: Any) -> None:
    forged = 'send(b\'[{"dict": [["kind", "value"], ["stdout", {"list": ["\' + b"x" * 99999 + b\'", 7]}]]}, []]\')'
    assert len(watch.run(FRAME + forged).stdout) <= 8192


@pytest.mark.parametrize(
    "code",
    [
        "class Evil:\n    def __reduce__(self):\n        return eval, ('1/0',)\nresult = Evil()",
        "class Evil:\n    def __repr__(self):\n        return open(SECRET).read()\nresult = Evil()",
        "class Evil:\n    def __repr__(self):\n        return 5\nresult = Evil()",
        "result = {1, 2}",
        "result = np.array([object()])",
        "result = print",
        "result = []\nresult.append(result)",
        "result = 10**5000",
        "result = [0] * 10**6",
        "result = [np.zeros(1)] * 2000",
        "result = np.zeros(5 << 20)",
        "result = 'x' * (2 << 20)",
        "result = np.ma.masked_array([1, 2], [True, False])",
    ],
)
def test_a_result_that_cannot_be_stored_comes_as_text(watch: Any, code: str) -> None:
    outcome = watch.run(code)
    assert outcome.error is None
    assert not outcome.has_value
    assert isinstance(outcome.value, str)
    assert len(outcome.value) < 2100
    assert outcome.note
