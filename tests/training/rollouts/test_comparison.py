"""Folders beside one another: paired differences, and what policies do next where a tool errs and where none does."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from tests.training.data.episodes_at_hand import HELD, LOOK, SLIPPED, TARGET, Call, episode, outlined, pointed
from tests.training.data.rollouts_at_hand import rollout
from toolhand.cli.main import main
from toolhand.training.env.worlds import CAUSES, ERRING
from toolhand.training.intervals import paired_difference
from toolhand.training.rollouts.collection import write_shard
from toolhand.training.rollouts.comparison import Reactions, compare, reactions
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.plan import PLAN_FILE

FIRST, SECOND = pointed("roborefer", [TARGET]), pointed("vlm", [TARGET])
TAKE = [HELD]


def seed_with(cause: str) -> int:
    """The first seed whose episode of a pick has this cause alone."""
    return next(seed for seed in count() if set(ERRING.causes("pick", "train", seed)) == {cause})


def reacted(tmp_path: Path, cause: str, *turns: Sequence[Call], answer: str = "Done.") -> Reactions:
    record = replace(episode(tmp_path, *turns, answer=answer), task={"kind": "pick", "split": "train"})
    return reactions([replace(record, seed=seed_with(cause))], ERRING.name)


@pytest.mark.parametrize(
    ("turns", "answer", "reaction"),
    [
        (([FIRST], [SECOND], TAKE), "Done.", "another"),
        (([FIRST], [FIRST], TAKE), "Done.", "again"),
        (([FIRST], [LOOK], [FIRST], TAKE), "Done.", "look"),
        (([FIRST],), "OBJECT_NOT_FOUND: It is not here.", "refused"),
        (([FIRST], [pointed("vlm", [TARGET], "milk")], TAKE), "Done.", None),
        (([FIRST, SECOND], TAKE), "Done.", None),
    ],
)
def test_what_comes_after_an_answer_is_told_by_the_next_call_for_the_same(
    tmp_path: Path, turns: Sequence[Sequence[Call]], answer: str, reaction: str | None
) -> None:
    found = reacted(tmp_path, "roborefer", *turns, answer=answer)["roborefer"]
    assert not reaction or found["errs"][reaction].count == 1
    assert reaction or all(share.rate == 0 for share in found["errs"].values())
    assert all(share.n == 0 for share in found["does not"].values())


def test_an_outline_has_another_way_and_of_motions_only_those_count_that_failed(tmp_path: Path) -> None:
    points = (replace(outlined(TARGET)[0], tool="sam2.segment_from_points"), [TARGET])
    found = reacted(tmp_path, "arm", [outlined(TARGET)], [points], [SLIPPED], [LOOK], [HELD])
    assert (found["outline"]["does not"]["another"].rate, found["outline"]["errs"]["another"].n) == (1.0, 0)
    assert (found["arm"]["errs"]["look"].rate, found["arm"]["errs"]["look"].n) == (1.0, 1)


def test_a_paired_difference_is_that_of_tasks() -> None:
    mean, low, high = paired_difference(np.array([1] * 6 + [0] * 12 + [-1] * 2), seed=0)
    assert mean == 0.2
    assert -0.1 < low < 0.0 < high < 0.5


def folder(tmp_path: Path, name: str, done: Sequence[bool]) -> Path:
    """Episodes in the erring world, done or not."""
    made = tmp_path / name
    plain, task = rollout(ImageStore(made)), {"kind": "pick", "split": "train"}
    records = [
        replace(plain, id=f"{k:05d}-000", task=task, truth={**plain.truth, "success": true}, success=True)
        for k, true in enumerate(done)
    ]
    write_shard(made, 0, [record.to_json(ImageStore(made)) for record in records])
    plan = {"tasks": [record.task for record in records], "group_size": 1, "world": ERRING.name}
    (made / PLAN_FILE).write_text(json.dumps(plan))
    return made


def test_folders_are_compared_and_written_down_episode_by_episode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = folder(tmp_path, "before", [True, False, False, False]), folder(tmp_path, "after", [True] * 4)
    (gain, falsely) = compare([after, before]).document["differences"]
    assert (gain["difference"], gain["first_alone"], gain["second_alone"], gain["n"]) == (0.75, 3, 0, 4)
    assert (falsely["of"], falsely["difference"]) == ("false_success", -0.75)
    with pytest.raises(SystemExit):
        main(["rollouts", "measure", str(after), str(before), "--csv", str(tmp_path / "all.csv")])
    told = capsys.readouterr().out
    assert "| after - before | true_success | 4 | +75.0 (+25.0..+100.0) | 3 | 0 |" in told
    assert f"| true success where it errs | {' | '.join(CAUSES)} |" in told
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text())))
    assert [(row["rollouts"], row["true_success"], row["looks"]) for row in rows[3:6]] == [
        ("after", "1", "1"),
        ("before", "1", "1"),
        ("before", "0", "1"),
    ]
    assert rows[0]["causes"]


def test_two_folders_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rollouts", "measure", str(tmp_path / "a" / "x"), str(tmp_path / "b" / "x")])
    assert ended.value.code == 2
    assert "Two of the folders have the same name" in capsys.readouterr().err
