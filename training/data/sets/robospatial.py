"""RoboSpatial-Home: yes/no about configuration and compatibility, and points in free space (SpaceTools).

Layout: RoboSpatial-Eval's download_benchmark.py writes `annotations.json`, a list of {category, question, answer,
img, depth_image, mask}, and the pictures beside it in `images/`; the set itself is Parquet of the same fields, one
split a category (`data/context-*.parquet`, as lmms-eval reads it).
Metric: RoboSpatial-Eval's evaluation.py: the beginning of the answer, and the first point in the polygon `answer`.
"""

from __future__ import annotations

from training.data.sets.marks import path_of
from training.data.sets.public_set import PublicSet, over_categories
from training.data.sets.question import Question, RowError, SetRow, picture_at, picture_of, shown, text_of, value_of

CATEGORIES = ("configuration", "compatibility", "context")


def _ask(row: SetRow) -> Question | None:
    category = text_of(row.fields, "category")
    if category not in CATEGORIES:
        raise RowError(f'its "category" must be one of {", ".join(CATEGORIES)}, got {shown(category)}')
    if category != row.split:
        return None
    answer, image = text_of(row.fields, "answer"), value_of(row.fields, "img")
    kind, truth = "yes_no", answer.strip().casefold()
    if truth not in ("yes", "no"):
        kind, polygon = "polygon", path_of(answer)
        truth = tuple((x, y) for x, y in polygon)  # type: ignore[assignment]
        if len(truth) < 3:
            raise RowError(f'its "answer" must be yes, no or a polygon, got {shown(answer)}')
    picture = picture_at(row.folder, image) if isinstance(image, str) else picture_of(image, row.folder)
    text = text_of(row.fields, "question")
    return Question(f"{category}/{row.position}", text, (picture,), kind, truth, category=category)


SET = PublicSet(
    "robospatial",
    "RoboSpatial-Home",
    "chanhee-luke/RoboSpatial-Home on Hugging Face",
    ("SpaceTools",),
    {name: ("annotations.json", f"data/{name}-*.parquet") for name in CATEGORIES},
    _ask,
    "right word at the beginning; first point in the polygon",
    over_categories,
    "mean of the three categories",
)
