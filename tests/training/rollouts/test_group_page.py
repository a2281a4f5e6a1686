"""The page of one group: columns of rollouts, rows of turns, and numbers that show what OR-GIGPO adds to GRPO."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.pages import Page
from tests.training.data.rollouts_at_hand import HOSTILE, collection, make_image, rollout
from toolhand.cli.main import main
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rollouts.group_page import GroupCredit, write_group_page
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import RolloutRecord
from toolhand.training.tasks.kinds import task_document

STAGES = ("hand_at_target", "jaws_touch_target", "held", "lifted", "carried", "nothing_else_moved")


def group(folder: Path) -> tuple[list[RolloutRecord], ImageStore]:
    """Three rollouts that begin alike: all done; lifted in the second turn and lost; nothing at all."""
    store = ImageStore(folder)
    first = rollout(store)
    ends = (0.0, 2.0, 2.0)
    turns = tuple(replace(turn, ended_s=end) for turn, end in zip(first.turns, ends, strict=True))
    whole = dict.fromkeys(STAGES, 1.0)
    lost = {**whole, "carried": None, "nothing_else_moved": None}
    records = [
        replace(
            first,
            id=f"00000-{k:03d}",
            rollout=k,
            turns=turns,
            stages=stages,
            total=total,
            truth={"terms": {}, "success": total == 1.0, "reasons": []},
        )
        for k, (stages, total) in enumerate(((whole, 1.0), (lost, 0.6), (dict.fromkeys(STAGES), 0.0)))
    ]
    return records, store


def test_grpo_gives_all_turns_of_a_rollout_one_number_and_or_gigpo_tells_them_apart(tmp_path: Path) -> None:
    records, _ = group(tmp_path / "rollouts")
    credit = GroupCredit.of(records)
    assert credit.grpo[0] > credit.grpo[1] > credit.grpo[2]
    assert [turn.reward for turn in credit.rollouts[0].turns] == pytest.approx([0.0, 1.0, 0.0])
    assert len(set(np.round(credit.steps.total[0], 6))) > 1
    assert all(
        total == pytest.approx(whole + own)
        for total, whole, own in zip(credit.steps.total, credit.grpo, credit.steps.turns, strict=True)
    )


def test_the_page_has_a_column_a_rollout_and_a_row_a_turn_with_images_credit_and_advantages(tmp_path: Path) -> None:
    records, store = group(tmp_path / "rollouts")
    shorter = replace(records[2], turns=records[2].turns[:2])
    write_group_page([*records[:2], shorter], store, tmp_path / "page.html", "answered")
    page = Page(tmp_path / "page.html")
    assert len(page.all("table", class_="group")) == 1
    assert len(page.all("th", scope="col")) == 4 + 4 * 3  # the columns, and the heads of three observations
    assert len(page.all("td", class_="ended")) == 1
    credit = GroupCredit.of([*records[:2], shorter], "answered")
    cells = page.cells[:9]
    for k, row in enumerate(credit.steps.total):
        for t, value in enumerate(row):
            assert f"OR-GIGPO {value:+.2f}" in cells[3 * t + k]
            assert f"GRPO {credit.grpo[k]:+.2f}" in cells[3 * t + k]
    assert len(page.all("img")) == 6  # of each rollout what it looked at and what it pointed at
    assert all(str(found["src"]).startswith("data:image/jpeg;base64,") for tag, found in page.elements if tag == "img")
    assert "answered by 3 turns" in page.text
    assert len(page.all("script")) == 0


def test_what_anybody_wrote_stays_text_and_an_image_that_is_gone_is_said(tmp_path: Path) -> None:
    records, store = group(tmp_path / "rollouts")
    hostile = replace(
        records[0], turns=(replace(records[0].turns[0], thought=HOSTILE), *records[0].turns[1:]), text=HOSTILE
    )
    store.path(store.add(make_image(0))).unlink()
    write_group_page([hostile, *records[1:]], ImageStore(tmp_path / "rollouts"), tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    assert len(page.all("script")) == 0
    assert "alert(1)" in page.text
    assert len(page.all("img")) == 3


def test_what_is_no_group_is_refused_and_nothing_written(tmp_path: Path) -> None:
    records, store = group(tmp_path / "rollouts")
    for wrong in ([], records[:1], [records[0], replace(records[1], seed=99)]):
        with pytest.raises(ToolError, match="two rollouts or more of one task") as caught:
            write_group_page(wrong, store, tmp_path / "page.html")
        assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert not (tmp_path / "page.html").exists()


def test_the_command_writes_the_page_of_one_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "rollouts", tmp_path / "page.html"
    collection(folder, 2, task=task_document("pick", 0), seed=0, stages={})
    for number, status in (("0", 0), ("7", 2)):
        with pytest.raises(SystemExit) as ended:
            main(["rollouts", "group", str(folder), "--group", number, "--out", str(out)])
        assert ended.value.code == status
    assert "One group, 2 rollouts" in out.read_text(encoding="utf-8")
    assert "There is no group 7" in capsys.readouterr().err


def test_the_command_compares_turns_as_printed_or_by_what_they_answered(tmp_path: Path) -> None:
    records, store = group(tmp_path / "rollouts")
    pages = {}
    for anchor in ("returned", "answered"):
        write_group_page(records, store, tmp_path / f"{anchor}.html", anchor)  # type: ignore[arg-type]
        pages[anchor] = Page(tmp_path / f"{anchor}.html")
    assert "Turns that brought the same observation" in pages["returned"].text
    assert "Turns that answered the same observation" in pages["answered"].text
    steps = [GroupCredit.of(records, anchor).steps.turns for anchor in ("returned", "answered")]  # type: ignore[arg-type]
    assert all(printed[-1] == 0 for printed in steps[0]), "the last turn brings nothing and stands alone"
    assert any(answered[-1] != 0 for answered in steps[1])
