"""What is served, and how: one YAML, read and checked before anything starts.

ports:
  pointer: {backend: pixels, run: serve, replicas: {min: 1, max: 4}, batch: 16}
  segmenter: {backend: pixels+drawings}
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from tool_nodes import registry
from tool_nodes.extras import install_extra
from tool_nodes.files import read_file
from tool_nodes.plain_yaml import PlainYamlError, YamlLimits, load
from tool_nodes.port_names import PortNames
from tool_nodes.results import ToolError, invalid, unavailable

METHODS: Mapping[str, str] = {
    "pointer": "point",
    "detector": "detect",
    "segmenter": "segment",
    "depth": "estimate",
    "reader": "read",
    "grasps": "generate",
}
"""The ports that can be served, and the one method of each."""

ACTOR, SERVE = "actor", "serve"
"""One Ray actor, for what is light; a deployment of Ray Serve, for models."""

ABREAST = 2
"""Messages of a process on their way to each replica at once: one is worked at, the next is there when it is done."""

_SHOWN = 60
"""Characters of a wrong word that a message repeats."""


@dataclass(frozen=True)
class ServedEntry:
    """One backend that is served.

    Attributes:
        name: Name that clients ask for: `served` means the entry that has the name of the port, `served:NAME` another
            one.
        port: A key of `METHODS`.
        backend: Backend in the form that `--pointer` and the like take: NAME, NAME:MODEL or NAME+OTHER.
        run: `ACTOR` or `SERVE`.
        replicas_min: Processes that are always there, 0 or more; 0 starts one when it is asked for.
        replicas_max: Largest number of replicas under load [-].
        batch: Most requests that the backend is given at once.
        batch_wait_ms: How long a first request waits for others [ms].
        queue: Requests of one client process that may wait; further ones are refused at once.
        deadline_s: Longest time from the call to its answer, retries and all [s].
        retries: How often a request is given to another replica after the first has died, run out of memory or refused.
        cpus: Share of processors that Ray reserves for each replica; it is no limit.
        gpus: Share of GPUs for each replica; 0.25 puts four on one.
        memory_gb: Memory that Ray reserves [GB], and without a GPU the most that the backend may take beyond what its
            process begins with; 0 says nothing.
        env: Packages of its own, as pip takes them: the replica runs in a virtual environment with them.
    """

    name: str
    port: str
    backend: str
    run: str = ACTOR
    replicas_min: int = 1
    replicas_max: int = 1
    batch: int = 1
    batch_wait_ms: float = 5.0
    queue: int = 1000
    deadline_s: float = 60.0
    retries: int = 2
    cpus: float = 0.25
    gpus: float = 0.0
    memory_gb: float = 0.0
    env: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The port's one method."""
        return METHODS[self.port]


@dataclass(frozen=True)
class Local:
    """The cluster that is started where no address is given.

    Attributes:
        cpus: Processors that the cluster lends out; None takes all of the machine.
        gpus: Likewise; None is what Ray finds.
        store_gb: Shared memory for pictures [GB].
        port: Port of the cluster's head on this machine; 0 takes a free one.
    """

    cpus: float | None = None
    gpus: float | None = None
    store_gb: float = 0.5
    port: int = 0


@dataclass(frozen=True)
class ServeConfig:
    """All that is served.

    Attributes:
        entries: By name.
        local: See `Local`.
    """

    entries: Mapping[str, ServedEntry]
    local: Local = field(default_factory=Local)


def read_config(path: Path) -> ServeConfig:
    """The file's, checked. Raises ToolError INVALID_ARGUMENT with the key that is wrong and what is allowed."""
    try:
        text = read_file(path, YamlLimits().size)
    except OSError as error:
        raise invalid(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return parse_config(load(text))
    except PlainYamlError as error:
        raise invalid(f"{path}: {error}.") from error
    except ToolError as error:
        raise ToolError(error.code, f"{path}: {error.message}", error.hint) from error


def parse_config(document: Any) -> ServeConfig:
    """A document of the form above, checked. Raises ToolError INVALID_ARGUMENT."""
    parts = _mapping("the file", document, {"ports", "cluster"})
    ports = parts.get("ports")
    if not isinstance(ports, Mapping) or not ports:
        raise invalid(f"ports must name what is served: some of {', '.join(METHODS)}.")
    return ServeConfig({name: _entry(name, value) for name, value in ports.items()}, _local(parts.get("cluster") or {}))


def check_resources(config: ServeConfig, cluster: Mapping[str, float]) -> None:
    """Refuse what a cluster can never hold.

    Args:
        config: The service to check.
        cluster: `CPU`, `GPU` and `memory` [bytes] of all its nodes.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    for resource, unit, factor in (("CPU", "cpus", 1.0), ("GPU", "gpus", 1.0), ("memory", "memory_gb", 1e9)):
        needed = sum(getattr(entry, unit) * entry.replicas_min for entry in config.entries.values())
        there = cluster.get(resource, 0.0) / factor
        if needed > there + 1e-6:
            raise invalid(
                f"The replicas need {unit} {needed:g} together, and the cluster has {there:.4g}.",
                f"Lower {unit} or replicas" + ("." if resource == "memory" else f", or set {unit} of cluster."),
            )


def _entry(name: str, value: Any) -> ServedEntry:
    if isinstance(value, str):
        value = {"backend": value}
    known = {each.name for each in fields(ServedEntry)} - {"name", "replicas_min", "replicas_max"} | {"replicas"}
    given = dict(_mapping(name, value, known))
    port = given.pop("port", name)
    if port not in METHODS:
        raise invalid(
            f"{str(port)[:_SHOWN]!r} is no port that can be served: {', '.join(METHODS)}.",
            "An entry of another name says which with port: NAME." if port == name else "",
        )
    if not isinstance(given.get("backend"), str):
        raise invalid(f"{name}: backend must be a name, as --{port} takes it.")
    for part in PortNames(**{port: given["backend"]}).parts(port):
        entry = registry.find(port, part)
        if entry.name == "served":
            raise invalid(f"{name}: a service cannot serve itself; name what is to run.")
    low, high = _replicas(name, given.pop("replicas", 1))
    made = {"name": name, "port": port, "replicas_min": low, "replicas_max": high}
    for each in fields(ServedEntry):
        if each.name in given:
            made[each.name] = _checked(f"{name}: {each.name}", given[each.name], each.default)
    entry_made = ServedEntry(**made)
    if entry_made.run not in (ACTOR, SERVE):
        raise invalid(f"{name}: run must be {ACTOR} or {SERVE}, got {str(entry_made.run)[:_SHOWN]!r}.")
    if entry_made.run == ACTOR and (high != 1 or low != 1):
        raise invalid(f"{name}: an actor is one process; run: {SERVE} has replicas.")
    for key, least in (("batch", 1), ("queue", 1), ("deadline_s", 1e-3)):
        if getattr(entry_made, key) < least:
            raise invalid(f"{name}: {key} must be {least:g} or more, got {getattr(entry_made, key):g}.")
    return entry_made


def _replicas(name: str, value: Any) -> tuple[int, int]:
    if isinstance(value, int) and not isinstance(value, bool):
        low, high = value, value
    else:
        both = _mapping(f"{name}: replicas", value, {"min", "max"})
        low = _checked(f"{name}: replicas min", both.get("min", 1), 1)
        high = _checked(f"{name}: replicas max", both.get("max", max(low, 1)), 1)
    if not 0 <= low <= high or high < 1:
        raise invalid(f"{name}: replicas must be a number, or min and max with 0 <= min <= max and max 1 or more.")
    return low, high


def _local(value: Any) -> Local:
    given = _mapping("cluster", value, {each.name for each in fields(Local)})
    made = {key: None if each is None else _checked(f"cluster: {key}", each, _LIKE[key]) for key, each in given.items()}
    local = Local(**made)  # type: ignore[arg-type]
    if not local.store_gb >= 0.08:
        raise invalid(f"cluster: store_gb must be 0.08 or more, got {local.store_gb:g}.")
    if not 0 <= local.port <= 65535:
        raise invalid(f"cluster: port must be from 0 to 65535, got {local.port}.")
    return local


_LIKE = {"cpus": 0.0, "gpus": 0.0, "store_gb": 0.0, "port": 0}
"""Example of each field's type, for refusals."""


def _checked(what: str, value: Any, like: Any) -> Any:
    """The value as the type of `like`: a text, a list of texts, or a number of 0 or more."""
    if like is MISSING or isinstance(like, str):
        if isinstance(value, str):
            return value
        raise invalid(f"{what} must be a text.")
    if isinstance(like, tuple):
        if isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(each, str) for each in value):
            return tuple(value)
        raise invalid(f"{what} must be a list of packages, as pip takes them.")
    whole = isinstance(like, int)
    number = isinstance(value, int) or (isinstance(value, float) and not whole)
    if isinstance(value, bool) or not number or not 0 <= value < math.inf:
        raise invalid(f"{what} must be a {'whole ' if whole else ''}number of 0 or more, got {str(value)[:_SHOWN]!r}.")
    return value if whole else float(value)


def _mapping(what: str, value: Any, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise invalid(f"{what} must be a mapping with keys of {', '.join(sorted(known))}.")
    unknown = next((key for key in value if key not in known), None)
    if unknown is not None:
        raise invalid(f"{what}: there is no key {str(unknown)[:_SHOWN]!r}, only {', '.join(sorted(known))}.")
    return value


def without_ray(error: Exception) -> ToolError:
    """What to say where Ray is not installed."""
    return unavailable(f"Serving needs Ray: {error}.", f"Install it with: {install_extra('serve')}")
