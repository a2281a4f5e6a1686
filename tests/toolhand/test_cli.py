"""The command line: one JSON document whatever happens, an exit status that can be relied on, never a traceback."""

import inspect
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image

from tests.extensions.package import install
from toolhand.agent_node.console.terminal import Interrupt
from toolhand.cli import doctor
from toolhand.cli import main as command_line
from toolhand.cli import options as stations
from toolhand.cli.commands import COMMANDS, CliCommand, every
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.version import version

ROOT = Path(__file__).parents[2]
PICK = "pick up the far coconut water"
RECORDED = {"run.mcap", "metadata.yaml", "foxglove_layout.json"}
Cli = Callable[..., "Ended"]


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs a command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TOOLHAND_DEBUG", raising=False)
    monkeypatch.setattr("toolhand.sim.animation.ANIMATION_FRAMES", 3)

    def command(*arguments: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            command_line.main(list(arguments))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Ended(int(end.value.code or 0), captured.out, captured.err)

    return command


def started(*arguments: str, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), **options.pop("env", {})}
    command = [sys.executable, "-m", "toolhand", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(command, cwd=cwd, env=environment, text=True, **pipes)


def run_dir_of(folder: Path) -> Path:
    (found,) = (folder / "runs").iterdir()
    return found


# -- run -------------------------------------------------------------------------------------------


def test_a_run_that_works_leaves_a_complete_folder_and_exits_with_0(cli: Cli, tmp_path: Path) -> None:
    ended = cli("run", PICK, "--json")
    assert ended.status == 0
    result = ended.document
    assert result["task"] == PICK
    assert result["success"] is True
    assert result["truth"] == {"picked": True, "placed": None, "score": 1}
    assert result["error_code"] is None
    assert result["tool_calls"] >= 5
    assert 0 < result["time_to_first_motion_s"] < result["wall_s"]
    assert result["sim_time_s"] > 3
    assert result["answer"]
    folder = run_dir_of(tmp_path)
    assert Path(result["run_dir"]).name == folder.name
    files = {"images", "report.html", "result.json", "trajectory.jsonl"}
    assert {path.name for path in folder.iterdir()} == files | RECORDED | {"safety.jsonl"}
    assert json.loads((folder / "safety.jsonl").read_text().splitlines()[0])["outcome"]
    assert json.loads((folder / "result.json").read_text()) == result
    (line,) = (folder / "trajectory.jsonl").read_text().splitlines()
    for name in json.loads(line)["images"]:
        assert Image.open(folder / name).size[1] == 480
    assert "</html>" in (folder / "report.html").read_text()
    assert "Captured 640x480 image" in ended.err
    assert "simulator's judgement" in ended.err


@pytest.mark.parametrize(
    ("text", "code", "status"),
    [
        ("", "NOT_UNDERSTOOD", 2),
        ("   ", "NOT_UNDERSTOOD", 2),
        ("sing a song", "NOT_UNDERSTOOD", 2),
        ("请把红色的盒子拿起来", "NOT_UNDERSTOOD", 2),
        pytest.param("pick " * 20_000, "NOT_UNDERSTOOD", 2, id="100 kB"),
        pytest.param("x" * 100_000, "NOT_UNDERSTOOD", 2, id="one word of 100 kB"),
        ("pick up the violin", "NOT_RECOGNISED", 1),
        ("pick up the coconut water", "AMBIGUOUS", 1),
    ],
)
def test_what_cannot_be_done_says_why_and_is_still_recorded(
    cli: Cli, tmp_path: Path, text: str, code: str, status: int
) -> None:
    ended = cli("run", text, "--json")
    result = ended.document
    assert (ended.status, result["error_code"], result["success"]) == (status, code, False)
    unread = code in ("NOT_UNDERSTOOD", "NOT_RECOGNISED")  # no goal is known then, and nothing is judged
    assert result["truth"] is None if unread else result["truth"]["score"] == 0
    assert result["time_to_first_motion_s"] is None
    assert 0 < len(result["answer"]) < 1000
    assert {"report.html", "result.json", "trajectory.jsonl"} <= {p.name for p in run_dir_of(tmp_path).iterdir()}


def test_marks_of_a_protocol_are_no_order(cli: Cli) -> None:
    ended = cli("run", "<answer>done</answer>", "--json")
    assert (ended.status, ended.document["error_code"]) == (0, None)
    assert (ended.document["tool_calls"], ended.document["runs"]) == (0, [])


def test_text_that_is_no_unicode_does_not_break_the_documents(cli: Cli, tmp_path: Path) -> None:
    ended = cli("run", "pick up the \udcff\ud800 box", "--json")
    assert ended.status in (1, 2)
    assert ended.document["task"].startswith("pick up the ")
    assert json.loads((run_dir_of(tmp_path) / "result.json").read_text(encoding="utf-8"))


def test_a_run_without_animation_still_has_a_report(cli: Cli, tmp_path: Path) -> None:
    assert cli("run", "pick up the red box", "--no-animation", "--scene", "example").status == 0
    assert (run_dir_of(tmp_path) / "report.html").is_file()


def test_a_budget_that_is_too_small_is_told(cli: Cli) -> None:
    ended = cli("run", PICK, "--turns", "2", "--json", "--no-animation")
    assert ended.status == 1
    assert ended.document["error_code"] == "TURN_BUDGET"


def test_a_report_that_cannot_be_written_leaves_only_complete_files(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *rest: Any) -> None:
        raise ToolError(ErrorCode.UNAVAILABLE, f"Cannot write {path}: No space left on device.")

    monkeypatch.setattr("toolhand.agent_node.runs.write.write_report", full)
    ended = cli("run", "sing a song", "--json")
    assert ended.status == 2
    assert ended.document["error_code"] == "NOT_UNDERSTOOD"
    assert ended.document["warning"].endswith("report.html: No space left on device.")
    folder = run_dir_of(tmp_path)
    files = {path.name for path in folder.rglob("*") if path.is_file()}
    assert files == {"result.json", "trajectory.jsonl"} | RECORDED
    assert json.loads((folder / "result.json").read_text())["task"] == "sing a song"


def test_a_run_that_never_began_leaves_no_folder(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("toolhand.cli.run_in_process.judged_sentence", crash)
    assert cli("run", PICK).status == 1
    assert list((tmp_path / "runs").iterdir()) == []


# -- Ctrl-C ----------------------------------------------------------------------------------------


def interrupted_at(mark: str, tmp_path: Path) -> Ended:
    """A run that gets Ctrl-C as soon as a line with the mark appears."""
    process = started("run", PICK, "--json", cwd=tmp_path)
    assert process.stderr is not None
    for line in process.stderr:
        if mark in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert "Traceback" not in err
    return Ended(process.returncode, out, err)


def test_ctrl_c_during_the_motion_stops_the_arm_and_writes_the_result(tmp_path: Path) -> None:
    ended = interrupted_at("calls   robot.execute_grasp", tmp_path)
    assert ended.status == 130
    assert "Stopping: the arm holds its position." in ended.err
    assert ended.document["error_code"] == "STOPPED"
    assert ended.document["truth"]["picked"] is False
    folder = run_dir_of(tmp_path)
    assert json.loads((folder / "result.json").read_text()) == ended.document
    assert "STOPPED" in (folder / "report.html").read_text()


def test_ctrl_c_while_the_animation_is_made_keeps_the_result(tmp_path: Path) -> None:
    ended = interrupted_at("simulator's judgement", tmp_path)
    assert ended.status == 130
    assert ended.document["success"] is True
    assert "</html>" in (run_dir_of(tmp_path) / "report.html").read_text()


def test_ctrl_c_before_there_is_an_arm_ends_the_command(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str, objects: str = "") -> None:
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(stations, "named_scene", interrupt)
    ended = cli("run", PICK, "--json")
    assert ended.status == 130
    assert ended.document == {"success": False, "error_code": "STOPPED", "answer": "Interrupted."}


def test_the_first_ctrl_c_stops_and_the_second_ends(capfd: pytest.CaptureFixture[str]) -> None:
    stops: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    with Interrupt(lambda: stops.append(1)) as interrupt:
        assert not interrupt.hit
        signal.raise_signal(signal.SIGINT)
        assert interrupt.hit
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert stops == [1]
    assert signal.getsignal(signal.SIGINT) == before
    assert "the arm holds its position" in capfd.readouterr().err


# -- wrong input -----------------------------------------------------------------------------------

WRONG = [
    (("run",), "TEXT"),
    (("run", PICK, "--seed", "-1"), "The seed must be 0 or greater, got -1."),
    (("run", PICK, "--seed", "two"), "--seed"),
    (("run", PICK, "--turns", "0"), "turns must be 1 or more, got 0."),
    (("run", PICK, "--perception", "magic"), "There is no perception 'magic': it must be pixels or served"),
    (("run", PICK, "--policy", "magic"), "scripted"),
    (("run", PICK, "--scene", "-3"), "A scene seed must be 0 or greater, got -3."),
    (
        ("run", PICK, "--scene", "²"),
        "There is no scene '²': give a seed such as 3, clutter such as pile:17, the path of a YAML file",
    ),
    (("run", PICK, "--runs-dir", "file/runs"), "Cannot write file/runs"),
    (("scene", "nowhere.yaml"), "There is no scene 'nowhere.yaml'"),
    (("scene", "9" * 5000), "There is no scene '999"),
    (("scene", "."), "There is no scene '.'"),
    (("scene", "broken.yaml"), "broken.yaml, line 3: it is no plain YAML"),
    (("scene", "list.yaml"), "it must be a mapping"),
    (("scene", "unknown.yaml"), '"unobtainium" is not in the catalogue'),
    (("scene", "3", "--image", "file/picture.png"), "Cannot write file/picture.png"),
    (("scene", "3", "--image", "."), "Cannot write .: it is a folder."),
    (("scene", "3", "--colour", "red"), "--colour"),
    (("call", "robot.fly"), "There is no tool 'robot.fly'."),
    (("call", "robot.capture_image", "{"), "The arguments are not a JSON object"),
    (("call", "robot.capture_image", "[" * 100_000), "The arguments are not a JSON object"),
    (("call", "robot.capture_image", "3"), "arguments must be a JSON object, got int"),
    (("call", "robot.capture_image", "NaN"), "arguments must be a JSON object, got float"),
    (("call", "robot.capture_image", '{"a": 1}'), "argument 'a' is unknown; allowed: none"),
    (("call", "robot.capture_image", "--image", "file/picture.png"), "Cannot write file/picture.png"),
    (("bench", "manipulation", "--seeds", "0"), "--seeds must be 1 or more, got 0."),
    (("bench", "grasp", "--n", "0"), "--n must be 1 or more, got 0."),
    (("bench", "chess"), "grasp, manipulation"),
    (("run", "pick", "up", "the", "red", "box"), "in quotes. For example: toolhand run 'pick up the red box'"),
    (("run", "pick", "up", "--seed", "3"), "in quotes. For example: toolhand run 'pick up' --seed 3"),
    (("run", "pick", "--seed", "3", "up"), 'in quotes. For example: toolhand run "pick up the red box"'),
    (("run", "--seed", "3", "pick", "up"), 'in quotes. For example: toolhand run "pick up the red box"'),
    ((PICK,), f"There is no command '{PICK}'. A sentence is carried out by toolhand run '{PICK}'."),
    (("replay", "gone"), "There is no run gone"),
    (("runs", "gone"), "Cannot list the runs in gone"),
    (
        ("fly",),
        "The commands are run, talk, dialogue, runs, open, replay, view, scene, objects, tools, call, mock, mcp, "
        "approve, console, calibrate, doctor, completion, rollouts, robot, data, bench, train, models, engines, "
        "serve, up, stop, ros.",
    ),
]


@pytest.fixture
def files(tmp_path: Path) -> None:
    """Files that commands stumble over."""
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "broken.yaml").write_text("objects:\n  - {name: red box, position: [0.4\n")
    (tmp_path / "list.yaml").write_text("- red box\n")
    (tmp_path / "unknown.yaml").write_text("objects:\n  - {name: unobtainium, position: [0.4, 0.1]}\n")


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(("arguments", "sentence"), WRONG, ids=[" ".join(given)[:60] for given, _ in WRONG])
def test_wrong_input_is_one_document_with_a_clear_sentence_and_status_2(
    cli: Cli, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    ended = cli(*arguments, "--json")
    assert ended.status == 2
    document = ended.document
    assert document["success"] is False
    assert document["error_code"] in ("INVALID_ARGUMENT", "UNKNOWN_TOOL")
    told = document.get("answer") or document["text"]
    assert sentence in told
    assert "\n" not in told
    assert len(told) < 900
    assert not (tmp_path / "runs").exists()


def test_a_sentence_without_quotes_is_told_in_one_line_for_people_too(cli: Cli) -> None:
    ended = cli("run", "pick", "up", "the", "red", "box")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        "INVALID_ARGUMENT: The sentence must be one argument, in quotes. For example: "
        "toolhand run 'pick up the red box'\n"
    )


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_told(cli: Cli, option: str) -> None:
    assert cli(option) == (0, f"toolhand {version()}\n", "")
    assert cli(option, "--json").document == {"version": version()}


def test_what_a_plug_in_prints_while_it_is_imported_is_no_part_of_the_document(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "print('a demonstration')\nfrom toolhand.tool_nodes.perception.presets import pixels as noisy\n"
    package = install(tmp_path / "site", "noisy", source, {"toolhand.pointer": {"noisy": "noisy:noisy"}})
    monkeypatch.syspath_prepend(str(package.folder))
    registry._entries.cache_clear()
    ended = cli("call", "robot.capture_image", "--pointer", "noisy", "--json")
    registry._entries.cache_clear()
    assert ended.status == 0
    assert ended.document
    assert "a demonstration" in ended.err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("arguments", [("scene", "broken.yaml"), ("run", PICK, "--seed", "x"), ("fly",), ("run",)])
def test_without_json_stdout_stays_empty_and_the_complaint_is_on_stderr(cli: Cli, arguments: tuple[str, ...]) -> None:
    ended = cli(*arguments)
    assert ended.status == 2
    assert ended.out == ""
    assert ended.err.strip()


@pytest.mark.parametrize("command", [("scene", "3"), ("tools",), ("call", "robot.capture_image"), ("run", PICK)])
def test_an_exception_inside_is_one_sentence(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    def crash(name: str, objects: str = "") -> None:
        raise RuntimeError("the cat sat on it")

    monkeypatch.setattr(stations, "named_scene", crash)
    ended = cli(*command, "--json")
    assert ended.status == 1
    assert ended.document["error_code"] == "INTERNAL"
    assert "RuntimeError: the cat sat on it." in ended.document["answer"]
    assert ended.err.count("\n") == 1


def test_developers_can_ask_for_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(name: str, objects: str = "") -> None:
        raise RuntimeError("the cat sat on it")

    monkeypatch.setattr(stations, "named_scene", crash)
    monkeypatch.setenv("TOOLHAND_DEBUG", "1")
    with pytest.raises(RuntimeError, match="cat"):
        command_line.main(["scene", "3"])


# -- help ------------------------------------------------------------------------------------------


def test_without_arguments_the_help_is_shown(cli: Cli) -> None:
    bare, asked = cli(), cli("--help")
    assert (bare.status, asked.status) == (2, 0)
    assert bare.out == asked.out
    for command in COMMANDS:
        assert f"• {command}" in asked.out
    assert 'toolhand run "pick up' in asked.out
    assert "Measure success, perception and speed over many random scenes." in asked.out


@pytest.mark.parametrize("command", every(), ids=lambda command: command.target)
def test_a_commands_summary_is_the_first_sentence_of_its_own_help(command: CliCommand, cli: Cli) -> None:
    documentation = inspect.getdoc(command.load())
    assert documentation is not None
    assert " ".join(documentation.split("\n\n")[0].split()) == command.summary


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("run",),
        ("scene",),
        ("mcp",),
        ("bench",),
        ("bench", "grasp"),
        ("rollouts", "show"),
        ("up",),
        ("ros",),
        ("fly",),
    ],
)
def test_help_and_complaints_load_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    program = (
        "import atexit, sys; from toolhand.cli.main import main\n"
        "atexit.register(lambda: print(*{n.removeprefix('toolhand.').partition('.')[0] for n in sys.modules}, "
        "file=sys.stderr))\n"
        f"main({[*arguments, '--help']!r})"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    loaded = set(ended.stderr.splitlines()[-1].split())
    assert "toolhand" in loaded
    client = {"numpy"} if arguments[:1] in (("up",), ("ros",)) else set()  # its messages hold arrays
    own = {"bench"} if arguments == ("bench", "grasp") else set()
    heavy = {"numpy", "scipy", "mujoco", "PIL", "mcap", "ruckig", "bench", "training"}
    assert not (loaded - client - own) & heavy


@pytest.mark.parametrize("columns", ["1", "5", "7"])
@pytest.mark.parametrize("arguments", [("run", "--help"), ("--help",), ("run", "--no-such")])
def test_help_and_complaints_end_in_a_terminal_as_narrow_as_it_can_be(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    ended = cli(*arguments)
    assert "toolhand" in ended.out + ended.err
    assert os.environ["COLUMNS"] == columns


@pytest.mark.parametrize("command", ["run", "scene", "call"])
def test_the_help_of_a_command_says_what_a_scene_can_be(cli: Cli, command: str) -> None:
    ended = cli(command, "--help")
    assert ended.status == 0
    words = " ".join(ended.out.replace("│", " ").split())
    assert "a seed such as 3, which always gives the same scene; clutter, KIND:SEED[:SETS[:NUMBER]], such as" in words
    assert 'the path of a YAML file; or "example"' in words


# -- scene, tools, call, doctor --------------------------------------------------------------------


def test_a_scene_lists_its_objects_with_the_documented_fields(cli: Cli) -> None:
    document = cli("scene", "3", "--json").document
    assert document["seed"] == 3
    assert len(document["objects"]) >= 7
    for entry in document["objects"]:
        assert {"name", "kind", "colour", "synonyms", "position_m", "size_m"} <= set(entry)
        assert len(entry["position_m"]) == len(entry["size_m"]) == 3
    assert cli("scene", "3", "--json").document == document
    assert cli("scene", "4", "--json").document != document


def test_a_scene_without_a_name_is_the_example_and_is_shown_as_a_table(cli: Cli) -> None:
    ended = cli("scene")
    assert ended.status == 0
    assert ended.out.splitlines()[0].split() == ["name", "kind", "colour", "x", "y", "size", "[m]"]
    assert "teddy bear" in ended.out


def test_a_scene_file_is_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("objects:\n  - {name: red box, position: [0.4, 0.1]}\n")
    (entry,) = cli("scene", "mine.yaml", "--json").document["objects"]
    assert entry["name"] == "red box"
    assert entry["position_m"][:2] == [0.4, 0.1]


def test_the_image_of_a_scene_is_a_png_whatever_its_name(cli: Cli, tmp_path: Path) -> None:
    assert cli("scene", "3", "--image", "new/scene.jpg").status == 0
    with Image.open(tmp_path / "new" / "scene.jpg") as image:
        assert (image.format, image.size) == ("PNG", (640, 480))
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["scene.jpg"]


def test_tools_are_listed_for_people_and_as_schemas(cli: Cli) -> None:
    text, schemas = cli("tools").out, cli("tools", "--json").document
    assert "robot.execute_grasp(grasp_pose)  [moves the robot]" in text
    names = [schema["function"]["name"] for schema in schemas]
    assert names == sorted(names)
    for schema in schemas:
        assert schema["function"]["description"]
        assert schema["function"]["parameters"]["type"] == "object"
        assert f"{schema['function']['name']}(" in text


def test_a_call_prints_the_tools_text_and_keeps_its_image(cli: Cli, tmp_path: Path) -> None:
    arguments = '{"obj_name": "red box", "image_index": 0}'
    ended = cli("call", "point1.detect_one", arguments, "--image", "seen.png", "--json")
    assert ended.status == 0
    document = ended.document
    assert document["success"] is True
    assert document["text"].startswith("Detected 1 instance(s) of 'red box': [(")
    assert document["variables"] == {"red_box_detection": "list of 2"}
    assert document["error_code"] is None
    with Image.open(tmp_path / "seen.png") as image:
        assert image.size == (640, 480)
    assert cli("call", "point1.detect_one", arguments).out.strip() == document["text"]


def test_a_call_that_gives_no_image_says_so_and_writes_none(cli: Cli, tmp_path: Path) -> None:
    ended = cli("call", "vision_ops.index_at", '{"data": "$depth_map", "u": 0.5, "v": 0.5}', "--image", "none.png")
    assert ended.status == 0
    assert ended.out.startswith("Pixel value at (0.500, 0.500) is ")
    assert "returned no picture; none.png was not written" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_call_that_fails_at_its_task_exits_with_1(cli: Cli) -> None:
    ended = cli("call", "roborefer.detect_one", '{"obj_name": "violin", "image_index": 0}', "--json")
    assert (ended.status, ended.document["success"]) == (1, False)
    assert ended.document["error_code"] == "NOT_RECOGNISED"


def test_the_doctor_finds_nothing_wrong_here(cli: Cli) -> None:
    ended = cli("doctor", "--json")
    assert ended.status == 0
    assert ended.document["problems"] == []
    assert ended.document["camera"] == "ray camera, 640x480"
    assert ended.document["plan"].endswith("s to the home position")


def test_the_doctor_says_which_models_and_devices_are_there(cli: Cli) -> None:
    document = cli("doctor", "--json").document
    assert document["devices"][0]["name"] == "cpu"
    models = {model["name"]: model for model in document["models"]}
    segmenter = models["sam2"]
    assert (segmenter["port"], segmenter["licence"], segmenter["missing"]) == ("segmenter", "Apache-2.0", "")
    assert "not for commercial use" in models["graspgen"]["licence"]


def test_the_doctor_names_what_is_broken(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(doctor, "import_module", missing)
    ended = cli("doctor")
    assert ended.status == 1
    assert "ruckig cannot be imported: No module named 'ruckig'." in ended.out


# -- pipes and terminals ---------------------------------------------------------------------------


def test_a_reader_that_has_gone_away_is_no_error_to_tell(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = started("scene", "3", cwd=tmp_path, stdout=writing)
    os.close(writing)
    _, err = process.communicate()
    assert err == ""
    assert process.returncode == 141


def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        process = started("scene", "3", cwd=tmp_path, stdout=full)
        _, err = process.communicate()
    assert err == "UNAVAILABLE: Cannot write the output: No space left on device.\n"
    assert process.returncode == 1


def test_a_terminal_without_unicode_gets_valid_json_all_the_same(tmp_path: Path) -> None:
    process = started("call", "请", "--json", cwd=tmp_path, env={"PYTHONIOENCODING": "ascii"})
    out, err = process.communicate()
    assert process.returncode == 2
    assert json.loads(out)["error_code"] == "UNKNOWN_TOOL"
    assert "Traceback" not in err
