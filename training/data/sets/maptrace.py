"""MapTrace: a path on a map from one place to another (PERIA).

Layout (README of MapTrace): folders `maptrace_parquet`, `floormap_parquet` and `maptrace_20k` of Parquet files
{image_bytes, label_text: "[(x, y), ...]" in 0..1, input_text, map_description}; what its postprocess_data.py has been
over is {image, messages: question and path}.
Metric: PERIA's (B.2), the share of paths with an NDTW below 1.0, by `training.rewards.peria.ndtw`. The published rows
are for training; which of them PERIA held out for its test, it does not say.
"""

from __future__ import annotations

from typing import Any

from training.data.sets.marks import path_of
from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, RowError, SetRow, list_of, picture_of, shown, text_of, value_of


def _ask(row: SetRow) -> Question:
    if "messages" in row.fields:
        text, label = (_said(row.fields, k) for k in (0, 1))
        image = value_of(row.fields, "image")
    else:
        text, label = text_of(row.fields, "input_text"), text_of(row.fields, "label_text")
        image = value_of(row.fields, "image_bytes")
    truth = path_of(label)
    if len(truth) < 2:
        raise RowError(f"its path must have 2 points or more, got {shown(label)}")
    name = f"{row.split}/{row.position}"
    return Question(name, text, (picture_of(image, row.folder),), "path", truth, category=row.split)


def _said(fields: Any, turn: int) -> str:
    """The text of a message: of its parts the one that has one."""
    try:
        parts = [part["text"] for part in list_of(fields, "messages")[turn]["content"] if part.get("text")]
        return text_of({"text": parts[0]}, "text")
    except (LookupError, TypeError, AttributeError) as error:
        raise RowError('its "messages" must be a question and a path') from error


SET = PublicSet(
    "maptrace",
    "MapTrace",
    "google/MapTrace on Hugging Face",
    ("PERIA",),
    {name: (f"{name}/*.parquet",) for name in ("maptrace_20k", "maptrace_parquet", "floormap_parquet")},
    _ask,
    "share of paths with NDTW below 1.0",
)
