"""MSMU-Bench: sizes, distances and counts of things in rooms (LAST).

Layout (SD-VLM's evaluation/inference.py): Parquet `test.parquet` of {image_base64, image_size, image_mode,
conversations: two of {from, value}, type}.
Metric: SD-VLM has GPT-4 turn both answers into metres, and judge what is no number. Here numbers with units are read
from both by rules, and marked as LAST does (4.1): every one within 25 %. Rows of other types, and those whose true
answer has no such number, need the judge and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from training.data.sets.marks import measures_of
from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, RowError, SetRow, list_of, picture_in_base64, shown, text_of

UNITS: Mapping[str, str] = {"scale_estimation": "m", "absolute_distance": "m", "refer_obj_estimation": "m", "count": ""}
"""Unit of the answers by type, of those that are numbers; evaluation/evaluate_final.py."""


def _ask(row: SetRow) -> Question:
    kind, talk = text_of(row.fields, "type"), list_of(row.fields, "conversations")
    if kind not in UNITS:
        raise RowError(f"questions of the type {shown(kind)} are marked by a language model only")
    if len(talk) < 2 or not all(isinstance(said, Mapping) for said in talk[:2]):
        raise RowError('its "conversations" must be a question and an answer')
    question, answer = (text_of(said, "value") for said in talk[:2])
    truth = measures_of(answer, UNITS[kind] == "m")
    if not truth or 0 in truth:
        raise RowError(f"its answer {shown(answer)} has no number that rules can read")
    return Question(
        f"{row.split}/{row.position}",
        question.replace("<image>", "").strip(),
        (picture_in_base64(row.fields, "image_base64"),),
        "measures",
        truth,
        category=kind,
        meta={"unit": UNITS[kind]},
    )


SET = PublicSet(
    "msmu",
    "MSMU-Bench",
    "cpystan/MSMU on Hugging Face",
    ("LAST",),
    {"test": ("test.parquet",)},
    _ask,
    "share whose numbers are all within 25 %",
)
