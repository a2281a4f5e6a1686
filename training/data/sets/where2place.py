"""Where2Place: points in free space that a sentence describes (E-ViC).

Layout (RoboPoint's robopoint/eval/model_vqa.py and summarize_vqa.py): `point_questions.jsonl` of {question_id, image,
text}, pictures in `images/`, and for the k-th line the mask `masks/kk.jpg`, k from 0 with two digits.
Metric: summarize_vqa.py: the mean of the mask's values over the points.
"""

from __future__ import annotations

from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, SetRow, name_of, picture_at, text_of


def _ask(row: SetRow) -> Question:
    return Question(
        name_of(row.fields, "question_id"),
        text_of(row.fields, "text"),
        (picture_at(row.folder / "images", text_of(row.fields, "image")),),
        "soft_mask",
        picture_at(row.folder / "masks", f"{row.position:02d}.jpg"),
    )


SET = PublicSet(
    "where2place",
    "Where2Place",
    "wentao-yuan/where2place on Hugging Face",
    ("E-ViC",),
    {"test": ("point_questions.jsonl",)},
    _ask,
    "mean of the mask over the points",
)
