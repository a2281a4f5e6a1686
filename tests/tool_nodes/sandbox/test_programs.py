"""Programs that mean well: what they see, and what comes back."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.refusals import refused
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.sandbox.executor import CodeExecutor, CodeTools
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 2", 3),
        ("x = 2\nx * 3", 6),
        ("result = 7", 7),
        ("result = 7\n8", 7),
        ("x = 7", None),
        ("import math\nmath.sqrt(16)", 4.0),
        ("import numpy as np\nfrom numpy.linalg import norm\nnorm([3.0, 4.0])", 5.0),
        ("import numpy.typing as npt\nx: npt.ArrayLike = 1\nx", 1),
        ("from math import *\npi", math.pi),
        ("np.float32(0.5)", 0.5),
        ("np.bool_(True)", True),
        ("(1, [2.5, 'three', None], {'four': (5,), 6: True})", (1, [2.5, "three", None], {"four": (5,), 6: True})),
        ("float('inf')", math.inf),
        ("3 + 4j", 3 + 4j),
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)\nf(20)", math.factorial(20)),
        ("class P:\n    def __init__(self, x):\n        self.x = x\nP(3).x", 3),
        ("ä = 'Grüße, 世界 🤖'\nä", "Grüße, 世界 🤖"),
        ("'\\N{SNOWMAN}'.encode('utf-16').decode('utf-16')", "☃"),
        ("'half a pair: \\ud800'", "half a pair: \ufffd"),
        ("sorted({'b': 1, 'a': 2})", ["a", "b"]),
        ("np.testing.assert_allclose(1, 1)", None),
    ],
)
def test_a_program_has_a_value(executor: CodeExecutor, code: str, value: Any) -> None:
    outcome = executor.run(code)
    assert outcome.error is None
    assert outcome.value == value
    assert type(outcome.value) is type(value)
    assert outcome.has_value is (value is not None)


@pytest.mark.parametrize(
    "code",
    [
        "np.linalg.svd(a)[1].shape",
        "np.linalg.eig(a @ a.T)[0].shape",
        "np.linalg.lstsq(a, a, rcond=None)[3].shape",
        "np.fft.fft2(a).shape",
        "np.polyfit(a[0], a[1], 2).shape",
        "np.polynomial.Polynomial.fit(a[0], a[1], 2).coef.shape",
        "np.random.default_rng(0).permutation(9).shape",
        "np.random.default_rng().normal(size=3).shape",
        "np.ma.median(np.ma.masked_invalid(a)).shape",
        "np.percentile(a, [5, 95]).shape",
        "np.histogram2d(a[0], a[1])[0].shape",
        "np.unique(a > 0.5, return_counts=True)[0].shape",
        "np.einsum('ij,kj->ik', a, a).shape",
        "np.char.upper(np.array(['a'])).shape",
        "np.rec.fromarrays([a[0]], names='x').shape",
        "np.array2string(a)",
        "np.lib.stride_tricks.sliding_window_view(a, (3, 3)).shape",
        "np.emath.sqrt(-1).shape",
        "np.info(np.sin)",
        "np.vectorize(math.sin)(a).shape",
    ],
)
def test_all_of_numpy_works(executor: CodeExecutor, code: str) -> None:
    assert executor.run(code, variables={"a": np.random.default_rng(0).random((40, 30))}).error is None


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint8", "uint16", "float16", "float32", "float64", "complex128", ">f8"]
)
def test_arrays_go_in_and_come_back(executor: CodeExecutor, dtype: str) -> None:
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)[:, ::-1]
    back = executor.run("[array, {'same': array}]", variables={"array": array}).value
    for one in (back[0], back[1]["same"]):
        np.testing.assert_array_equal(one, array)
        assert one.dtype == array.dtype.newbyteorder("=")
        one[0] = 0


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,)])
def test_arrays_keep_unusual_shapes(executor: CodeExecutor, shape: tuple[int, ...]) -> None:
    assert executor.run("array", variables={"array": np.zeros(shape)}).value.shape == shape


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(st.text("ab"), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(value=_values)
@settings(max_examples=15)
def test_values_go_in_and_come_back(executor: CodeExecutor, value: Any) -> None:
    assert executor.run("value", "eval", {"value": value}).value == value


def test_only_variables_that_the_code_names_are_handed_in(executor: CodeExecutor) -> None:
    variables = {"mask": np.ones((2, 2), bool), "depth_map": np.zeros((2, 2)), "odd": object()}
    assert executor.run("sorted(k for k in globals() if k[0] != '_')  # mask", variables=variables).value == [
        "mask",
        "math",
        "np",
        "numpy",
    ]


def test_a_variable_that_cannot_be_handed_in_is_explained(executor: CodeExecutor) -> None:
    error = executor.run("odd + 1", variables={"odd": object()}).error
    assert error is not None
    assert str(error).startswith("line 1: NameError: name 'odd' is not defined. $odd cannot be used in code: it is or ")


def test_variables_that_are_too_large_are_refused(executor: CodeExecutor) -> None:
    sentence = r"\$a, \$b cannot be handed in together: the arrays hold 80 MB; at most 64 MB are allowed\."
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        executor.run("a + b", variables={"a": np.zeros(5 << 20), "b": np.zeros(5 << 20)})


def test_programs_share_nothing(executor: CodeExecutor) -> None:
    executor.run("np.sin = None\nleft = 1")
    assert executor.run("np.sin(0.0)").value == 0.0
    assert "NameError" in str(executor.run("left").error)


def test_random_numbers_are_the_same_each_time(executor: CodeExecutor) -> None:
    code = "(np.random.rand(), np.random.default_rng().random(), hash('text'))"
    assert executor.run(code).value == executor.run(code).value


def test_output_and_warnings_are_captured(executor: CodeExecutor) -> None:
    outcome = executor.run("print('one', 2)\nprint('drei ü')\nnp.array([1.0]) / 0")
    assert outcome.stdout == "one 2\ndrei ü\n"
    assert outcome.stderr == "<code>:3: RuntimeWarning: divide by zero encountered in divide\n"


@pytest.mark.parametrize(
    ("code", "mode", "words"),
    [
        ("x = 1\nimport os", "exec", "line 2: imports are limited to math and numpy, got 'os'."),
        ("from os.path import join", "exec", "line 1: imports are limited to math and numpy, got 'os.path'."),
        ("from . import x", "exec", "imports are limited to math and numpy"),
        ("x = (1", "exec", "line 1: SyntaxError: '(' was never closed."),
        ("x = 1", "eval", "line 1: SyntaxError: invalid syntax."),
        ("$mask.sum()", "exec", "written without the dollar sign: mask, not $mask."),
    ],
)
def test_code_that_may_not_run_is_explained(executor: CodeExecutor, code: str, mode: Any, words: str) -> None:
    error = executor.run(code, mode).error
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert words in str(error)


def test_an_import_at_run_time_is_explained(executor: CodeExecutor) -> None:
    assert "imports are limited to math and numpy" in str(executor.run("__import__('os')").error)


def test_an_exception_names_the_last_line_of_the_program(executor: CodeExecutor) -> None:
    error = executor.run("def f(x):\n    return 1 / x\n\nf(0)").error
    assert error is not None
    assert error.code is ErrorCode.EXECUTION_FAILED
    assert str(error) == "line 2: ZeroDivisionError: division by zero."


def test_a_bad_mode_is_refused(executor: CodeExecutor) -> None:
    with pytest.raises(ToolError, match="must be exec or eval, got 'run'"):
        executor.run("1", "run")


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_timeout_is_refused(executor: CodeExecutor, timeout_s: float) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "greater than 0 s"):
        executor.run("1", timeout_s=timeout_s)


# -- as tools -----------------------------------------------------------------------------------------


@pytest.fixture
def call(executor: CodeExecutor) -> Any:
    toolbox = Toolbox([CodeTools(executor)])
    session = Session(
        variables={
            "depth_map": np.full((4, 6), 0.8, np.float32),
            "captured_image": SessionImage(np.full((4, 6, 3), 7, np.uint8)),
        }
    )

    def use(name: str, **arguments: Any) -> tuple[ToolResult, Session]:
        return toolbox.call(name, arguments, session).result, session

    return use


def test_the_schema_has_only_the_papers_arguments(executor: CodeExecutor) -> None:
    schemas = {s["function"]["name"]: s["function"] for s in Toolbox([CodeTools(executor)]).schemas()}
    assert list(schemas["code_executor.exec"]["parameters"]["properties"]) == ["code"]
    assert list(schemas["code_executor.eval"]["parameters"]["properties"]) == ["expression"]
    assert schemas["code_executor.exec"]["parameters"]["required"] == ["code"]


def test_exec_gives_value_output_and_a_variable(call: Any) -> None:
    result, session = call("code_executor.exec", code="print('a')\nresult = round(float(depth_map[0, 0]), 3)")
    assert result.value == (0.8, "a\n", "")
    assert result.text.startswith(
        "Executed successfully. Result: 0.8. stdout: 'a\\n'. stderr: ''. Use $last_exec_result (float) to reference it."
    )
    assert result.backend == "sandbox"
    assert session.variables["last_exec_result"] == 0.8


def test_eval_gives_a_variable_of_its_own(call: Any) -> None:
    result, session = call("code_executor.eval", expression=" depth_map > 0.5 ")
    assert "Result: boolean array, 4x6." not in result.text  # 24 items are few enough to be shown
    assert "Use $last_eval_result (boolean array, 4x6)" in result.text
    assert session.variables["last_eval_result"].all()
    assert "last_exec_result" not in session.variables


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("captured_image.size", (6, 4)),
        ("captured_image.crop((1, 0, 3, 4)).size", (2, 4)),
        ("(captured_image.width, captured_image.height, captured_image.mode)", (6, 4, "RGB")),
        ("np.asarray(captured_image).shape", (4, 6, 3)),
        ("int(np.array(captured_image.convert('L').resize((3, 2))).sum())", 6 * 7),
        ("captured_image.getpixel((0, 0))", (7, 7, 7)),
        ("captured_image.shape", (4, 6, 3)),
        ("captured_image[0, 0].tolist()", [7, 7, 7]),
        ("float(np.mean(captured_image))", 7.0),
    ],
)
def test_an_image_is_the_papers_and_is_read_like_an_array(call: Any, expression: str, value: Any) -> None:
    assert call("code_executor.eval", expression=expression)[0].value[0] == value


def test_an_image_as_result_is_stored_as_its_array(call: Any) -> None:
    result, session = call("code_executor.exec", code="result = [captured_image.crop((1, 0, 3, 4))]")
    assert result.ok, result.text
    (crop,) = session.variables["last_exec_result"]
    assert np.array_equal(crop, np.full((4, 2, 3), 7, np.uint8))


@pytest.mark.parametrize("code", ["import PIL", "from PIL import Image", "captured_image.save('/tmp/x.png')"])
def test_an_image_opens_no_door(call: Any, code: str) -> None:
    assert call("code_executor.exec", code=code)[0].error is not None


def test_names_end_with_their_call_as_the_descriptions_say(call: Any, executor: CodeExecutor) -> None:
    descriptions = {
        s["function"]["name"]: s["function"]["description"] for s in Toolbox([CodeTools(executor)]).schemas()
    }
    assert "Names that a block defines end with it" in descriptions["code_executor.exec"]
    assert "$last_exec_result" in descriptions["code_executor.exec"]
    assert "no names of earlier code" in descriptions["code_executor.eval"]
    assert call("code_executor.exec", code="x = 5\nx")[0].ok
    assert call("code_executor.exec", code="last_exec_result + 1")[0].value[0] == 6
    assert "NameError" in call("code_executor.exec", code="x + 1")[0].text
    assert "NameError" in call("code_executor.exec", code="last_exec_result")[0].text


def test_no_value_leaves_no_variable(call: Any) -> None:
    result, session = call("code_executor.exec", code="x = 1")
    assert result.ok
    assert "Result: None." in result.text
    assert "last_exec_result" not in session.variables


def test_a_value_that_cannot_be_stored_leaves_no_variable(call: Any) -> None:
    result, session = call("code_executor.eval", expression="{1}")
    assert "Result: {1}. " in result.text
    assert "cannot be stored: it is or holds a value of type set." in result.text
    assert "last_eval_result" not in session.variables


def test_a_large_array_is_described_and_a_small_one_shown(call: Any) -> None:
    assert "Result: numpy array, 10x10." in call("code_executor.eval", expression="np.ones((10, 10))")[0].text
    assert "Result: array([1., 2.])." in call("code_executor.eval", expression="np.array([1.0, 2.0])")[0].text


def test_a_result_is_used_by_the_next_program(call: Any) -> None:
    call("code_executor.exec", code="result = [1, 2, 3]")
    assert call("code_executor.eval", expression="sum(last_exec_result)")[0].value[0] == 6


def test_code_that_is_indented_as_a_whole_runs(call: Any) -> None:
    assert call("code_executor.exec", code="    x = 1\n    if x:\n        x = 2\n    x")[0].value[0] == 2


def test_what_was_printed_before_an_error_is_told(call: Any) -> None:
    result, session = call("code_executor.exec", code="print('so far')\n1 / 0")
    assert result.error.code is ErrorCode.EXECUTION_FAILED
    assert "line 2: ZeroDivisionError: division by zero. stdout: 'so far\\n'." in result.text
    assert "last_exec_result" not in session.variables


@pytest.mark.parametrize("code", [5, "", "  \n", "x" * 20_001])
def test_what_is_no_code_is_refused(call: Any, code: Any) -> None:
    assert call("code_executor.exec", code=code)[0].error.code is ErrorCode.INVALID_ARGUMENT
