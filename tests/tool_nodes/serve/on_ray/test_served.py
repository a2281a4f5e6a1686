"""What is served, called as a conversation calls it; one cluster for all of these."""

import gc
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.refusals import refused
from tests.tool_nodes.serve.conftest import Running
from tests.tool_nodes.serve.test_requests import frame
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.perception.presets import pixels
from toolhand.tool_nodes.registry import Shared
from toolhand.tool_nodes.results import Cause, ErrorCode, ToolError
from toolhand.tool_nodes.serve.calling import Connection, connect
from toolhand.tool_nodes.serve.ports import ServedDepth, ServedPointer
from toolhand.tool_nodes.toolbox.images import SessionImage

SMALL = SessionImage(np.zeros((8, 8, 3), np.uint8))


@pytest.fixture
def connection(running: Running) -> Connection:
    return connect()


def ask(name: str, words: str, image: SessionImage = SMALL) -> tuple[float, float]:
    value: list[tuple[float, float]] = connect().call(name, image, words).value
    return value[0]


@pytest.mark.parametrize("name", ["pointer", "quick"])
def test_an_answer_names_its_backend_and_an_error_of_the_backend_comes_as_it_is(
    connection: Connection, name: str
) -> None:
    pointer = ServedPointer(name)
    assert (pointer.backend, pointer.reads_truth) == ("obedient", False)
    assert pointer.point(SMALL, "anything").backend == "obedient"
    with pytest.raises(ToolError, match=r"It is not there\. Look\.") as caught:
        pointer.point(SMALL, "absent")
    assert (caught.value.code, caught.value.cause) == (ErrorCode.OBJECT_NOT_FOUND, None)
    with refused(ErrorCode.INTERNAL, "failed inside: ZeroDivisionError: no"):
        pointer.point(SMALL, "broken")


def test_served_depth_is_that_of_the_process_itself(connection: Connection) -> None:
    shown = frame(3, (480, 640))
    image = SessionImage(shown.rgb, shown).cropped(100, 50, 500, 400)
    here, there = pixels(Shared()).estimate(image), registry.make("depth", "served").estimate(image)
    np.testing.assert_array_equal(there.value[0], here.value[0])
    assert (there.value[1], there.backend) == (here.value[1], here.backend)
    assert there.value[0].flags.writeable


def test_an_image_is_put_once_read_where_it_lies_and_let_go(connection: Connection) -> None:
    shown = frame(4, (480, 640))
    before = len(connection.shared)
    for name in ("pointer", "quick", "pointer"):
        assert ask(name, "sum", SessionImage(shown.rgb, shown)) == (float(shown.rgb.sum()), 0.0)
    assert len(connection.shared) == before + 1
    del shown
    gc.collect()
    assert len(connection.shared) == before


def test_ten_thousand_images_leave_nothing_behind(connection: Connection) -> None:
    """9 GB of images through a store of 0.2 GB, each let go when its conversation is."""

    def seen(number: int) -> bool:
        shade = number % 251
        image = SessionImage(np.full((480, 640, 3), shade, np.uint8))
        return ask("pointer", "sum", image) == (shade * 480 * 640 * 3.0, 0.0)

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(seen, range(500)))
        gc.collect()
        before = resident_mb()
        assert all(threads.map(seen, range(500, 10_000)))
    gc.collect()
    assert resident_mb() - before < 200.0
    assert len(connection.shared) == 0


def resident_mb() -> float:
    """Memory of this process, without what it shares with the store [MB]."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return float(fields["RssAnon"].split()[0]) / 1000.0


def test_requests_that_wait_are_answered_together(connection: Connection) -> None:
    with ThreadPoolExecutor(48) as threads:
        sizes = [size for size, _ in threads.map(lambda k: ask("batched", str(k)), range(96))]
    assert max(sizes) > 4


@pytest.mark.parametrize("name", ["pointer", "quick", "scaled"], ids=["actor", "serve", "autoscaled"])
@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        ("absent", ErrorCode.OBJECT_NOT_FOUND, None),
        ("broken", ErrorCode.INTERNAL, None),
        ("exit", ErrorCode.INTERNAL, None),
        ("interrupt", ErrorCode.INTERNAL, None),
        ("unsendable", ErrorCode.INTERNAL, None),
        ("die", ErrorCode.UNAVAILABLE, Cause.DIED),
        ("memory", ErrorCode.UNAVAILABLE, Cause.OUT_OF_MEMORY),
    ],
)
def test_every_kind_of_entry_has_the_same_manners(
    connection: Connection, name: str, words: str, code: ErrorCode, cause: Cause | None
) -> None:
    old = ask(name, "process")
    with pytest.raises(ToolError) as caught:
        ask(name, words)
    assert (caught.value.code, caught.value.cause) == (code, cause)
    assert name == "scaled" or (ask(name, "process") == old) == (cause is None)
    assert ask(name, "sum") == (0.0, 0.0)


@pytest.mark.parametrize("name", ["pressed", "pressed-serve"])
def test_more_calls_than_can_be_answered_leave_the_process_alone(connection: Connection, name: str) -> None:
    old, processes = ask(name, "process"), []

    def call(words: str) -> Cause | None:
        try:
            processes.append(ask(name, words))
        except ToolError as error:
            return error.cause
        return None

    with ThreadPoolExecutor(16) as threads:  # eight times what a deadline of 4 s lets through
        ends = list(threads.map(call, ["sleep 0.5"] * 64))
    assert set(ends) <= {None, Cause.TIMEOUT, Cause.FULL_QUEUE}
    assert ends.count(None) >= 8
    ends = [call("process") for _ in range(5)]  # what was left over is worked off meanwhile
    assert None in ends
    assert processes[-1] == old


def test_what_cannot_be_sent_is_told(connection: Connection) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "cannot be sent"):
        connection.call("pointer", SMALL, (k for k in "no text"))
    with pytest.raises(ToolError, match="'pointer'"):
        ask("pointer", "unsendable")
    assert ask("pointer", "anything") == (1.0, 1.0)


def test_names_that_are_not_served_are_told(connection: Connection) -> None:
    with pytest.raises(ToolError, match="'second' is not served: pointer, quick") as caught:
        registry.make("pointer", "served:second")
    assert caught.value.cause is Cause.NOT_SERVED
    with pytest.raises(ToolError, match="served as a pointer, no depth"):
        ServedDepth("quick")


def test_the_status_counts_calls_and_errors(connection: Connection, running: Running) -> None:
    ask("pointer", "anything")
    with pytest.raises(ToolError):
        ask("pointer", "absent")
    connection.report()
    shown = running.toolhand("serve", "status", "--json")
    (row,) = [row for row in json.loads(shown.stdout) if row["name"] == "pointer"]
    assert row["calls"] > row["errors"]["object_not_found"] >= 1
    assert row["replicas"] == {"RUNNING": 1}
    assert 0 < row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"]


def test_a_second_service_in_the_same_folder_is_refused(running: Running) -> None:
    done = running.toolhand("serve", "up", str(running.folder / "serve.yaml"))
    assert (done.returncode, "Something is served already" in done.stderr) == (1, True)
    assert ask("pointer", "anything") == (1.0, 1.0)
