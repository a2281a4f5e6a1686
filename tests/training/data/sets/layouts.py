"""Public sets of two to four rows in their publishers' layouts, written into a folder by the name of the set."""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

RED = (200, 0, 0)
WHITE, BLACK = (255, 255, 255), (0, 0, 0)


def png(colour: tuple[int, int, int] = RED, size: tuple[int, int] = (20, 10)) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    return file.getvalue()


def half_mask(size: tuple[int, int] = (20, 10), form: str = "PNG") -> bytes:
    """The left half is in."""
    pixels = np.zeros((size[1], size[0]), np.uint8)
    pixels[:, : size[0] // 2] = 255
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, form)
    return file.getvalue()


def base64_png() -> str:
    return base64.b64encode(png()).decode()


def put(path: Path, data: bytes | str | Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(data, bytes):
        data = (data if isinstance(data, str) else json.dumps(data)).encode()
    path.write_bytes(data)


def parquet(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)


def jsonl(path: Path, rows: Sequence[Any]) -> None:
    put(path, "".join(f"{json.dumps(row)}\n" for row in rows))


def image(data: bytes | None = None) -> dict[str, Any]:
    """The form that `datasets` gives a picture in Parquet."""
    return {"bytes": data or png(), "path": "0.png"}


def robospatial(folder: Path) -> None:
    put(folder / "images" / "img_0.png", png())
    rows = [
        ("context", "Point left of the bowl.", "[(0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)]"),
        ("configuration", "Is the cup left of the bowl?", "Yes"),
        ("configuration", "Is the bowl behind the cup?", "no"),
    ]
    named = [
        {"category": c, "question": q, "answer": a, "img": "images/img_0.png", "depth_image": None, "mask": None}
        for c, q, a in rows
    ]
    put(folder / "annotations.json", named)


def robospatial_parquet(folder: Path) -> None:
    row = {"category": "compatibility", "question": "Can the box fit left of the cup?", "answer": "yes", "img": image()}
    parquet(folder / "data" / "compatibility-00000-of-00001.parquet", [row])


def blink(folder: Path) -> None:
    rows = [
        {
            "idx": f"val_Relative_Depth_{k}",
            "question": "Which point is closer?",
            "prompt": "Which point is closer to the camera?\n(A) A is closer\n(B) B is closer",
            "choices": ["A is closer", "B is closer"],
            "answer": answer,
            "image_1": image(),
            "image_2": None,
        }
        for k, answer in enumerate(("(A)", "(B)"))
    ]
    parquet(folder / "Relative_Depth" / "val-00000-of-00001.parquet", rows)
    parquet(folder / "Relative_Depth" / "test-00000-of-00001.parquet", [rows[0] | {"answer": "hidden"}])
    counting = {"idx": "val_Counting_0", "prompt": "How many?\n(A) 1\n(B) 2", "choices": ["1", "2"], "answer": "(B)"}
    parquet(folder / "Counting" / "val-00000-of-00001.parquet", [counting | {"image_1": image(), "image_2": image()}])


def refspatial(folder: Path) -> None:
    for split in ("Location", "Placement"):
        put(folder / split / "image" / "0.png", png())
        put(folder / split / "mask" / "0.png", half_mask())
        row = {
            "id": 0,
            "object": "the red box",
            "prompt": "Please point out the red box.",
            "suffix": "Answer [(x1, y1)].",
            "rgb_path": "image/0.png",
            "mask_path": "mask/0.png",
            "category": split,
            "step": 2,
        }
        put(folder / split / "question.json", [row])


def refspatial_parquet(folder: Path) -> None:
    row = {"id": 7, "object": "a cup", "prompt": "Point at a cup.", "suffix": "[(x1, y1)]", "step": 1}
    parquet(folder / "data" / "unseen-00000-of-00001.parquet", [row | {"image": image(), "mask": image(half_mask())}])


def where2place(folder: Path) -> None:
    for k in range(2):
        put(folder / "images" / f"{k:02d}.jpg", png())
        put(folder / "masks" / f"{k:02d}.jpg", half_mask((32, 16), "PNG"))
    rows = [{"question_id": k, "image": f"{k:02d}.jpg", "text": f"Point at free space {k}."} for k in range(2)]
    jsonl(folder / "point_questions.jsonl", rows)


def cvbench(folder: Path) -> None:
    row = {
        "type": "2D",
        "image": image(),
        "question": "Where is the cup?",
        "choices": ["left", "right"],
        "prompt": "Where is the cup?\n(A) left\n(B) right",
    }
    flat = [
        row | {"idx": 0, "task": "Relation", "answer": "(A)", "source": "ADE20K"},
        row | {"idx": 1, "task": "Relation", "answer": "(B)", "source": "COCO"},
        row | {"idx": 2, "task": "Count", "answer": "(B)", "source": "COCO"},
    ]
    parquet(folder / "test_2d.parquet", flat)
    parquet(folder / "test_3d.parquet", [row | {"idx": 3, "task": "Depth", "answer": "(A)", "source": "Omni3D"}])


def embspatial(folder: Path) -> None:
    row = {
        "data_source": "mp3d",
        "scene_id": "a",
        "question": "Which is nearest?",
        "relation": "close",
        "image": base64_png(),
        "answer_options": ["garage door", "cabinet", "table", "cart"],
        "objects": [],
    }
    rows = [row | {"question_id": "mp3d_57", "answer": 2}, row | {"question_id": "mp3d_58", "answer": 0}]
    put(folder / "embspatial_bench.json", rows)


def varint(value: int) -> bytes:
    head, rest = value & 0x7F, value >> 7
    return bytes([head | 0x80]) + varint(rest) if rest else bytes([head])


def part(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features: Mapping[str, list[bytes] | list[int]]) -> bytes:
    entries = b""
    for name, values in features.items():
        if values and isinstance(values[0], int):
            feature = part(3, part(1, b"".join(varint(int(value)) for value in values)))  # type: ignore[arg-type]
        else:
            feature = part(1, b"".join(part(1, value) for value in values))  # type: ignore[arg-type]
        entries += part(1, part(1, name.encode()) + part(2, feature))
    return part(1, entries)


def tfrecord(path: Path, examples: Sequence[bytes]) -> None:
    put(path, b"".join(struct.pack("<QI", len(e), 0) + e + b"\0\0\0\0" for e in examples))


def erqa(folder: Path) -> None:
    rows = [
        {
            "question": [b"Which way does the gripper move? A. left B. right C. up D. down. Answer with the letter."],
            "answer": [answer],
            "question_type": [b"Action Reasoning"],
            "image/encoded": [png()] * pictures,
            "visual_indices": [0] * pictures,
        }
        for answer, pictures in ((b"B", 1), (b"D", 2))
    ]
    tfrecord(folder / "erqa.tfrecord", [example(row) for row in rows])


def erqa_parquet(folder: Path) -> None:
    row = {"question_id": "q", "question": "Which? A. a B. b", "question_type": "Pointing", "answer": "A"}
    parquet(folder / "data" / "test-00000-of-00001.parquet", [row | {"images": [image(), image()]}])


def sparbench(folder: Path) -> None:
    rows = [
        {"task": "obj_spatial_relation_oo", "answer": "C"},
        {"task": "depth_prediction_oc", "answer": "2.0"},
        {"task": "distance_prediction_oo_mv", "answer": "1.5"},
        {"task": "view_change_infer", "answer": "move_right:0.5,rotate_up:10"},
    ]
    parquet(
        folder / "data" / "test-00000-of-00002.parquet",
        [{"id": f"r{k}", "question": "How?", "image": [image()], **row} for k, row in enumerate(rows)],
    )


def mmsi(folder: Path) -> None:
    rows = [
        {
            "id": k,
            "images": [png(), png()],
            "question_type": "Motion (Cam.)",
            "thought": "...",
            "question": "Which way? Options: A: left, B: right, C: up, D: down",
            "answer": answer,
        }
        for k, answer in enumerate("BD")
    ]
    parquet(folder / "MMSI_Bench.parquet", rows)


def room_rows() -> list[dict[str, Any]]:
    row = {"dataset": "scannet", "scene_name": "scene0011_00", "question": "How?", "options": None}
    sides = ["A. left", "B. right"]
    return [
        row | {"id": 0, "question_type": "object_counting", "ground_truth": "4"},
        row | {"id": 1, "question_type": "object_rel_direction_easy", "options": sides, "ground_truth": "A"},
        row | {"id": 2, "question_type": "object_rel_direction_hard", "options": sides, "ground_truth": "B"},
        row | {"id": 3, "question_type": "route_planning", "options": sides, "ground_truth": "B"},
    ]


def vsibench(folder: Path) -> None:
    parquet(folder / "test-00000-of-00001.parquet", room_rows())


def spbench(folder: Path) -> None:
    put(folder / "SPBench-SI-images" / "scene0011_00" / "20.jpg", png())
    parquet(folder / "SPBench-SI.parquet", [row | {"images": ["20.jpg"]} for row in room_rows()[:2]])


def msmu(folder: Path) -> None:
    rows = [
        ("scale_estimation", "How wide is the chair?", "The width of the chair is 1.00 meters."),
        ("scale_estimation", "What is the size of the table?", "It has a length of 2.0 m, width of 80 cm."),
        ("count", "How many chairs are there?", "There are 4 chairs."),
        ("relative_position", "Where is the chair?", "Left of the table."),
    ]
    named = [
        {
            "image_base64": base64_png(),
            "image_size": [20, 10],
            "image_mode": "RGB",
            "type": kind,
            "conversations": [{"from": "human", "value": f"<image>\n{q}"}, {"from": "gpt", "value": a}],
        }
        for kind, q, a in rows
    ]
    parquet(folder / "test.parquet", named)


def vstar(folder: Path) -> None:
    put(folder / "direct_attributes" / "sa_1.jpg", png())
    row = {"image": "direct_attributes/sa_1.jpg", "category": "direct_attributes"}
    text = (
        "What colour is the glove?\n(A) red\n(B) blue\nAnswer with the option's letter from the given choices directly."
    )
    rows = [row | {"question_id": k, "label": label, "text": text} for k, label in enumerate("AB")]
    jsonl(folder / "test_questions.jsonl", rows)


def visualprobe(folder: Path) -> None:
    put(folder / "VisualProbe_Hard" / "images" / "1.jpg", png())
    row = {"images": ["VisualProbe_Hard/images/1.jpg"], "data_source": "visual_probe_hard"}
    rows = [
        row | {"doc_id": "1", "problem": "<image>\nWhat is written on the sign?", "solution": "EXIT."},
        row | {"doc_id": "2", "problem": "<image>\nHow many birds?", "solution": "3"},
    ]
    put(folder / "VisualProbe_Hard" / "val.json", rows)


def babyvision(folder: Path) -> None:
    put(folder / "images" / "1.png", png())
    row = {"image": "images/1.png", "type": "Visual Tracking", "subtype": "Maze"}
    rows = [
        row | {"taskId": 1, "question": "Which exit?", "ansType": "blank", "blankAns": "C", "options": None},
        row | {"taskId": 2, "question": "Which?", "ansType": "choice", "options": ["cat", "dog"], "choiceAns": 1},
    ]
    jsonl(folder / "meta_data.jsonl", rows)


def maptrace(folder: Path) -> None:
    row = {"image_bytes": png(), "input_text": "Show me the way.", "map_description": "a park"}
    parquet(folder / "floormap_parquet" / "a.parquet", [row | {"label_text": "[(0.1, 0.1), (0.5, 0.1), (0.5, 0.9)]"}])
    said = [
        {"role": "user", "content": [{"type": "image", "text": None}, {"type": "text", "text": "Show me."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "[(0.0, 0.0), (1.0, 1.0)]"}]},
    ]
    parquet(folder / "maptrace_20k" / "b.parquet", [{"image": png(), "messages": said}])


def reasonmap(folder: Path) -> None:
    lines = {
        "North South Line": ["Newton Station (Transfer Station)", "Orchard Station", "Somerset Station"],
        "Downtown Line": ["Stevens Station", "Newton Station (Transfer Station)"],
    }
    row = {
        "country": "singapore",
        "city": "singapore",
        "json": lines,
        "station_1": "Stevens Station",
        "station_2": "Orchard Station",
        "question_short": "How do I get there?",
        "question_long": "?",
        "figure": base64_png(),
        "difficulty_city": "easy",
    }
    parquet(folder / "data" / "validation-00000-of-00001.parquet", [row])


def reasonmap_plus(folder: Path) -> None:
    header = "index\timage\tquestion\tanswer\ttype\tdifficulty_city\n"
    rows = [("0", "1", "TorF1"), ("1", "2", "Counting1"), ("2", "12", "Counting2")]
    lines = [f"{index}\t{base64_png()}\tA question?\t{answer}\t{kind}\teasy\n" for index, answer, kind in rows]
    put(folder / "ReasonMap-Plus.tsv", header + "".join(lines))


LAYOUTS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "robospatial": ("robospatial", robospatial),
    "robospatial as Parquet": ("robospatial", robospatial_parquet),
    "blink": ("blink", blink),
    "refspatial": ("refspatial", refspatial),
    "refspatial as Parquet": ("refspatial", refspatial_parquet),
    "where2place": ("where2place", where2place),
    "cvbench": ("cvbench", cvbench),
    "embspatial": ("embspatial", embspatial),
    "erqa": ("erqa", erqa),
    "erqa as Parquet": ("erqa", erqa_parquet),
    "sparbench": ("sparbench", sparbench),
    "mmsi": ("mmsi", mmsi),
    "vsibench": ("vsibench", vsibench),
    "spbench": ("spbench", spbench),
    "msmu": ("msmu", msmu),
    "vstar": ("vstar", vstar),
    "visualprobe": ("visualprobe", visualprobe),
    "babyvision": ("babyvision", babyvision),
    "maptrace": ("maptrace", maptrace),
    "reasonmap": ("reasonmap", reasonmap),
    "reasonmap-plus": ("reasonmap-plus", reasonmap_plus),
}
"""Each layout, the set that it is of, and who writes it."""
