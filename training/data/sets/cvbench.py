"""CV-Bench: counting and relations in 2D, depth and distance in 3D, by multiple choice (SpaceTools, LAST).

Layout: Parquet `test_2d.parquet` and `test_3d.parquet` (SpatialLadder's eval_spld/evaluator.py) of {idx, type, task,
image, question, choices, answer: "(A)", prompt, source} (lmms-eval's task, mteb's).
Metric: accuracy by letter; the total is ((ADE20K + COCO) / 2 + Omni3D) / 2 by source (lmms-eval, SpatialLadder).
"""

from __future__ import annotations

from collections.abc import Sequence

from training.data.sets.public_set import MarkedAnswer, PublicSet, mean_of
from training.data.sets.question import Question, SetRow, letter_of, name_of, picture_of, text_of, texts_of, value_of


def _ask(row: SetRow) -> Question:
    options = texts_of(row.fields, "choices")
    return Question(
        f"{row.split}/{name_of(row.fields, 'idx')}",
        text_of(row.fields, "prompt"),
        (picture_of(value_of(row.fields, "image"), row.folder),),
        "choice",
        letter_of(row.fields, "answer", len(options)),
        options,
        f"{row.split} {text_of(row.fields, 'task')}",
        {"source": text_of(row.fields, "source")},
    )


def by_source(marked: Sequence[MarkedAnswer]) -> float:
    """((ADE20K + COCO) / 2 + Omni3D) / 2, each the accuracy on one source; an absent one is left out."""
    by_name: dict[str, list[float]] = {}
    for question, score in marked:
        by_name.setdefault(question.meta["source"], []).append(score)
    flat = [mean_of(by_name[name]) for name in ("ADE20K", "COCO") if name in by_name]
    deep = [mean_of(by_name[name]) for name in ("Omni3D",) if name in by_name]
    return mean_of([mean_of(part) for part in (flat, deep) if part])


SET = PublicSet(
    "cvbench",
    "CV-Bench",
    "nyu-visionx/CV-Bench on Hugging Face",
    ("SpaceTools", "LAST"),
    {"2D": ("test_2d.parquet",), "3D": ("test_3d.parquet",)},
    _ask,
    "accuracy by letter",
    by_source,
    "((ADE20K + COCO) / 2 + Omni3D) / 2",
)
