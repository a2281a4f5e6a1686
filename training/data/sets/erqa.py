"""ERQA: 400 questions about what a robot sees and should do, by multiple choice, with one picture or more (E-ViC).

Layout: `erqa.tfrecord` of tf.train.Examples {question, answer, question_type, image/encoded: pictures,
visual_indices} (ERQA's own loading_example.py); or FlagEval's Parquet of {question_id, question, question_type,
answer, images} (lmms-eval's task).
Metric: accuracy by letter. `visual_indices` says where in the text each picture belongs; it is kept in `meta`, and
the pictures come before the text.
"""

from __future__ import annotations

from typing import Any

from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, RowError, SetRow, letter_of, list_of, name_of, picture_of, text_of

LETTERS = 4
"""Options of every question [-]; lmms-eval's task."""


def _ask(row: SetRow) -> Question:
    record = "image/encoded" in row.fields
    fields: dict[str, Any] = dict(row.fields)
    if record:
        fields |= {name: _words(row.fields, name) for name in ("question", "answer", "question_type")}
    images = list_of(fields, "image/encoded" if record else "images")
    return Question(
        f"erqa/{row.position}" if record else name_of(fields, "question_id"),
        text_of(fields, "question"),
        tuple(picture_of(image, row.folder) for image in images),
        "choice",
        letter_of(fields, "answer", LETTERS),
        category=text_of(fields, "question_type"),
        meta={"visual_indices": fields.get("visual_indices")},
    )


def _words(fields: Any, name: str) -> str:
    try:
        return b"".join(list_of(fields, name)[:1]).decode()
    except (TypeError, UnicodeDecodeError) as error:
        raise RowError(f'its "{name}" is no text') from error


SET = PublicSet(
    "erqa",
    "ERQA",
    "embodiedreasoning/ERQA on GitHub (data/erqa.tfrecord), or FlagEval/ERQA on Hugging Face",
    ("E-ViC",),
    {"test": ("erqa.tfrecord", "data/erqa.tfrecord", "data/test-*.parquet")},
    _ask,
    "accuracy by letter",
)
