"""ReasonMap, routes on maps of metros, and ReasonMap-Plus, counting and yes/no on them (PERIA).

Layout: ReasonMap is Parquet of {country, city, json: stops of each line, question_short, question_long, station_1,
station_2, figure: base64} (its main.py); ReasonMap-Plus is VLMEvalKit's `ReasonMap-Plus.tsv` of {index, image:
base64, question, answer, type, difficulty_city}.
Metric: accuracy. Of ReasonMap the short question is asked, and a route is right that can be travelled (main.py); its
score against a map service is not computed. Of ReasonMap-Plus, by type (VLMEvalKit's reasonmap_plus.py): TorF is 1 or
0, counting1 the number of an option from 0, counting2 and counting3 a number, and what else there is a text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, RowError, SetRow, name_of, picture_in_base64, shown, text_of, value_of

REMARKS = ("（换乘站）", "（支线起始站）", " (Transfer Station)", " (Branch-starting Station)")
"""What follows the name of a stop in `json`; main.py."""
LETTERS = 4
"""Options of counting1 [-]; reasonmap_plus.py."""


def _ask_route(row: SetRow) -> Question:
    country, city = (text_of(row.fields, name) for name in ("country", "city"))
    truth = {
        "from": text_of(row.fields, "station_1"),
        "to": text_of(row.fields, "station_2"),
        "lines": _lines(value_of(row.fields, "json")),
    }
    return Question(
        f"{country}/{city}/{row.position}",
        text_of(row.fields, "question_short"),
        (picture_in_base64(row.fields, "figure"),),
        "route",
        truth,
        category=str(row.fields.get("difficulty_city") or "all"),
        meta={"country": country, "city": city},
    )


def _lines(value: Any) -> dict[str, list[str]]:
    """Stops of each line; in Parquet lines of other maps are null."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise RowError('its "json" is no JSON') from error
    if not isinstance(value, Mapping):
        raise RowError(f'its "json" must have the stops of each line, got {shown(value)}')
    lines: dict[str, list[str]] = {}
    for name, stops in value.items():
        if isinstance(stops, list):
            lines[str(name)] = [_stop(stop) for stop in stops if isinstance(stop, str)]
    if not lines:
        raise RowError('its "json" has no line with stops')
    return lines


def _stop(name: str) -> str:
    for remark in REMARKS:
        name = name.replace(remark, "")
    return name


def _ask_plus(row: SetRow) -> Question:
    asked, answer = text_of(row.fields, "type"), name_of(row.fields, "answer")
    picture = picture_in_base64(row.fields, "image")
    kind, truth = "text", answer
    if asked.casefold().startswith("torf") or asked.casefold() == "counting1":
        if not answer.isdecimal() or int(answer) >= (LETTERS if asked.casefold() == "counting1" else 2):
            raise RowError(f'its "answer" {shown(answer)} is none to {asked}')
        if asked.casefold() == "counting1":
            kind, truth = "choice", chr(ord("A") + int(answer))
        else:
            truth = ("no", "yes")[int(answer)]
    name, text = name_of(row.fields, "index"), text_of(row.fields, "question")
    return Question(name, text, (picture,), kind, truth, category=asked)


REASON_MAP = PublicSet(
    "reasonmap",
    "ReasonMap",
    "FSCCS/ReasonMap on Hugging Face",
    ("PERIA",),
    {"validation": ("data/validation*.parquet", "validation*.parquet")},
    _ask_route,
    "share of routes that can be travelled",
)
REASON_MAP_PLUS = PublicSet(
    "reasonmap-plus",
    "ReasonMap-Plus",
    "ReasonMap-Plus.tsv of VLMEvalKit",
    ("PERIA",),
    {"test": ("ReasonMap-Plus.tsv",)},
    _ask_plus,
    "accuracy",
)
