"""SPAR-Bench: 20 tasks about depth, distance, views and relations in one picture or several (E-ViC).

Layout (dataset card): Parquet `data/test-*.parquet` of {id, img_type, format_type, task, source, image: pictures,
question, answer}; SPAR-Bench-Tiny is the same with fewer rows.
Metric (SPAR's lmms-eval task): accuracy of choices, MRA of numbers, the mean MRA of five moves for
`view_change_infer`; the total is the mean over tasks. Its program takes an answer that is part of the right letter,
the empty one too, for right; here it is not.
"""

from __future__ import annotations

from typing import Any

from training.data.sets.marks import first_number, view_change
from training.data.sets.public_set import PublicSet, over_categories
from training.data.sets.question import (
    Question,
    RowError,
    SetRow,
    letter_of,
    list_of,
    name_of,
    picture_of,
    shown,
    text_of,
)

CHOICES = frozenset((
    "obj_spatial_relation_oo", "obj_spatial_relation_oc_mv", "obj_spatial_relation_oo_mv", "spatial_imagination_oc",
    "spatial_imagination_oo", "spatial_imagination_oc_mv", "spatial_imagination_oo_mv", "position_matching",
    "camera_motion_infer", "distance_infer_center_oo", "distance_infer_center_oo_mv",
))  # fmt: skip
NUMBERS = frozenset(
    f"{what}_prediction_{whose}{views}"
    for what in ("depth", "distance")
    for whose in ("oc", "oo")
    for views in ("", "_mv")
)
LETTERS = 4
"""Most options of a question [-]; they stand in its text."""


def _ask(row: SetRow) -> Question:
    task, answer = text_of(row.fields, "task"), text_of(row.fields, "answer")
    truth: Any = answer
    if task in CHOICES:
        kind, truth = "choice", letter_of(row.fields, "answer", LETTERS)
    elif task in NUMBERS:
        kind, truth = "last_number" if task.endswith("_mv") else "number", first_number(answer)
    elif task == "view_change_infer":
        kind, truth = "view", answer if view_change(answer) else None
    else:
        raise RowError(f'its "task" {shown(task)} is none of SPAR-Bench')
    if truth is None:
        raise RowError(f'its "answer" {shown(answer)} is none to {task}')
    pictures = tuple(picture_of(image, row.folder) for image in list_of(row.fields, "image"))
    return Question(name_of(row.fields, "id"), text_of(row.fields, "question"), pictures, kind, truth, (), task)


SET = PublicSet(
    "sparbench",
    "SPAR-Bench",
    "jasonzhango/SPAR-Bench on Hugging Face",
    ("E-ViC",),
    {"test": ("data/test-*.parquet", "*.parquet")},
    _ask,
    "accuracy by letter; MRA of numbers and moves",
    over_categories,
    "mean of the tasks",
)
