"""BabyVision: tracking, counting and telling apart, without language (PERIA).

Layout (BabyVision's babyvision_eval/evaluate_model.py): `meta_data.jsonl` of {taskId, type, subtype, image, question,
ansType: "blank" or "choice", blankAns, options, choiceAns: index from 0}, names of pictures from its folder.
Metric: accuracy by letter, and by PERIA's rules (B.2) for words; BabyVision and PERIA ask a language model where
rules do not settle it, so that this is a lower bound.
"""

from __future__ import annotations

from training.data.sets.public_set import PublicSet
from training.data.sets.question import (
    Question,
    RowError,
    SetRow,
    lettered,
    name_of,
    picture_at,
    shown,
    text_of,
    texts_of,
)


def _ask(row: SetRow) -> Question:
    fields, text = row.fields, text_of(row.fields, "question")
    picture = picture_at(row.folder, text_of(fields, "image"))
    name, category, form = name_of(fields, "taskId"), text_of(fields, "type"), text_of(fields, "ansType")
    if form == "blank":
        return Question(name, text, (picture,), "text", name_of(fields, "blankAns"), category=category)
    if form != "choice":
        raise RowError(f'its "ansType" must be blank or choice, got {shown(form)}')
    options, chosen = texts_of(fields, "options"), name_of(fields, "choiceAns")
    if not chosen.isdecimal() or int(chosen) >= len(options):
        raise RowError(f'its "choiceAns" must be the number of one of {len(options)} options, got {shown(chosen)}')
    asked = f"{text}\nChoices:\n{lettered(options)}"
    return Question(name, asked, (picture,), "choice", chr(ord("A") + int(chosen)), options, category)


SET = PublicSet(
    "babyvision",
    "BabyVision",
    "UniPat-AI/BabyVision on GitHub (data/babyvision_data.zip)",
    ("PERIA",),
    {"test": ("meta_data.jsonl",)},
    _ask,
    "accuracy by letter or rules, a lower bound",
)
