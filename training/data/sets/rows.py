"""How a row of each public set becomes a question; the table says where the layouts are from."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from training.data.sets.marks import first_number, measures_of, path_of, view_change
from training.data.sets.question import PictureFile, Question, RowError, SetRow, lettered, picture_at, shown

ROBOSPATIAL = ("configuration", "compatibility", "context")
"""Categories of RoboSpatial-Home, which are its splits."""
SPAR_CHOICE = re.compile(
    "obj_spatial_relation_(oo|oc_mv|oo_mv)|spatial_imagination_o[co](_mv)?|position_matching|camera_motion_infer|"
    "distance_infer_center_oo(_mv)?"
)
"""Tasks of SPAR-Bench by multiple choice."""
SPAR_NUMBER = re.compile("(depth|distance)_prediction_o[co](_mv)?")
"""Tasks of SPAR-Bench whose answer is a number; _mv are those over several views."""
ROOM_CHOICE = re.compile(
    "object_rel_direction(_easy|_medium|_hard)?|object_rel_distance|route_planning|obj_appearance_order"
)
"""Question types of VSI-Bench by multiple choice."""
ROOM_NUMBER = re.compile("object_abs_distance|object_counting|object_size_estimation|room_size_estimation")
"""Question types of VSI-Bench whose answer is a number."""
LETTERS = 4
"""Most options of a question of ERQA, of SPAR-Bench and of counting1 of ReasonMap-Plus [-]; their programs."""
MMSI_LETTERS = 6
"""Letters that MMSI-Bench's own program looks for, A to F [-]."""
UNITS: Mapping[str, str] = {"scale_estimation": "m", "absolute_distance": "m", "refer_obj_estimation": "m", "count": ""}
"""Unit of the answers of MSMU by type, of those that are numbers; evaluation/evaluate_final.py."""
REMARKS = ("（换乘站）", "（支线起始站）", " (Transfer Station)", " (Branch-starting Station)")
"""What follows the name of a stop in ReasonMap; main.py."""


def robospatial(row: SetRow) -> Question | None:
    """The answer is a word, or the corners of an area; a file may hold the rows of all splits."""
    category = row.text("category")
    if category not in ROBOSPATIAL:
        raise RowError(f'its "category" must be one of {", ".join(ROBOSPATIAL)}, got {shown(category)}')
    if category != row.split:
        return None
    answer = row.text("answer")
    truth: Any = answer.strip().casefold()
    kind = "yes_no"
    if truth not in ("yes", "no"):
        kind, truth = "polygon", tuple((x, y) for x, y in path_of(answer))
        if len(truth) < 3:
            raise RowError(f'its "answer" must be yes, no or a polygon, got {shown(answer)}')
    named = isinstance(row.value("img"), str)
    picture = row.named_picture("img") if named else row.picture("img")
    return Question(f"{category}/{row.position}", row.text("question"), (picture,), kind, truth, category=category)


def blink(row: SetRow) -> Question:
    """One to four pictures, each in a column."""
    images = [name for k in range(1, 5) if row.fields.get(name := f"image_{k}") is not None]
    pictures = tuple(row.picture(name) for name in images or ["image_1"])
    options = row.texts("choices")
    letter = row.letter("answer", len(options))
    return Question(row.text("idx"), row.text("prompt"), pictures, "choice", letter, options, row.split)


def refspatial(row: SetRow) -> Question:
    """Paths are within the folder of the split; in Parquet picture and mask stand in the row."""
    picture: PictureFile
    mask: PictureFile
    if "rgb_path" in row.fields:
        picture, mask = (row.named_picture(column, row.file.parent) for column in ("rgb_path", "mask_path"))
    else:
        picture, mask = (row.picture(column) for column in ("image", "mask"))
    name, text = f"{row.split}/{row.name('id')}", f"{row.text('prompt')} {row.text('suffix')}"
    return Question(name, text, (picture,), "mask", mask, category=row.split, meta=row.kept("object", "step"))


def cvbench(row: SetRow) -> Question:
    """The total needs the source of a question."""
    options = row.texts("choices")
    return Question(
        f"{row.split}/{row.name('idx')}",
        row.text("prompt"),
        (row.picture("image"),),
        "choice",
        row.letter("answer", len(options)),
        options,
        f"{row.split} {row.text('task')}",
        {"source": row.text("source")},
    )


def where2place(row: SetRow) -> Question:
    """The k-th line has the mask kk.jpg, k from 0 with two digits."""
    picture = row.named_picture("image", row.folder / "images")
    mask = picture_at(row.folder / "masks", f"{row.position:02d}.jpg")
    return Question(row.name("question_id"), row.text("text"), (picture,), "soft_mask", mask)


def erqa(row: SetRow) -> Question:
    """A record of the TFRecord file, whose texts are lists of bytes, or a row of FlagEval's Parquet."""
    name, images = "", "images"
    if "image/encoded" in row.fields:
        texts = {column: _decoded(row, column) for column in ("question", "answer", "question_type")}
        row, name, images = replace(row, fields={**row.fields, **texts}), f"erqa/{row.position}", "image/encoded"
    return Question(
        name or row.name("question_id"),
        row.text("question"),
        row.pictures(images),
        "choice",
        row.letter("answer", LETTERS),
        category=row.text("question_type"),
        meta=row.kept("visual_indices"),
    )


def _decoded(row: SetRow, column: str) -> str:
    try:
        return b"".join(row.values(column)[:1]).decode()
    except (TypeError, UnicodeDecodeError) as error:
        raise RowError(f'its "{column}" is no text') from error


def sparbench(row: SetRow) -> Question:
    """A letter, a number, or a change of view that is compared move by move, by the task."""
    task, answer = row.text("task"), row.text("answer")
    kind = "choice"
    truth: Any = None
    if SPAR_CHOICE.fullmatch(task):
        truth = row.letter("answer", LETTERS)
    elif SPAR_NUMBER.fullmatch(task):
        kind, truth = "last_number" if task.endswith("_mv") else "number", first_number(answer)
    elif task == "view_change_infer":
        kind, truth = "view", answer if view_change(answer) else None
    else:
        raise RowError(f'its "task" {shown(task)} is none of SPAR-Bench')
    if truth is None:
        raise RowError(f'its "answer" {shown(answer)} is none to {task}')
    return Question(row.name("id"), row.text("question"), row.pictures("image"), kind, truth, (), task)


def mmsi(row: SetRow) -> Question:
    """The options stand in the question."""
    name, letter, category = row.name("id"), row.letter("answer", MMSI_LETTERS), row.text("question_type")
    return Question(name, row.text("question"), row.pictures("images"), "choice", letter, category=category)


def vsibench(row: SetRow) -> Question:
    """A letter or a number by the question type. Its videos are not opened."""
    asked, text, meta = row.text("question_type"), row.text("question"), row.kept("dataset", "scene_name")
    if ROOM_CHOICE.fullmatch(asked):
        options = row.texts("options")
        letter = row.letter("ground_truth", len(options))
        text = "\n".join([text, "Options:", *options])
        texts = tuple(option.partition(". ")[2] or option for option in options)
        return Question(row.name("id"), text, (), "choice", letter, texts, asked, meta)
    if not ROOM_NUMBER.fullmatch(asked):
        raise RowError(f'its "question_type" {shown(asked)} is unknown')
    number = first_number(row.text("ground_truth"))
    if number is None:
        raise RowError(f'its "ground_truth" must be a number, got {shown(row.fields["ground_truth"])}')
    return Question(row.name("id"), text, (), "number", number, (), asked, meta)


def spbench(row: SetRow) -> Question:
    """Those of VSI-Bench, with pictures in either of the folders that SpatialLadder's evaluator.py knows."""
    question, scene = vsibench(row), row.text("scene_name")
    folders = [row.folder / f"SPBench-{row.split}-images", row.folder / "images"]
    folder = next((folder for folder in folders if folder.is_dir()), folders[0])
    pictures: tuple[PictureFile, ...] = tuple(picture_at(folder, f"{scene}/{name}") for name in row.values("images"))
    return replace(question, id=f"{row.split}/{question.id}", pictures=pictures)


def embspatial(row: SetRow) -> Question:
    """Its README prints no form of the options: lettered lines here."""
    options = row.texts("answer_options")
    return Question(
        row.name("question_id"),
        f"{row.text('question')}\n{lettered(options)}",
        (row.base64_picture("image"),),
        "choice",
        row.numbered("answer", len(options)),
        options,
        row.text("relation"),
        row.kept("data_source"),
    )


def msmu(row: SetRow) -> Question:
    """The numbers of an answer, lengths in metres, from a conversation of a question and an answer."""
    kind, talk = row.text("type"), row.values("conversations")
    if kind not in UNITS:
        raise RowError(f"questions of the type {shown(kind)} are marked by a language model only")
    if len(talk) < 2 or not all(isinstance(said, Mapping) for said in talk[:2]):
        raise RowError('its "conversations" must be a question and an answer')
    question, answer = (replace(row, fields=said).text("value") for said in talk[:2])
    truth = measures_of(answer, UNITS[kind] == "m")
    if not truth or 0 in truth:
        raise RowError(f"its answer {shown(answer)} has no number that rules can read")
    text, picture = question.replace("<image>", "").strip(), row.base64_picture("image_base64")
    name, meta = f"{row.split}/{row.position}", {"unit": UNITS[kind]}
    return Question(name, text, (picture,), "measures", truth, category=kind, meta=meta)


def maptrace(row: SetRow) -> Question:
    """A path in a column of its own, or, after its postprocess_data.py, as the answer of a conversation."""
    if "messages" in row.fields:
        (text, label), image = (_said(row, turn) for turn in (0, 1)), "image"
    else:
        text, label, image = row.text("input_text"), row.text("label_text"), "image_bytes"
    truth = path_of(label)
    if len(truth) < 2:
        raise RowError(f"its path must have 2 points or more, got {shown(label)}")
    return Question(f"{row.split}/{row.position}", text, (row.picture(image),), "path", truth, category=row.split)


def _said(row: SetRow, turn: int) -> str:
    """The text of a message: of its parts the first that has one."""
    try:
        parts = [part for part in row.values("messages")[turn]["content"] if part.get("text")]
        return replace(row, fields=parts[0]).text("text")
    except (LookupError, TypeError, AttributeError) as error:
        raise RowError('its "messages" must be a question and a path') from error


def reasonmap(row: SetRow) -> Question:
    """The short question; an answer is a route over the stops of the lines."""
    country, city = (row.text(column) for column in ("country", "city"))
    truth = {"from": row.text("station_1"), "to": row.text("station_2"), "lines": _lines(row.value("json"))}
    return Question(
        f"{country}/{city}/{row.position}",
        row.text("question_short"),
        (row.base64_picture("figure"),),
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
    lines = {
        str(name): [_stop(stop) for stop in stops if isinstance(stop, str)]
        for name, stops in value.items()
        if isinstance(stops, list)
    }
    if not lines:
        raise RowError('its "json" has no line with stops')
    return lines


def _stop(name: str) -> str:
    for remark in REMARKS:
        name = name.replace(remark, "")
    return name


def reasonmap_plus(row: SetRow) -> Question:
    """By the type: TorF is 1 or 0, counting1 the number of an option, counting2 and counting3 a number as a text."""
    asked, answer, picture = row.text("type"), row.name("answer"), row.base64_picture("image")
    counting, kind, truth = asked.casefold() == "counting1", "text", answer
    if counting or asked.casefold().startswith("torf"):
        if not answer.isdecimal() or int(answer) >= (LETTERS if counting else 2):
            raise RowError(f'its "answer" {shown(answer)} is none to {asked}')
        kind, truth = ("choice", chr(ord("A") + int(answer))) if counting else ("text", ("no", "yes")[int(answer)])
    return Question(row.name("index"), row.text("question"), (picture,), kind, truth, category=asked)


def visualprobe(row: SetRow) -> Question:
    """Names of pictures are from the folder that holds those of the splits."""
    name, text = f"{row.split}/{row.name('doc_id')}", row.text("problem").replace("<image>", "").strip()
    pictures = tuple(picture_at(row.folder, name) for name in row.values("images"))
    return Question(name, text, pictures, "text", row.text("solution"), category=row.split)


def vstar(row: SetRow) -> Question:
    """The options stand in lines of the question."""
    text, picture = row.text("text"), row.named_picture("image")
    options = tuple(option.strip() for option in re.findall(r"^\s*\([A-Z]\)(.*)$", text, re.MULTILINE))
    if not options:
        raise RowError('its "text" has no options "(A) ..."')
    letter = row.letter("label", len(options))
    return Question(row.name("question_id"), text, (picture,), "choice", letter, options, row.text("category"))


def babyvision(row: SetRow) -> Question:
    """The answer is words, or the number of an option."""
    name, text, form, category = row.name("taskId"), row.text("question"), row.text("ansType"), row.text("type")
    pictures = (row.named_picture("image"),)
    if form == "blank":
        return Question(name, text, pictures, "text", row.name("blankAns"), category=category)
    if form != "choice":
        raise RowError(f'its "ansType" must be blank or choice, got {shown(form)}')
    options = row.texts("options")
    letter, asked = row.numbered("choiceAns", len(options)), f"{text}\nChoices:\n{lettered(options)}"
    return Question(name, asked, pictures, "choice", letter, options, category)
