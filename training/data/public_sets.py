"""The public sets of spatial questions that SpaceTools (recipe `dirl`) is measured on, as one table.

    for question in load_set("refspatial", folder, split="location"):
        print(question.text, mark(question, "(0.4, 0.5)"))

`SETS` says for each where its publisher keeps files and columns; another set of these kinds of answers is a row more.
Layouts and measures are those of the publishers' programs (RoboSpatial-Eval, BLINK_Benchmark, RoboRefer, lmms-eval);
the sets themselves have not been read with this code. Nothing is downloaded. To ask a policy:
`Conversation(question.text, toolbox, settings, shown=ShownToPolicy(question.images()))`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import GIB, read_file, require_regular
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.toolbox.image_files import USUAL, ImageFileError, opened
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.data.arrow import arrow, parquet
from toolhand.training.rewards.words import plain

_MOST_JSON_BYTES = 2 * GIB
"""Longest JSON file [bytes], above that of any set of the table."""
_ROWS_AT_ONCE = 16
"""Rows of a Parquet file that are in memory at once [-]: each may hold images of megabytes."""
_MOST_CHARACTERS = 100_000
"""A longer answer is none [characters], so that no answer can hold up a measurement."""
_SHOWN = 60
"""Longest part of a wrong value that an error repeats [characters]."""
_NUMBER = r"[-+]?\d{1,12}(?:\.\d{0,40})?"
_PAIR = re.compile(rf"[(\[]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[)\]]")
_POINT_OR_BOX = re.compile(rf"\(\s*({_NUMBER})\s*,\s*({_NUMBER})(?:\s*,\s*({_NUMBER})\s*,\s*({_NUMBER}))?\s*\)")
_LETTER = re.compile(r"\s*\(?\s*([A-Z])\s*\)?\s*\.?\s*")
_LEADING_LETTER = re.compile(r"[(\[{*\s]*([A-Z])(?:[)\]}*\s.,:;]*$|[)\]}.,:;])")
_SAID_LETTER = re.compile(r"\b(?i:answer|option|choice)\b[\s*:]*(?i:is\b)?[\s*:]*[(\[{]?([A-Z])\b")
_LETTER_IN_BRACKETS = re.compile(r"\(([A-Z])\)")

ImageFile = Path | bytes
"""An image file, or its content."""


class RowError(ValueError):
    """Why a row cannot be used, as the end of a sentence."""


@dataclass(frozen=True)
class Question:
    """One question of a set.

    Attributes:
        id: Its name within the set.
        text: The question, options included.
        files: Images that it is about, in order.
        kind: "choice" (`truth` is a letter), "yes_no" (a word), "polygon" ((N, 2) corners in [0, 1]) or "mask" (an
            image file in which all but 0 is in).
        truth: Value that the answer is compared with.
        options: Texts of the choices, A first.
        category: The row of a report that it counts in.
        source: Data that it was made of, where the total needs it.
    """

    id: str
    text: str
    files: tuple[ImageFile, ...]
    kind: str
    truth: Any
    options: tuple[str, ...] = ()
    category: str = "all"
    source: str = ""

    def images(self) -> list[SessionImage]:
        """The images as a conversation takes them. Raises RowError for one that cannot be read."""
        return [SessionImage(_pixels(file, "RGB")) for file in self.files]


MarkedAnswer = tuple[Question, float]
"""A question, and what the answer to it is worth, 0 to 1."""


def _mean(marks: Sequence[float]) -> float:
    return sum(marks) / len(marks) if marks else 0.0


def over_questions(marked: Sequence[MarkedAnswer]) -> float:
    """The mean over all questions."""
    return _mean([score for _, score in marked])


def over_categories(marked: Sequence[MarkedAnswer]) -> float:
    """The mean over the categories' means."""
    names = dict.fromkeys(question.category for question, _ in marked)
    return _mean([over_questions([m for m in marked if m[0].category == name]) for name in names])


def over_sources(marked: Sequence[MarkedAnswer]) -> float:
    """((ADE20K + COCO) / 2 + Omni3D) / 2, an absent source left out (CV-Bench)."""
    of = {name: [m for m in marked if m[0].source == name] for name in ("ADE20K", "COCO", "Omni3D")}
    parts = [[over_questions(of[name]) for name in part if of[name]] for part in (("ADE20K", "COCO"), ("Omni3D",))]
    return _mean([_mean(part) for part in parts if part])


@dataclass(frozen=True)
class PublicSet:
    """A set in the layout of its publisher.

    Attributes:
        title: Name that its authors give it.
        home: Where it is published.
        files: For each split, patterns of its files; the first layout that is there is read.
        columns: Column(s) of each part of a question: id, text, image, answer, options, mask, category, source. Of
            several columns of a text the words are joined; of images those that are there are taken, in order.
        total: The set's own figure over all marked answers.
    """

    title: str
    home: str
    files: Mapping[str, tuple[str, ...]]
    columns: Mapping[str, tuple[str, ...]]
    total: Callable[[Sequence[MarkedAnswer]], float] = over_questions


_BLINK = (
    "Art_Style", "Counting", "Forensic_Detection", "Functional_Correspondence", "IQ_Test", "Jigsaw",
    "Multi-view_Reasoning", "Object_Localization", "Relative_Depth", "Relative_Reflectance", "Semantic_Correspondence",
    "Spatial_Relation", "Visual_Correspondence", "Visual_Similarity",
)  # fmt: skip

SETS: dict[str, PublicSet] = {
    "robospatial": PublicSet(
        "RoboSpatial-Home",
        "chanhee-luke/RoboSpatial-Home on Hugging Face",
        {
            name: ("annotations.json", f"data/{name}-*.parquet")
            for name in ("configuration", "compatibility", "context")
        },
        {"text": ("question",), "image": ("img",), "answer": ("answer",), "category": ("category",)},
        over_categories,
    ),
    "blink": PublicSet(
        "BLINK",
        "BLINK-Benchmark/BLINK on Hugging Face",
        {task: (f"{task}/val-*.parquet",) for task in _BLINK},  # answers of the test files are not public
        {
            "id": ("idx",),
            "text": ("prompt",),
            "image": ("image_1", "image_2", "image_3", "image_4"),
            "answer": ("answer",),
            "options": ("choices",),
        },
        over_categories,
    ),
    "refspatial": PublicSet(
        "RefSpatial-Bench",
        "BAAI/RefSpatial-Bench on Hugging Face",
        {
            name.lower(): (f"{name}/question.json", f"data/{name.lower()}-*.parquet")
            for name in ("Location", "Placement", "Unseen")
        },
        {"id": ("id",), "text": ("prompt", "suffix"), "image": ("rgb_path", "image"), "mask": ("mask_path", "mask")},
    ),
    "cvbench": PublicSet(
        "CV-Bench",
        "nyu-visionx/CV-Bench on Hugging Face",
        {"2D": ("test_2d.parquet",), "3D": ("test_3d.parquet",)},
        {
            "id": ("idx",),
            "text": ("prompt",),
            "image": ("image",),
            "answer": ("answer",),
            "options": ("choices",),
            "source": ("source",),
        },
        over_sources,
    ),
}
"""Every set by the name that users type; a program may add its own."""


# -- reading -------------------------------------------------------------------------------------------


def load_set(
    name: str, folder: Path, split: str | None = None, on_bad: Callable[[str], object] | None = None
) -> Iterator[Question]:
    """The questions of a set that lies in a folder, read one after the other.

    Args:
        name: A name of `SETS`.
        folder: The folder that its publisher's files are in.
        split: One of its splits; every one that is there where None.
        on_bad: Is told each row that cannot be used, in a sentence with file and number; a row is then left out.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown set or split, where its files are not there, and at a bad row where
            nothing is to be told of it; UNAVAILABLE without the extra that a file needs.
    """
    if name not in SETS:
        raise invalid(f'There is no public set "{name}", only {", ".join(sorted(SETS))}.')
    public = SETS[name]
    if split is not None and split not in public.files:
        raise invalid(f'{public.title} has no split "{split}": it must be one of {", ".join(public.files)}.')
    if not folder.is_dir():
        raise invalid(f"There is no folder {folder}: {public.title} is published as {public.home}.")
    found: dict[str, list[Path]] = {}
    for part in public.files if split is None else (split,):
        layouts = (sorted(path for path in folder.glob(pattern) if path.is_file()) for pattern in public.files[part])
        found[part] = next((files for files in layouts if files), [])
    if not any(found.values()):
        wanted = " or ".join(dict.fromkeys(pattern for part in found for pattern in public.files[part]))
        raise invalid(f"{folder} holds no {wanted}: {public.title} is published as {public.home}.")
    return _questions(public, folder, found, on_bad)


def _questions(
    public: PublicSet, folder: Path, found: Mapping[str, Sequence[Path]], on_bad: Callable[[str], object] | None
) -> Iterator[Question]:
    seen: set[str] = set()
    for split, files in found.items():
        position = 0
        for file in files:
            for number, fields in rows_of(file):
                try:
                    if isinstance(fields, RowError):
                        raise fields
                    question = _question(public, fields, file, split, position)
                    if question is None:
                        continue
                    if question.id in seen:
                        raise RowError(f"its id {_shown(question.id)} is there already")
                except RowError as problem:
                    sentence = f"{file.relative_to(folder)}, row {number}: {problem}."
                    if on_bad is None:
                        raise invalid(sentence) from problem
                    on_bad(sentence)
                else:
                    seen.add(question.id)
                    yield question
                position += 1


def rows_of(file: Path) -> Iterator[tuple[int, Mapping[str, Any] | RowError]]:
    """(number from 1, fields) of the rows of a JSON list or a Parquet file; a RowError in the place of a bad row."""
    try:
        yield from (_parquet_rows if file.suffix == ".parquet" else _json_rows)(file)
    except OSError as error:
        yield 0, RowError(f"the file cannot be read ({error.strerror or type(error).__name__})")


def _json_rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any] | RowError]]:
    try:
        rows = plain_json.load(read_file(file, _MOST_JSON_BYTES))
        if not isinstance(rows, list):
            raise PlainJsonError("no list of objects")
    except PlainJsonError as error:
        rows = []
        yield 0, RowError(f"it cannot be read ({str(error).partition(chr(10))[0]})")
    for number, row in enumerate(rows, start=1):
        yield number, row if isinstance(row, dict) else RowError("it is no JSON object")


def _parquet_rows(file: Path) -> Iterator[tuple[int, Mapping[str, Any] | RowError]]:
    pa, number = arrow(), 0
    try:
        require_regular(file)
        with parquet().ParquetFile(file) as table:
            for batch in table.iter_batches(batch_size=_ROWS_AT_ONCE):
                for row in batch.to_pylist():
                    number += 1
                    yield number, row
    except (pa.ArrowException, OSError, ValueError) as error:
        yield (
            number + 1,
            RowError(f"it cannot be read ({str(error).partition(chr(10))[0]}), and what follows it neither"),
        )


def _question(public: PublicSet, fields: Mapping[str, Any], file: Path, split: str, position: int) -> Question | None:
    """The question of a row; None for one of another split of the same file. Raises RowError."""
    columns = public.columns
    category = _text(fields, *columns["category"]) if "category" in columns else split
    if category not in public.files:
        raise RowError(
            f'its "{columns["category"][0]}" must be one of {", ".join(public.files)}, got {_shown(category)}'
        )
    if category != split:
        return None
    options = tuple(_texts(fields, *columns["options"])) if "options" in columns else ()
    images = [fields[name] for name in columns["image"] if fields.get(name) is not None]
    if not images:
        raise RowError(f'it has no "{columns["image"][-1]}"')
    kind, truth = _truth(columns, fields, file.parent, len(options))
    name = f"{split}/{position}"
    if "id" in columns:
        found = fields.get(columns["id"][0])
        own = str(found) if isinstance(found, int) and not isinstance(found, bool) else _text(fields, *columns["id"])
        name = own if own.startswith("val_") else f"{split}/{own}"
    return Question(
        name,
        " ".join(_text(fields, column) for column in columns["text"]),
        tuple(_image_file(image, file.parent) for image in images),
        kind,
        truth,
        options,
        category,
        _text(fields, *columns["source"]) if "source" in columns else "",
    )


def _truth(
    columns: Mapping[str, Sequence[str]], fields: Mapping[str, Any], folder: Path, options: int
) -> tuple[str, Any]:
    """The kind of a question and what its answer is compared with."""
    if "mask" in columns:
        mask = next((fields[name] for name in columns["mask"] if fields.get(name) is not None), None)
        return "mask", _image_file(mask, folder)
    column = columns["answer"][0]
    answer = _text(fields, column)
    if options:
        letter = _LETTER.fullmatch(answer)
        if letter is None or ord(letter[1]) >= ord("A") + options:
            raise RowError(f'its "{column}" must be the letter of one of {options} options, got {_shown(answer)}')
        return "choice", letter[1]
    if answer.strip().casefold() in ("yes", "no"):
        return "yes_no", answer.strip().casefold()
    corners = tuple((float(x), float(y)) for x, y in _PAIR.findall(answer))
    if len(corners) < 3:
        raise RowError(f'its "{column}" must be yes, no or a polygon, got {_shown(answer)}')
    return "polygon", corners


def _text(fields: Mapping[str, Any], column: str) -> str:
    value = fields.get(column)
    if value is None:
        raise RowError(f'it has no "{column}"')
    if not isinstance(value, str) or not value.strip():
        raise RowError(f'its "{column}" must be a text, got {_shown(value)}')
    return value


def _texts(fields: Mapping[str, Any], column: str) -> list[str]:
    value = fields.get(column)
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise RowError(f'its "{column}" must be a list of texts, got {_shown(value)}')
    return value


def _image_file(value: Any, folder: Path) -> ImageFile:
    """An image as rows have it: bytes, {"bytes": ..., "path": ...}, or the name of a file within a folder."""
    if isinstance(value, Mapping):
        value = value.get("path") if value.get("bytes") is None else value["bytes"]
    if isinstance(value, bytes) and value:
        return value
    if not isinstance(value, str) or not value.strip():
        raise RowError(f"an image must be a file or its bytes, got {_shown(value)}")
    parts = PurePosixPath(value.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or "\0" in value:
        raise RowError(f"its image {_shown(value)} lies outside the set")
    path = folder.joinpath(*parts.parts)
    if not path.is_file():
        raise RowError(f"its image {_shown(value)} is absent")
    return path


def _pixels(file: ImageFile, mode: str) -> NDArray[np.uint8]:
    """(H, W, 3) or (H, W). Raises RowError."""
    try:
        with opened(file, USUAL) as image:
            return np.asarray(image.convert(mode))
    except ImageFileError as error:
        raise RowError(f"its image cannot be read: {error}") from error


def _shown(value: Any) -> str:
    return repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)[:_SHOWN]


# -- marking -------------------------------------------------------------------------------------------


def mark(question: Question, said: Any) -> float:
    """What an answer is worth, 0 to 1; 0 for what is no text, or a text without end. Raises RowError for a bad mask.

    Where an answer stands in tags (`<answer>`, `<ans>`) or after a thought (`</think>`), only that part is read.
    """
    if not isinstance(said, str) or len(said) > _MOST_CHARACTERS:
        return 0.0
    said = _answer_part(said)
    if question.kind == "choice":
        return float(chosen_letter(said, question.options) == question.truth)
    if question.kind == "yes_no":
        return float(plain(said).startswith(question.truth))
    if question.kind == "polygon":
        point = _PAIR.search(said)
        return float(point is not None and in_polygon(float(point[1]), float(point[2]), question.truth))
    return share_in_mask(said, (_pixels(question.truth, "L") > 0).astype(np.float64))


def _answer_part(said: str) -> str:
    """The last tagged answer, else what follows the last thought, else all of it."""
    for tag in ("answer", "ans"):
        start, end = said.rfind(f"<{tag}>"), said.rfind(f"</{tag}>")
        if start >= 0:
            return said[start + len(tag) + 2 : end if end > start else None].strip()
    return said.rpartition("</think>")[2].strip()


def chosen_letter(said: str, options: Sequence[str]) -> str | None:
    """The letter that an answer chooses; None for none.

    The text of an option; a letter alone, or one before a bracket, full stop, comma or colon at the beginning; the last
    one after "answer", "option" or "choice"; or the only one in brackets.
    """
    for k, option in enumerate(options):
        if plain(said) == plain(option) != "":
            return chr(ord("A") + k)
    allowed = {chr(ord("A") + k) for k in range(len(options))}
    if found := _LEADING_LETTER.match(plain(said).upper() if len(plain(said)) == 1 else said):
        return found[1] if found[1] in allowed else None
    named = [letter for letter in _SAID_LETTER.findall(said) if letter in allowed][-1:]
    named = named or [letter for letter in _LETTER_IN_BRACKETS.findall(said) if letter in allowed]
    return named[-1] if len(set(named)) == 1 else None


def share_in_mask(said: str, mask: FloatArray) -> float:
    """The mean of a mask (H, W) over the points of an answer; outside the image it is 0, and so without a point.

    "(x, y)" or a box "(x1, y1, x2, y2)", which counts as all pixels in it: with a decimal point a share of the image,
    without one pixels (RoboRefer).
    """
    height, width = mask.shape
    total = hit = 0.0
    for texts in _POINT_OR_BOX.findall(said):
        numbers = [float(text) for text in texts if text]
        if any("." in text for text in texts):
            numbers = [number * (width, height)[k % 2] for k, number in enumerate(numbers)]
        x1, y1, *rest = (int(number) for number in numbers)
        x2, y2 = rest or (x1 + 1, y1 + 1)
        total += max(0, x2 - x1) * max(0, y2 - y1)
        hit += float(mask[max(0, y1) : max(0, y2), max(0, x1) : max(0, x2)].sum())
    return hit / total if total else 0.0


def in_polygon(x: float, y: float, polygon: Sequence[tuple[float, float]]) -> bool:
    """Whether a point lies in a polygon, its corners in the order that they are given in (even-odd rule)."""
    inside = False
    for (x1, y1), (x2, y2) in zip(polygon, [polygon[-1], *polygon[:-1]], strict=True):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside
