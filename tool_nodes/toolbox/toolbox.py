"""The toolbox: a method's signature and docstring are its JSON schema; every call is checked first.

Order of one call: name and aliases, size, argument names, argument values (`$variables` and image indices
resolved), repetition, the method within its time, then new variables and the image enter the session. When a call
fails nothing does, but the image that a failed motion gives of the scene as it is now.
"""

from __future__ import annotations

import copy
import difflib
import functools
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid, kind_and_words
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.toolbox.arguments import VARIABLE, InvalidValue, MissingVariable, show
from toolhand.tool_nodes.toolbox.hidden import hidden_by_arm, not_of_objects
from toolhand.tool_nodes.toolbox.images import CameraView, SessionImage
from toolhand.tool_nodes.toolbox.limits import CallHistory, CallLimiter
from toolhand.tool_nodes.toolbox.provenance import NOTHING_USED, Used, image_of, makes
from toolhand.tool_nodes.toolbox.scene_look import as_offered
from toolhand.tool_nodes.toolbox.session import InSession as InSession
from toolhand.tool_nodes.toolbox.session import Session as Session
from toolhand.tool_nodes.toolbox.short_schemas import is_derived, without_unmade
from toolhand.tool_nodes.toolbox.spec import TIMEOUT_S as TIMEOUT_S
from toolhand.tool_nodes.toolbox.spec import ToolSpec as ToolSpec
from toolhand.tool_nodes.toolbox.spec import specs_of
from toolhand.tool_nodes.toolbox.spec import tool as tool

_COMPARED = 100
"""Characters of an unknown name that are compared with the known ones."""

_SHOWN_NAMES = 20
"""Most tools that are listed for a name that resembles none."""

_PASSING_ERRORS = (ErrorCode.TIMEOUT, ErrorCode.UNAVAILABLE)
"""A call that ended so may end otherwise the next time."""


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

    def schemas(self, slim: bool = False) -> list[dict[str, Any]]:
        """JSON schemas of all tools, sorted by name; `slim` as of `printed_schemas`."""

    def is_motion(self, name: str) -> bool:
        """True if the name is a tool that moves the robot."""

    def find(self, name: str) -> ToolSpec:
        """The tool of a name or alias. Raises ToolError UNKNOWN_TOOL."""

    def call(self, name: str, arguments: Any, session: Session) -> CallRecord:
        """Run one tool; every failure comes back as `result.error`."""


def printed_schemas(tools: Tools, slim: bool = False) -> list[dict[str, Any]]:
    """JSON schemas of the tools of the chosen suites alone, sorted by name.

    Args:
        tools: The tools.
        slim: In the short form, for servers that take tools natively (the protocol `native`), with the `$variables`
            that each call needs and sets, and without what follows from the image, is only checked, or takes a
            `$variable` that none of these tools makes; else as papers print them in their prompts.
    """
    return _schemas((spec for spec in tools.specs.values() if spec.printed), slim)


def _schemas(specs: Iterable[ToolSpec], slim: bool) -> list[dict[str, Any]]:
    chosen = sorted(specs, key=lambda spec: spec.name)
    schemas = [spec.schema(slim) for spec in chosen]
    return without_unmade(schemas, {made for spec in chosen for made in spec.makes}) if slim else schemas


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
            for spec in specs_of(provider):
                if chosen is None or spec.suite in chosen:
                    self._add(spec)

    def _add(self, spec: ToolSpec) -> None:
        """Offer a tool; one that two suites offer, by the same function, is that of its own suite."""
        known = self.specs.get(self._names.get(spec.name, ""))
        if known is not None and _is_same(known, spec):
            owner = getattr(spec.function, "__self__", None)
            if not spec.printed or spec.suite != getattr(owner, "suite", None):
                return
            del self.specs[known.name]
            self._names = {name: own for name, own in self._names.items() if own != known.name}
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

    def schemas(self, slim: bool = False) -> list[dict[str, Any]]:
        """JSON schemas of all tools, sorted by name; `slim` as of `printed_schemas`."""
        return _schemas(self.specs.values(), slim)

    def is_motion(self, name: str) -> bool:
        """True if the name is a tool that moves the robot."""
        return name in self._names and self.specs[self._names[name]].motion

    def find(self, name: str) -> ToolSpec:
        """The tool of a name or alias. Raises ToolError UNKNOWN_TOOL."""
        if name not in self._names:
            found = difflib.get_close_matches(name[:_COMPARED], self._names, n=3, cutoff=0.4)
            listed = sorted(name for name, spec in self.specs.items() if spec.printed)
            near = [each for each in dict.fromkeys(self._names[each] for each in found) if each in listed]
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
        given |= self._derived(spec, given, session)
        problems += [(0, f"argument {key!r} is missing") for key in spec.required if key not in given]
        values, lost = {}, []
        for key, value in given.items():
            try:
                values[key] = spec.kinds[key].parse(value, session)
            except MissingVariable as problem:
                sets = self._makers(problem.name)
                told = f"{problem.told}; {sets} sets it" if sets else str(problem)
                lost.append((problem.level, f"argument {key!r} {told}"))
            except InvalidValue as problem:
                problems.append((problem.level, f"argument {key!r} {problem}"))
        if problems or lost:
            first = min(level for level, _ in (*lost, *problems))
            wrong, rest = ([t for level, t in of if not spec.stepwise or level == first] for of in (lost, problems))
            # Every variable that is missing is told, however many there are: each has a tool that makes it.
            reported = [*(["; ".join(wrong)] if wrong else []), *rest]
            raise invalid(f"{spec.name}: {self._guard.joined(reported)}.")
        used = Used.by(given, values, spec.kinds, session)
        used.require_one_image(spec.name)
        used.require_newest(spec.name, spec.kinds, session)
        return spec, values, used

    def _derived(self, spec: ToolSpec, given: Mapping[str, Any], session: Session) -> dict[str, Any]:
        """The arguments that a call leaves out and the image of its `$variables` gives."""
        named = {key: value[1:] for key, value in given.items() if isinstance(value, str) and VARIABLE.match(value)}
        missing = [key for key in spec.required if key not in given and is_derived(key, spec.kinds, named)]
        image = image_of(named.values(), session) if missing else None
        return {} if image is None else {key: spec.kinds[key].of_image(image) for key in missing}  # type: ignore[attr-defined]

    def _makers(self, variable: str) -> str:
        """The tools that set a variable, the first two; "" where none does."""
        makers = sorted(name for name, spec in self.specs.items() if spec.printed and makes(spec.makes, variable))
        return " or ".join(makers[:2])

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
            message = f"{name} failed inside: {kind_and_words(error)}."
            result = ToolResult(error=ToolError(ErrorCode.INTERNAL, message))
            result.error.__cause__ = error  # type: ignore[union-attr]
        if result.error is not None:
            if result.error.code in _PASSING_ERRORS:
                session.history = CallHistory()
            known = not_of_objects(hidden_by_arm(result.error, values, session.seen), values, session)
            known = as_offered(known, self._names)
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


def _is_same(one: ToolSpec, other: ToolSpec) -> bool:
    functions = [getattr(spec.function, "__func__", spec.function) for spec in (one, other)]
    return functions[0] is functions[1] and one.suite != other.suite


def _as_session_image(image: NDArray[np.uint8], result: ToolResult, values: Mapping[str, Any]) -> SessionImage:
    """The result's image, with its link to a camera frame: an image kept as a variable, a crop, or a drawing."""
    if result.source is not None:
        return result.source.redrawn(image)
    for value in result.variables.values():
        if isinstance(value, SessionImage) and value.rgb is image:
            return value
    drawn_over = next((v for v in values.values() if isinstance(v, SessionImage)), None)
    return SessionImage(image) if drawn_over is None else drawn_over.redrawn(image)
