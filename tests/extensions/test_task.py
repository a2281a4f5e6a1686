"""A task of another package, as docs/guides/task.md says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.extensions.package import install_guide, promised
from training.rollouts.collection import read_rollouts
from training.tasks.kinds import task_document


def test_a_task_of_another_package_is_collected_and_measured_on_the_command_line(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "task")
    assert promised("task") == f"{package.files} file, {package.lines} line"
    out, small = tmp_path / "rollouts", ("--turns", "2", "--size", "160x120", "--policy", "scripted")
    plan = (
        "rollouts",
        "collect",
        "--out",
        str(out),
        "--tasks",
        "count_red",
        "--n",
        "2",
        "--group-size",
        "2",
        "--seed",
        "3",
    )
    ended = package.toolhand(*plan, *small, "--json")
    assert ended.returncode == 0, ended.stderr
    records = list(read_rollouts(out))
    assert [record.task for record in records] == [task_document("count_red", 3)] * 2
    assert records[0].text == "How many red things are on the table?"
    assert set(records[0].truth["terms"]) == {"counted", "looked"}
    again = package.toolhand(*plan, *small, "--json")
    assert json.loads(again.stdout)["found"] == 2
    options = ("--kinds", "count_red", "--n", "1", "--policies", "blind", "--out", str(tmp_path / "compared"))
    measured = package.toolhand("bench", "policy", *options, "--json")
    assert measured.returncode == 0, measured.stderr
    assert [row["kind"] for row in json.loads(measured.stdout)["kinds"]] == ["count_red"]
    wrong = package.toolhand("rollouts", "collect", "--out", str(tmp_path / "other"), "--tasks", "count_read")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "There is no task 'count_read'" in wrong.stderr
    assert "Did you mean count_red or count?" in wrong.stderr
    assert "count_red" in package.toolhand("rollouts", "collect", "--help").stdout


def test_a_task_whose_package_is_gone_is_told_in_a_sentence_and_its_rollouts_are_still_read(tmp_path: Path) -> None:
    package = install_guide(tmp_path / "site", "task")
    out = tmp_path / "rollouts"
    plan = ("rollouts", "collect", "--out", str(out), "--tasks", "count_red", "--n", "2", "--group-size", "2")
    assert package.toolhand(*plan, "--turns", "1", "--size", "160x120").returncode == 0
    (package.folder / "my_package-1.2.dist-info" / "entry_points.txt").unlink()
    refused = package.toolhand(*plan, "--turns", "1", "--size", "160x120")
    assert refused.returncode == 2
    assert "There is no task 'count_red'" in refused.stderr
    shown = package.toolhand("rollouts", "show", str(out))
    assert shown.returncode == 0
    assert "How many red things" in shown.stdout
