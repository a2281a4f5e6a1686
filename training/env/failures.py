"""Errors on purpose: a toolbox whose calls go wrong, so that a policy learns to see it and to go on.

    failures = Failures({"*": {"TIMEOUT": 0.02, "empty": 0.05}, "roborefer.detect_one": {"wrong_point": 0.2}})
    toolbox = FailingToolbox(station.toolbox, failures, seed=7, rollout=3)

LAST (section 3.3, stage 2) simulates "empty returns or execution errors" in about 3,000 of its 16,000 samples and calls
an answer partially correct that has only one of two objects, and
SpaceTools' tools are stochastic by themselves: real ones, which fail and point beside what was meant. Neither gives
rates.

| kind | which tools | what happens |
|---|---|---|
| `empty` | all that move nothing | the call succeeds and returns nothing: no words, no image, no `$variable` |
| `wrong_point`, `neighbour`, `merged` ... | over such a port | as of `toolhand.training.env.errors` |
| TIMEOUT, EXECUTION_FAILED | all | the error, at once |
| OBJECT_NOT_FOUND, NOT_RECOGNISED | those that are asked by words | the error |
| EMPTY_MASK | segmentation | the error |
| NO_DEPTH | depth | the error |
| NO_GRASP | grasp generation | the error |
| IK_FAILED, PLAN_FAILED | motions | the error; nothing has moved |
| GRIPPER_EMPTY | grasping | the error; nothing has moved |
| PLACE_BLOCKED | placing | the error; nothing has moved, and what is held stays held |

Only an error of a port runs the tool. A call that could not run, for its arguments or its repetition, is answered as
always.
That perception misses, blurs and confuses objects is `toolhand.sim.perception.PerceptionNoise`; objects that really
slip are `toolhand.training.env.difficulty.slippery`.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError, ToolResult, invalid
from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.toolbox.limits import CallHistory
from toolhand.tool_nodes.toolbox.toolbox import TIMEOUT_S, CallRecord, Session, Toolbox, ToolSpec
from toolhand.training.env.errors import ERRORS, NOTE, PortError

FACT = "failed_on_purpose"
"""The fact of a result (`ToolResult.facts`) that says which kind of failure it is. No policy sees facts."""

ALL_TOOLS = "*"
"""In place of a tool's name: all tools that can fail so and have no rates of their own."""

EMPTY = "empty"

_STREAM = 14
"""Keeps these random numbers apart from others of the same seed."""
_SHOWN = 60
"""Longest part of a wrong value in an error [characters]."""


@dataclass(frozen=True)
class _Kind:
    """One way to fail: which tools can, and the words of the error. A `{time}` is the time that the tool has."""

    fits: Callable[[ToolSpec], bool]
    message: str = ""
    hint: str = ""


def _named(*patterns: str) -> Callable[[ToolSpec], bool]:
    return lambda spec: any(fnmatchcase(spec.name, pattern) for pattern in patterns)


def _any(spec: ToolSpec) -> bool:
    return True


def _over(kind: str) -> Callable[[ToolSpec], bool]:
    """Whether a tool stands over the port of an error."""
    return lambda spec: spec.port(ERRORS[kind].port) is not None


_BY_WORDS = _named(
    "roborefer.*", "vlm.*", "grounding_dino", "text_segment", "EstimateDepth", "EstimateSize", "Get3DPoint", "Segment*"
)
KINDS: Mapping[str, _Kind] = {
    EMPTY: _Kind(lambda spec: not spec.motion),
    **{kind: _Kind(_over(kind)) for kind in ERRORS},
    ErrorCode.TIMEOUT: _Kind(_any, "no result within {time:g} s.", "Try again, or use another tool."),
    ErrorCode.EXECUTION_FAILED: _Kind(_any, "the call failed."),
    ErrorCode.OBJECT_NOT_FOUND: _Kind(_BY_WORDS, "nothing that fits these words is in the picture."),
    ErrorCode.NOT_RECOGNISED: _Kind(_BY_WORDS, "these words were not recognised.", "Use others."),
    ErrorCode.EMPTY_MASK: _Kind(_named("sam2.*", "*_segment"), "there is no object there.", "Point at another place."),
    ErrorCode.NO_DEPTH: _Kind(
        _named("depth_estimator.*", "robot.get_depth*", "EstimateDepth", "EstimateSize", "Get3DPoint"),
        "no pixel has depth.",
        "Look again.",
    ),
    ErrorCode.NO_GRASP: _Kind(_named("grasp_generator.*"), "no grasp fits the object.", "Look from elsewhere."),
    ErrorCode.IK_FAILED: _Kind(lambda spec: spec.motion, "the arm has no posture for that pose."),
    ErrorCode.PLAN_FAILED: _Kind(lambda spec: spec.motion, "no path without collision was found."),
    ErrorCode.GRIPPER_EMPTY: _Kind(_named("robot.execute_grasp"), "the gripper closed on nothing."),
    ErrorCode.PLACE_BLOCKED: _Kind(_named("robot.place_*"), "something is in the way there."),
}
"""The ways to go wrong, by name: an error's code, an error of a port, or `empty`."""


@dataclass(frozen=True)
class Failures:
    """How often calls fail, and how.

    Attributes:
        rates: {tool or "*": {kind: rate}}, each rate in [0, 1] and at most 1 together; kinds as in KINDS. What is said
            of a tool by its name replaces what is said of all. Of an error that lasts it is the strength.
        shared: The rollouts of a group fail alike in calls of the same number and tool; else each fails by itself.

    Raises:
        ToolError: INVALID_ARGUMENT for what is not as above. Unknown tools are found by FailingToolbox.
    """

    rates: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    shared: bool = False

    def __post_init__(self) -> None:
        for tool, kinds in self.rates.items():
            if not isinstance(kinds, Mapping):
                raise _invalid(f"{_shown(tool)} must have a mapping {{kind: rate}}, got {_shown(kinds)}.")
            for kind, rate in kinds.items():
                _check(tool, kind, rate)
            if (together := math.fsum(rate for kind, rate in kinds.items() if not _lasts(kind))) > 1.0 + 1e-9:
                raise _invalid(f"the rates of {_shown(tool)} may be 1 together, not {together:g}.")

    def of(self, spec: ToolSpec) -> Mapping[str, float]:
        """The rates of one tool by kind, sorted. Raises ToolError INVALID_ARGUMENT where it cannot fail so."""
        names = [name for name in (spec.name, *spec.aliases) if name in self.rates]
        if len(names) > 1:
            raise _invalid(f"{names[0]} and {names[1]} are the same tool, give one of them.")
        if not names:
            general = self.rates.get(ALL_TOOLS, {})
            return {kind: general[kind] for kind in sorted(general) if KINDS[kind].fits(spec)}
        own = self.rates[names[0]]
        for kind in own:
            if not KINDS[kind].fits(spec):
                can = ", ".join(name for name in KINDS if KINDS[name].fits(spec))
                raise _invalid(f"{spec.name} cannot fail with {kind}, but with {can}.")
        return {kind: own[kind] for kind in sorted(own)}


class FailingToolbox:
    """A toolbox around another one, whose calls fail at given rates; for one rollout, or for forks of it.

    Whether call k of a conversation fails depends on the seed, the rollout, k and the tool alone, whatever else is
    drawn anywhere. What the agent does for itself, such as a look before a motion, never fails.

    Args:
        tools: Does what does not fail.
        failures: How often what fails.
        seed: Seed of the group, which is its task's; 0 or more.
        rollout: Which of the group it is, from 0; makes no difference where the failures are shared.

    Raises:
        ToolError: INVALID_ARGUMENT for rates of a tool that is not there or cannot fail so, and for a negative number.
    """

    def __init__(self, tools: Toolbox, failures: Failures, seed: int, rollout: int = 0) -> None:
        if min(seed, rollout) < 0:
            raise _invalid(f"seed and rollout must be 0 or more, got {seed} and {rollout}.")
        for name in failures.rates:
            if name != ALL_TOOLS:
                try:
                    tools.find(name)
                except ToolError as error:
                    raise _invalid(str(error)) from None
        self._tools = tools
        self._rates = {name: failures.of(spec) for name, spec in tools.specs.items()}
        self._key = (seed, _STREAM, 0 if failures.shared else rollout + 1)

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """See Toolbox."""
        return self._tools.specs

    def job(self) -> AbstractContextManager[StopWatch]:
        """See Toolbox."""
        return self._tools.job()

    def schemas(self, slim: bool = False) -> list[dict[str, Any]]:
        """See Toolbox."""
        return self._tools.schemas(slim)

    def is_motion(self, name: str) -> bool:
        """See Toolbox."""
        return self._tools.is_motion(name)

    def find(self, name: str) -> ToolSpec:
        """See Toolbox."""
        return self._tools.find(name)

    def call(self, name: str, arguments: Any, session: Session) -> CallRecord:
        """Run one tool, or fail; FACT among the result's facts says which kind of failure was on purpose."""
        function = self._erring(name, session.calls)
        if function is None:
            return self._tools.call(name, arguments, session)
        record = self._tools.done_by(name, function).call(name, arguments, session)
        if not _lasts(record.result.facts.get(FACT, EMPTY)) and FACT in record.result.facts:
            session.history = CallHistory()  # the same call may give another result the next time
        return record

    def _erring(self, name: str, number: int | None) -> Callable[..., ToolResult] | None:
        """What is done in place of the tool in call `number`; None where nothing goes wrong."""
        try:
            spec = self._tools.find(name)
        except ToolError:  # which the call itself will tell
            return None
        rates = self._rates[spec.name]
        if number is None or not rates:
            return None
        this_once = (*self._key, number, zlib.crc32(spec.name.encode()))
        always = (*self._key[:2], zlib.crc32(spec.name.partition(".")[0].encode()))
        left = np.random.default_rng(this_once).random()
        errors: list[tuple[str, tuple[int, ...]]] = [(kind, always) for kind in rates if _lasts(kind)]
        for kind, rate in rates.items():
            if _lasts(kind):
                continue
            if left < rate:
                if kind not in ERRORS:
                    return _failed(spec, kind)
                errors.append((kind, this_once))
                break
            left -= rate
        return _spoilt(spec, [(kind, key, rates[kind]) for kind, key in errors]) if errors else None


def ran_out_of_time(record: CallRecord) -> bool:
    """Whether a call ran out of its time, and not on purpose: what has not ended may still change something."""
    error = record.result.error
    return error is not None and error.code is ErrorCode.TIMEOUT and FACT not in record.result.facts


def _failed(spec: ToolSpec, kind: str) -> Callable[..., ToolResult]:
    """Does nothing, and says what the failure says."""
    error = None
    if kind != EMPTY:
        message = KINDS[kind].message.format(time=spec.timeout_s or TIMEOUT_S)
        error = ToolError(ErrorCode(kind), f"{spec.name}: {message}", KINDS[kind].hint)
    result = ToolResult(error=error, facts={FACT: str(kind)})
    return lambda **values: result


def _spoilt(spec: ToolSpec, errors: Sequence[tuple[str, tuple[int, ...], float]]) -> Callable[..., ToolResult]:
    """Does the tool over ports that err, each of a kind, a key and a strength, and has it say the signs."""

    def run(**values: Any) -> ToolResult:
        ports: dict[str, PortError] = {}
        stack: list[tuple[str, PortError]] = []
        for kind, key, strength in errors:
            name = ERRORS[kind].port
            ports[name] = ERRORS[kind](ports.get(name, spec.port(name)), key, strength)
            stack.append((kind, ports[name]))
        try:
            result = spec.over(ports)(**values)
        except ToolError as error:
            result = ToolResult(error=error)
        signs = "".join(f" {NOTE} {port.sign}" for _, port in stack if port.sign)
        if result.error is None:
            result = replace(result, text=result.text + signs)
        else:
            result = replace(result, error=result.error.reworded(result.error.message + signs))
        erred = [kind for kind, port in stack if port.erred]
        return replace(result, facts={**result.facts, FACT: erred[-1]}) if erred else result

    return run


def _lasts(kind: str) -> bool:
    return kind in ERRORS and ERRORS[kind].lasting


def _check(tool: str, kind: str, rate: object) -> None:
    """Raises ToolError INVALID_ARGUMENT where there is no such kind of failure, or it is no rate."""
    if kind in INFRASTRUCTURE_ERRORS:
        raise _invalid(f"{kind} is an infrastructure error, which is never scored; no rate may name it.")
    if kind not in KINDS:
        raise _invalid(f"there is no failure {_shown(kind)}: give {', '.join(KINDS)}.")
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0.0 <= rate <= 1.0:
        raise _invalid(f"the rate of {kind} of {_shown(tool)} must be a number from 0 to 1, not {_shown(rate)}.")


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN]


def _invalid(message: str) -> ToolError:
    return invalid(f"Failures on purpose: {message}")
