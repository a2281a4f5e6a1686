"""EmbSpatial-Bench: six relations between things in rooms, as a robot sees them, by multiple choice (LAST).

Layout (README of EmbSpatial-Bench): `embspatial_bench.json`, a list of {question_id, question, relation, image:
base64, answer_options, answer: index from 0, data_source}.
Metric: accuracy; its README asks for nothing else, and prints no form of the options: lettered lines here.
"""

from __future__ import annotations

from training.data.sets.public_set import PublicSet
from training.data.sets.question import (
    Question,
    RowError,
    SetRow,
    lettered,
    name_of,
    picture_in_base64,
    shown,
    text_of,
    texts_of,
)


def _ask(row: SetRow) -> Question:
    options, answer = texts_of(row.fields, "answer_options"), row.fields.get("answer")
    if not isinstance(answer, int) or isinstance(answer, bool) or not 0 <= answer < len(options):
        raise RowError(f'its "answer" must be the number of one of {len(options)} options, got {shown(answer)}')
    return Question(
        name_of(row.fields, "question_id"),
        f"{text_of(row.fields, 'question')}\n{lettered(options)}",
        (picture_in_base64(row.fields, "image"),),
        "choice",
        chr(ord("A") + answer),
        options,
        text_of(row.fields, "relation"),
        {"data_source": row.fields.get("data_source")},
    )


SET = PublicSet(
    "embspatial",
    "EmbSpatial-Bench",
    "Phineas476/EmbSpatial-Bench on Hugging Face",
    ("LAST",),
    {"test": ("embspatial_bench.json",)},
    _ask,
    "accuracy by letter",
)
