"""Skill files are read and checked as a whole: every error names the file, the step, and what is allowed."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from annotated_types import Len

from toolhand.tool_nodes.plain_yaml import YamlLimits
from toolhand.tool_nodes.records import Before, Rule, read_yaml
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.toolbox.arguments import (
    ArgumentType,
    InvalidValue,
    Lookup,
    NumberArgument,
    TextArgument,
    are_shares,
    finite_number,
    image_at,
    show,
)
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.last.operations import OPERATIONS, Operation
from toolhand.tool_nodes.tools.last.skill import Argument, Line, Literal, Skill, SkillStep

_MAX_LABELS = 20
"""Most labels of a call, which bounds its time: each is a detection."""
_IMAGE = re.compile(r"image-(0|[1-9][0-9]{0,5})")


@dataclass(frozen=True)
class ImageNameArgument:
    """An image of the conversation as LAST writes it, "image-0". Never a path: no file is ever opened."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "string", "pattern": f"^{_IMAGE.pattern}$"}

    def parse(self, value: Any, lookup: Lookup) -> SessionImage:
        """The image."""
        known = len(lookup.images)
        if not known:
            raise InvalidValue("refers to an image, but there is none yet")
        match = _IMAGE.fullmatch(value) if isinstance(value, str) else None
        if match is None or int(match.group(1)) >= known:
            raise InvalidValue(f'must be "image-N" with N between 0 and {known - 1}, got {show(value)}')
        return image_at(lookup, int(match.group(1)))


@dataclass(frozen=True)
class LabelsArgument:
    """Object queries: a list of names. One that is repeated is looked for once."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        return {"type": "array", "items": TextArgument().schema(), "minItems": 1, "maxItems": _MAX_LABELS}

    def parse(self, value: Any, lookup: Lookup) -> list[str]:
        """The names."""
        if not isinstance(value, (list, tuple)):
            raise InvalidValue(f'must be a list of strings such as ["a person", "a frisbee"], got {show(value)}')
        if not 1 <= len(value) <= _MAX_LABELS:
            raise InvalidValue(f"must hold 1 to {_MAX_LABELS} strings, got {len(value)}")
        return list(dict.fromkeys(TextArgument().parse(label, lookup) for label in value))


@dataclass(frozen=True)
class NumbersArgument:
    """A list of finite numbers of a certain length; `form` shows it, e.g. "[x1, y1, x2, y2]"."""

    form: str

    unit = "pixels"
    """Short schemas say it."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        length = self._length
        return {"type": "array", "items": {"type": "number"}, "minItems": length, "maxItems": length}

    def parse(self, value: Any, lookup: Lookup) -> list[float]:
        """The numbers."""
        if not isinstance(value, (list, tuple)) or len(value) != self._length:
            raise InvalidValue(f"must be {self.form}, got {show(value)}")
        numbers = [finite_number(number) for number in value]
        if are_shares(numbers):
            raise InvalidValue(f"is in pixels: multiply shares by the picture's width and height, got {show(value)}")
        return numbers

    @property
    def _length(self) -> int:
        return self.form.count(",") + 1


KINDS: Mapping[str, tuple[ArgumentType, Any]] = {
    "image": (ImageNameArgument(), SessionImage),
    "labels": (LabelsArgument(), list[str]),
    "text": (TextArgument(), str),
    "score": (NumberArgument(0.0, 1.0), float),
    "number": (NumberArgument(), float),
    "box": (NumbersArgument("[x1, y1, x2, y2]"), list[float]),
    "point": (NumbersArgument("[x, y]"), list[float]),
}
"""What a skill file may write as `kind`: how a value is checked, and what the skill's steps receive."""


FOLDER = Path(__file__).parent
"""Where the six skills of LAST's appendix A are."""

_LIMITS = YamlLimits(size=100_000, depth=10, nodes=5_000)
"""YamlLimits of a skill file."""
_LONGEST_ERROR = 500
"""More of what is wrong in a file is not repeated [characters]."""
_SPEC = re.compile(r"[<>^]?[+ ]?\d{0,3}(\.\d{1,2})?[a-zA-Z%]?")
"""How a value may be written in a line; wider ones would fill the memory."""
_NAME = re.compile(r"[A-Za-z_]\w{0,63}")
_SAMPLES = {str: "a", int: 1, float: 1.0}
_KINDS = ", ".join(KINDS)


class _Wrong(Exception):
    """What is wrong in a skill file; the loader adds the file's name."""


@dataclasses.dataclass
class _Names:
    """What a step may refer to: types by name, and the argument without which a name is absent ("" for none)."""

    types: dict[str, Any]
    absent: dict[str, str]

    def find(self, name: Any, where: str) -> Any:
        if not isinstance(name, str) or name not in self.types:
            known = ", ".join(self.types)
            raise _Wrong(
                f"{where} refers to {name!r}, which is no argument and made by no earlier step; known: {known}"
            )
        return self.types[name]


def load_skills(folder: Path) -> list[Skill]:
    """Every skill of a folder (`*.yaml`), by file name. Raises ToolError INVALID_ARGUMENT."""
    if not folder.is_dir():
        raise invalid(f"There is no folder of skills {str(folder)!r}.")
    return [load_skill(path) for path in sorted(folder.glob("*.yaml"))]


def load_skill(path: Path) -> Skill:
    """The skill of one YAML file.

    Raises:
        ToolError: INVALID_ARGUMENT with one sentence that names file and step and says what is allowed.
    """
    try:
        return _skill(read_yaml(_File, path, _LIMITS))
    except _Wrong as problem:
        said = str(problem)
        said = said if len(said) <= _LONGEST_ERROR else f"{said[:_LONGEST_ERROR]}..."
        raise invalid(f"{path.name}: {said}.") from None


_Word = Annotated[str, Rule("a text", bool), Before(lambda value: value.strip() if isinstance(value, str) else value)]
_Name = Annotated[str, Rule("a name of letters, digits and underscores", lambda text: bool(_NAME.fullmatch(text)))]


@dataclasses.dataclass(frozen=True)
class _ArgumentEntry:
    kind: Annotated[str, Rule(f"one of {_KINDS}", KINDS.__contains__)]
    description: _Word
    optional: bool = False
    default: Any = None
    low: int | float | None = None
    high: int | float | None = None


@dataclasses.dataclass(frozen=True)
class _StepEntry:
    do: _Word
    with_: dict[str, Any]
    as_: _Name
    when: str | None = None
    for_each: _Word | None = None


@dataclasses.dataclass(frozen=True)
class _LineEntry:
    line: _Word
    rows: _Word | None = None
    when: str | None = None


@dataclasses.dataclass(frozen=True)
class _File:
    name: _Name
    description: _Word
    operations: tuple[str, ...]
    arguments: dict[str, _ArgumentEntry]
    steps: Annotated[tuple[_StepEntry, ...], Len(1)]
    image: str
    text: tuple[_LineEntry, ...] = ()
    example: dict[str, Any] | None = None


def _skill(file: _File) -> Skill:
    arguments = {}
    names = _Names({}, {})
    for name, entry in file.arguments.items():
        where = f"argument {name!r}"
        if not _NAME.fullmatch(name):
            raise _Wrong(f"{where} must be a name of letters, digits and underscores")
        arguments[name], names.types[name] = _argument(entry, where)
        optional = not arguments[name].required and arguments[name].default is None
        names.absent[name] = name if optional else ""
    steps = [_step(entry, number, arguments, names) for number, entry in enumerate(file.steps, 1)]
    if not _fits(names.find(file.image, "image"), SessionImage) or names.absent[file.image]:
        raise _Wrong(f"image {file.image!r} must be a picture that is always made")
    text = [_line(entry, n, arguments, names) for n, entry in enumerate(file.text, 1)]
    example = None if file.example is None else _example(file.example, arguments)
    skill = Skill(file.name, file.description, arguments, steps, file.image, text, example)
    if sorted(file.operations) != sorted(skill.operations):
        raise _Wrong(f"operations must list what the steps use: [{', '.join(skill.operations)}]")
    return skill


def _example(given: Mapping[str, Any], arguments: Mapping[str, Argument]) -> Example:
    """The example call: arguments of the skill, all that it requires among them."""
    if unknown := [name for name in given if name not in arguments]:
        raise _Wrong(f"example has the unknown key {unknown[0]!r}; allowed: {', '.join(arguments)}")
    if missing := [name for name, argument in arguments.items() if argument.required and name not in given]:
        raise _Wrong(f"example needs the key {missing[0]!r}")
    return Example(dict(given))


def _argument(entry: _ArgumentEntry, where: str) -> tuple[Argument, Any]:
    kind, made = KINDS[entry.kind]
    bounds = {key: value for key in ("low", "high") if (value := getattr(entry, key)) is not None}
    if bounds:
        if not isinstance(kind, NumberArgument):
            raise _Wrong(f"{where}: low and high are for the kinds score and number")
        kind = dataclasses.replace(kind, **bounds)
    default = entry.default
    if default is not None:
        try:
            default = kind.parse(default, Session())
        except InvalidValue as problem:
            raise _Wrong(f"{where}: its default {problem}") from None
    required = default is None and not entry.optional
    return Argument(kind, entry.description, required, default), made


def _step(entry: _StepEntry, number: int, arguments: Mapping[str, Argument], names: _Names) -> SkillStep:
    """One checked step; its result is entered into the names."""
    where = f"step {number}"
    called, given, result, for_each = entry.do, entry.with_, entry.as_, entry.for_each or ""
    if called not in OPERATIONS:
        raise _Wrong(f"{where} uses the unknown operation {called!r}; known: {', '.join(sorted(OPERATIONS))}")
    operation = OPERATIONS[called]
    where = f"{where} ({operation.name})"
    when = _when(entry.when, where, arguments)
    if for_each and for_each not in given:
        raise _Wrong(f"{where}: for_each must be one of its inputs: {', '.join(given)}")
    wrong = [name for name in given if name not in operation.inputs]
    if wrong:
        raise _Wrong(f"{where} has no input {wrong[0]!r}; it has: {', '.join(operation.inputs)}")
    missing = [name for name in operation.required if name not in given]
    if missing:
        raise _Wrong(f"{where} needs the input {sorted(missing)[0]!r}")
    inputs = {
        name: _input(operation, name, source, f"{where}: input {name!r}", for_each == name, when, names)
        for name, source in given.items()
    }
    if result in names.types:
        raise _Wrong(f"{where}: the name {result!r} is taken; give its result another one")
    names.types[result] = list[operation.output] if for_each else operation.output  # type: ignore[name-defined]
    names.absent[result] = when
    return SkillStep(operation, inputs, result, when, for_each)


def _input(
    operation: Operation, name: str, source: Any, where: str, each: bool, when: str, names: _Names
) -> str | Literal:
    wanted = operation.inputs[name]
    if _is_number(source):
        if each or not _fits(float, wanted):
            raise _Wrong(f"{where} must be the name of {_shown(wanted)}, not a number")
        return Literal(float(source))
    made = names.find(source, where)
    if each:
        if get_origin(made) is not list:
            raise _Wrong(f"{where} must be a list for for_each, and {source!r} is {_shown(made)}")
        (made,) = get_args(made)
    if not _fits(made, wanted):
        raise _Wrong(f"{where} takes {_shown(wanted)}, and {source!r} is {_shown(made)}")
    needs = names.absent[source]
    if needs and needs != when and (each or name in operation.required):
        raise _Wrong(f"{where} may be absent: add `when: {needs}` to the step")
    return str(source)


def _line(entry: _LineEntry, number: int, arguments: Mapping[str, Argument], names: _Names) -> Line:
    where = f"line {number} of the text"
    template, rows, when = entry.line, entry.rows or "", _when(entry.when, where, arguments)
    sample: dict[str, Any] = {}
    if rows:
        made = names.find(rows, f"{where}: rows")
        row = get_args(made)[0] if get_origin(made) is list else made
        if not dataclasses.is_dataclass(row) or any(
            f.type not in ("str", "int", "float") for f in dataclasses.fields(row)
        ):
            raise _Wrong(
                f"{where}: rows must be a result with rows of texts and numbers, and {rows!r} is {_shown(made)}"
            )
        sample = {
            f.name: _SAMPLES[{"str": str, "int": int, "float": float}[str(f.type)]] for f in dataclasses.fields(row)
        }
        if names.absent[rows] not in ("", when):
            raise _Wrong(f"{where}: {rows!r} may be absent: add `when: {names.absent[rows]}` to the line")
    try:
        parts = list(Formatter().parse(template))
        fields = [name for _, name, _, _ in parts if name is not None]
        unknown = [name for name in fields if name not in sample]
        if unknown:
            known = ", ".join(sample) or "none, for want of rows"
            raise _Wrong(f"{where} has the unknown field {{{unknown[0]}}}; known: {known}")
        odd = [spec for _, _, spec, _ in parts if spec and not _SPEC.fullmatch(spec)]
        if odd:
            raise _Wrong(f"{where} is no template: {odd[0]!r} must be like .2f, 5d or >12")
        template.format(**sample)
    except (ValueError, LookupError, AttributeError) as error:
        raise _Wrong(f"{where} is no template: {error}") from None
    return Line(template, rows, when)


def _when(when: str | None, where: str, arguments: Mapping[str, Argument]) -> str:
    if when is None:
        return ""
    optional = [name for name, a in arguments.items() if not a.required and a.default is None]
    if when not in optional:
        raise _Wrong(f"{where}: when must be an optional argument without a default: {', '.join(optional) or 'none'}")
    return when


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf


def _fits(made: Any, wanted: Any) -> bool:
    """True if a value of one type can be given where the other is wanted."""
    if get_origin(wanted) in (Union, UnionType):
        return any(_fits(made, choice) for choice in get_args(wanted) if choice is not NoneType)
    if get_origin(wanted) is not None:
        return get_origin(made) is list and _fits(get_args(made)[0], get_args(wanted)[0])
    return isinstance(made, type) and get_origin(made) is None and issubclass(made, wanted)


def _shown(hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return _shown(next(choice for choice in get_args(hint) if choice is not NoneType))
    if get_origin(hint) is not None:
        return f"a list of {get_args(hint)[0].__name__}"
    return f"one {hint.__name__}"
