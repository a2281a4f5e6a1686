"""The page of rollouts: whole, self-contained, and deaf to whatever anybody wrote."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.pages import Page
from tests.training.data.rollouts_at_hand import HOSTILE, collection, make_image, rollout
from toolhand.tool_nodes.results import ToolError
from toolhand.training.data.formats import sample
from toolhand.training.data.formats.export import show
from toolhand.training.data.formats.sample import write_html_sample
from toolhand.training.rollouts.collection import write_shard
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import CallEntry


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "rollouts")


def page_of(store: ImageStore, path: Path, *records: object) -> Page:
    write_html_sample(records, store, path)  # type: ignore[arg-type]
    return Page(path)


def test_every_rollout_is_there_with_its_calls_results_images_and_terms(store: ImageStore, tmp_path: Path) -> None:
    failed = replace(
        rollout(store, 1, "put it in the bin"),
        task={"kind": "place", "seed": 1},
        truth={"success": False, "reasons": ["It rests beside the bin."]},
        total=-0.25,
        labels={"accepted": False, "rejected": "a false success"},
    )
    page = page_of(store, tmp_path / "page.html", rollout(store), failed)
    cards = page.all("details", class_="card rollout")
    known = [(card["data-kind"], card["data-truth"], card["data-verdict"], card["data-total"]) for card in cards]
    assert known == [("pick", "done", "accepted", "0.75"), ("place", "not done", "rejected", "-0.25")]
    for words in (
        "put it in the bin",
        "It rests beside the bin.",
        "a false success",
        "I point.",
        "At (0.31, 0.52).",
        "roborefer.detect_one",
        "OBJECT_NOT_FOUND",
        "not reached",
        "picked",
        "It is held.",
    ):
        assert words in page.text, words
    images = page.all("img")
    assert len(images) == 4
    assert all(str(image["src"]).startswith("data:image/jpeg;base64,") for image in images)
    assert {"pick", "place"} <= set(re.findall(r"<option>(\w+)</option>", (tmp_path / "page.html").read_text()))


def test_the_image_that_comes_with_a_question_is_on_the_page(store: ImageStore, tmp_path: Path) -> None:
    record = rollout(store)
    asked = replace(record.messages[1], image_index=0, image=store.add(make_image(99)))
    write_html_sample([record], store, tmp_path / "plain.html")
    write_html_sample(
        [replace(record, messages=(record.messages[0], asked, *record.messages[2:]))], store, tmp_path / "asked.html"
    )
    plain, shown = ((tmp_path / f"{name}.html").read_text().count("<figure>") for name in ("plain", "asked"))
    assert (plain, shown) == (2, 3)


def test_nothing_that_was_written_becomes_markup_or_loads_anything(store: ImageStore, tmp_path: Path) -> None:
    bad = f'"><img src=x onerror=alert(1)>{HOSTILE}</details></script><script>evil()</script>'
    record = rollout(store, 0, bad)
    call = CallEntry(bad, {bad: bad}, bad, bad, None, bad)
    turns = tuple(replace(turn, thought=bad, problem=bad, labels={bad: bad}, calls=(call,)) for turn in record.turns)
    hostile = replace(
        record,
        id=bad,
        turns=turns,
        task={"kind": bad},
        policy=bad,
        protocol=bad,
        answer=bad,
        error_code=bad,
        terms={bad: 1.0},
        stages={bad: None},
        labels={bad: bad, "accepted": False, "rejected": bad},
        truth={"success": False, "reasons": [bad]},
    )
    page = page_of(store, tmp_path / "page.html", hostile)
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    (policy,) = [meta["content"] or "" for meta in page.all("meta") if "http-equiv" in meta]
    assert policy.startswith("default-src 'none'; img-src data:")
    assert not re.findall(r"(?:src|href)=\"(?!data:)", (tmp_path / "page.html").read_text())


def test_an_image_that_is_missing_is_told_in_its_place(store: ImageStore, tmp_path: Path) -> None:
    record = rollout(store)
    store.path(record.messages[3].image or "").unlink()
    page = page_of(store, tmp_path / "page.html", record)
    assert len(page.all("img")) == 1
    assert "The store has no picture" in page.text


def test_a_page_stays_small_and_says_what_is_left_out(
    store: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "TEXT_BYTES", 30_000)
    monkeypatch.setattr(sample, "IMAGES_BYTES", 300)
    page = page_of(store, tmp_path / "page.html", *(rollout(store, k) for k in range(9)))
    assert 0 < len(page.all("details", class_="card rollout")) < 9
    assert "left out to keep this page small" in page.text
    assert "did not fit" in page.text


def test_a_folder_is_shown_with_what_was_rejected_and_evenly(tmp_path: Path) -> None:
    collection(tmp_path / "made", 4)
    aside = ImageStore(tmp_path / "made" / "rejected")
    rejected = [rollout(aside, k, labels={"accepted": False}).to_json(aside) for k in (7, 8)]
    write_shard(tmp_path / "made" / "rejected", 0, rejected)
    assert show(tmp_path / "made", tmp_path / "all.html", 100) == (6, 6)
    assert len(Page(tmp_path / "all.html").all("img")) == 12
    assert show(tmp_path / "made", tmp_path / "some.html", 2) == (2, 6)
    cards = Page(tmp_path / "some.html").all("details", class_="card rollout")
    assert [card["id"] for card in cards] == ["00000-000", "00000-008"]
    for n in (0, 501):
        with pytest.raises(ToolError, match="A page shows 1 to 500 rollouts"):
            show(tmp_path / "made", tmp_path / "none.html", n)
    (tmp_path / "empty" / "shards").mkdir(parents=True)
    with pytest.raises(ToolError, match="no rollout to be shown"):
        show(tmp_path / "empty", tmp_path / "none.html", 5)
    assert not (tmp_path / "none.html").exists()
