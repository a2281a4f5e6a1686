import gc
import pickle
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest

from toolhand.tool_nodes.perception.frames import FrameCache
from toolhand.tool_nodes.serve.requests import ByReference, PortRequest, SentImage, SharedArrays, references, unpack
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.limits import CallHistory, CallLimiter
from toolhand.tool_nodes.types import Frame


def frame(seed: int = 0, size: tuple[int, int] = (240, 320)) -> Frame:
    random = np.random.default_rng(seed)
    rgb = random.integers(0, 256, (*size, 3), dtype=np.uint8)
    return Frame(rgb, random.random(size, dtype=np.float32), np.eye(3), np.eye(4), 0.5)


class Memory:
    """Stands for the shared memory: references are numbers."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self.shared = SharedArrays(self.put)

    def put(self, value: object) -> int:
        self.values.append(value)
        return len(self.values) - 1


def test_a_frame_has_the_key_of_its_content_here_and_elsewhere() -> None:
    first = frame()
    elsewhere = pickle.loads(pickle.dumps(first))
    assert elsewhere is not first
    assert elsewhere.key == first.key == frame().key
    others = [
        frame(1),
        replace(first, stamp=0.6),
        replace(first, camera="wrist"),
        replace(first, depth=first.depth + 1),
        replace(first, ids=np.zeros(first.depth.shape, np.int32)),
        replace(first, labels=("box",)),
        replace(first, T_base_camera=np.diag([1.0, 1.0, -1.0, 1.0])),
    ]
    assert len({first.key, *(other.key for other in others)}) == 8


def test_a_copy_from_another_process_finds_what_was_computed_of_the_frame() -> None:
    looked: list[Frame] = []
    cache = FrameCache(lambda shown: looked.append(shown) or len(looked))
    first = frame()
    assert [cache(first), cache(first), cache(pickle.loads(pickle.dumps(first))), cache(frame(1))] == [1, 1, 1, 2]


def test_the_same_call_on_a_copy_of_a_frame_is_the_same_call() -> None:
    limiter, history = CallLimiter(), CallHistory()
    times = [limiter.note(history, "look", {"frame": frame(seed)}, False) for seed in (0, 0, 1)]
    assert times == [1, 2, 1]


def test_an_image_is_put_once_and_travels_by_reference() -> None:
    memory = Memory()
    shown, other = frame(), frame()
    whole, crop = SessionImage(shown.rgb, shown), SessionImage(shown.rgb, shown).cropped(10, 20, 250, 220)
    sent = [memory.shared.pack(image) for image in (whole, whole, crop, SessionImage(other.rgb, other))]
    assert sent[0] == sent[1] == SentImage(None, ByReference(0), None)
    assert sent[2] == SentImage(ByReference(1), ByReference(0), (10, 20, 250, 220))
    assert sent[3].frame == ByReference(0)  # the same content
    assert len(memory.values) == 2


def test_what_the_maker_of_a_frame_has_added_stays_here() -> None:
    @dataclass(frozen=True, eq=False)
    class Received(Frame):
        header: object = None

    plain = frame()
    small = frame(size=(8, 8))
    for shown in (plain, small):
        received = Received(**{each.name: getattr(shown, each.name) for each in fields(Frame)}, header=lambda: None)
        memory = Memory()
        sent = memory.shared.pack(SessionImage(received.rgb, received)).frame
        arrived = pickle.loads(pickle.dumps(memory.values[sent.ref] if isinstance(sent, ByReference) else sent))
        assert (type(arrived), arrived.key) == (Frame, shown.key)


def test_what_nobody_has_any_more_is_let_go() -> None:
    memory = Memory()
    one, other = frame(), frame()
    memory.shared.pack(SessionImage(one.rgb, one))
    memory.shared.pack(SessionImage(other.rgb, other))
    del one
    gc.collect()
    assert len(memory.shared) == 1  # the other has it still
    memory.values.clear()
    del other
    gc.collect()
    assert len(memory.shared) == 0


def test_ten_thousand_images_leave_nothing_behind() -> None:
    memory = Memory()
    base = np.zeros((200, 200, 3), np.uint8)
    for k in range(10_000):
        base[0, 0] = k % 251, k // 251, 7
        memory.shared.pack(SessionImage(base.copy()))
        memory.values[-1:] = [None]
    assert len(memory.shared) <= 1


def test_small_objects_travel_with_the_request() -> None:
    memory = Memory()
    small = SessionImage(np.zeros((32, 32, 3), np.uint8))
    sent = memory.shared.pack(small)
    assert sent.rgb is small.rgb
    assert memory.shared.pack("the red box") == "the red box"
    assert not memory.values


@pytest.mark.parametrize("cropped", [False, True])
def test_what_arrives_is_what_was_sent(cropped: bool) -> None:
    memory = Memory()
    shown = frame()
    image = SessionImage(shown.rgb, shown)
    image = image.cropped(0, 0, 300, 200) if cropped else image
    cloud = np.ones((240 * 320, 3), np.float32)
    request = PortRequest((memory.shared.pack(image), memory.shared.pack(cloud), "box"), 1e12)
    values = {ref: pickle.loads(pickle.dumps(memory.values[ref])) for ref in references([request])}
    arrived, points, words = unpack(request, values)
    np.testing.assert_array_equal(arrived.rgb, image.rgb)
    assert arrived.frame.key == shown.key
    assert arrived.window == image.window
    assert arrived.is_whole_frame is not cropped
    np.testing.assert_array_equal(points, cloud)
    assert words == "box"


def test_only_a_backend_that_writes_gets_a_copy() -> None:
    rgb = np.zeros((8, 8, 3), np.uint8)
    rgb.setflags(write=False)
    request = PortRequest((SentImage(rgb, None, None),), 1e12)
    assert unpack(request, {})[0].rgb is rgb
    copied = unpack(request, {}, writable=True)[0].rgb
    copied[0, 0] = 1
    assert not rgb.any()
