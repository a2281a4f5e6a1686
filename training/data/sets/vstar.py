"""V*Bench: attributes and positions of small things in large pictures, by multiple choice (PERIA).

Layout: `test_questions.jsonl` of {question_id, image, text with its options, category, label: letter}, pictures in a
folder a category (lmms-eval's task; the folders of vstar's README).
Metric: accuracy by letter. vstar's own program compares likelihoods of the options instead, which needs the network.
"""

from __future__ import annotations

import re

from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, RowError, SetRow, letter_of, name_of, picture_at, text_of


def _ask(row: SetRow) -> Question:
    text = text_of(row.fields, "text")
    options = tuple(option.strip() for option in re.findall(r"^\s*\([A-Z]\)(.*)$", text, re.MULTILINE))
    if not options:
        raise RowError('its "text" has no options "(A) ..."')
    return Question(
        name_of(row.fields, "question_id"),
        text,
        (picture_at(row.folder, text_of(row.fields, "image")),),
        "choice",
        letter_of(row.fields, "label", len(options)),
        options,
        text_of(row.fields, "category"),
    )


SET = PublicSet(
    "vstar",
    "V*Bench",
    "craigwu/vstar_bench on Hugging Face",
    ("PERIA",),
    {"test": ("test_questions.jsonl",)},
    _ask,
    "accuracy by letter",
)
