"""What a long conversation keeps, lets go and says about it."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

from tests.saying import Says, call
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.context_window import Memory, held_bytes, without_arrays
from toolhand.agent_node.conversation import Conversation
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.runs.folder import jpeg_bytes, write_trajectory
from toolhand.agent_node.runs.report import write_report
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Data, ImageIndex
from toolhand.tool_nodes.toolbox.images import PackedImage, SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox, tool
from toolhand.tool_nodes.types import Frame

MIB = 1 << 20


def frame(number: int, size: tuple[int, int] = (8, 6)) -> Frame:
    w, h = size
    rgb = np.full((h, w, 3), number % 256, np.uint8)
    rgb[0, 0] = (number // 256, 7, 9)
    return Frame(rgb, np.ones((h, w), np.float32), np.eye(3), np.eye(4), float(number))


class Camera:
    """Takes images that differ."""

    def __init__(self, size: tuple[int, int] = (8, 6)) -> None:
        self.taken = 0
        self._size = size

    @tool("robot.capture_image", repeatable=True)
    def capture(self) -> ToolResult:
        """Look."""
        seen = frame(self.taken, self._size)
        self.taken += 1
        variables = {"captured_image": SessionImage(seen.rgb, seen), f"depth_{self.taken}": seen.depth}
        return ToolResult(value=seen, text=f"Picture {self.taken}.", image=seen.rgb, variables=variables)

    @tool("test.show")
    def show(self, image_index: ImageIndex) -> ToolResult:
        """Say how bright a picture is."""
        return ToolResult(text=f"Brightness {image_index.rgb[1, 1, 0]}.")

    @tool("test.sum")
    def add(self, array: Data) -> ToolResult:
        """Add up."""
        return ToolResult(text=f"{array.sum():g}")


LOOK = call("robot.capture_image") + call("test.show", image_index=0)
DONE = "<answer>Done.</answer>"


def run(*lines: str, memory: Memory | None = None, camera: Camera | None = None) -> tuple[Episode, Says]:
    policy = Says(*lines, DONE)
    agent = Agent(
        policy,
        Toolbox([camera or Camera()]),
        ConversationSettings(turn_budget=len(lines) + 1, memory=memory or Memory()),
    )
    return agent.run("Look."), policy


def last_words(episode: Episode) -> str:
    return episode.messages[-2].words


def test_the_first_and_the_newest_images_stay_usable_and_the_others_say_how_to_look_again() -> None:
    kept = [call("test.show", image_index=index) for index in (0, 18, 19)]
    episode, _ = run(*[LOOK] * 20, *kept, call("test.show", image_index=3), memory=Memory(images=2))
    words = [m.words for m in episode.messages if m.role == "tool"][-4:]
    assert [w.partition(".")[0] for w in words[:3]] == ["Brightness 0", "Brightness 18", "Brightness 19"]
    assert "image 3, which is too old and was dropped: usable are 0 and 18 to 19" in words[3]
    assert "look again with robot.capture_image" in words[3]


def test_the_policy_is_shown_the_first_and_the_newest_images_only() -> None:
    _, policy = run(*[LOOK] * 6, memory=Memory(shown=2, block=1))
    shown = [[m.image_index for m in read if m.image is not None] for read in policy.read]
    assert shown == [[], [0], [0, 1], [0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]


def test_the_text_of_an_old_message_keeps_the_index_of_its_image() -> None:
    episode, _ = run(*[LOOK] * 6, memory=Memory(shown=1, images=1, block=1))
    texts = [m.text for m in episode.messages if m.image_index is not None]
    assert [f"<image {k}>" in text for k, text in enumerate(texts)] == [True] * 6


def test_old_images_are_kept_for_the_recording_and_the_report(tmp_path: Path) -> None:
    episode, _ = run(*[LOOK] * 9, memory=Memory(images=2, shown=1, block=1))
    assert [isinstance(image, PackedImage) for image in episode.session.images] == [False, *[True] * 6, False, False]
    write_trajectory(tmp_path, episode, [])
    for k in range(9):
        assert np.array_equal(episode.session.images[k].rgb, frame(k).rgb)
        assert (tmp_path / f"images/{k:03d}.jpg").read_bytes() == jpeg_bytes(frame(k).rgb)
    write_report(tmp_path / "report.html", episode, {}, [], [])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(f'<figure id="image-{k}">' in page for k in range(9))


def test_an_old_image_has_no_link_to_its_frame() -> None:
    packed = PackedImage(SessionImage(frame(1).rgb, frame(1), (0, 0, 8, 6)))
    assert (packed.size, packed.frame, packed.window) == ((8, 6), None, None)
    with pytest.raises(ToolError, match="no link"):
        packed.require_frame()


def test_a_dropped_variable_is_named_as_such_and_the_newest_stay() -> None:
    lines = [*[LOOK] * 5, call("test.sum", array="$depth_5"), call("test.sum", array="$depth_1")]
    episode, _ = run(*lines, memory=Memory(variables=3))
    words = [m.words for m in episode.messages if m.role == "tool"][-2:]
    assert words[0].startswith("48")
    assert "$depth_1, which is gone: only the newest 3 variables are kept; make it anew" in words[1]


def test_a_variable_that_was_set_again_is_new_again() -> None:
    episode, _ = run(*[LOOK] * 5, memory=Memory(variables=2))
    assert list(episode.session.variables) == ["captured_image", "depth_5"]
    assert "captured_image" not in episode.session.forgotten


def test_a_dropped_variable_that_is_made_anew_is_known_again() -> None:
    class Maker:
        @tool("test.make", repeatable=True)
        def make(self) -> ToolResult:
            """Make."""
            return ToolResult(variables={"a": 1.0})

    box, session = Toolbox([Maker()]), Session(forgotten={"a": None})
    box.call("test.make", {}, session)
    assert (session.variables, session.forgotten) == ({"a": 1.0}, {})


def test_variables_are_dropped_by_their_bytes_the_oldest_first_and_the_newest_never() -> None:
    session = Session(variables={name: np.zeros(600, np.uint8) for name in "abc"})
    Memory(variable_bytes=1300).trim(session, [])
    assert list(session.variables) == ["b", "c"]
    Memory(variable_bytes=10).trim(session, [])
    assert list(session.variables) == ["c"]


def test_a_view_counts_as_all_that_it_keeps_alive_and_a_shared_array_once() -> None:
    whole = np.zeros(1000, np.uint8)
    assert held_bytes(Session(variables={"a": whole[:1], "b": whole[5:7], "c": whole}), []) == 1000


def test_the_names_of_dropped_variables_are_bounded_too() -> None:
    session = Session(variables={f"v{k}": k for k in range(1000)})
    Memory(variables=1).trim(session, [])
    assert len(session.forgotten) == 256
    assert "v998" in session.forgotten


def test_a_record_keeps_its_words_and_its_code_but_no_arrays_and_no_traceback() -> None:
    class Failing(Camera):
        @tool("test.fail")
        def fail(self) -> ToolResult:
            """Fail after much work."""
            work = np.zeros(10)
            raise ToolError(ErrorCode.NO_DEPTH, "Nothing there.") from ValueError(work.sum())

    box, session = Toolbox([Failing()]), Session()
    seen = without_arrays(box.call("robot.capture_image", {}, session))
    assert (seen.result.text, seen.image_index) == ("Picture 1.", 0)
    assert (seen.result.value, seen.result.image, dict(seen.result.variables), seen.result.source) == (
        None,
        None,
        {},
        None,
    )
    error = without_arrays(box.call("test.fail", {}, session)).result.error
    assert error is not None
    assert (error.code, error.__traceback__, error.__cause__) == (ErrorCode.NO_DEPTH, None, None)


def test_what_the_policy_was_given_at_each_turn_can_be_put_together_again() -> None:
    camera, given = Camera(), []
    conversation = Conversation(
        "Look.", Toolbox([camera]), ConversationSettings(memory=Memory(images=2, shown=2, block=1))
    )
    for text in [*[LOOK] * 4, LOOK + "x" * 300_000, *[LOOK] * 4, DONE]:
        given.append([(m.role, m.text, m.words, m.image_index, _pixels(m)) for m in conversation.messages])
        conversation.step(Reply(text))
    episode = conversation.episode
    assert conversation.done
    assert sum(message.image is not None for message in episode.messages) == 3 < camera.taken == 8
    for index, expected in enumerate(given):
        again = episode.given(index)
        assert [(m.role, m.text, m.words, m.image_index, _pixels(m)) for m in again] == expected
        assert all(new is old for new, old in zip(again, episode.messages, strict=False) if new.image is old.image)
    assert [sum(shown is not None for *_, shown in messages) for messages in given] == [0, 1, 2, 3, 3, 3, 3, 3, 3, 3]


def test_a_fork_knows_what_was_given_before_it_and_goes_on_by_itself() -> None:
    conversation = Conversation(
        "Look.", Toolbox([Camera()]), ConversationSettings(memory=Memory(images=1, shown=1, block=1))
    )
    for _ in range(3):
        conversation.step(Reply(LOOK))
    twin = conversation.fork()
    twin.step(Reply(LOOK))
    assert [_pixels(m) for m in twin.episode.given(2)] == [_pixels(m) for m in conversation.episode.given(2)]
    assert (len(twin.episode.turns), len(conversation.episode.turns)) == (4, 3)


def test_an_image_that_was_dropped_is_kept_alive_by_no_turn() -> None:
    conversation = Conversation(
        "Look.", Toolbox([Camera()]), ConversationSettings(memory=Memory(images=1, shown=1, block=1))
    )
    conversation.step(Reply(LOOK))
    conversation.step(Reply(LOOK))
    (image,) = [weakref.ref(m.image) for m in conversation.messages if m.image_index == 1]
    conversation.step(Reply(LOOK))
    conversation.step(Reply(LOOK))
    gc.collect()
    assert image() is None
    (shown,) = [m.image for m in conversation.episode.given(2) if m.image_index == 1]
    assert np.array_equal(shown, frame(1).rgb)


def _pixels(message: Message) -> bytes | None:
    return None if message.image is None else message.image.tobytes()


def test_a_conversation_of_200_turns_with_images_stays_below_64_mib() -> None:
    camera = Camera((320, 240))
    episode, _ = run(*[LOOK] * 200, camera=camera)
    one = camera._size[0] * camera._size[1] * (3 + 4)
    assert len(episode.session.images) == camera.taken == 200
    held = held_bytes(episode.session, episode.messages)
    assert 17 * one < held < 64 * MIB
    assert 200 * one > 1.5 * 64 * MIB  # what it would be without the rule
    assert all(record.result.image is None for record in episode.records)
