"""Records of files: what is read is as it was written, and every mistake is one sentence that names its place."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Interval, Len

from toolhand.tool_nodes.plain_yaml import YamlLimits
from toolhand.tool_nodes.records import (
    As,
    Before,
    Rule,
    document_of,
    read_yaml,
    record_of,
    without_version,
    yaml_record,
)
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid


@dataclass(frozen=True)
class Part:
    weight: float
    count: Annotated[int, Interval(ge=0, le=9)] = 0

    def __post_init__(self) -> None:
        if self.count > self.weight:
            raise invalid("There are more than it weighs.")


@dataclass(frozen=True)
class SegmentedObject:
    name: str
    parts: tuple[Part, ...] = ()
    terms: Mapping[str, float | None] = field(default_factory=dict)
    form: Literal["box", "ball"] = "box"
    corner: tuple[float, float] = (0.0, 0.0)
    best: Part | None = None
    more: Any = None
    whole: bool = False
    share: Annotated[float, Interval(gt=0.0, le=1.0)] = 1.0
    tags: Annotated[tuple[str, ...], Len(1, 2)] = ("x",)
    word: Annotated[str, Rule("one word", str.isalpha)] = "a"
    day: Annotated[datetime.date, As("a day", datetime.date.fromisoformat)] = datetime.date(2026, 1, 2)
    list_: Annotated[tuple[int, ...], Before(lambda value: value if isinstance(value, list) else [value])] = ()


WHOLE: dict[str, Any] = {
    "name": "half \ud83d of a pair",
    "parts": [{"weight": 3, "count": 2}],
    "terms": {"a": 1, "b": None},
    "form": "ball",
    "corner": [1, 2.5],
    "best": {"weight": 1.5},
    "more": {"any": ["thing", {"sha256": "kept"}]},
    "whole": True,
    "share": 0.5,
    "tags": ["x", "y"],
    "word": "lemon",
    "day": "2026-05-31",
    "list": 4,
}


def test_what_is_written_is_read() -> None:
    item = record_of(SegmentedObject, WHOLE)
    assert item.parts == (Part(3.0, 2),)
    assert type(item.parts[0].weight) is float
    assert (item.name, item.terms, item.corner) == (WHOLE["name"], {"a": 1.0, "b": None}, (1.0, 2.5))
    assert (item.best, item.more, item.day, item.list_) == (
        Part(1.5),
        WHOLE["more"],
        datetime.date(2026, 5, 31),
        (4,),
    )
    assert record_of(SegmentedObject, {"name": "x"}) == SegmentedObject("x")
    written = {"name": "x", "parts": [{"weight": 1.0}], "share": 0.5}
    assert document_of(record_of(SegmentedObject, written)) == written


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 3}, "name must be a text, not 3."),
        ({"nmae": "x"}, "there is no key nmae, the nearest is name; the keys are name, parts, terms,"),
        (
            {"parts": [{"weight": 1.0, "cuont": 3}]},
            "there is no key parts[0].cuont, the nearest is count",
        ),
        ({"parts": [{"count": 1}]}, "parts[0].weight is missing."),
        ({"parts": {"weight": 1.0}}, "parts must be a list of mappings, not {'weight': 1.0}."),
        ({"parts": [3]}, "parts[0] must be a mapping with the keys weight, count, not 3."),
        ({"parts": [{"weight": "1"}]}, "parts[0].weight must be a finite number, not '1'."),
        ({"parts": [{"weight": True}]}, "parts[0].weight must be a finite number, not True."),
        ({"parts": [{"weight": float("nan")}]}, "parts[0].weight must be a finite number, not nan."),
        ({"parts": [{"weight": 10**400}]}, "parts[0].weight must be a finite number, not 1000"),
        ({"parts": [{"weight": 1.0, "count": 10}]}, "parts[0].count must be a whole number from 0 to 9, not 10."),
        ({"parts": [{"weight": 1.0, "count": 2.0}]}, "parts[0].count must be a whole number from 0 to 9, not 2.0."),
        ({"parts": [{"weight": 1.0, "count": 2}]}, "There are more than it weighs."),
        ({"terms": {"a": "x"}}, "terms.a must be a finite number, not 'x'."),
        ({"terms": []}, "terms must be a mapping, not []."),
        ({"form": "cube"}, "form must be box or ball, not 'cube'."),
        ({"corner": [1.0]}, "corner must be a list of 2 finite numbers, not [1.0]."),
        ({"corner": [1.0, 2.0, 3.0]}, "corner must be a list of 2 finite numbers, not [1.0, 2.0, 3.0]."),
        ({"whole": 1}, "whole must be true or false, not 1."),
        ({"share": 0.0}, "share must be a finite number of at most 1 and above 0, not 0.0."),
        ({"tags": []}, "tags must be a list of 1 or 2 texts, not []."),
        ({"word": "two words"}, "word must be one word, not 'two words'."),
        ({"word": 2}, "word must be one word, not 2."),
        ({"day": "yesterday"}, "day must be a day, not 'yesterday'."),
        ({"list": "x"}, "list[0] must be a whole number, not 'x'."),
        ({"list": 2**63}, "list[0] must be a whole number, not 9223372036854775808."),
        ({"name": "x" * 500, "whole": "y" * 500}, "whole must be true or false, not 'yyy"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(change: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(ToolError) as caught:
        record_of(SegmentedObject, WHOLE | change)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert str(caught.value).startswith(sentence)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("document", [None, 3, [], "name"])
def test_what_is_no_mapping_is_refused(document: Any) -> None:
    with pytest.raises(ToolError, match="settings must be a mapping with the keys name, parts"):
        record_of(SegmentedObject, document, at="settings")


def test_texts_and_lists_of_numbers_may_be_kept_apart() -> None:
    kept: dict[str, str] = {}

    def keep(text: str) -> str:
        kept[str(len(kept))] = text
        return str(len(kept) - 1)

    item = SegmentedObject("long name", corner=(1.0, 2.0))
    document = document_of(item, keep, 1)
    assert document == {"name": {"sha256": "0"}, "corner": {"sha256": "1"}}
    assert record_of(SegmentedObject, document, recall=kept.__getitem__) == item
    with pytest.raises(ToolError, match="name is kept in a store, and none was given"):
        record_of(SegmentedObject, document)
    kept["1"] = "[1e999]"
    with pytest.raises(ToolError, match="corner must be a list of 2 finite numbers"):
        record_of(SegmentedObject, document, recall=kept.__getitem__)


def test_a_file_of_yaml_says_the_line(tmp_path: Path) -> None:
    path = tmp_path / "thing.yaml"
    path.write_text("name: x\nparts:\n- {weight: 1}\n- weight: 2\n  count: many\n")
    with pytest.raises(ToolError, match=r"^thing\.yaml, line 4: parts\[1\]\.count must be a whole number from 0 to 9"):
        read_yaml(SegmentedObject, path)
    with pytest.raises(ToolError, match=r"^thing\.yaml, line 2: it is no plain YAML \(aliases are not allowed\)"):
        yaml_record(SegmentedObject, "a: &a 1\nb: *a", "thing.yaml")
    with pytest.raises(ToolError, match=r"^thing\.yaml: There are more than it weighs"):
        yaml_record(SegmentedObject, "{name: x, parts: [{weight: 1, count: 2}]}", "thing.yaml")
    with pytest.raises(ToolError, match=r"^thing\.yaml cannot be read: it is longer than 10 bytes"):
        read_yaml(SegmentedObject, path, YamlLimits(size=10))
    with pytest.raises(ToolError, match=r"^none\.yaml cannot be read: No such file"):
        read_yaml(SegmentedObject, tmp_path / "none.yaml")
    assert yaml_record(dict[str, Part], "{a: {weight: 1}}", "parts.yaml") == {"a": Part(1.0)}


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"version": 1}, "it is of version 1, and only version 2 is read."),
        ({"version": True}, "it is of version True, and only version 2 is read."),
        ({}, "it has no version, and only version 2 is read."),
        ([], "it must be a mapping, not []."),
    ],
)
def test_another_version_is_refused_by_its_name(document: Any, sentence: str) -> None:
    with pytest.raises(ToolError) as caught:
        without_version(document, 2)
    assert str(caught.value) == sentence
    assert without_version({"version": 2, "name": "x"}, 2) == {"name": "x"}
