"""The toolbox: a method's signature and docstring are its JSON schema; every call is checked first.

Order of one call: name and aliases, size, argument names, argument values (`$variables` and image indices
resolved), repetition, the method within its time, then new variables and the image enter the session. When a call
fails nothing does, but the image that a failed motion gives of the scene as it is now.
"""

from __future__ import annotations

import copy
import difflib
import functools
import inspect
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np
from docstring_parser import DocstringStyle
from docstring_parser import parse as parse_docstring
from numpy.typing import NDArray

from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.arguments import ArgumentType, InvalidValue, SessionArgument, show
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.hidden import hidden_by_arm
from toolhand.tool_nodes.toolbox.images import CameraView, SessionImage
from toolhand.tool_nodes.toolbox.limits import CallHistory, CallLimiter
from toolhand.tool_nodes.toolbox.provenance import NOTHING_USED, Used, names_made
from toolhand.tool_nodes.toolbox.session import InSession as InSession
from toolhand.tool_nodes.toolbox.session import Session as Session

F = TypeVar("F", bound=Callable[..., ToolResult])

TIMEOUT_S = 30.0
"""Longest duration of a call where a tool declares none [s]."""

_COMPARED = 100
"""Characters of an unknown name that are compared with the known ones."""

_SHOWN_NAMES = 20
"""Most tools that are listed for a name that resembles none."""

_PASSING_ERRORS = (ErrorCode.TIMEOUT, ErrorCode.UNAVAILABLE)
"""A call that ended so may end otherwise the next time."""


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

    def schema(self) -> dict[str, Any]:
        """The tool in the function-calling form that chat templates expect."""
        properties = {}
        for argument, kind in self.kinds.items():
            described = kind.schema()
            doc = self.argument_docs.get(argument, "")
            properties[argument] = described | ({"description": doc} if doc else {})
        return {
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


def _specs_of(provider: object) -> Iterable[ToolSpec]:
    if hasattr(provider, "tool_specs"):
        return list(provider.tool_specs())
    members: list[Any] = [member for _, member in inspect.getmembers(provider, callable) if hasattr(member, "__tool__")]
    suite = getattr(provider, "suite", "")
    known: dict[str, Any] = {"suite": suite, "printed": getattr(provider, "printed", True)}
    return [replace(_described(getattr(member, "__func__", member)), function=member, **known) for member in members]


@dataclass(frozen=True)
class CallRecord:
    """One call as it happened: for reports, never for a policy.

    Attributes:
        name, arguments: Name and arguments as the caller wrote them.
        result: Result of the tool.
        image_index: Index of the result's image, or None.
        started_s, wall_s: Wall-clock start (monotonic) and duration [s].
        motion: True if the tool moves the robot.
        view: How a camera saw what the result's image shows, None where no camera did.
    """

    name: str
    arguments: Mapping[str, Any]
    result: ToolResult
    image_index: int | None
    started_s: float
    wall_s: float
    motion: bool = False
    view: CameraView | None = None


class Tools(Protocol):
    """What a conversation needs of a toolbox; see Toolbox, whose members these are."""

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """The tools by their own names."""

    def job(self) -> AbstractContextManager[StopWatch]:
        """Within it, the calls of this thread belong together."""

    def schemas(self) -> list[dict[str, Any]]:
        """JSON schemas of all tools, sorted by name."""

    def is_motion(self, name: str) -> bool:
        """True if the name is a tool that moves the robot."""

    def find(self, name: str) -> ToolSpec:
        """The tool of a name or alias. Raises ToolError UNKNOWN_TOOL."""

    def call(self, name: str, arguments: Any, session: Session) -> CallRecord:
        """Run one tool; every failure comes back as `result.error`."""


def printed_schemas(tools: Tools) -> list[dict[str, Any]]:
    """JSON schemas of the tools of the chosen suites alone, as papers print them in their prompts, sorted by name."""
    return [schema for schema in tools.schemas() if tools.specs[schema["function"]["name"]].printed]


class Toolbox:
    """All tools of a set of providers, by name.

    Args:
        providers: Objects with methods marked by `tool`, or with a method `tool_specs` that gives their tools. The one
            that moves the robot has a method `job`; see `ports.Arm`.
        suites: Which suites to offer; None offers all.
        guard: Limits of every call.
    """

    def __init__(
        self, providers: Iterable[object], suites: Iterable[str] | None = None, guard: CallLimiter | None = None
    ) -> None:
        self.specs: dict[str, ToolSpec] = {}
        self._names: dict[str, str] = {}
        self._guard = guard or CallLimiter()
        self._new_job: Callable[[], AbstractContextManager[StopWatch]] = StopLatch().job
        chosen = None if suites is None else frozenset(suites)
        for provider in providers:
            self._new_job = getattr(provider, "job", self._new_job)
            for spec in _specs_of(provider):
                if chosen is None or spec.suite in chosen:
                    self._add(spec)

    def _add(self, spec: ToolSpec) -> None:
        for name in (spec.name, *spec.aliases):
            if name in self._names:
                raise ValueError(f"two tools are called {name!r}")
            self._names[name] = spec.name
        self.specs[spec.name] = spec

    def done_by(self, name: str, function: Callable[..., ToolResult]) -> Toolbox:
        """The same tools, one of which is done by another function; it is given the checked values by name."""
        twin, spec = copy.copy(self), self.find(name)
        twin.specs = {**self.specs, spec.name: replace(spec, function=function)}
        return twin

    def job(self) -> AbstractContextManager[StopWatch]:
        """Within it, the calls of this thread belong together: a stop of the arm ends them all, as one motion."""
        return self._new_job()

    def schemas(self) -> list[dict[str, Any]]:
        """JSON schemas of all tools, sorted by name."""
        return [self.specs[name].schema() for name in sorted(self.specs)]

    def is_motion(self, name: str) -> bool:
        """True if the name is a tool that moves the robot."""
        return name in self._names and self.specs[self._names[name]].motion

    def find(self, name: str) -> ToolSpec:
        """The tool of a name or alias. Raises ToolError UNKNOWN_TOOL."""
        if name not in self._names:
            near = difflib.get_close_matches(name[:_COMPARED], self._names, n=3, cutoff=0.4)
            listed = sorted(self.specs)
            more = f" and {len(listed) - _SHOWN_NAMES} more" if len(listed) > _SHOWN_NAMES else ""
            offered = f"Tools: {', '.join(listed[:_SHOWN_NAMES])}{more}."
            hint = f"Did you mean {' or '.join(near)}?" if near else offered
            shown = name if len(name) <= 60 else name[:57] + "..."
            raise ToolError(ErrorCode.UNKNOWN_TOOL, f"There is no tool {shown!r}.", hint)
        return self.specs[self._names[name]]

    def check(self, name: str, arguments: Any, session: Session) -> tuple[ToolSpec, dict[str, Any], Used]:
        """Resolve and check a call without running it.

        Returns:
            The tool, its arguments' values, and what they are of the conversation.

        Raises:
            ToolError: UNKNOWN_TOOL or INVALID_ARGUMENT; the sentence lists every wrong argument.
        """
        spec = self.find(name)
        if not isinstance(arguments, Mapping):
            raise invalid(f"{spec.name}: arguments must be a JSON object, got {type(arguments).__name__}.")
        self._guard.check_size(spec.name, arguments)
        given: dict[str, Any] = {}
        problems: list[tuple[int, str]] = []
        for key, value in arguments.items():
            own = key if key in spec.kinds else spec.renamed.get(key)
            if own is None:
                allowed = ", ".join(spec.kinds) or "none"
                problems.append((0, f"argument {show(key)} is unknown; allowed: {allowed}"))
            elif own in given:
                problems.append((0, f"argument {key!r} is given twice"))
            else:
                given[own] = value
        problems += [(0, f"argument {key!r} is missing") for key in spec.required if key not in given]
        values = {}
        for key, value in given.items():
            try:
                values[key] = spec.kinds[key].parse(value, session)
            except InvalidValue as problem:
                problems.append((problem.level, f"argument {key!r} {problem}"))
        if problems:
            first = min(level for level, _ in problems)
            reported = [text for level, text in problems if not spec.stepwise or level == first]
            raise invalid(f"{spec.name}: {self._guard.joined(reported)}.")
        used = Used.by(given, values, spec.kinds, session)
        used.require_one_image(spec.name)
        used.require_newest(spec.name, spec.kinds, session)
        return spec, values, used

    def call(self, name: str, arguments: Any, session: Session) -> CallRecord:
        """Run one tool; every failure comes back as `result.error`, never as an exception."""
        started = time.monotonic()
        session.calls = None if session.calls is None else session.calls + 1
        image_index, view = None, None
        used = NOTHING_USED
        values: dict[str, Any] = {}
        try:
            with self.job() if self.is_motion(name) else nullcontext():
                spec, values, used = self.check(name, arguments, session)
                result = self._run(spec, values, session)
        except ToolError as error:
            result = ToolResult(error=error)
        except (Exception, SystemExit) as error:  # a backend of another package does not end the process
            cause = " ".join(str(error).split())[:200]
            message = f"{name} failed inside: {type(error).__name__}: {cause}."
            result = ToolResult(error=ToolError(ErrorCode.INTERNAL, message))
            result.error.__cause__ = error  # type: ignore[union-attr]
        if result.error is not None:
            if result.error.code in _PASSING_ERRORS:
                session.history = CallHistory()
            known = hidden_by_arm(result.error, values, session.seen)
            text = self._guard.short(f"Error {known.code}: {known}")
            result = replace(result, error=known, text=text, outlined=None)
            if not self.is_motion(name):
                result = replace(result, image=None, variables={})
        why = "it gave none" if result.error is None else str(result.error.code)
        if name in self._names:
            self.find(name).left_undone(arguments, session, why, result.variables)
        new_index = None if result.image is None else len(session.images)
        for variable, value in result.variables.items():
            session.keep(variable, used.origin_of(spec.name, value, result, new_index, session))
        if result.outlined is not None:
            session.grasps.note_outline(result.outlined)
        if result.named:
            session.grasps.note_names(result.named, result.facts.get("points", ()))
        if result.image is not None:
            image_index = new_index
            session.images.append(_as_session_image(result.image, result, values))
            view = result.view or session.images[-1].view
        recorded = dict(arguments) if isinstance(arguments, Mapping) else {"arguments": arguments}
        wall_s = time.monotonic() - started
        return CallRecord(name, recorded, result, image_index, started, wall_s, self.is_motion(name), view)

    def _run(self, spec: ToolSpec, values: Mapping[str, Any], session: Session) -> ToolResult:
        # A tool that is given the conversation may answer otherwise when a variable has another value.
        known = {**values, **dict.fromkeys(spec.given, session.variables)}
        times = self._guard.note(session.history, spec.name, known, spec.repeatable)
        work = functools.partial(spec.function, **values, **dict.fromkeys(spec.given, session))
        result = self._guard.run(spec.name, work, spec.timeout_s)
        if not isinstance(result, ToolResult):
            raise TypeError(f"it returned {type(result).__name__}, not a ToolResult")
        if result.error is not None:
            return result
        if result.image is not None:
            self._guard.check_image(spec.name, result.image)
        text = self._guard.short(result.text)
        if result.backend:
            text += f" (backend: {result.backend})"
        if times > 1:
            text += f" (the same call as before, {times} times in a row: its result cannot change)"
        return replace(result, text=text)


def _as_session_image(image: NDArray[np.uint8], result: ToolResult, values: Mapping[str, Any]) -> SessionImage:
    """The result's image, with its link to a camera frame: an image kept as a variable, a crop, or a drawing."""
    if result.source is not None:
        return result.source.redrawn(image)
    for value in result.variables.values():
        if isinstance(value, SessionImage) and value.rgb is image:
            return value
    drawn_over = next((v for v in values.values() if isinstance(v, SessionImage)), None)
    return SessionImage(image) if drawn_over is None else drawn_over.redrawn(image)
