"""The table of the public sets: name, title, home, files by split, question of a row, measure, total.

Layouts and measures are read from the sources named above each set, none of them from the set itself.
"""

from __future__ import annotations

import training.data.sets.rows as rows
from training.data.sets.public_set import PublicSet, by_source, over_categories, over_question_types

ACCURACY = "accuracy by letter"
NUMBERS = "accuracy by letter; MRA of numbers"
TYPES = "mean of the question types, directions being one"
BLINK = (
    "Art_Style",
    "Counting",
    "Forensic_Detection",
    "Functional_Correspondence",
    "IQ_Test",
    "Jigsaw",
    "Multi-view_Reasoning",
    "Object_Localization",
    "Relative_Depth",
    "Relative_Reflectance",
    "Semantic_Correspondence",
    "Spatial_Relation",
    "Visual_Correspondence",
    "Visual_Similarity",
)
"""Tasks of BLINK, which are its folders."""

TABLE = (
    # RoboSpatial-Eval: download_benchmark.py writes the JSON; the Parquet of the same fields is as lmms-eval reads it.
    # evaluation.py: the beginning of the answer, and the first point in the polygon.
    PublicSet(
        "robospatial",
        "RoboSpatial-Home",
        "chanhee-luke/RoboSpatial-Home on Hugging Face",
        {name: ("annotations.json", f"data/{name}-*.parquet") for name in rows.ROBOSPATIAL},
        rows.robospatial,
        "right word at the beginning; first point in the polygon",
        over_categories,
        "mean of the three categories",
    ),
    # Dataset card, BLINK_Benchmark's eval/test_benchmark.py and evaluate.py, lmms-eval. The answers of the test files
    # are not public, so that these are not read.
    PublicSet(
        "blink",
        "BLINK",
        "BLINK-Benchmark/BLINK on Hugging Face",
        {task: (f"{task}/val-*.parquet",) for task in BLINK},
        rows.blink,
        ACCURACY,
        over_categories,
        "mean of the tasks",
    ),
    # Dataset card, RoboRefer's Evaluation/test_benchmark.py and summarize_acc.py.
    PublicSet(
        "refspatial",
        "RefSpatial-Bench",
        "BAAI/RefSpatial-Bench on Hugging Face",
        {
            name.lower(): (f"{name}/question.json", f"data/{name.lower()}-*.parquet")
            for name in ("Location", "Placement", "Unseen")
        },
        rows.refspatial,
        "share of the points in the mask",
    ),
    # SpatialLadder's eval_spld/evaluator.py, lmms-eval, mteb.
    PublicSet(
        "cvbench",
        "CV-Bench",
        "nyu-visionx/CV-Bench on Hugging Face",
        {"2D": ("test_2d.parquet",), "3D": ("test_3d.parquet",)},
        rows.cvbench,
        ACCURACY,
        by_source,
        "((ADE20K + COCO) / 2 + Omni3D) / 2",
    ),
    # RoboPoint's robopoint/eval/model_vqa.py and summarize_vqa.py.
    PublicSet(
        "where2place",
        "Where2Place",
        "wentao-yuan/where2place on Hugging Face",
        {"test": ("point_questions.jsonl",)},
        rows.where2place,
        "mean of the mask over the points",
    ),
    # ERQA's loading_example.py, lmms-eval. `visual_indices` says where in the text each picture belongs; here all
    # pictures come before the text.
    PublicSet(
        "erqa",
        "ERQA",
        "embodiedreasoning/ERQA on GitHub (data/erqa.tfrecord), or FlagEval/ERQA on Hugging Face",
        {"test": ("erqa.tfrecord", "data/erqa.tfrecord", "data/test-*.parquet")},
        rows.erqa,
        ACCURACY,
    ),
    # Dataset card, SPAR's lmms-eval task. That takes an answer that is part of the right letter, the empty one too, for
    # right; here it is wrong. SPAR-Bench-Tiny is the same with fewer rows.
    PublicSet(
        "sparbench",
        "SPAR-Bench",
        "jasonzhango/SPAR-Bench on Hugging Face",
        {"test": ("data/test-*.parquet", "*.parquet")},
        rows.sparbench,
        "accuracy by letter; MRA of numbers and moves",
        over_categories,
        "mean of the tasks",
    ),
    # README of MMSI-Bench.
    PublicSet(
        "mmsi",
        "MMSI-Bench",
        "RunsenXu/MMSI-Bench on Hugging Face",
        {"test": ("MMSI_Bench.parquet",)},
        rows.mmsi,
        ACCURACY,
    ),
    # SpatialLadder's evaluator.py.
    PublicSet(
        "spbench",
        "SPBench",
        "hongxingli/SPBench on Hugging Face",
        {"SI": ("SPBench-SI.parquet",), "MV": ("SPBench-MV.parquet",)},
        rows.spbench,
        NUMBERS,
        over_question_types,
        TYPES,
    ),
    # thinking-in-space's lmms-eval task.
    PublicSet(
        "vsibench",
        "VSI-Bench",
        "nyu-visionx/VSI-Bench on Hugging Face",
        {"test": ("test-00000-of-00001.parquet",)},
        rows.vsibench,
        NUMBERS,
        over_question_types,
        TYPES,
    ),
    # README of EmbSpatial-Bench.
    PublicSet(
        "embspatial",
        "EmbSpatial-Bench",
        "Phineas476/EmbSpatial-Bench on Hugging Face",
        {"test": ("embspatial_bench.json",)},
        rows.embspatial,
        ACCURACY,
    ),
    # SD-VLM's evaluation/inference.py. SD-VLM has GPT-4 turn both answers into metres; here rules read numbers with
    # units, and LAST (4.1) marks them. A row without such a number needs the judge and is left out.
    PublicSet(
        "msmu",
        "MSMU-Bench",
        "cpystan/MSMU on Hugging Face",
        {"test": ("test.parquet",)},
        rows.msmu,
        "share whose numbers are all within 25 %",
    ),
    # README of MapTrace; PERIA (B.2) for the measure. The published rows are for training; which of them PERIA held out
    # for its test, it does not say.
    PublicSet(
        "maptrace",
        "MapTrace",
        "google/MapTrace on Hugging Face",
        {name: (f"{name}/*.parquet",) for name in ("maptrace_20k", "maptrace_parquet", "floormap_parquet")},
        rows.maptrace,
        "share of paths with NDTW below 1.0",
    ),
    # ReasonMap's main.py, whose score against a map service is not computed.
    PublicSet(
        "reasonmap",
        "ReasonMap",
        "FSCCS/ReasonMap on Hugging Face",
        {"validation": ("data/validation*.parquet", "validation*.parquet")},
        rows.reasonmap,
        "share of routes that can be travelled",
    ),
    # VLMEvalKit's reasonmap_plus.py.
    PublicSet(
        "reasonmap-plus",
        "ReasonMap-Plus",
        "ReasonMap-Plus.tsv of VLMEvalKit",
        {"test": ("ReasonMap-Plus.tsv",)},
        rows.reasonmap_plus,
        "accuracy",
    ),
    # Mini-o3's docs/mini_o3_demo.md and README. PERIA and Mini-o3 ask a language model where PERIA's rules (B.2) do not
    # settle an answer.
    PublicSet(
        "visualprobe",
        "VisualProbe",
        "Mini-o3 on Hugging Face (VisualProbe_Easy, _Medium, _Hard)",
        {name.lower(): (f"VisualProbe_{name}/val.json",) for name in ("Easy", "Medium", "Hard")},
        rows.visualprobe,
        "accuracy by rules, a lower bound",
    ),
    # lmms-eval, vstar's README. Its own program compares likelihoods of the options, which needs the network.
    PublicSet(
        "vstar",
        "V*Bench",
        "craigwu/vstar_bench on Hugging Face",
        {"test": ("test_questions.jsonl",)},
        rows.vstar,
        ACCURACY,
    ),
    # BabyVision's babyvision_eval/evaluate_model.py. BabyVision and PERIA ask a language model where PERIA's rules do
    # not settle an answer (B.2).
    PublicSet(
        "babyvision",
        "BabyVision",
        "UniPat-AI/BabyVision on GitHub (data/babyvision_data.zip)",
        {"test": ("meta_data.jsonl",)},
        rows.babyvision,
        "accuracy by letter or rules, a lower bound",
    ),
)
"""Every set."""
