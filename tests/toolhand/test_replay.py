"""`toolhand replay`: the same words and the same result, again and again; and the same motion in the simulator."""

import io
import json
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.records import Chunk
from mcap.stream_reader import StreamReader
from rosbags.highlevel import AnyReader

from tests.gen3 import GEN3
from tests.refusals import refused
from toolhand.agent_node.console.narration import Narrator
from toolhand.agent_node.events import Event, Thought, ignore
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.runs.folder import write_json, write_trajectory
from toolhand.agent_node.runs.mcap.recorder import MotionLog, Recorder
from toolhand.cli.replay import load, play, replay
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.episode import run_episode, summarize
from toolhand.training.env.goal_from_text import task_from_text
from toolhand.training.env.recorded import motion_log

TASK = "pick up the far coconut water"


class Done:
    """A finished run: its folder, its station, and what it told at the terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.station = Station(load_scene(EXAMPLE_SCENE))
        world = self.station.world
        about = {"scene": "example", "perception": "sim", "policy": "scripted"}
        told = io.StringIO()
        narrator = Narrator()
        with redirect_stdout(told):
            narrator.header(TASK, about | {"seed": 0})
            recorder = Recorder(TASK, lambda: world.time, narrator.hear)
            outcome = run_episode(
                self.station, ScriptedPolicy(), task_from_text(TASK, self.station), listener=recorder.hear
            )
            self.result = summarize(outcome, self.station) | about | {"run_dir": str(folder)}
            narrator.summary(self.result)
        self.told = told.getvalue()
        recorder.write(folder, motion_log(self.station), self.result)
        write_trajectory(folder, outcome.episode, self.station.toolbox.schemas())
        write_json(folder / "result.json", self.result)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return Done(tmp_path_factory.mktemp("run"))


@pytest.fixture
def copy(done: Done, tmp_path: Path) -> Path:
    """A copy of the run that a test may change."""
    return Path(shutil.copytree(done.folder, tmp_path / "run"))


def test_replay_tells_what_the_run_told_and_gives_its_result(done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert replay(done.folder, as_json=True) == 0
        told = capsys.readouterr()
        assert told.err == done.told
        assert json.loads(told.out) == json.loads((done.folder / "result.json").read_text())
    assert "calls   robot.execute_grasp" in told.err
    assert told.err.startswith("Scene example, perception sim, policy scripted, seed 0: 'pick up")


def test_the_file_alone_is_enough(done: Done, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = Path(shutil.copy(done.folder / "run.mcap", tmp_path / "mine.mcap"))
    assert replay(alone, as_json=True) == 0
    told = capsys.readouterr()
    assert told.err == done.told
    assert json.loads(told.out) == json.loads((done.folder / "result.json").read_text())


def test_the_recorded_joints_are_those_that_the_simulator_logged(done: Done) -> None:
    log = done.station.world.log
    joint = done.station.world.model.joint("joint_2").qposadr[0]
    with AnyReader([done.folder]) as bag:
        wanted = [c for c in bag.connections if c.topic == "/joint_states"]
        states = [bag.deserialize(raw, c.msgtype) for c, _, raw in bag.messages(connections=wanted)]
    assert [state.position[1] for state in states] == [qpos[joint] for _, qpos in log]
    assert list(states[0].name) == list(GEN3.joints)
    assert states[-1].position[7] > 0.1  # the gripper has closed on something


def chunks(path: Path) -> list[bytes]:
    with path.open("rb") as stream:
        return [record.data for record in StreamReader(stream, emit_chunks=True).records if isinstance(record, Chunk)]


def test_the_same_seed_gives_the_same_chunks_and_metadata(done: Done, tmp_path: Path) -> None:
    Done(tmp_path)
    assert chunks(tmp_path / "run.mcap") == chunks(done.folder / "run.mcap") != []
    for name in ("metadata.yaml", "foxglove_layout.json"):
        assert (tmp_path / name).read_bytes() == (done.folder / name).read_bytes()


def test_a_run_with_its_images_takes_less_than_a_megabyte(done: Done) -> None:
    assert 20_000 < (done.folder / "run.mcap").stat().st_size < 1_000_000


def test_at_a_speed_the_run_takes_its_own_time_divided_by_it(done: Done) -> None:
    record = load(done.folder)
    slept: list[float] = []
    heard: list[Event] = []
    play(record, heard.append, 2.0, slept.append)
    assert sum(slept) == pytest.approx((record.steps[-1].time_s - record.steps[0].time_s) / 2.0)
    assert sum(slept) > 2.0
    assert max(slept) <= 0.2  # Ctrl-C is heard soon
    assert heard == [step.event for step in record.steps]


def test_without_a_speed_nothing_is_waited_for(done: Done) -> None:
    play(load(done.folder), ignore, None, lambda seconds: pytest.fail("it waited"))


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), float("inf"), 1e9])
def test_a_speed_that_is_none_is_one_sentence(done: Done, speed: float) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "speed must be above 0"):
        replay(done.folder, speed)


def test_carried_out_again_the_same_comes_of_it(done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(done.folder, again=True, as_json=True) == 0
    told = capsys.readouterr()
    assert "the same as recorded" in told.err
    assert json.loads(told.out)["differences"] == []


def test_carried_out_again_in_another_scene_the_difference_is_told(
    copy: Path, done: Done, capsys: pytest.CaptureFixture[str]
) -> None:
    other = done.result | {"scene": "3"}
    recorder = Recorder(TASK, lambda: 0.0)
    recorder.write(copy, None, other)
    write_json(copy / "result.json", other)
    assert replay(copy, again=True) == 1
    told = capsys.readouterr().out
    assert "not as recorded: " in told
    assert "success is false, was true" in told


def test_carried_out_again_a_dry_run_stays_one(copy: Path, done: Done, capsys: pytest.CaptureFixture[str]) -> None:
    dry = done.result | {"approval": "dry-run"}
    Recorder(TASK, lambda: 0.0).write(copy, None, dry)
    write_json(copy / "result.json", dry)
    assert replay(copy, again=True, as_json=True) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["sim_time_s"] == 0.0
    assert (told["success"], told["time_to_first_motion_s"]) == (False, None)


def test_a_result_of_another_run_is_noticed(copy: Path, done: Done) -> None:
    for change in ({"task": "something else"}, {"success": False}, {"turns": 99}):
        write_json(copy / "result.json", done.result | change)
        with refused(ErrorCode.INVALID_ARGUMENT, "are not of the same run"):
            replay(copy)


def test_truth_that_was_added_later_belongs_to_the_run(
    copy: Path, done: Done, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(copy / "result.json", done.result | {"truth": None, "wall_s": 99.0, "extra": 1})
    assert replay(copy, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["extra"] == 1


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("run.mcap", b"", "is no MCAP file"),
        ("run.mcap", None, "There is no recording"),
        ("result.json", b"{", "is damaged"),
        ("result.json", b"[]", "is no JSON object"),
    ],
)
def test_a_damaged_run_is_one_sentence(copy: Path, name: str, content: bytes | None, sentence: str) -> None:
    if content is None:
        (copy / name).unlink()
    else:
        (copy / name).write_bytes(content)
    with refused(ErrorCode.INVALID_ARGUMENT, sentence):
        replay(copy)


def test_a_recording_that_was_cut_is_one_sentence(copy: Path) -> None:
    data = (copy / "run.mcap").read_bytes()
    (copy / "run.mcap").write_bytes(data[: len(data) // 2])
    with pytest.raises(ToolError, match="is damaged: it is cut short"):
        replay(copy)


def test_a_run_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with refused(ErrorCode.INVALID_ARGUMENT, "There is no run"):
        replay(tmp_path / "gone")


def test_an_interrupted_run_is_told_as_far_as_it_went(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorder = Recorder(TASK, lambda: 1.0)
    recorder.hear(Thought("I begin."))
    recorder.write(tmp_path, MotionLog(np.zeros(0), GEN3.joints, np.zeros((0, 8))))
    assert replay(tmp_path, as_json=True) == 1
    told = capsys.readouterr()
    assert "thinks  I begin." in told.err
    assert "was interrupted here" in told.err
    assert json.loads(told.out)["error_code"] == "STOPPED"
    with pytest.raises(ToolError, match="nothing to compare with"):
        replay(tmp_path, again=True)


def test_nothing_in_a_recording_steers_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    recorder = Recorder(evil, lambda: 1.0)
    recorder.hear(Thought(evil))
    recorder.write(tmp_path, None, {"task": evil, "answer": evil, "error_code": evil, "success": False, "scene": evil})
    assert replay(tmp_path) == 1
    told = capsys.readouterr().out
    assert "owned" in told
    assert all(character.isprintable() or character == "\n" for character in told)


@pytest.mark.parametrize("code", [["x"], {}, 3, None, "NO_GRASP"])
def test_any_code_in_a_result_has_an_exit_status(tmp_path: Path, code: Any) -> None:
    Recorder(TASK, lambda: 1.0).write(tmp_path, None, {"task": TASK, "success": False, "error_code": code})
    assert replay(tmp_path) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"scene": None}, "does not say: scene"),
        ({"seed": "0"}, "does not say: seed"),
        ({"perception": "lidar"}, "There is no perception 'lidar'"),
        ({"protocol": "klingon"}, "klingon"),
        ({"approval": "always"}, "does not say: approval"),
        ({"protocol": 1}, "does not say: protocol"),
        ({"scene": "/gone.yaml"}, "There is no scene"),
    ],
)
def test_a_run_that_cannot_be_carried_out_again_says_why(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    result = {"task": TASK, "success": True, "scene": "example", "perception": "sim", "seed": 0}
    Recorder(TASK, lambda: 1.0).write(tmp_path, None, result | change)
    (tmp_path / "trajectory.jsonl").write_text("{}")
    with pytest.raises(ToolError, match=sentence):
        replay(tmp_path, again=True)
