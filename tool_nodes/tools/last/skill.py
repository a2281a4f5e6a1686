"""Spatial skills as data: s = <{o_j}, R>, operations and their orchestration (LAST, equations 2 and 3).

A skill is one YAML file; `load_skill` checks all of it before it can be called. The format: docs/reference/skills.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from toolhand.tool_nodes.perception.object_finder import ObjectFinder, joined
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.arguments import ArgumentType
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.tools.last.operations import Operation


@dataclass(frozen=True)
class Argument:
    """An argument of a skill; one without a default that is not required may be absent."""

    kind: ArgumentType
    description: str
    required: bool
    default: Any = None


@dataclass(frozen=True)
class Literal:
    """A number written into a step."""

    value: float


@dataclass(frozen=True)
class SkillStep:
    """One call of an atomic operation.

    Attributes:
        operation: Name of the operation.
        inputs: Its inputs: names of arguments or of earlier results, or numbers.
        result: Name of its result.
        when: The argument without which the step is left out, or "".
        for_each: The input that takes one item of a list after the other, or ""; the results are then a list.
    """

    operation: Operation
    inputs: Mapping[str, str | Literal]
    result: str
    when: str = ""
    for_each: str = ""


@dataclass(frozen=True)
class Line:
    """A line of the text, written once for each row of a result; `rows` is "" for a line without rows."""

    template: str
    rows: str = ""
    when: str = ""


@dataclass(frozen=True)
class Skill:
    """A checked skill.

    Attributes:
        name: Name that callers write.
        description: Description that a language model reads.
        arguments: By name, in order.
        steps: The orchestration R, in order.
        image: Name of the result that is the visual output v.
        text: The lines of the text t.
        example: A call that shows what it does; None where the file has none.
    """

    name: str
    description: str
    arguments: Mapping[str, Argument]
    steps: Sequence[SkillStep]
    image: str
    text: Sequence[Line] = field(default_factory=tuple)
    example: Example | None = None

    @property
    def operations(self) -> tuple[str, ...]:
        """{o_j}: every operation that is used, once, in order."""
        return tuple(dict.fromkeys(step.operation.name for step in self.steps))

    def run(self, finder: ObjectFinder, values: Mapping[str, Any]) -> ToolResult:
        """Equation 3: R over the operations.

        Args:
            finder: Looks at the images.
            values: Checked arguments by name.

        Returns:
            The image, the text, and as value {name of a result: its rows as dictionaries}.

        Raises:
            ToolError: What an operation raises.
        """
        known = {name: a.default for name, a in self.arguments.items() if a.default is not None} | dict(values)
        backends: list[str] = []
        for step in self.steps:
            if step.when and step.when not in known:
                continue
            given: dict[str, Any] = {
                name: source.value if isinstance(source, Literal) else known[source]
                for name, source in step.inputs.items()
                if isinstance(source, Literal) or source in known
            }
            call = step.operation.function
            if step.operation.looks:
                given["finder"] = finder
            if step.for_each:
                items = given.pop(step.for_each)
                results = [call(**given, **{step.for_each: item}) for item in items]
            else:
                results = [call(**given)]
            if step.operation.looks:
                backends += [answer.backend for answer in results]
                results = [answer.value for answer in results]
            known[step.result] = results if step.for_each else results[0]
        lines = [line for line in self.text if not line.when or line.when in known]
        rows = {line.rows: _rows(known[line.rows]) for line in lines if line.rows}
        text = [line.template.format(**row) for line in lines for row in (rows[line.rows] if line.rows else [{}])]
        shown = known[self.image]
        return ToolResult(value=rows, text="\n".join(text), image=shown.rgb, source=shown, backend=joined(backends))


def _rows(result: Any) -> list[dict[str, Any]]:
    return [asdict(row) for row in (result if isinstance(result, list) else [result])]
