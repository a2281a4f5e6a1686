"""Trainings and rollouts as the console shows them: curves, groups and conversations."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from toolhand.console.history import curves
from toolhand.console.history.chart import chart, ticks
from toolhand.console.history.curves import find_trainings, read_log, smoothed, thinned, training_folder
from toolhand.console.history.rollouts import group_names, read_group, rollout_image
from toolhand.tool_nodes.results import ToolError
from toolhand.training.adapters.sft_on_trl import LOG
from toolhand.training.rollouts.collection import SHARDS, write_shard
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import CallEntry, MessageRecord, PromptRecord, RolloutRecord, TurnRecord


def test_names_of_files_are_those_that_trainings_write() -> None:
    assert (curves.LOG, curves.SHARDS) == (LOG, SHARDS)


def logged(folder: Path, *lines: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / LOG).write_text("".join(f"{line}\n" for line in lines))
    return folder


def collected(folder: Path, groups: int = 1) -> Path:
    """Groups of two rollouts, of which the first is done; the system's words and an image are kept apart."""
    store = ImageStore(folder)
    seen = store.add(np.full((4, 4, 3), 7, np.uint8))
    system, said = "You are a robot. " * 400, "pick up the lemon"
    for group in range(groups):
        lines = []
        for number in range(2):
            messages = (
                MessageRecord("system", system),
                MessageRecord("user", said, said),
                MessageRecord("assistant", "<answer>Done.</answer>", sampled=True),
                MessageRecord("tool", "A picture.", image_index=0, image=seen),
            )
            turn = TurnRecord(PromptRecord(2), messages[2].text, calls=(CallEntry("look", {}, "A picture."),))
            record = RolloutRecord(
                f"{group:05d}-{number:03d}",
                {},
                said,
                1,
                group,
                number,
                "spacetools",
                "tiny",
                "[]",
                messages,
                (turn,),
                {"placed": 1.0 - number},
                1.0 - number,
                {"success": number == 0},
                answer="Done.",
                error_code="NO_GRASP" if number else None,
            )
            lines.append(record.to_json(store))
        write_shard(folder, group, lines)
    return folder


def test_trainings_and_rollouts_are_found_at_any_depth(tmp_path: Path) -> None:
    logged(tmp_path / "tiny" / "sft")
    logged(tmp_path / "tiny" / "rl")
    collected(tmp_path / "tiny" / "rl" / "rollouts")
    (tmp_path / "tiny" / "link").symlink_to(tmp_path / "tiny" / "sft")
    found = find_trainings(tmp_path)
    assert [(folder.name, folder.kind) for folder in found] == [
        ("tiny/rl", "training"),
        ("tiny/rl/rollouts", "rollouts"),
        ("tiny/sft", "training"),
    ]
    assert training_folder(tmp_path, "tiny/rl/rollouts", "rollouts").path == found[1].path
    assert find_trainings(tmp_path / "none") == []


@pytest.mark.parametrize("name", ["..", "../x", "/etc", "tiny/../../x", "a\0b", "x" * 2000, "out"])
def test_a_name_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    root = tmp_path / "trainings"
    logged(tmp_path / "x")
    root.mkdir()
    (root / "out").symlink_to(tmp_path / "x")
    with pytest.raises(ToolError, match="is no name of a folder inside trainings"):
        training_folder(root, name, "training")


def test_a_log_gives_a_curve_for_each_number(tmp_path: Path) -> None:
    rows = [{"epoch": k, "loss": 1.0 / k, "held_out": 0.5 if k == 2 else None, "name": "x"} for k in (1, 2, 3)]
    logged(tmp_path / "run", *map(json.dumps, rows))
    found = read_log(tmp_path / "run")
    assert (found.counter, found.rows, found.problem) == ("epoch", 3, "")
    assert found.curves["loss"].points == [(1.0, 1.0), (2.0, 0.5), (3.0, 1.0 / 3.0)]
    assert found.curves["held_out"].points == [(2.0, 0.5)]
    assert "name" not in found.curves


def test_numbers_that_are_none_leave_gaps_and_lines_that_are_none_are_counted(tmp_path: Path) -> None:
    deep = "[" * 5000
    lines = ['{"step": 1, "loss": NaN}', "{", deep, '{"step": 2, "loss": 1e999}', '{"step": 3, "loss": 2}']
    huge = f'{{"step": 4, "loss": {"9" * 400}}}'
    found = read_log(logged(tmp_path, *lines, huge, "[1]"))
    assert found.curves["loss"].points == [(3.0, 2.0)]
    assert found.rows == 4
    assert found.problem == "3 of the lines of log.jsonl cannot be read, the first is line 2."


def test_a_log_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"Cannot read log\.jsonl"):
        read_log(tmp_path)
    (tmp_path / LOG).symlink_to("/dev/zero")
    with pytest.raises(ToolError, match=r"Cannot read log\.jsonl"):
        read_log(tmp_path)


def test_a_long_curve_keeps_its_ends_its_least_and_its_greatest() -> None:
    points = [(float(k), float((k * 7919) % 1000)) for k in range(100_000)]
    points[31_234] = (31_234.0, -50.0)
    points[77_777] = (77_777.0, 5000.0)
    thin = thinned(points, 600)
    assert len(thin) <= 600
    assert {points[0], points[-1], points[31_234], points[77_777]} <= set(thin)
    assert [x for x, _ in thin] == sorted(x for x, _ in thin)
    assert thinned(points[:5]) == points[:5]


def test_smoothing_leaves_a_constant_as_it_is() -> None:
    assert [y for _, y in smoothed([(float(k), 3.0) for k in range(5)], 0.9)] == pytest.approx([3.0] * 5)
    assert smoothed([(0.0, 1.0), (1.0, 2.0)], 0.0) == [(0.0, 1.0), (1.0, 2.0)]


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 7e6), (0.99999, 1.00001), (1e-9, 2e-9), (-1e12, 1e12)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 2 <= len(found) <= 10
    assert all(low - 1e-9 * abs(low) <= tick <= high + 1e-9 * abs(high) for tick in found)


@pytest.mark.parametrize("points", [[(1.0, 5.0)], [(1.0, 0.0), (2.0, 0.0)], [(0.0, -1e300), (1.0, 1e300)], []])
def test_a_chart_of_any_numbers_is_an_svg_inside_its_frame(points: list[tuple[float, float]]) -> None:
    svg = ET.fromstring(chart("Loss", [("loss", points)], "epoch"))
    for curve in svg.iter("polyline"):
        for x, y in (map(float, pair.split(",")) for pair in curve.attrib["points"].split()):
            assert 0.0 <= x <= 720.0
            assert 0.0 <= y <= 300.0


def test_rollouts_are_read_with_their_rewards_and_conversations(tmp_path: Path) -> None:
    collected(tmp_path, groups=3)
    assert group_names(tmp_path) == ["00000", "00001", "00002"]
    group = read_group(tmp_path, "00001")
    assert (group.text, group.rewards, group.problem) == ("pick up the lemon", [1.0, 0.0], "")
    done, failed = group.rollouts
    assert (done.done, done.ended, done.turns, done.calls, done.answer) == (True, "", 1, 1, "Done.")
    assert (failed.done, failed.ended, failed.terms) == (False, "NO_GRASP", {"placed": 0.0})
    assert done.messages[0].text.startswith("You are a robot. You are")
    assert rollout_image(tmp_path, done.messages[3].image).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["..", "../shards/00000", "", "0", "00009"])
def test_a_group_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolError):
        read_group(collected(tmp_path), name)
    with pytest.raises(ToolError):
        rollout_image(tmp_path, name)


def test_lines_that_are_no_records_are_counted_and_texts_that_are_gone_are_said(tmp_path: Path) -> None:
    path = collected(tmp_path) / SHARDS / "00000.jsonl"
    lines = path.read_text().splitlines()
    odd = json.loads(lines[1]) | {"total": "much", "turns": 5, "messages": [1, {"role": 3, "text": {"sha256": "../x"}}]}
    path.write_text("\n".join([lines[0], "{", "5", json.dumps(odd)]))
    for text in (tmp_path / "texts").iterdir():
        text.unlink()
    group = read_group(tmp_path, "00000")
    assert group.problem == "2 lines of the group 00000 are no records of rollouts."
    first, second = group.rollouts
    assert "cannot be read: No such file" in first.messages[0].text
    assert (second.reward, second.turns) == (None, 0)
    assert [(message.role, message.text) for message in second.messages] == [("3", "")]
