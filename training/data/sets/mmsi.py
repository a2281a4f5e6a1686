"""MMSI-Bench: 1,000 questions over several pictures of a place, by multiple choice (E-ViC).

Layout (README of MMSI-Bench): Parquet `MMSI_Bench.parquet` of {id, images: bytes of pictures, question_type, question
with its options, answer: letter, thought}.
Metric: accuracy by letter.
"""

from __future__ import annotations

from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, SetRow, letter_of, list_of, name_of, picture_of, text_of

LETTERS = 6
"""Letters that its own program looks for, A to F [-]."""


def _ask(row: SetRow) -> Question:
    return Question(
        name_of(row.fields, "id"),
        text_of(row.fields, "question"),
        tuple(picture_of(image, row.folder) for image in list_of(row.fields, "images")),
        "choice",
        letter_of(row.fields, "answer", LETTERS),
        category=text_of(row.fields, "question_type"),
    )


SET = PublicSet(
    "mmsi",
    "MMSI-Bench",
    "RunsenXu/MMSI-Bench on Hugging Face",
    ("E-ViC",),
    {"test": ("MMSI_Bench.parquet",)},
    _ask,
    "accuracy by letter",
)
