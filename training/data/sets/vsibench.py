"""VSI-Bench, and SPBench in the same form: choices and numbers about rooms, seen in videos or in pictures (LAST).

Layout: VSI-Bench is Parquet `test-00000-of-00001.parquet` of {id, dataset, scene_name, question_type, question,
options, ground_truth} beside videos `dataset/scene_name.mp4` (thinking-in-space's lmms-eval task; SpatialLadder's
evaluator.py). SPBench is `SPBench-SI.parquet` and `SPBench-MV.parquet` with the names of pictures besides, {images},
in `SPBench-SI-images/scene_name/` or, as SpatialLadder's evaluator.py has them, `images/scene_name/`.
Metric (thinking-in-space): accuracy of choices, MRA of numbers; the total is the mean over question types, the three
difficulties of relative direction being one. Videos are not opened: predictions are marked, but no policy is run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from training.data.sets.marks import first_number
from training.data.sets.public_set import MarkedAnswer, PublicSet, over_categories
from training.data.sets.question import (
    Question,
    RowError,
    SetRow,
    letter_of,
    list_of,
    name_of,
    picture_at,
    shown,
    text_of,
    texts_of,
)

NUMBERS = frozenset(("object_abs_distance", "object_counting", "object_size_estimation", "room_size_estimation"))
DIRECTION = "object_rel_direction"
CHOICES = frozenset((
    DIRECTION, f"{DIRECTION}_easy", f"{DIRECTION}_medium", f"{DIRECTION}_hard", "object_rel_distance", "route_planning",
    "obj_appearance_order",
))  # fmt: skip


def _ask(row: SetRow) -> Question:
    kind_of_question, text = text_of(row.fields, "question_type"), text_of(row.fields, "question")
    options: tuple[str, ...] = ()
    truth: Any
    if kind_of_question in CHOICES:
        options = texts_of(row.fields, "options")
        kind, truth = "choice", letter_of(row.fields, "ground_truth", len(options))
        text = "\n".join([text, "Options:", *options])
    elif kind_of_question in NUMBERS:
        kind, truth = "number", first_number(text_of(row.fields, "ground_truth"))
        if truth is None:
            raise RowError(f'its "ground_truth" must be a number, got {shown(row.fields["ground_truth"])}')
    else:
        raise RowError(f'its "question_type" {shown(kind_of_question)} is unknown')
    options = tuple(option.partition(". ")[2] or option for option in options)
    meta = {name: row.fields.get(name) for name in ("dataset", "scene_name")}
    return Question(name_of(row.fields, "id"), text, (), kind, truth, options, kind_of_question, meta)


def _ask_with_pictures(row: SetRow) -> Question:
    question, scene = _ask(row), text_of(row.fields, "scene_name")
    folders = [row.folder / f"SPBench-{row.split}-images", row.folder / "images"]
    folder = next((folder for folder in folders if folder.is_dir()), folders[0])
    pictures = tuple(picture_at(folder, f"{scene}/{name}") for name in list_of(row.fields, "images"))
    return replace(question, id=f"{row.split}/{question.id}", pictures=pictures)


def over_question_types(marked: Sequence[MarkedAnswer]) -> float:
    """The mean over question types; the difficulties of relative direction are averaged first, each once."""
    types = {question.category for question, _ in marked}
    parts = [name for name in types if name.startswith(f"{DIRECTION}_")]
    if not parts:
        return over_categories(marked)
    direction = over_categories([(q, score) for q, score in marked if q.category in parts])
    others = [(q, score) for q, score in marked if q.category not in parts]
    count = len(types) - len(parts)
    return (over_categories(others) * count + direction) / (count + 1)


VSI_BENCH = PublicSet(
    "vsibench",
    "VSI-Bench",
    "nyu-visionx/VSI-Bench on Hugging Face",
    ("LAST",),
    {"test": ("test-00000-of-00001.parquet",)},
    _ask,
    "accuracy by letter; MRA of numbers",
    over_question_types,
    "mean of the question types, directions being one",
)
SPBENCH = replace(
    VSI_BENCH,
    name="spbench",
    title="SPBench",
    home="hongxingli/SPBench on Hugging Face",
    files={"SI": ("SPBench-SI.parquet",), "MV": ("SPBench-MV.parquet",)},
    ask=_ask_with_pictures,
)
