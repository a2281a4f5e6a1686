"""The guards that stand before and after every tool: sizes, types, time, repetition."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tool_nodes.guards import Guard, Limits
from tool_nodes.kinds import (
    BadValue,
    Conversation,
    Data,
    ImageIndex,
    IntegerKind,
    Level,
    Lookup,
    Mask,
    Points2D,
    Text,
    TextKind,
    Unit,
)
from tool_nodes.pictures import SessionImage
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox import CallRecord, Session, Toolbox, ToolSpec, tool

TINY_S = 0.02


class LevelKind:
    """Takes a level's number, and fails there."""

    def schema(self) -> dict[str, Any]:
        return {"type": "integer"}

    def parse(self, value: Any, lookup: Lookup) -> Any:
        raise BadValue(f"is wrong in {Level(value).name}", Level(value))


class Tools:
    """Every behaviour that a guard watches."""

    suite = "test"

    def __init__(self) -> None:
        self.started = 0
        self.release = threading.Event()
        self.threads: list[threading.Thread] = []

    @tool("say")
    def say(self, text: Text, times: Annotated[int, IntegerKind(1, 10**6)] = 1) -> ToolResult:
        """Repeat a text."""
        self.started += 1
        return ToolResult(text=text * times)

    @tool("look", repeatable=True, aliases=["see"], renamed={"what": "text"})
    def look(self, text: Text = "") -> ToolResult:
        """Look again."""
        return ToolResult(text="Looked.", backend="pixels")

    @tool("measure", aliases=["gauge"], renamed={"image": "data"})
    def measure(self, data: Data) -> ToolResult:
        """Measure an array."""
        return ToolResult(text="Measured.", backend="pixels")

    @tool("points")
    def points(self, points: Points2D) -> ToolResult:
        """Take points."""
        return ToolResult(text=f"{len(points)} points.")

    @tool("mask")
    def mask(self, mask: Mask) -> ToolResult:
        """Take a mask."""
        return ToolResult(text=f"{mask.sum()} px.")

    @tool("move", motion=True)
    def move(self, x: Unit) -> ToolResult:
        """Move."""
        return ToolResult(text="Moved.")

    @tool("wait", timeout_s=TINY_S)
    def wait(self, fail: Text = "") -> ToolResult:
        """Come too late."""
        self.started += 1
        self.threads.append(threading.current_thread())
        self.release.wait(20)
        if fail:
            raise RuntimeError(fail)
        return ToolResult(text="Late.", image=np.zeros((2, 2, 3), np.uint8), variables={"late": 1})

    @tool("unavailable")
    def unavailable(self) -> ToolResult:
        """Not now."""
        raise ToolError(ErrorCode.UNAVAILABLE, "The camera does not answer.")

    @tool("fail")
    def fail(self) -> ToolResult:
        """Fail inside, with a message of several lines."""
        raise ValueError("first line\nsecond line " + "x" * 10_000)

    @tool("picture", repeatable=True)
    def picture(
        self, width: Annotated[int, IntegerKind(0, 9000)], height: Annotated[int, IntegerKind(0, 9000)]
    ) -> ToolResult:
        """Make a picture."""
        return ToolResult(text="Made.", image=np.broadcast_to(np.uint8(7), (height, width, 3)))

    @tool("grey")
    def grey(self) -> ToolResult:
        """Make what is no picture."""
        return ToolResult(image=np.zeros((4, 4), np.uint8))

    @tool("copy")
    def copy(self, image_index: ImageIndex) -> ToolResult:
        """Give back another picture than the one that is kept."""
        kept = image_index.cropped(0, 0, 1, 1)
        return ToolResult(image=image_index.rgb.copy(), variables={"kept": kept})

    @tool("count_images")
    def count_images(self, session: Conversation, text: Text = "") -> ToolResult:
        """Count the pictures of the conversation."""
        return ToolResult(value=len(session.images), text=f"{len(session.images)} pictures.")

    @tool("add")
    def add(self, session: Conversation) -> ToolResult:
        """Count up in a variable."""
        total = min(session.variables.get("total", 0) + 1, 3)
        return ToolResult(text=f"{total}", variables={"total": total})

    @tool("steps", stepwise=True)
    def steps(self, a: Annotated[Any, LevelKind()], b: Annotated[Any, LevelKind()]) -> ToolResult:
        """Check in levels."""
        return ToolResult()

    @tool("all_at_once")
    def all_at_once(self, a: Annotated[Any, LevelKind()], b: Annotated[Any, LevelKind()]) -> ToolResult:
        """Check everything."""
        return ToolResult()


@pytest.fixture
def tools() -> Iterator[Tools]:
    tools = Tools()
    yield tools
    tools.release.set()
    for thread in tools.threads:
        thread.join()


@pytest.fixture
def box(tools: Tools) -> Toolbox:
    return Toolbox([tools])


def error_of(record: CallRecord) -> ToolError:
    error = record.result.error
    assert error is not None
    assert "\n" not in error.message
    assert len(error.message) <= 400
    return error


def refusal(box: Toolbox, name: str, arguments: Any, session: Session | None = None) -> str:
    error = error_of(box.call(name, arguments, session or Session()))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    return error.message


def nested(depth: int, value: Any = 0) -> Any:
    for _ in range(depth):
        value = [value]
    return value


# -- sizes -----------------------------------------------------------------------------------------


def self_containing() -> list[Any]:
    own: list[Any] = []
    own.append(own)
    return own


def doubled(levels: int) -> Any:
    """2^levels values in a few lists."""
    value: Any = 0
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"text": "x" * 100_001}, "say: the arguments may have 100,000 characters in all."),
        ({"text": "x" * 60_000, "times": "y" * 60_000}, "100,000 characters in all"),
        ({"x" * 1_000_000: 1}, "100,000 characters in all"),
        ({"text": {"k" * 60_000: {"l" * 60_000: 1}}}, "100,000 characters in all"),
        ({"text": [0] * 1_000_000}, "20,000 values in all"),
        ({"text": [[0] * 200] * 200}, "20,000 values in all"),
        ({"text": doubled(11)}, "argument 'text' must be a string"),
        ({"text": [doubled(10)] * 100}, "20,000 values in all"),
        ({str(k): 0 for k in range(20_001)}, "20,000 values in all"),
        ({"text": nested(100)}, "12 levels of lists and objects"),
        ({"text": nested(100_000)}, "12 levels of lists and objects"),
        ({"text": self_containing()}, "12 levels of lists and objects"),
        ({"text": {"a": nested(12)}}, "12 levels of lists and objects"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_arguments_that_are_too_long_too_many_or_too_deep_are_refused(
    box: Toolbox, arguments: Any, sentence: str
) -> None:
    assert sentence in refusal(box, "say", arguments)


@pytest.mark.parametrize("count", [1, 6000])
def test_a_long_list_within_the_limits_is_taken(box: Toolbox, count: int) -> None:
    record = box.call("points", {"points": [[0.5, 0.25]] * count}, Session())
    assert record.result.text == f"{count} points."


def test_every_value_counts_once(tools: Tools) -> None:
    # The arguments hold: the key, the list, and its numbers.
    box = Toolbox([tools], guard=Guard(Limits(argument_values=7)))
    assert "values in all" not in refusal(box, "points", {"points": [0.5] * 5})
    assert "7 values in all" in refusal(box, "points", {"points": [0.5] * 6})


def test_the_levels_are_lists_and_objects_inside_each_other(tools: Tools) -> None:
    box = Toolbox([tools], guard=Guard(Limits(argument_depth=3)))
    assert "levels" not in refusal(box, "say", {"text": [[1]]})
    assert "3 levels of lists and objects" in refusal(box, "say", {"text": [[[1]]]})


@pytest.mark.parametrize("key", [1, None, ("a", "b"), 10**5000, 0.5, True], ids=lambda key: type(key).__name__)
def test_keys_that_are_no_strings_are_unknown_arguments(box: Toolbox, key: Any) -> None:
    assert "is unknown; allowed: text, times" in refusal(box, "say", {key: 1})


@pytest.mark.parametrize("text", ["\ud800", "fine \udfff"])
@pytest.mark.parametrize("where", ["value", "key", "nested"])
def test_half_a_surrogate_pair_is_refused_wherever_it_stands(box: Toolbox, text: str, where: str) -> None:
    arguments = {"value": {"text": text}, "key": {text: 1}, "nested": {"text": [{"a": [text]}]}}[where]
    message = refusal(box, "say", arguments)
    assert "is no Unicode text" in message
    message.encode()


@pytest.mark.parametrize("text", ["é", "日本", "😀", "a\x00b", "e\u0301", "\u202eabc", "\U0010ffff"])
def test_any_unicode_text_is_taken_as_it_is(box: Toolbox, text: str) -> None:
    assert box.call("say", {"text": text}, Session()).result.text == text


def test_arrays_from_python_are_not_walked(box: Toolbox) -> None:
    assert box.call("measure", {"data": np.zeros((2000, 2000))}, Session()).result.ok


def test_an_array_where_none_belongs_is_refused_in_one_line(box: Toolbox) -> None:
    assert "argument 'text' must be a string" in refusal(box, "say", {"text": np.zeros((30, 30))})


def test_many_wrong_arguments_are_counted_when_they_are_too_many_to_tell(box: Toolbox) -> None:
    message = refusal(box, "say", {f"argument_{k}_{'x' * 50}": k for k in range(500)})
    assert "argument 'argument_0_xxx" in message
    # 500 unknown ones and one that is missing; the sentence says how many it leaves out.
    told = message.count("is unknown")
    assert message.endswith(f"; and {501 - told} more.")


def test_a_long_unknown_variable_is_named_in_short(box: Toolbox) -> None:
    session = Session(variables={f"{'v' * 300}{k}": k for k in range(20)})
    message = error_of(box.call("mask", {"mask": "$" + "w" * 90_000}, session)).message
    assert "which does not exist" in message


@pytest.mark.parametrize("name", ["$mask\n", "$mask ", "$ma\nsk", "$", "$$mask", "$mask.T", "$mask[0]", "$1"])
def test_only_a_whole_variable_name_refers_to_a_variable(box: Toolbox, name: str) -> None:
    session = Session(variables={"mask": np.ones((2, 2), bool)})
    assert "must be a variable such as $name" in refusal(box, "mask", {"mask": name}, session)


# -- types: nothing is guessed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("say", {"text": 7}, "argument 'text' must be a string, got 7"),
        ("say", {"text": ["a"]}, "argument 'text' must be a string, got ['a']"),
        ("say", {"text": None}, "argument 'text' must be a string, got None"),
        ("say", {"text": "a", "times": "3"}, "argument 'times' must be an integer, got '3'"),
        ("say", {"text": "a", "times": 3.0}, "argument 'times' must be an integer, got 3.0"),
        ("say", {"text": "a", "times": True}, "argument 'times' must be an integer, got True"),
        ("say", {"text": "a", "times": None}, "argument 'times' must be an integer, got None"),
        ("say", {"text": "a", "times": 0}, "argument 'times' must be between 1 and 1000000, got 0"),
        ("move", {"x": "0.5"}, "argument 'x' must be a number, got '0.5'"),
        ("move", {"x": True}, "argument 'x' must be a number, got True"),
        ("points", {"points": "[[0.5, 0.5]]"}, "argument 'points' must be a list of [x, y] points"),
        ("points", {"points": [["0.5", "0.5"]]}, "argument 'points' must be a list of [x, y] points"),
        ("points", {"points": [[True, False]]}, "argument 'points' must be a list of [x, y] points"),
        ("look", {"text": "a", "what": "b"}, "argument 'what' is given twice"),
        ("look", {"what": "b", "text": "a"}, "argument 'text' is given twice"),
        ("look", {"Text": "a"}, "argument 'Text' is unknown; allowed: text"),
    ],
)
def test_no_value_is_turned_into_another_type(box: Toolbox, name: str, arguments: Any, sentence: str) -> None:
    assert sentence in refusal(box, name, arguments)


def test_every_schema_forbids_other_arguments(box: Toolbox) -> None:
    for schema in box.schemas():
        assert schema["function"]["parameters"]["additionalProperties"] is False


# -- levels ----------------------------------------------------------------------------------------


def test_of_several_problems_only_those_of_the_first_level_are_told_stepwise(box: Toolbox) -> None:
    message = refusal(box, "steps", {"a": int(Level.GEOMETRY), "b": int(Level.TYPE)})
    assert message == "steps: argument 'b' is wrong in TYPE."
    both = refusal(box, "steps", {"a": int(Level.BOUNDS), "b": int(Level.BOUNDS)})
    assert both == "steps: argument 'a' is wrong in BOUNDS; argument 'b' is wrong in BOUNDS."


def test_names_of_arguments_come_before_every_level(box: Toolbox) -> None:
    assert refusal(box, "steps", {"a": int(Level.INDEX)}) == "steps: argument 'b' is missing."


def test_without_steps_every_problem_is_told(box: Toolbox) -> None:
    message = refusal(box, "all_at_once", {"a": int(Level.GEOMETRY), "b": int(Level.INDEX), "c": 1})
    assert message == (
        "all_at_once: argument 'c' is unknown; allowed: a, b; argument 'a' is wrong in GEOMETRY; "
        "argument 'b' is wrong in INDEX."
    )


def test_the_levels_are_in_the_papers_order() -> None:
    assert sorted(Level) == [Level.INDEX, Level.TYPE, Level.CARDINALITY, Level.BOUNDS, Level.GEOMETRY]


# -- the conversation as an argument ---------------------------------------------------------------


def test_the_conversation_is_given_by_the_toolbox_and_shown_to_nobody(box: Toolbox) -> None:
    parameters = box.specs["count_images"].schema()["function"]["parameters"]
    assert list(parameters["properties"]) == ["text"]
    assert parameters["required"] == []
    session = Session(images=[SessionImage(np.zeros((2, 2, 3), np.uint8))] * 3)
    assert box.call("count_images", {}, session).result.value == 3


@pytest.mark.parametrize("value", [None, 1, "$session", Session(), {}])
def test_nobody_else_can_give_the_conversation(box: Toolbox, value: Any) -> None:
    assert "argument 'session' is unknown; allowed: text" in refusal(box, "count_images", {"session": value})


# -- tools from data -------------------------------------------------------------------------------


class DataTools:
    """Tools that no method stands for."""

    def tool_specs(self) -> Iterable[ToolSpec]:
        def run(**values: Any) -> ToolResult:
            assert isinstance(values.pop("session"), Session)
            return ToolResult(value=values, text=" ".join(values.values()))

        return [
            ToolSpec(
                name=name,
                description="Say words.",
                kinds={"first": TextKind(), "second": TextKind()},
                argument_docs={"first": "The first word."},
                required=("first",),
                aliases=(f"{name}_again",),
                renamed={"zeroth": "first"},
                motion=False,
                function=run,
                suite="data",
                given=("session",),
            )
            for name in ("one", "two")
        ]


def test_tools_from_data_are_checked_and_called_as_any_other() -> None:
    box = Toolbox([DataTools()])
    assert sorted(box.specs) == ["one", "two"]
    assert box.call("two_again", {"zeroth": "a", "second": "b"}, Session()).result.text == "a b"
    assert "argument 'first' is missing" in refusal(box, "one", {})
    assert "argument 'session' is unknown" in refusal(box, "one", {"first": "a", "session": 1})
    schema = box.specs["one"].schema()["function"]["parameters"]
    assert schema["properties"]["first"]["description"] == "The first word."
    assert schema["required"] == ["first"]


def test_only_the_tools_of_the_chosen_suites_are_offered(tools: Tools) -> None:
    assert sorted(Toolbox([tools, DataTools()], suites=["data"]).specs) == ["one", "two"]
    assert "say" in Toolbox([tools, DataTools()], suites=["test"]).specs
    assert Toolbox([tools, DataTools()], suites=[]).specs == {}


# -- answers ---------------------------------------------------------------------------------------


def test_a_long_text_is_cut_and_says_by_how_much(box: Toolbox) -> None:
    text = box.call("say", {"text": "ab", "times": 10_001}, Session()).result.text
    assert text == "ab" * 10_000 + " ... (2 more characters are not shown)"
    whole = box.call("say", {"text": "ab", "times": 10_000}, Session()).result.text
    assert whole == "ab" * 10_000


def test_the_backend_is_told_after_the_text(box: Toolbox) -> None:
    assert box.call("look", {}, Session()).result.text == "Looked. (backend: pixels)"
    assert box.call("say", {"text": "Hello."}, Session()).result.text == "Hello."


def test_a_failure_inside_is_told_in_one_short_line(box: Toolbox) -> None:
    error = error_of(box.call("fail", {}, Session()))
    assert error.code is ErrorCode.INTERNAL
    assert error.message.startswith("fail failed inside: ValueError: first line second line xxx")


@pytest.mark.parametrize(("width", "height"), [(8193, 1), (1, 8193), (9000, 9000)])
def test_a_picture_with_too_long_a_side_does_not_enter_the_conversation(box: Toolbox, width: int, height: int) -> None:
    session = Session()
    error = error_of(box.call("picture", {"width": width, "height": height}, session))
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert error.message == f"picture: the picture would be {width}x{height}; a side may have 8192 px."
    assert session.images == []


def test_a_picture_of_the_largest_side_enters_the_conversation(box: Toolbox) -> None:
    assert box.call("picture", {"width": 8192, "height": 1}, Session()).image_index == 0


def test_what_is_no_picture_is_a_failure_of_the_tool(box: Toolbox) -> None:
    for name, arguments in (("grey", {}), ("picture", {"width": 0, "height": 4})):
        session = Session()
        assert error_of(box.call(name, arguments, session)).code is ErrorCode.INTERNAL
        assert session.images == []


def test_the_picture_that_enters_is_the_one_that_was_shown_not_another_that_is_kept(box: Toolbox) -> None:
    session = Session(images=[SessionImage(np.zeros((4, 6, 3), np.uint8))])
    record = box.call("copy", {"image_index": 0}, session)
    assert record.result.ok
    assert session.images[1].rgb is record.result.image
    assert session.variables["kept"].size == (1, 1)


# -- time ------------------------------------------------------------------------------------------


def test_a_call_that_is_late_is_a_timeout_and_leaves_nothing_behind(tools: Tools, box: Toolbox) -> None:
    session = Session(variables={"a": 1})
    error = error_of(box.call("wait", {}, session))
    assert error.code is ErrorCode.TIMEOUT
    assert error.message == "wait: no result within 0.02 s."
    tools.release.set()
    tools.threads[0].join()
    assert session.variables == {"a": 1}
    assert session.images == []


def test_while_too_many_late_calls_run_no_other_is_started(tools: Tools, box: Toolbox) -> None:
    for _ in range(Limits().abandoned):
        assert error_of(box.call("wait", {}, Session())).code is ErrorCode.TIMEOUT
    error = error_of(box.call("wait", {}, Session()))
    assert error.code is ErrorCode.UNAVAILABLE
    assert error.message == "wait: 4 earlier calls ran out of time and still run."
    assert error_of(box.call("say", {"text": "a"}, Session())).code is ErrorCode.UNAVAILABLE
    assert tools.started == 4
    tools.release.set()
    for thread in tools.threads:
        thread.join()
    assert box.call("say", {"text": "a"}, Session()).result.ok


def test_a_late_failure_is_nobodys(tools: Tools, box: Toolbox) -> None:
    assert error_of(box.call("wait", {"fail": "late"}, Session())).code is ErrorCode.TIMEOUT
    tools.release.set()
    tools.threads[0].join()
    assert box.call("say", {"text": "a"}, Session()).result.ok


def test_a_tool_with_deadlines_of_its_own_runs_in_the_callers_thread() -> None:
    assert Guard().run("here", threading.current_thread, None) is threading.current_thread()
    assert Guard().run("there", threading.current_thread, 10.0) is not threading.current_thread()


def test_the_handler_of_a_signal_runs_while_a_tool_is_waited_for() -> None:
    handled = threading.Event()

    def work() -> bool:
        os.kill(os.getpid(), signal.SIGUSR1)
        return handled.wait(10)

    previous = signal.signal(signal.SIGUSR1, lambda *_: handled.set())
    try:
        assert Guard().run("tool", work, 30.0)
    finally:
        signal.signal(signal.SIGUSR1, previous)


def test_a_ctrl_c_ends_the_waiting_and_the_call_counts_as_late(tools: Tools) -> None:
    guard = Guard(Limits(abandoned=1))

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


# -- the same call again ---------------------------------------------------------------------------


def test_the_second_same_call_is_told_so_and_the_fourth_is_refused(tools: Tools, box: Toolbox) -> None:
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


def test_what_timed_out_or_was_not_there_may_be_tried_again(tools: Tools) -> None:
    box, session = Toolbox([tools], guard=Guard(Limits(abandoned=10))), Session()
    for name, code in (("wait", ErrorCode.TIMEOUT), ("unavailable", ErrorCode.UNAVAILABLE)):
        assert {error_of(box.call(name, {}, session)).code for _ in range(5)} == {code}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_the_same_plain_values_are_the_same_call(value: Any) -> None:
    guard, session = Guard(), Session()
    held = {"a": value}
    assert guard.note(session.history, "tool", held, False) == 1
    assert guard.note(session.history, "tool", held, False) == 2
    assert guard.note(session.history, "tool", {"a": [value]}, False) == 1
