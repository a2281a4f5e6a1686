"""Backends by the names that users type: entry points of installed packages, this project's own and anybody's.

An entry is a class or a function, `name = "module:Class"` in a group of `GROUPS` in a package's pyproject.toml. It is
called with those of `Setting`'s fields that it has parameters for, so that a class without parameters will do. What it
needs beyond its package may be named as an extra: `name = "module:Class [extra]"`. Nothing is imported before it is
chosen.
"""

from __future__ import annotations

import functools
import inspect
import re
import tomllib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypeVar

from toolhand.tool_nodes.extras import PROJECT, install_again, install_extra, pip_install
from toolhand.tool_nodes.names import did_you_mean
from toolhand.tool_nodes.results import ToolError, invalid, kind_and_words, unavailable, words_of

GROUPS: Mapping[str, str] = {
    "perception": "toolhand.perception",
    "pointer": "toolhand.pointer",
    "second_pointer": "toolhand.pointer",
    "detector": "toolhand.detector",
    "segmenter": "toolhand.segmenter",
    "depth": "toolhand.depth",
    "reader": "toolhand.reader",
    "grasps": "toolhand.grasps",
    "boxes": "toolhand.boxes",
    "policy": "toolhand.policy",
    "planner": "toolhand.planner",
    "robot": "toolhand.robot",
    "arm": "toolhand.arm",
    "camera": "toolhand.camera",
    "renderer": "toolhand.renderer",
    "sensor": "toolhand.sensor",
    "object set": "toolhand.objects",
    "task": "toolhand.task",
    "tool suite": f"{PROJECT}.tools",  # the group, not the module of that name
}
"""What can be chosen by name, and the group of entry points that holds it. Entries of `perception` are presets."""

_BY_PLACE = frozenset({"arm", "camera"})
"""Ports whose entries are given one object in the simulator and another in a node."""

_ROOT = Path(__file__).parents[1]
_SHOWN = 60
"""Characters of an unknown name that a message repeats."""

_LONGEST_CAUSE = 300
"""Characters of an error of another package that a message repeats."""

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

T = TypeVar("T")


class Shared:
    """What several backends of one setting have in common is made once."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What was made for the key; made now where nothing was."""
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made


@dataclass(frozen=True)
class Setting:
    """What a backend may ask for, by having a parameter of that name.

    Attributes:
        seed: For all that is random in it, 0 or more.
        model: Text after the backend's name and a colon, e.g. "large" of `sam2:large`; empty where there is none.
        truth: The simulator's state, for backends of the simulator (`toolhand.sim.perception.Truth`); None elsewhere.
        robot: The `toolhand.tool_nodes.motion.robot_model.RobotModel` that grasps; None for the default one.
        node: The rclpy Node that it serves; None in process.
        planning_s: Wall time that a search for a path may take, besides any count of its own [s]; None where time
            stands still meanwhile, so that the same seed gives the same path.
        shared: For what it has in common with the other backends.
    """

    seed: int = 0
    model: str = ""
    truth: Any = None
    robot: Any = None
    node: Any = None
    planning_s: float | None = None
    shared: Shared = field(default_factory=Shared)


@functools.cache
def _entries(port: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in sorted(metadata.entry_points(group=GROUPS[port]), key=lambda entry: entry.name):
        found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


def names(port: str) -> tuple[str, ...]:
    """Every name that the port knows, in alphabetical order.

    Raises:
        ToolError: UNAVAILABLE where this checkout offers some and its installation knows of none.
    """
    known = tuple(_entries(port))
    if not known and _declared(port):
        raise _stale()
    return known


def find(port: str, spec: str) -> EntryPoint:
    """The entry that a name, e.g. "sam2" or "sam2:large", means.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that no package offers, or that two packages offer; UNAVAILABLE where it
            is written in this checkout but not installed.
    """
    name = str(spec).partition(":")[0]
    found = _entries(port).get(name, ())
    if len(found) == 1:
        return found[0]
    if found:
        packages = " and ".join(entry.dist.name if entry.dist else "?" for entry in found)
        raise invalid(f"Two packages offer a {port} {name!r}: {packages}.")
    if name in _declared(port):
        raise _stale()
    known = names(port)
    allowed = f"it must be {' or '.join(known)}" if known else "there is none to choose"
    meant = did_you_mean(name, known)
    raise invalid(f"There is no {port} {name[:_SHOWN]!r}: {allowed}.{meant}")


def _declared(port: str) -> frozenset[str]:
    """What the pyproject.toml of this checkout offers, whether or not it is installed so."""
    try:
        document = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    except OSError:
        return frozenset()
    return frozenset(document.get("project", {}).get("entry-points", {}).get(GROUPS[port], ()))


def _stale() -> ToolError:
    return unavailable(
        "This checkout of toolhand offers what its installation does not know yet.",
        f"Install it once more: {install_again()}",
    )


def load(port: str, spec: str) -> Any:
    """The class, function or preset behind a name, imported now.

    Raises:
        ToolError: As `find`; UNAVAILABLE where it cannot be imported, with the extra that it needs.
    """
    entry = find(port, spec)
    try:
        return entry.load()
    except ToolError:
        raise
    except (Exception, SystemExit) as error:  # whatever another package may raise, or that it wants to end this
        raise unloadable(port, entry, error) from error


def unloadable(port: str, entry: EntryPoint, error: BaseException) -> ToolError:
    """The sentence about an entry whose import has failed, with the extra that would help."""
    hint = f"Install it with: {_install(entry)}" if entry.extras else ""
    said = words_of(error, _LONGEST_CAUSE) if isinstance(error, ImportError | AttributeError) else ""
    said = said or kind_and_words(error, _LONGEST_CAUSE)
    return unavailable(f"The {port} {entry.name!r} cannot be loaded: {said}.", hint)


def make(port: str, spec: str, setting: Setting | None = None, **more: Any) -> Any:
    """The backend of a name, e.g. `make("segmenter", "sam2:large", Setting(seed=3))`.

    Args:
        port: A key of `GROUPS`.
        spec: A name, and for backends with a parameter `model` a colon and what it is given.
        setting: Seeds, robot and shared objects that backends may ask for.
        more: Further parameters for those that have them.

    Raises:
        ToolError: As `load`; INVALID_ARGUMENT where a model is missing or unwanted, or something else that it needs is
            not there; what the backend itself raises.
    """
    factory = load(port, spec)
    setting = setting or Setting()
    name, colon, model = spec.partition(":")
    offered = {entry.name: getattr(setting, entry.name) for entry in fields(Setting)} | {"model": model} | more
    try:
        asked = inspect.signature(factory).parameters
    except (TypeError, ValueError) as error:
        raise unloadable(port, find(port, spec), error) from error
    if colon and "model" not in asked:
        raise invalid(f"The {port} {name!r} takes nothing after its name.")
    if "model" in asked and not model and asked["model"].default is inspect.Parameter.empty:
        raise invalid(f"The {port} {name!r} needs a model: {name}:MODEL.")
    needed = [
        key
        for key, parameter in asked.items()
        if parameter.default is inspect.Parameter.empty and parameter.kind not in _VARIADIC and key not in offered
    ]
    if needed and port in _BY_PLACE:
        raise invalid(f"The {port} {name!r} cannot be used here, where there is no {' or '.join(needed)} for it.")
    try:
        return factory(**{key: value for key, value in offered.items() if key in asked})
    except ToolError:
        raise
    except (Exception, SystemExit) as error:
        raise unloadable(port, find(port, spec), error) from error


@dataclass(frozen=True)
class Offer:
    """One name that a port knows.

    Attributes:
        name: Name that users type.
        package: Which distribution offers it.
        missing: Command that installs what it still needs; empty where nothing is missing.
    """

    name: str
    package: str
    missing: str = ""


def require_installed(port: str, spec: str) -> None:
    """Refuse a backend that needs an extra which is not installed; nothing is imported.

    Raises:
        ToolError: As `find`; UNAVAILABLE, with the command that installs the extra.
    """
    entry = find(port, spec)
    if _lacks(entry):
        needed = " and ".join(entry.extras)
        raise unavailable(
            f"The {port} {entry.name!r} needs the extra {needed}, which is not installed.",
            f"Install it with: {_install(entry)}",
        )


def offers(port: str) -> list[Offer]:
    """Every name of a port and whether what it needs is installed; nothing is imported."""
    return [
        Offer(entry.name, entry.dist.name if entry.dist else "", _install(entry) if _lacks(entry) else "")
        for entries in _entries(port).values()
        for entry in entries
    ]


def _lacks(entry: EntryPoint) -> bool:
    """True if a package of the entry's extras is not installed."""
    for requirement in (entry.dist.requires or []) if entry.dist else []:
        needed, _, marker = requirement.partition(";")
        extra = re.search(r"""extra\s*==\s*['"]([^'"]+)['"]""", marker)
        if extra is None or extra[1] not in entry.extras:
            continue
        package = re.match(r"[A-Za-z0-9._-]+", needed.strip())
        try:
            metadata.distribution(package[0] if package else "")
        except (metadata.PackageNotFoundError, ValueError):
            return True
    return False


def _install(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else ""
    if package == PROJECT:
        return install_extra(",".join(entry.extras))
    return pip_install(f"'{package}[{','.join(entry.extras)}]'")
