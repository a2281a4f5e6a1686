"""The report: what it shows, that nothing in it can act, and that it stays small."""

import base64
import hashlib
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.pages import Page
from tests.saying import Says, call
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policy import Reply
from toolhand.agent_node.runs.folder import write_trajectory
from toolhand.agent_node.runs.report import complete_report, with_images, write_report
from toolhand.agent_node.runs.report_parts import MAX_FRAMES
from toolhand.tool_nodes.drawing import RGB
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, unavailable
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, Text
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

HOSTILE = '</script></pre><script>alert(1)</script><img src=x onerror=alert(2)> "\' onload="x" &amp; \ud800 \x00'


class Robot:
    """Images and motions without a robot."""

    def __init__(self, size: tuple[int, int] = (12, 16), noise: bool = False) -> None:
        self._rng = np.random.default_rng(0)
        self._size, self._noise = size, noise

    def _image(self) -> RGB:
        if self._noise:
            return self._rng.integers(0, 256, (*self._size, 3), dtype=np.uint8)
        return np.full((*self._size, 3), 120, np.uint8)

    @tool("robot.capture_image")
    def capture(self) -> ToolResult:
        """Look."""
        return ToolResult(text="Captured.", image=self._image())

    @tool("roborefer.detect_one")
    def detect(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Point."""
        if obj_name == "nothing":
            return ToolResult(text=f"Detected '{obj_name}'", image=image_index.rgb)
        points = [(0.25, 0.5), (0.75, 0.5)]
        return ToolResult(text=f"Detected '{obj_name}'", image=image_index.rgb, facts={"points": points})

    @tool("grasp_generator.compute_grasp")
    def grasp(self) -> ToolResult:
        """Choose."""
        return ToolResult(text="Generated grasp.", image=self._image())

    @tool("robot.execute_grasp", motion=True)
    def execute(self) -> ToolResult:
        """Grasp."""
        return ToolResult(text="Grasped.", image=self._image(), facts={"grasped": {"stood": None}})

    @tool("robot.place_object_at_2d_location", motion=True)
    def place(self) -> ToolResult:
        """Fail to place."""
        raise ToolError(ErrorCode.PLACE_BLOCKED, "The place is taken.")

    @tool("robot.place_object_at_3d_location", motion=True)
    def place_for_real(self, how: Text) -> ToolResult:
        """Place."""
        seen = how == "seen"
        fact = {
            "wanted_m": [0.4, 0.1, 0.0],
            "wanted": [0.5, 0.5],
            "found_m": [0.4123, 0.1, 0.1] if seen else None,
            "found": [0.55, 0.5] if seen else None,
            "off_mm": 12.3 if seen else None,
        }
        return ToolResult(text="Placed.", image=self._image(), facts={"placed": fact})


LOOK, CHOOSE, GRASP, PLACE = (
    call(name)
    for name in (
        "robot.capture_image",
        "grasp_generator.compute_grasp",
        "robot.execute_grasp",
        "robot.place_object_at_2d_location",
    )
)


def run(*lines: str, task: str = "Pick the box.", robot: Robot | None = None) -> Episode:
    return Agent(Says(*lines), Toolbox([robot or Robot()]), ConversationSettings(turn_budget=max(len(lines), 1))).run(
        task
    )


def report(tmp_path: Path, episode: Episode, summary: dict[str, Any] | None = None, frames: Sequence[RGB] = ()) -> Page:
    path = tmp_path / "report.html"
    write_report(path, episode, summary or {}, frames, [0.25 * k for k in range(len(frames))])
    return Page(path)


def test_a_report_tells_the_run_from_the_sentence_to_the_answer(tmp_path: Path) -> None:
    episode = run("<think>Look first.</think>" + LOOK, CHOOSE, GRASP, "<answer>I have the box.</answer>")
    page = report(tmp_path, episode, {"seed": 3, "times": {"wall_s": 1.5}, "versions": {"toolhand": "0.1.0"}})
    for words in ("Pick the box.", "Look first.", "robot.execute_grasp", "Grasped.", "I have the box.", "success"):
        assert words in page.text
    for words in ("Turn 4", "Seed", "times › wall [s]", "1.5", "versions › toolhand", "0.1.0"):
        assert words in page.text
    assert "You are an expert in 3D spatial reasoning" in page.text
    assert "Not judged" in page.text


def test_the_images_of_a_report_are_those_of_the_conversation(tmp_path: Path) -> None:
    page = report(tmp_path, run(LOOK, CHOOSE, GRASP + PLACE, "<answer>PLACE_BLOCKED: Taken.</answer>"))
    story = re.findall(r"First view|Chosen grasp|After the grasp|After placing", page.text)
    assert story == ["First view", "Chosen grasp", "After the grasp"]
    assert [a["href"] for a in page.all("a")] == ["#image-0", "#image-1", "#image-2"]
    assert [f["id"] for f in page.all("figure") if "id" in f] == ["image-0", "image-1", "image-2"]
    assert len(page.all("img")) == 6
    for image in page.all("img"):
        assert image["alt"]
        assert re.fullmatch(r"images/00[012]\.jpg", image["src"])
        assert (image["width"], image["height"]) == ("16", "12")


def test_a_report_is_small_because_each_image_lies_once_in_its_folder(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    robot = Robot((480, 640))
    robot._image = lambda: noise  # type: ignore[method-assign]
    look = call("roborefer.detect_one", obj_name="red box", image_index=0)
    episode = run(LOOK, look, CHOOSE, GRASP, "<answer>Done.</answer>", robot=robot)
    write_trajectory(tmp_path, episode, [])
    page = report(tmp_path, episode)
    html = (tmp_path / "report.html").read_bytes()
    assert len(html) < 40_000
    named = {image["src"] for image in page.all("img")}
    assert named == {f"images/{path.name}" for path in (tmp_path / "images").iterdir()}
    inside = with_images(html, lambda path: (tmp_path / path).read_bytes())
    assert b'src="images/' not in inside
    assert inside.count(b'src="data:image/jpeg;base64,') == len(page.all("img"))
    missing = with_images(html, lambda path: (tmp_path / "gone" / path).read_bytes())
    assert missing == html


def test_the_judgement_stands_apart_from_the_report_and_a_contradiction_is_named(tmp_path: Path) -> None:
    episode = run(GRASP, "<answer>Done.</answer>")
    truth = {"success": False, "picked": np.True_, "placed": False, "score": "1/2"}
    page = report(tmp_path, episode, {"truth": truth})
    for words in ("As the tools reported it", "Simulator's judgement", "picked yes", "placed no", "score 1/2"):
        assert words in page.text
    assert "The tools reported success; the simulator disagrees." in page.text
    agreed = report(tmp_path, episode, {"truth": {"success": True}})
    assert "disagrees" not in agreed.text


@pytest.mark.parametrize(
    ("lines", "badge"),
    [
        ([GRASP, "<answer>Done.</answer>"], "success"),
        ([PLACE, "<answer>NOT_HOLDING: Nothing to place.</answer>"], "NOT_HOLDING"),
        ([LOOK, "<answer>Two boxes.</answer>"], "answered, no motion"),
        ([LOOK], "TURN_BUDGET"),
    ],
)
def test_the_outcome_is_a_badge(tmp_path: Path, lines: list[str], badge: str) -> None:
    report(tmp_path, run(*lines))
    html = (tmp_path / "report.html").read_text()
    first = re.search(r'<span class="badge [a-z]*">([^<]*)</span>', html)
    assert first is not None
    assert first.group(1) == badge


def test_calls_that_were_not_run_are_shown_as_such(tmp_path: Path) -> None:
    page = report(tmp_path, run(PLACE + LOOK, "<tool_call>{</tool_call>", "nonsense", "<answer>a</answer>"))
    assert page.text.count("not run") == 3
    assert page.text.count("a malformed call") == 2
    assert "Not run: an earlier motion in this turn failed." in page.text
    assert "PLACE_BLOCKED" in page.text


def test_hostile_text_is_shown_as_text_everywhere(tmp_path: Path) -> None:
    calm = run(
        "<think>box</think>" + LOOK,
        call("roborefer.detect_one", obj_name="box", image_index=0),
        call("box"),
        "<answer>box</answer>",
    )
    hostile = run(
        f"<think>{HOSTILE}</think>" + LOOK,
        call("roborefer.detect_one", obj_name=HOSTILE.replace("\ud800", ""), image_index=0),
        call(HOSTILE),
        f"<answer>{HOSTILE}</answer>",
        task=HOSTILE,
    )
    before = report(tmp_path, calm, {"truth": {"a": "b"}, "a": "b"})
    after = report(tmp_path, hostile, {"truth": {HOSTILE: HOSTILE}, HOSTILE: HOSTILE})
    shapes = [[(tag, sorted(attributes)) for tag, attributes in page.elements] for page in (before, after)]
    assert shapes[0] == shapes[1]
    assert after.script == before.script == ""
    assert after.text.count("<script>alert(1)</script>") >= 8


def test_a_report_needs_nothing_from_outside_and_only_its_own_script_may_run(tmp_path: Path) -> None:
    page = report(tmp_path, run(LOOK, "<answer>a</answer>"), frames=[np.zeros((8, 8, 3), np.uint8)] * 3)
    for _, attributes in page.elements:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:image/jpeg;base64,", "images/"))
        assert not any(name.startswith("on") for name in attributes)
    (policy,) = [m["content"] for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; img-src data: file: 'self'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    )
    style = (tmp_path / "report.html").read_text().split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


@pytest.mark.parametrize(("given", "shown"), [(1, 1), (7, 7), (60, 60), (61, 60), (500, 60)])
def test_the_film_has_at_most_sixty_frames_and_keeps_both_ends(tmp_path: Path, given: int, shown: int) -> None:
    page = report(tmp_path, run("<answer>a</answer>"), frames=[np.zeros((8, 8, 3), np.uint8)] * given)
    times = [float(image["data-time"]) for image in page.all("img") if "data-time" in image]
    assert len(times) == shown <= MAX_FRAMES
    assert times == sorted(times)
    assert (times[0], times[-1]) == (0.0, pytest.approx(0.25 * (given - 1), abs=0.06))
    (slider,) = page.all("input")
    assert slider["max"] == str(shown - 1)
    assert [("hidden" in image) for image in page.all("img")] == [False] + [True] * (shown - 1)


def test_a_run_without_images_or_turns_still_has_a_report(tmp_path: Path) -> None:
    page = report(
        tmp_path, Agent(Says(unavailable("The model server does not answer.")), Toolbox([Robot()])).run("Pick.")
    )
    assert "UNAVAILABLE" in page.text
    assert page.all("img") == []
    assert page.all("script") == []


def test_the_timeline_splits_the_wall_time_by_who_spent_it(tmp_path: Path) -> None:
    episode = run(LOOK, GRASP, "<answer>a</answer>")
    page = report(tmp_path, episode)
    bars = [a for a in page.all("span") if "flex" in a.get("style", "")]
    assert [bar["class"] for bar in bars] == ["policy", "tool", "policy", "motion", "policy", "other"]
    shares = [float(bar["style"].split()[1]) for bar in bars]
    assert sum(shares) == pytest.approx(1000, abs=0.1)
    assert "robot.execute_grasp" in bars[3]["title"]


def test_a_report_stays_below_four_megabytes_whatever_the_run_holds(tmp_path: Path) -> None:
    robot = Robot((480, 640), noise=True)
    wordy = "<" * 50_000
    lines = [f"<think>{wordy}</think>" + LOOK * 3 + call(wordy) for _ in range(12)]
    frames = [np.random.default_rng(k).integers(0, 256, (480, 640, 3), dtype=np.uint8) for k in range(60)]
    episode = run(*lines, f"<answer>{wordy}</answer>", task=wordy, robot=robot)
    page = report(tmp_path, episode, {f"k{k}": wordy for k in range(300)}, frames)
    assert (tmp_path / "report.html").stat().st_size < 4_000_000
    assert "trajectory.jsonl holds everything" in page.text
    assert len([image for image in page.all("img") if "data-time" in image]) == 60


def test_arguments_too_deep_to_print_do_not_stop_the_report(tmp_path: Path) -> None:
    deep = "[" * 900 + "]" * 900
    page = report(
        tmp_path, run(f'<tool_call>{{"name": "gone", "arguments": {deep}}}</tool_call>', "<answer>a</answer>")
    )
    assert "UNKNOWN_TOOL" in page.text


@pytest.mark.parametrize(
    ("frames", "times", "sentence"),
    [
        ([np.zeros((4, 4, 3), np.uint8)], [], "Every frame needs one time, got 1 frames and 0 times."),
        ([np.zeros((4, 4), np.uint8)], [0.0], r"A picture must be uint8 \(H, W, 3\), got uint8 \(4, 4\)."),
        ([np.zeros((4, 4, 3), np.float32)], [0.0], r"A picture must be uint8 \(H, W, 3\), got float32"),
        ([np.zeros((0, 4, 3), np.uint8)], [0.0], r"A picture must be uint8 \(H, W, 3\), got uint8 \(0, 4, 3\)."),
    ],
)
def test_frames_that_are_no_film_are_refused_and_no_file_appears(
    tmp_path: Path, frames: list[Any], times: list[float], sentence: str
) -> None:
    with pytest.raises(ToolError, match=sentence) as caught:
        write_report(tmp_path / "report.html", run("<answer>a</answer>"), {}, frames, times)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert list(tmp_path.iterdir()) == []


def test_what_a_model_took_and_its_protocol_are_shown_and_nothing_is_made_up_for_one_that_counts_nothing(
    tmp_path: Path,
) -> None:
    counted = [
        Reply(line, 1500, 40, cost=0.002, latency_s=0.5, first_token_s=0.25)
        for line in (LOOK, LOOK, "<answer>Done.</answer>")
    ]
    episode = Agent(Says(*counted), Toolbox([Robot()])).run("Look.")
    text = report(tmp_path, episode).text
    assert "protocol spacetools, 4,500 tokens read and 120 written, cost 0.006" in text
    assert text.count("first word after 0.25 s, 1,500 tokens read and 40 written, cost 0.002") == 3
    assert "tokens" not in report(tmp_path, run(LOOK, "<answer>Done.</answer>")).text


def test_what_the_agent_added_for_the_policy_is_shown_beside_the_tools_words(tmp_path: Path) -> None:
    text = report(tmp_path, run(PLACE, "<answer>Done.</answer>")).text
    assert "Error PLACE_BLOCKED: The place is taken." in text
    assert "Note: The object is still held; choose another point on a new picture." in text
    assert "Note: One turn is left: it must answer." in text


# -- how the run was begun, and what was understood ---------------------------------------------------

BEGUN = {
    "began": "2026-11-22T10:30:00+00:00",
    "scene": "mine.yaml",
    "scene_seed": 7,
    "seed": 3,
    "perception": "pixels",
    "policy": "scripted",
    "protocol": "spacetools",
    "transport": "process",
    "role": "operator",
    "version": "0.1.0",
    "command": "toolhand run 'pick up the <can>' --seed 3",
}


def rows(tmp_path: Path) -> dict[str, str]:
    """Every row of a table of the page."""
    found = re.findall(r'<th scope="row">(.*?)</th><td dir="auto">(.*?)</td>', (tmp_path / "report.html").read_text())
    return {unescape(name): unescape(value) for name, value in found}


def test_the_head_says_when_where_and_with_what_and_how_to_do_it_again(tmp_path: Path) -> None:
    page = report(tmp_path, run("<answer>a</answer>"), BEGUN)
    shown = rows(tmp_path)
    assert {key: shown[key] for key in ("Date (UTC)", "Scene", "Seed", "Perception", "Policy", "Transport")} == {
        "Date (UTC)": "2026-11-22 10:30:00",
        "Scene": "mine.yaml (seed 7)",
        "Seed": "3",
        "Perception": "pixels",
        "Policy": "scripted",
        "Transport": "process",
    }
    assert shown["Toolhand"] == "0.1.0"
    assert "toolhand run 'pick up the <can>' --seed 3" in page.text


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (
            "pick up the far can",
            {"Do": "pick it up and hold it", "What": "the can", "Which": "farthest from the camera"},
        ),
        ("grab the can left of the red box", {"What": "the can", "Which": "to the left of the red box"}),
        (
            "put the apple between the cup and the bowl",
            {"Do": "pick it up and put it down", "What": "the apple", "Where": "between the cup and the bowl"},
        ),
        (
            "put it in the black bin",
            {"Do": "put it down", "What": "what the gripper holds", "Where": "in the black bin"},
        ),
        ("sing a song", {"Nothing": "I cannot "}),
    ],
)
def test_what_the_scripted_policy_understood_is_told(tmp_path: Path, task: str, told: dict[str, str]) -> None:
    report(tmp_path, run("<answer>a</answer>", task=task), BEGUN)
    shown = rows(tmp_path)
    for name, words in told.items():
        assert shown[name].startswith(words)


def test_of_a_model_the_goal_stands_for_what_was_understood(tmp_path: Path) -> None:
    basis = {"goal": "pick apple_1", "source": "the task's own goal"}
    model = BEGUN | {"policy": "openai:m"}
    report(tmp_path, run("<answer>a</answer>"), model | {"judged_against": basis, "truth": {"picked": True}})
    assert rows(tmp_path)["Goal"] == "pick apple_1 (the task's own goal)"
    assert "What was understood" not in report(tmp_path, run("<answer>a</answer>"), model).text


def test_the_judgement_says_what_it_was_judged_against(tmp_path: Path) -> None:
    basis = {"goal": "pick apple_1, place in black_bin_1", "source": "the robot's own reading"}
    page = report(tmp_path, run("<answer>a</answer>"), {"truth": {"picked": False}, "judged_against": basis})
    assert "Judged against: pick apple_1, place in black_bin_1 (the robot's own reading)." in page.text


# -- candidates and placement --------------------------------------------------------------------------


def sources(page: Page, alt: str) -> list[str]:
    return [image["src"] for image in page.all("img") if alt in image["alt"]]


def test_candidates_are_numbered_in_their_image_and_told_beside_it(tmp_path: Path) -> None:
    look = call("roborefer.detect_one", obj_name="red box", image_index=0)
    page = report(tmp_path, run(LOOK, look, "<answer>AMBIGUOUS: Which?</answer>", robot=Robot((120, 160))))
    assert "red box: 2 found by roborefer.detect_one(0.250, 0.500)(0.750, 0.500)" in page.text
    assert sources(page, "2 found for red box, numbered") == ["images/001.jpg"]
    marks = [(float(text["x"]), float(text["y"])) for text in page.all("text")]
    beside = [(x * 160 + 8, y * 120 - 8) for x, y in ((0.25, 0.5), (0.75, 0.5))]
    assert marks == beside * 2  # among the candidates, and in its turn
    bare = report(tmp_path, run(LOOK, call("roborefer.detect_one", obj_name="nothing", image_index=0)))
    assert "Candidates" not in bare.text


def test_the_candidate_that_was_taken_is_marked(tmp_path: Path) -> None:
    look = call("roborefer.detect_one", obj_name="red box", image_index=0)
    page = report(tmp_path, run(LOOK, look, call("sam2.segment_from_point", x=0.75, y=0.5, image_index=0)))
    assert "(0.250, 0.500)(0.750, 0.500) taken" in page.text


@pytest.mark.parametrize("seen", [True, False])
def test_where_an_object_should_stand_and_stands_is_drawn_with_the_distance(tmp_path: Path, seen: bool) -> None:
    line = call("robot.place_object_at_3d_location", how="seen" if seen else "unseen")
    page = report(tmp_path, run(LOOK, line, "<answer>Placed.</answer>", robot=Robot((120, 160))))
    assert "it should stand at x = 0.400 m, y = 0.100 m" in page.text
    assert ("it stands at x = 0.412 m, y = 0.100 m, 12 mm off" in page.text) is seen
    assert ("shows nothing new" in page.text) is not seen
    assert len(sources(page, "Where it should stand")) == 1
    assert (len(page.all("path")), len(page.all("circle"))) == (1, int(seen))
    assert "should stand" not in report(tmp_path, run(LOOK, PLACE)).text


# -- completed later -----------------------------------------------------------------------------------


def test_a_report_that_is_completed_later_is_the_one_that_would_have_been_written_at_once(tmp_path: Path) -> None:
    episode = run(LOOK, GRASP, "<answer>Done.</answer>", task=f"<!-- end of about -->{HOSTILE}")
    frames, times = [np.zeros((8, 8, 3), np.uint8)] * 3, [0.0, 0.25, 0.5]
    early = {"policy": "openai:m", "transport": "ros", "truth": None}
    summary = (
        BEGUN
        | early
        | {
            "task": episode.task,
            "success": True,
            "truth": {"picked": True},
            "sim_time_s": 3.0,
            "judged_against": {"goal": "pick -->a", "source": "b"},
        }
    )
    at_once, later = tmp_path / "at_once.html", tmp_path / "later.html"
    write_report(at_once, episode, summary, frames, times)
    write_report(later, episode, early, (), ())
    complete_report(later, summary, frames, times)
    assert later.read_bytes() == at_once.read_bytes()
