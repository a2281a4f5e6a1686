"""RefSpatial-Bench: points at things and at free places that take several steps to find (SpaceTools, E-ViC).

Layout (dataset card, and RoboRefer's Evaluation/test_benchmark.py): raw `Location/question.json`, `Placement/`,
`Unseen/`, each a list of {id, object, prompt, suffix, rgb_path, mask_path, step} with paths within its folder; or
Parquet `data/location-*.parquet` of {id, image, mask, object, prompt, suffix, step}.
Metric: RoboRefer's Evaluation/summarize_acc.py: the share of the points that lie in the mask.
"""

from __future__ import annotations

from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, SetRow, name_of, picture_at, picture_of, text_of, value_of


def _ask(row: SetRow) -> Question:
    fields = row.fields
    if "rgb_path" in fields:
        picture, mask = (picture_at(row.file.parent, text_of(fields, name)) for name in ("rgb_path", "mask_path"))
    else:
        picture, mask = (picture_of(value_of(fields, name), row.folder) for name in ("image", "mask"))  # type: ignore[assignment]
    return Question(
        f"{row.split}/{name_of(fields, 'id')}",
        f"{text_of(fields, 'prompt')} {text_of(fields, 'suffix')}",
        (picture,),
        "mask",
        mask,
        category=row.split,
        meta={"object": fields.get("object"), "step": fields.get("step")},
    )


SET = PublicSet(
    "refspatial",
    "RefSpatial-Bench",
    "BAAI/RefSpatial-Bench on Hugging Face",
    ("SpaceTools", "E-ViC"),
    {
        name: (f"{name.capitalize()}/question.json", f"data/{name}-*.parquet")
        for name in ("location", "placement", "unseen")
    },
    _ask,
    "share of the points in the mask",
)
