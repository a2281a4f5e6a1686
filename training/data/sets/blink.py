"""BLINK: 14 tasks of perception by multiple choice, of which SpaceTools takes relative depth.

Layout: a folder a task with Parquet files, of which `val-*.parquet` has answers: {idx, question, prompt, choices,
answer: "(A)", image_1 ... image_4} (dataset card; eval/test_benchmark.py of BLINK_Benchmark; lmms-eval's task). The
answers of the test files are not public, so that these are not read.
Metric: accuracy by letter, averaged over tasks (BLINK_Benchmark, eval/evaluate.py).
"""

from __future__ import annotations

from training.data.sets.public_set import PublicSet, over_categories
from training.data.sets.question import Question, RowError, SetRow, letter_of, picture_of, text_of, texts_of

TASKS = (
    "Art_Style", "Counting", "Forensic_Detection", "Functional_Correspondence", "IQ_Test", "Jigsaw",
    "Multi-view_Reasoning", "Object_Localization", "Relative_Depth", "Relative_Reflectance", "Semantic_Correspondence",
    "Spatial_Relation", "Visual_Correspondence", "Visual_Similarity",
)  # fmt: skip


def _ask(row: SetRow) -> Question:
    options = texts_of(row.fields, "choices")
    images = [row.fields[name] for k in range(1, 5) if row.fields.get(name := f"image_{k}") is not None]
    if not images:
        raise RowError('it has no "image_1"')
    return Question(
        text_of(row.fields, "idx"),
        text_of(row.fields, "prompt"),
        tuple(picture_of(image, row.folder) for image in images),
        "choice",
        letter_of(row.fields, "answer", len(options)),
        options,
        row.split,
    )


SET = PublicSet(
    "blink",
    "BLINK",
    "BLINK-Benchmark/BLINK on Hugging Face",
    ("SpaceTools",),
    {task: (f"{task}/val-*.parquet",) for task in TASKS},
    _ask,
    "accuracy by letter",
    over_categories,
    "mean of the tasks",
)
