"""VisualProbe: small things in crowded pictures, easy, medium and hard (PERIA).

Layout (Mini-o3's docs/mini_o3_demo.md and README): `VisualProbe_Easy/val.json`, `_Medium`, `_Hard`, each a list of
{doc_id, images, problem: "<image>\\n...", solution, data_source}; names of pictures are from the folder that holds
the three.
Metric: accuracy by PERIA's rules (B.2); where they do not settle it, PERIA and Mini-o3 ask a language model, so that
this is a lower bound.
"""

from __future__ import annotations

from training.data.sets.public_set import PublicSet
from training.data.sets.question import Question, SetRow, list_of, name_of, picture_at, text_of


def _ask(row: SetRow) -> Question:
    return Question(
        f"{row.split}/{name_of(row.fields, 'doc_id')}",
        text_of(row.fields, "problem").replace("<image>", "").strip(),
        tuple(picture_at(row.folder, name) for name in list_of(row.fields, "images")),
        "text",
        text_of(row.fields, "solution"),
        category=row.split,
    )


SET = PublicSet(
    "visualprobe",
    "VisualProbe",
    "Mini-o3 on Hugging Face (VisualProbe_Easy, _Medium, _Hard)",
    ("PERIA",),
    {name: (f"VisualProbe_{name.capitalize()}/val.json",) for name in ("easy", "medium", "hard")},
    _ask,
    "accuracy by rules, a lower bound",
)
