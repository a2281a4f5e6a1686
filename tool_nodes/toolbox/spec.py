"""What a tool is: a method's signature and docstring, and what its mark says beside them."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, get_type_hints

from docstring_parser import DocstringStyle
from docstring_parser import parse as parse_docstring

from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.arguments import ArgumentType, SessionArgument
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.provenance import names_made
from toolhand.tool_nodes.toolbox.session import Session
from toolhand.tool_nodes.toolbox.short_schemas import shortened

F = TypeVar("F", bound=Callable[..., ToolResult])

TIMEOUT_S = 30.0
"""Longest duration of a call where a tool declares none [s]."""


@dataclass(frozen=True)
class _Mark:
    name: str
    aliases: tuple[str, ...]
    renamed: Mapping[str, str]
    motion: bool
    stepwise: bool
    timeout_s: float | None
    repeatable: bool
    example: Example | None
    makes: tuple[str, ...]


def tool(
    name: str,
    *,
    aliases: Iterable[str] = (),
    renamed: Mapping[str, str] | None = None,
    motion: bool = False,
    stepwise: bool = False,
    timeout_s: float | None = TIMEOUT_S,
    repeatable: bool = False,
    example: Example | None = None,
    makes: Iterable[str] = (),
) -> Callable[[F], F]:
    """Offer a method as a tool; the class attribute `suite` of its class says whose it is.

    Args:
        name: Released name, e.g. "sam2.segment_from_point".
        aliases: Other names of the same tool.
        renamed: Other names of its arguments, {other: own}.
        motion: True if the call moves the robot.
        stepwise: True if only the problems of the first level that has any are reported, not all of them.
        timeout_s: Longest time of a call [s]; None for a tool that keeps deadlines of its own.
        repeatable: True if the same call may give another result the next time.
        example: A call that shows what it does.
        makes: Names of the `$variables` that a call sets; `{argument}` in one stands for that argument's words. A call
            that was to set one and did not leaves none of that name. Of a tool that does not say, those are taken that
            it has set in the conversation.
    """

    def mark(function: F) -> F:
        renames = dict(renamed or {})
        marked = _Mark(name, tuple(aliases), renames, motion, stepwise, timeout_s, repeatable, example, tuple(makes))
        function.__tool__ = marked  # type: ignore[attr-defined]
        return function

    return mark


@dataclass(frozen=True)
class ToolSpec:
    """One tool as offered.

    Attributes:
        name: Released name.
        description: First sentences of the docstring.
        kinds: Argument name to kind, in order, without those that the toolbox gives itself (`given`).
        argument_docs: Argument name to its description.
        required: Arguments without a default.
        aliases: Other names of the tool.
        renamed: Other names of its arguments, {other: own}.
        motion: True if the call moves the robot.
        function: Called with the checked values by name.
        suite: Which paper's toolbox it belongs to.
        given: Arguments that receive the conversation.
        printed: False for a tool that is offered beside those of the chosen suites: no prompt of a paper lists it.
        stepwise, timeout_s, repeatable, example, makes: See `tool`.
    """

    name: str
    description: str
    kinds: Mapping[str, ArgumentType]
    argument_docs: Mapping[str, str]
    required: tuple[str, ...]
    aliases: tuple[str, ...]
    renamed: Mapping[str, str]
    motion: bool
    function: Callable[..., ToolResult]
    suite: str = ""
    given: tuple[str, ...] = ()
    stepwise: bool = False
    timeout_s: float | None = TIMEOUT_S
    repeatable: bool = False
    example: Example | None = None
    printed: bool = True
    makes: tuple[str, ...] = ()

    def port(self, name: str) -> Any:
        """What stands behind the tool by the name of a port, such as "pointer"; None where nothing does."""
        return getattr(getattr(self.function, "__self__", None), f"_{name}", None)

    def over(self, ports: Mapping[str, Any]) -> Callable[..., ToolResult]:
        """What the tool does with something else behind ports that it has, by their names."""
        provider = copy.copy(self.function.__self__)  # type: ignore[attr-defined]
        vars(provider).update({f"_{name}": other for name, other in ports.items()})
        function: Callable[..., ToolResult] = getattr(provider, self.function.__name__)
        return function

    def schema(self, slim: bool = False) -> dict[str, Any]:
        """The tool in the function-calling form that chat templates expect.

        Args:
            slim: The short form that says which `$variables` a call needs and sets; see `short_schemas`.
        """
        properties = {}
        for argument, kind in self.kinds.items():
            described = kind.schema()
            doc = self.argument_docs.get(argument, "")
            properties[argument] = described | ({"description": doc} if doc else {})
        full = {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": {
                    "type": "object",
                    "properties": properties,
                    "required": list(self.required),
                    "additionalProperties": False,
                },
            },
        }
        return shortened(full, self.kinds, self.example.arguments if self.example else {}, self.makes) if slim else full

    def left_undone(self, arguments: Any, session: Session, why: str, made: Collection[str] = ()) -> None:
        """Drop the variables that a call was to make and did not: the old ones would be taken for the new ones.

        Args:
            arguments: Arguments of the call, as they were written.
            session: The conversation.
            why: End of the call, in a few words.
            made: The variables that it made all the same.
        """
        if self.makes:
            written = arguments if isinstance(arguments, Mapping) else {}
            wanted = names_made(self.makes, {self.renamed.get(key, key): value for key, value in written.items()})
        elif made:  # what else such a tool makes is not known
            return
        else:
            wanted = {variable for variable, origin in session.origins.items() if origin.tool == self.name}
        session.forget(wanted - set(made), f"{self.name} was called to make it anew and did not ({why})")


@functools.lru_cache(maxsize=1024)
def _described(function: Callable[..., Any]) -> ToolSpec:
    """What a function's signature and docstring say; read once, since each conversation has a toolbox of its own."""
    mark: _Mark = function.__tool__  # type: ignore[attr-defined]
    hints = get_type_hints(function, include_extras=True)
    doc = parse_docstring(inspect.getdoc(function) or "", DocstringStyle.GOOGLE)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    kinds = {}
    for parameter in parameters:
        metadata = getattr(hints[parameter.name], "__metadata__", ())
        if not metadata:
            raise TypeError(f"{mark.name}: argument {parameter.name!r} needs a kind, e.g. Unit or Mask")
        kinds[parameter.name] = metadata[0]
    given = tuple(name for name, kind in kinds.items() if isinstance(kind, SessionArgument))
    return ToolSpec(
        name=mark.name,
        description=" ".join(part for part in (doc.short_description, doc.long_description) if part).replace("\n", " "),
        kinds={name: kind for name, kind in kinds.items() if name not in given},
        argument_docs={
            p.arg_name: (p.description or "").replace("\n", " ") for p in doc.params if p.arg_name not in given
        },
        required=tuple(p.name for p in parameters if p.default is inspect.Parameter.empty and p.name not in given),
        aliases=mark.aliases,
        renamed=mark.renamed,
        motion=mark.motion,
        function=function,
        given=given,
        stepwise=mark.stepwise,
        timeout_s=mark.timeout_s,
        repeatable=mark.repeatable or mark.motion,
        example=mark.example,
        makes=mark.makes,
    )


def specs_of(provider: object) -> Iterable[ToolSpec]:
    """The tools of an object with methods that `tool` has marked, or with a method `tool_specs`."""
    if hasattr(provider, "tool_specs"):
        return list(provider.tool_specs())
    members: list[Any] = [member for _, member in inspect.getmembers(provider, callable) if hasattr(member, "__tool__")]
    suite = getattr(provider, "suite", "")
    known: dict[str, Any] = {"suite": suite, "printed": getattr(provider, "printed", True)}
    return [replace(_described(getattr(member, "__func__", member)), function=member, **known) for member in members]
