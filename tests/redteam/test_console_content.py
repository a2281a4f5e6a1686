"""What others wrote, as the console shows it: it stays text, small and inside its folder, whatever it holds."""

import ast
import html.parser
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from tests.console.history.test_benches import keep
from tests.console.history.test_trainings import collected, logged
from tests.console.recordings import called, gigantic_png, record
from toolhand import console
from toolhand.agent_node.events import CommandEnded, Thought
from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.bag import Entry, write_bag
from toolhand.console.history.again import command_again
from toolhand.console.history.benches import BenchIndex, compared
from toolhand.console.history.chart import chart, swatch
from toolhand.console.history.compare import compare
from toolhand.console.history.curves import find_trainings, read_log, training_folder
from toolhand.console.history.replay import LONGEST_TEXT, RunReplay
from toolhand.console.history.rollouts import read_group
from toolhand.console.history.runs import RunIndex, RunSearch
from toolhand.console.history.shared import SharedHistory
from toolhand.console.history_routes import add_history_routes
from toolhand.console.pages.routes import address
from toolhand.console.settings import ConsoleSettings
from toolhand.tool_nodes.results import ToolError

SCRIPT = '"><script>window.owned = 1</script><img src=x onerror="window.owned = 1"><svg onload="window.owned = 1">'
"""Markup of many kinds that must stay text."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A console's folder with one run."""
    record(tmp_path / "runs" / "20261120-100000-0")
    return tmp_path


def client_of(folder: Path) -> TestClient:
    settings = ConsoleSettings(runs_dir=folder / "runs", bench_dir=folder / "bench", training_dir=folder / "training")
    app = FastAPI()
    add_history_routes(app, SharedHistory(settings))
    return TestClient(app)


class Tags(html.parser.HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)


def tags(text: str) -> list[str]:
    parser = Tags()
    parser.feed(text)
    return parser.found


def test_a_chart_holds_names_of_metrics_and_trainings_as_text() -> None:
    svg = chart(SCRIPT, [(SCRIPT, [(0.0, 1.0), (1.0, 2.0)])], SCRIPT)
    assert set(tags(svg)) == {"svg", "title", "line", "text", "polyline"}
    assert {name for element in ET.fromstring(svg).iter() for name in element.attrib if name.startswith("on")} == set()
    assert set(tags(swatch(3))) == {"svg", "line"}


@pytest.mark.parametrize("name", ["\0\x1b[31m", "\ud800", "<![CDATA[", "&lt;&#x0;", "‮evil"])
def test_a_chart_is_xml_whatever_signs_a_name_has(name: str) -> None:
    ET.fromstring(chart(name, [(name, [(0.0, 1.0), (1.0, 2.0)])], name))


@pytest.mark.parametrize(
    "run", ["..", "%2e%2e", "..%2f..%2fetc", "%2fetc", "a%00b", "x" * 400, "bench", SCRIPT.replace("/", "%2f")]
)
def test_a_run_id_that_leads_elsewhere_is_one_sentence_of_text(folder: Path, run: str) -> None:
    client = client_of(folder)
    for path in (f"/history/runs/{run}/report", f"/history/runs/{run}/pictures/0"):
        answer = client.get(path)
        assert answer.status_code in (400, 404)
        if answer.headers["content-type"].startswith("text/plain"):
            assert "\n" not in answer.text
        else:
            assert answer.json() == {"detail": "Not Found"}
        assert "root:" not in answer.text


def test_a_report_comes_in_a_sandbox_that_runs_no_script(folder: Path) -> None:
    path = folder / "runs" / "20261120-100000-0" / "report.html"
    path.write_text(f"<script>window.owned = 1</script>{SCRIPT}")
    answer = client_of(folder).get("/history/runs/20261120-100000-0/report")
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy["sandbox"] == ""
    assert policy["default-src"] == "'none'"
    assert "script-src" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_report_that_is_a_link_out_or_a_device_is_not_read(folder: Path) -> None:
    path, client = folder / "runs" / "20261120-100000-0" / "report.html", client_of(folder)
    path.unlink()
    for target in (Path("/etc/passwd"), Path("/dev/zero"), folder / "none"):
        path.symlink_to(target)
        assert client.get("/history/runs/20261120-100000-0/report").status_code == 404
        path.unlink()


def test_a_run_that_is_deleted_while_it_is_shown_is_one_sentence(folder: Path) -> None:
    client, run = client_of(folder), folder / "runs" / "20261120-100000-0"
    assert client.get("/history/runs/20261120-100000-0/pictures/0").status_code == 200
    for path in run.iterdir():
        path.unlink()
    run.rmdir()
    answer = client.get("/history/runs/20261120-100000-0/pictures/0")
    assert (answer.status_code, answer.text) == (
        404,
        "There is no run '20261120-100000-0' in runs any more, or there never was.",
    )


@pytest.mark.parametrize("index", ["-1", "1e9", "99999999999999999999", "0x0", "٣", "%00"])
def test_an_image_that_has_no_number_is_one_sentence(folder: Path, index: str) -> None:
    answer = client_of(folder).get(f"/history/runs/20261120-100000-0/pictures/{index}")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    "data",
    [b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", b"<html><script>1</script>", gigantic_png(), b""],
    ids=["svg", "html", "gigantic", "empty"],
)
def test_an_image_of_a_recording_is_an_image_or_is_not_given(tmp_path: Path, data: bytes) -> None:
    run = tmp_path / "runs" / "20261120-100000-0"
    run.mkdir(parents=True)
    packet = ros.packet(
        ros.COMPRESSED_IMAGE, header=ros.header(0), format="jpeg", data=np.frombuffer(data or b"\0", np.uint8)
    )
    write_bag(run / RUN_FILE, [Entry(0, "/toolhand/picture/compressed", ros.COMPRESSED_IMAGE, packet)], {})
    answer = client_of(tmp_path).get("/history/runs/20261120-100000-0/pictures/0")
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/plain")
    assert "sandbox" in answer.headers["content-security-policy"]


def test_words_of_a_recording_come_as_they_are_and_bounded(tmp_path: Path) -> None:
    long = SCRIPT * 2000
    events = [Thought(SCRIPT), *called(SCRIPT, {SCRIPT: SCRIPT}, long), CommandEnded(SCRIPT)]
    steps = RunReplay(record(tmp_path / "run", events, SCRIPT)).steps()
    assert [steps[0].text, steps[1].text, steps[4].text] == [SCRIPT] * 3
    assert steps[2].title == " ".join(SCRIPT[:200].split())
    assert json.loads(steps[2].text) == {SCRIPT: SCRIPT}
    assert len(steps[3].text) == LONGEST_TEXT


def test_the_first_difference_of_hostile_runs_is_one_bounded_line(tmp_path: Path) -> None:
    one = RunReplay(record(tmp_path / "a", [Thought("x"), *called("grasp", {SCRIPT: SCRIPT * 9}, "ok")]))
    other = RunReplay(record(tmp_path / "b", [Thought("x"), *called("grasp", {SCRIPT: "\n\n"}, "ok")]))
    said = compare(one, other).first_difference
    assert "\n" not in said
    assert len(said) < 600


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("text", ["\0", nested(100_000), '{"task": ' + nested(400) + "}", '{"task": NaN}', "1" * 5000])
def test_a_command_that_is_no_sentence_leaves_the_others_readable(tmp_path: Path, text: str) -> None:
    texts = [text.replace("\0", "?"), '{"name": "look", "arguments": ' + nested(300) + "}"]
    entries = [
        Entry(k, f"/toolhand/{topic}", ros.STRING, ros.packet(ros.STRING, data=said), k)
        for k, (topic, said) in enumerate(zip(("command", "call"), texts, strict=True))
    ]
    write_bag(tmp_path / RUN_FILE, entries, {})
    replay = RunReplay(tmp_path)
    assert replay.command == ""
    assert replay.steps()[1].kind in ("call", "unreadable")


def test_a_hundred_thousand_steps_are_read_a_page_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packet = ros.packet(ros.STRING, data="I think.")
    command = ros.packet(ros.STRING, data='{"task": "x"}')
    entries = [Entry(0, "/toolhand/command", ros.STRING, command, 0)]
    entries += [Entry(k, "/toolhand/thought", ros.STRING, packet, k) for k in range(1, 100_000)]
    write_bag(tmp_path / RUN_FILE, entries, {})
    replay = RunReplay(tmp_path)
    read: list[int] = []
    plain = RunReplay.step
    monkeypatch.setattr(RunReplay, "step", lambda self, index: (read.append(index), plain(self, index))[1])
    assert len(replay) == 100_000
    assert len(replay.steps(99_950, 100)) == 50
    assert len(read) == 50


def test_joints_of_a_foreign_file_are_shown_also_where_they_are_no_numbers(tmp_path: Path) -> None:
    values = np.array([np.nan, np.inf, 1e308])
    packet = ros.packet(ros.JOINT_STATE, header=ros.header(0), name=[SCRIPT, "b", "c"], position=values)
    write_bag(tmp_path / RUN_FILE, [Entry(0, "/joint_states", ros.JOINT_STATE, packet)], {})
    joints = RunReplay(tmp_path).moment(0.0).joints
    assert list(joints) == [SCRIPT, "b", "c"]


def test_hostile_names_of_run_folders_are_listed_as_text_and_linked_as_one_part(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    for name in ('<script>alert("1")<', "a b?c#d&e=f", "%2e%2e", "-rf"):
        (runs / name).mkdir(parents=True)
        (runs / name / "result.json").write_text(json.dumps({"task": SCRIPT, "success": False, "error_code": SCRIPT}))
    page = RunIndex(runs).page(RunSearch.of_texts(code=SCRIPT))
    assert page.found == 4
    for entry in page.entries:
        target = address("/runs", entry.id)
        assert not set(target) & set('<>"?#& ')
        assert target.count("/") == 2


@pytest.mark.parametrize(
    "record",
    [
        {"task": ""},
        {"task": "--help"},
        {"task": "x" * 9999},
        {"task": "pick", "policy": "openai:gpt@http://evil"},
        {"task": "pick", "policy": "--transport"},
        {"task": "pick", "scene": "../../etc/passwd"},
        {"task": "pick", "robot": "/tmp/robot"},
        {"task": "pick", "perception": "served"},
        {"task": "pick", "objects": "/tmp"},
        {"task": "pick", "package_path": "/tmp"},
        {"task": "pick", "seed": "1; rm -rf ~"},
        {"task": "pick", "seed": -1},
        {"task": "pick", "turn_budget": 10**30},
        {"task": "pick", "ports": {"pointer": "served:x"}},
        {"task": "pick", "ports": {"evil": "x"}},
        {"task": "pick", "ports": [1]},
    ],
    ids=str,
)
def test_a_record_decides_neither_options_nor_addresses_of_a_run_again(record: dict[str, Any]) -> None:
    with pytest.raises(ToolError) as refused:
        command_again(record, Path("runs"))
    assert refused.value.message


def test_a_record_cannot_send_its_run_to_the_graph() -> None:
    hostile = {"task": "; rm -rf ~ $(reboot)", "transport": "ros", "own_graph": True, "approval": "auto", "seed": 3}
    words = command_again(hostile, Path("runs"))[3:]
    assert words == ["run", hostile["task"], "--seed", "3", "--transport", "process", "--runs-dir", "runs"]


@pytest.mark.parametrize(
    "path",
    [
        "/history/benches/x.json/pictures/y.jpg",
        "/history/benches/..%2f..%2fx/pictures/..%2fy",
        "/history/rollouts/pictures/..?folder=tiny",
        f"/history/rollouts/pictures/{'a' * 64}?folder=../..",
        f"/history/rollouts/pictures/{'a' * 64}?folder=/etc",
        f"/history/rollouts/pictures/{'a' * 64}",
    ],
)
def test_images_of_benchmarks_and_rollouts_stay_in_their_folders(folder: Path, path: str) -> None:
    answer = client_of(folder).get(path)
    assert answer.status_code == 404


def test_a_result_names_a_folder_elsewhere_and_none_of_its_images_is_given(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret" / "failures"
    secret.mkdir(parents=True)
    (secret / "x.jpg").write_bytes(b"secret")
    path = keep(folder / "bench", 18, out=str(secret.parent))
    answer = client_of(folder).get(f"/history/benches/{path.name}/pictures/x.jpg")
    assert answer.status_code == 404
    assert answer.text.endswith("lies outside of what the console shows: its pictures are not shown.")


def test_rows_of_a_hostile_result_are_text_and_finite(tmp_path: Path) -> None:
    rows = [{"name": SCRIPT * 50, "n": 10**30, "success": -5, "rate": 1e308, "low": -1e308, "high": 2.0}] * 3000
    path = keep(tmp_path, 18)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"bench": SCRIPT, "document": {"rows": rows, SCRIPT: rows}}))
    (result,) = BenchIndex(tmp_path).results()
    assert len(result.rates) == 500
    assert all(len(rate.name) <= 160 and rate.said for rate in result.rates)
    assert len(compared([result, result])) == 1


def test_metrics_with_hostile_names_and_numbers_are_drawn_as_text(tmp_path: Path) -> None:
    lines = [json.dumps({"epoch": k, SCRIPT: 10.0**300 * (-1) ** k, "b": k}) for k in range(50)]
    log = read_log(logged(tmp_path / SCRIPT.replace("/", ""), *lines, '{"b": NaN}'))
    svg = chart(SCRIPT, [(name, curve.points) for name, curve in log.curves.items()], log.counter)
    assert "script" not in tags(svg)
    assert "nan" not in svg.lower()
    assert "inf" not in svg.lower()


def test_a_thousand_metrics_and_folders_in_each_other_have_an_end(tmp_path: Path) -> None:
    assert len(read_log(logged(tmp_path, json.dumps({f"m{k}": k for k in range(1000)}))).curves) == 100
    deep = tmp_path
    for _ in range(30):
        deep /= "d"
    logged(deep)
    assert [folder.name for folder in find_trainings(tmp_path)] == ["."]
    with pytest.raises(ToolError):
        training_folder(tmp_path, "d/../../x", "training")


def test_hostile_messages_of_rollouts_stay_text(tmp_path: Path) -> None:
    path = collected(tmp_path) / "shards" / "00000.jsonl"
    document = json.loads(path.read_text().splitlines()[0])
    hostile = {"id": SCRIPT, "text": SCRIPT, "answer": SCRIPT, "error_code": SCRIPT, "terms": {SCRIPT: 1e400}}
    path.write_text(json.dumps(document | hostile).replace("Infinity", "1e14") + "\n")
    (rollout,) = read_group(tmp_path, "00000").rollouts
    assert (rollout.text, rollout.answer) == (SCRIPT, SCRIPT)
    assert rollout.id == SCRIPT[:40]


def test_no_page_has_a_way_to_make_markup_of_words() -> None:
    room = Path(console.__file__).parent
    ways = re.compile(
        r"v-html|innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\("
    )
    for path in [*room.glob("assets/*.js"), *room.rglob("*.py")]:
        assert not ways.search(path.read_text(encoding="utf-8")), path.name
    made = [
        ast.unparse(node.args[0])
        for path in room.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("ui.html", "ui.markdown", "ui.add_body_html")
    ]
    own = ["safety_strip_html(page.settings, host, page.seat.name) + header_html(title)"]
    assert sorted(made) == sorted(["swatch(index)", "chart(metric, curves, logs[0][1].counter)", *own]), "drawn by us"


@pytest.mark.parametrize("text", [SCRIPT, "javascript:alert(1)", "//evil.example", "\\\\evil", "a\nb", "é"])
def test_addresses_of_links_stay_on_this_console(text: str) -> None:
    target = address("/runs", text, words=text)
    assert target.startswith("/runs/")
    assert target.isascii()
    assert not set(target) & set("<>\"'\\\n ")
